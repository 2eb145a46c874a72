"""Ten random splits of each citation graph, for differences that one public split cannot show."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gssl.datasets import draw_split
from reproduction.measures import classify_split
from reproduction.settings import classifier, ogc, with_head
from reproduction.spec import CITATIONS, Artefact, Cell, Claim, Entry, Position, dataset_of, measure

# as in the public split
_PER_CLASS, _N_VAL, _N_TEST = 20, 500, 1000
_BOTH = "train+validation"


@measure("random split")
def classify_random_split(cell: Cell, seed: int) -> dict[str, float]:
    """Draw a random split of the public split's size, fit a classifier and score it on the test nodes.

    The seed determines the split and the classifier, so all methods have the same splits and are paired.
    """
    data = dataset_of(cell.dataset)
    split = draw_split(data.labels, _PER_CLASS, _N_VAL, _N_TEST, random_state=seed)
    return {"accuracy": classify_split(cell, seed, data, split)["accuracy"]}


def _cells(dataset: str) -> dict[str, Cell]:
    heads = {"SGC": "SGC", "S²GC": "SSGC", "GGC": "GGC", "GGCM": "GGCM"}
    return {
        "OGC": ogc(dataset),
        "OGC, anchors: all labels": ogc(dataset, anchors=["train", "val"]),
        "OGC without SEB": ogc(dataset, eta_sup=0.0),
        "LP": classifier("LabelPropagation", dataset, _BOTH, class_mass=False),
        "C&S": classifier("CorrectAndSmooth", dataset, _BOTH),
        **{f"{row} + ridge": with_head(name, "ridge", dataset, _BOTH) for row, name in heads.items()},
        "OGC, train only": ogc(dataset, "train"),
        **{
            f"{row} + ridge, train only": with_head(name, "ridge", dataset, "train")
            for row, name in heads.items()
        },
    }


def _drawn(cell: Cell) -> Cell:
    settings: dict[str, Any] = dict(cell.settings)
    return replace(cell, measure="random split", settings=settings, split="random", random=True)


def _entries() -> Iterator[Entry]:
    for column, dataset in CITATIONS.items():
        for row, cell in _cells(dataset).items():
            yield Entry(row, column, cell=_drawn(cell))


_CLAIMS = {
    "OGC is better than GGCM with a ridge head on the same labels": ("OGC", "GGCM + ridge"),
    "OGC is better than C&S on the same labels": ("OGC", "C&S"),
    "OGC is better than LP on the same labels": ("OGC", "LP"),
    "OGC is better with SEB than without": ("OGC", "OGC without SEB"),
    "OGC is better with fewer anchors": ("OGC", "OGC, anchors: all labels"),
    "OGC is better with validation labels than without": ("OGC", "OGC, train only"),
    "with training labels alone, GGC is better than SGC": (
        "GGC + ridge, train only",
        "SGC + ridge, train only",
    ),
    "with training labels alone, GGCM is better than S²GC": (
        "GGCM + ridge, train only",
        "S²GC + ridge, train only",
    ),
    "with training labels alone, GGCM is better than SGC": (
        "GGCM + ridge, train only",
        "SGC + ridge, train only",
    ),
    "with training labels alone, OGC is better than GGCM": ("OGC, train only", "GGCM + ridge, train only"),
}


def _pair(graph: str, rows: tuple[str, str]) -> tuple[Position, Position]:
    return ("", rows[0], graph), ("", rows[1], graph)


SPLITS = Artefact(
    name="splits",
    source="Section 5.2",
    title="Ten random splits",
    entries=tuple(_entries()),
    note="""\
The paper uses the public split only.
Here, every seed draws 20 training nodes per class, 500 validation nodes and 1,000 test nodes.
All methods have the same draws, and the paper's claims are tested by paired tests over them.
Embedders have their published hyperparameters.
GGC, for which none were published, has those of Table 1.
The ridge head has its default penalty.
Nothing is tuned.""",
    claims=tuple(
        Claim(f"On {graph}, {text}", pairs=(_pair(graph, rows),))
        for graph in CITATIONS
        for text, rows in _CLAIMS.items()
    ),
)
