"""AutoClassifier, fixed methods and rivals on the same draws of labels, as resumable cells."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.accuracy.worth import CalibrationRecord, CoverageRecord, judge_calibration, judge_coverage
from benchmarks.rivals.trees import NeighbourTrees
from gssl.datasets import Dataset, draw_random, draw_split
from gssl.evaluation import Record, compare, confusion_matrix, expected_calibration_error, reliability
from gssl.graph import edge_homophily
from gssl.selection import AutoClassifier, CalibratedClassifier
from reproduction.spec import BUDGETS, CITATIONS, Cell, build, dataset_of, measure, part

PER_CLASS = 20
AUTO = "auto"
GRAPH_FREE = "graph-free ridge"
# names of values of a draw beside its accuracy
RECALL, AUC, CALIBRATION = "recall", "auc", "calibration_error"
# edge homophily below which a graph counts as heterophilous
HETEROPHILOUS = 0.5
PUBLIC = tuple(CITATIONS.values())
# fastest first
GRAPHS = tuple(
    f"graphs/{name}"
    for name in (
        "cornell",
        "texas",
        "wisconsin",
        "chameleon_filtered",
        "polblogs",
        "minesweeper",
        "cora_ml",
        "squirrel_filtered",
        "amazon_photo",
        "actor",
        "coauthor_cs",
    )
)


def _embedded(embedder: str, head: str = "logistic") -> dict[str, Any]:
    return {"method": "EmbeddingClassifier", "params": {"embedder": {"method": embedder}, "head": head}}


def _network(name: str) -> dict[str, Any]:
    """Return a network of two layers, whose last epoch is kept."""
    layers = {"hidden": 64, "depth": 2, "dropout": 0.5}
    return {"method": name, "params": {**layers, "epochs": 200, "learning_rate": 0.01, "weight_decay": 5e-4}}


METHODS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        AUTO: {"method": "AutoClassifier"},
        GRAPH_FREE: _embedded("NoGraph", "ridge"),
        "graph-free logistic": _embedded("NoGraph"),
        "SGC": _embedded("SGC"),
        "SSGC": _embedded("SSGC"),
        "GGC": _embedded("GGC"),
        "GGCM": _embedded("GGCM"),
        "PPR": _embedded("PPR"),
        "OGC": {"method": "OGC"},
        "LabelSpreading": {"method": "LabelSpreading"},
        "LabelPropagation": {"method": "LabelPropagation"},
        "CorrectAndSmooth": {"method": "CorrectAndSmooth"},
        "trees": {"method": "NeighbourTrees"},
        "GCN": _network("GCN"),
        "SAGE": _network("GraphSAGE"),
    }
)
# methods that need torch and minutes on a large graph, so they are run only if named
NETWORKS = ("GCN", "SAGE")
# methods that depend on a seed in addition to the draw of labels
_RANDOM = frozenset({"OGC", "trees", *NETWORKS})
for _kind in (AutoClassifier, CalibratedClassifier, NeighbourTrees):
    part(_kind)


def find_methods(names: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """Return the settings of some methods, ignoring case; of all but the networks if none are named."""
    spelt = {name.casefold(): name for name in METHODS}
    wanted = [name.strip() for name in names if name.strip()]
    unknown = [name for name in wanted if name.casefold() not in spelt]
    if unknown:
        raise ValueError(f"there is no method {unknown[0]!r} here: there are {', '.join(METHODS)}.")
    chosen = [spelt[name.casefold()] for name in wanted] or [name for name in METHODS if name not in NETWORKS]
    return {name: METHODS[name] for name in chosen}


def public_cell(graph: str, method: str, budget: str) -> Cell:
    """Return the cell of a method on the public split of a graph."""
    return Cell("drawn", graph, METHODS[method], budget=budget, random=method in _RANDOM)


def drawn_cell(graph: str, method: str, how: str = "") -> Cell:
    """Return the cell of a method on draws of a graph's labels; the seed is the draw."""
    return Cell("drawn", graph, METHODS[method], split=how or protocol(dataset_of(graph)))


def how_drawn(per_class: int | None, share: float | None) -> str:
    """Return how labels are drawn on every graph; empty if by the splits of each graph."""
    if share is not None:
        return f"{share:g} of all"
    return "" if per_class is None else f"{per_class} per class"


def protocol(data: Dataset) -> str:
    """Return how the labels of a graph are drawn: by its fixed splits if it has any."""
    return "folds" if "fold0" in data.splits else f"{PER_CLASS} per class"


def split_of(data: Dataset, how: str, draw: int) -> Mapping[str, np.ndarray]:
    """Return a fixed split, some labels of each class, or their total or a share of all drawn at random."""
    if how == "public":
        return data.splits[how]
    if how == "folds":
        return data.splits[f"fold{draw}"]
    if how.endswith("of all"):
        n_train = round(float(how.split()[0]) * np.count_nonzero(data.labels >= 0))
        return draw_random(data.labels, n_train, random_state=draw)
    if how == "at random":
        return draw_random(data.labels, PER_CLASS * data.n_classes, random_state=draw)
    return draw_split(data.labels, int(how.split()[0]), random_state=draw)


def draws_of(data: Dataset, seeds: Iterable[int]) -> list[int]:
    """Return the draws that a graph has; fixed splits are limited in number."""
    if protocol(data) != "folds":
        return list(seeds)
    return [seed for seed in seeds if f"fold{seed}" in data.splits]


@measure("drawn")
def score_draw(cell: Cell, seed: int) -> dict[str, float]:
    """Fit a classifier to one draw of labels and score it on the draw's test nodes."""
    data = dataset_of(cell.dataset)
    models = {cell.settings["method"]: build(cell.settings, seed)}
    split = split_of(data, cell.split, seed)
    values: dict[str, float] = {}

    def keep(record: Record, model: Any) -> None:
        values.update(accuracy=100 * record.accuracy, labels=record.n_labels, iterations=record.n_iter)
        values.update(score_quality(model, data.labels, split["test"]))

    compare(models, data, [split], parts=BUDGETS[cell.budget], on_record=keep)
    return values


def score_quality(model: Any, labels: np.ndarray, test: np.ndarray) -> dict[str, float]:
    """Return the mean recall over classes and the calibration error, and the AUC of two classes, in percent.

    The AUC is left out if the test nodes or the known labels are of one class.
    """
    truth, P = labels[test], model.label_distributions_[test]
    recall = confusion_matrix(truth, model.transduction_[test]).recall
    error = expected_calibration_error(reliability(truth, P, model.classes_))
    values = {RECALL: 100 * float(np.nanmean(recall)), CALIBRATION: 100 * error}
    classes = np.unique(labels[labels >= 0])
    if len(classes) == len(model.classes_) == len(np.unique(truth)) == 2:
        values[AUC] = 100 * float(roc_auc_score(truth == model.classes_[1], P[:, 1]))
    return values


def homophily_of(graph: str) -> float:
    """Return the share of a graph's links that join nodes of the same class."""
    data = dataset_of(graph)
    return edge_homophily(data.adjacency, data.labels)


CONFIDENCE_GRAPHS = (*PUBLIC, "graphs/amazon_photo", "graphs/coauthor_cs")
CALIBRATED = ("GGCM", "OGC", "LabelSpreading", "auto")
COVERED = ("GGCM", "auto")
# values are numbers, so the chosen calibration is stored as the name of a value
_CHOSEN = "chose "


def calibration_cell(graph: str, method: str) -> Cell:
    """Return the cell that measures calibration with 20 labels per class; the seed is the draw."""
    return Cell("calibration", graph, _calibrated(METHODS[method]), split=f"{PER_CLASS} per class")


def coverage_cell(graph: str, method: str, how: str) -> Cell:
    """Return the cell that measures the coverage of label sets at 90 %; the seed is the draw."""
    return Cell("coverage", graph, _calibrated(METHODS[method]), split=how)


@measure("calibration")
def score_calibration(cell: Cell, seed: int) -> dict[str, float]:
    """Calibrate a classifier on one draw of labels, and measure its calibration error before and after."""
    data = dataset_of(cell.dataset)
    models = {cell.settings["method"]: build(cell.settings, seed)}
    record = asdict(next(iter(judge_calibration(models, data, [split_of(data, cell.split, seed)]))))
    kind = record.pop("calibration")
    return {**_numbers(record), f"{_CHOSEN}{kind}": 1.0}


def calibration_record(values: Mapping[str, float], method: str, draw: int) -> CalibrationRecord:
    """Convert the values of a cell to a record."""
    kind = next(name for name in values if name.startswith(_CHOSEN))
    numbers: dict[str, Any] = {name: value for name, value in values.items() if name != kind}
    numbers["n_labels"] = round(numbers["n_labels"])
    return CalibrationRecord(method=method, draw=draw, calibration=kind.removeprefix(_CHOSEN), **numbers)


@measure("coverage")
def score_coverage(cell: Cell, seed: int) -> dict[str, float]:
    """Fit a calibrated classifier to one draw of labels, and measure the coverage of both kinds of sets."""
    data = dataset_of(cell.dataset)
    model = build(cell.settings, seed)
    values = {}
    for record in judge_coverage(model, data, [split_of(data, cell.split, seed)]):
        values.update({f"{record.method}: {k}": v for k, v in _numbers(asdict(record)).items()})
    return values


def coverage_records(values: Mapping[str, float], draw: int) -> list[CoverageRecord]:
    """Convert the values of a cell to records, one for each kind of set."""
    kinds: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        kind, _, field = name.partition(": ")
        kinds.setdefault(kind, {})[field] = value
    return [
        CoverageRecord(method=kind, draw=draw, **{**numbers, "n_labels": round(numbers["n_labels"])})
        for kind, numbers in kinds.items()
    ]


def _calibrated(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"method": "CalibratedClassifier", "params": {"classifier": settings}}


def _numbers(record: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in record.items() if name not in ("method", "draw")}
