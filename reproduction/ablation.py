"""Figures 5 and 4: ablation of OGC, GGC and GGCM, and the number of negatives that IGC needs."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

from gssl.methods import GGC, GGCM
from gssl.operators import Filters
from reproduction.settings import DEPTHS, embedder, ogc_depths, with_negatives
from reproduction.spec import CITATIONS, Artefact, Cell, Claim, Entry, Position, part

_CORA = "planetoid/cora"


class _Smooth:
    """Only convolution: U ← smo(U)."""

    def step(self: Any, k: int, U: Any, X: Any, graph: Filters) -> tuple[Any, Any]:
        U = self.smooth(k, U, graph)
        return U, U


class _Sharp:
    """Only inverse convolution: U ← sharp(U)."""

    def step(self: Any, k: int, U: Any, X: Any, graph: Filters) -> tuple[Any, Any]:
        U = self.sharpen(k, U, graph)
        return U, U


@part
class SmoothGGC(_Smooth, GGC):
    """GGC without inverse convolution."""


@part
class SharpGGC(_Sharp, GGC):
    """GGC without convolution."""


@part
class SmoothGGCM(_Smooth, GGCM):
    """GGCM that averages smoothed embeddings only."""


@part
class SharpGGCM(_Sharp, GGCM):
    """GGCM that averages sharpened embeddings only; each step sharpens the previous result."""


_LGC, _SEB, _IGC = "LGC alone", "SEB alone", "IGC alone"
_WHOLE = "together"


def _cells() -> dict[str, dict[str, Cell]]:
    """Return the cell of each part of each method, with the settings of the whole method."""

    def parts(whole: str) -> dict[str, Cell]:
        cell = embedder(whole, _CORA, DEPTHS)
        names = {_LGC: f"Smooth{whole}", _IGC: f"Sharp{whole}"}
        alone = {
            row: Cell("embedding", _CORA, {**cell.settings, "method": name}) for row, name in names.items()
        }
        return {**alone, _WHOLE: cell, f"{_WHOLE}, 20|E| sampled negatives": with_negatives(cell, 20)}

    return {
        "OGC": {
            _LGC: ogc_depths(_CORA, eta_sup=0.0),
            _SEB: ogc_depths(_CORA, beta=0.0),
            _WHOLE: ogc_depths(_CORA),
        },
        "GGC": parts("GGC"),
        "GGCM": parts("GGCM"),
    }


def _entries() -> Iterator[Entry]:
    for group, rows in _cells().items():
        for row, cell in rows.items():
            for depth in DEPTHS:
                yield Entry(row, str(depth), group, cell=cell, value=f"accuracy@{depth}")


def _best_together(means: Mapping[Position, float], group: str, *alone: str) -> bool:
    best = {row: max(means[group, row, str(depth)] for depth in DEPTHS) for row in (_WHOLE, *alone)}
    return all(best[_WHOLE] > best[row] for row in alone)


def _falls(means: Mapping[Position, float], row: str) -> float:
    return max(means["GGC", row, str(depth)] for depth in DEPTHS) - means["GGC", row, "64"]


ABLATION = Artefact(
    name="ablation",
    source="Figure 5",
    title="Ablation on Cora",
    entries=tuple(_entries()),
    note="""\
LGC is lazy graph convolution, SEB is supervised embedding, IGC is inverse graph convolution.
The paper shows curves without numbers, so only its claims are checked.""",
    claims=(
        Claim(
            "In OGC, LGC and SEB together beat each alone, all at their best depths",
            lambda means: _best_together(means, "OGC", _LGC, _SEB),
        ),
        Claim(
            "In GGC, LGC and IGC together beat each alone, all at their best depths",
            lambda means: _best_together(means, "GGC", _LGC, _IGC),
        ),
        Claim(
            "In GGCM, LGC and IGC together beat each alone, all at their best depths",
            lambda means: _best_together(means, "GGCM", _LGC, _IGC),
        ),
        Claim(
            "In GGC, IGC alone loses the most accuracy from its best depth to depth 64",
            lambda means: _falls(means, _IGC) > max(_falls(means, row) for row in (_LGC, _WHOLE)),
        ),
    ),
    x_title="iterations",
)

MULTIPLES = (1, 10, 20, 30, 40, 50)
_GENERAL = ("GGC", "GGCM")
_EXACT = "all pairs"


def _negative_entries() -> Iterator[Entry]:
    for group, dataset in CITATIONS.items():
        for row in _GENERAL:
            cell = embedder(row, dataset, (16,))
            for multiple in MULTIPLES:
                yield Entry(row, f"{multiple}|E|", group, cell=with_negatives(cell, multiple))
            yield Entry(row, _EXACT, group, cell=with_negatives(cell, "complement"))


def _stable(means: Mapping[Position, float], group: str) -> bool:
    columns = [f"{multiple}|E|" for multiple in MULTIPLES if multiple >= 20]
    steps = [
        abs(means[group, row, a] - means[group, row, b]) for row in _GENERAL for a, b in pairwise(columns)
    ]
    return max(steps) <= 1.0


def _exact_is_as_good(means: Mapping[Position, float], group: str) -> bool:
    return all(means[group, row, _EXACT] >= means[group, row, "20|E|"] - 1.0 for row in _GENERAL)


NEGATIVES = Artefact(
    name="negatives",
    source="Figure 4",
    title="Number of negative pairs in IGC, 16 iterations",
    entries=tuple(_negative_entries()),
    note="""\
Sampled negatives never include a real edge, unlike those of the authors' scripts.
All pairs are the exact complement of the graph, without sampling.
Quick runs sample on Cora only.""",
    claims=tuple(
        claim
        for group in CITATIONS
        for claim in (
            Claim(
                f"On {group}, from 20|E| on, accuracy changes by at most a point between multiples",
                partial(_stable, group=group),
            ),
            Claim(
                f"On {group}, all pairs are at most a point worse than 20|E| sampled pairs",
                partial(_exact_is_as_good, group=group),
            ),
        )
    ),
    x_title="negative pairs",
)
