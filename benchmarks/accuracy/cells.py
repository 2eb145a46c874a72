"""AutoClassifier and the fixed methods it has to beat, on the same draws of labels, as resumable cells."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.accuracy.worth import CalibrationRecord, CoverageRecord, judge_calibration, judge_coverage
from gssl.datasets import Dataset, draw_random, draw_split
from gssl.evaluation import compare
from gssl.graph import edge_homophily
from gssl.selection import AutoClassifier, CalibratedClassifier
from reproduction.spec import BUDGETS, CITATIONS, Cell, build, dataset_of, measure, part

PER_CLASS = 20
AUTO = "auto"
GRAPH_FREE = "graph-free ridge"
# below it, fewer than half of the links join nodes of one class
HETEROPHILOUS = 0.5
PUBLIC = tuple(CITATIONS.values())
# the quickest first
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
    }
)
# what of them depends on a seed beside the labels that are drawn
_RANDOM = frozenset({"OGC"})
for _kind in (AutoClassifier, CalibratedClassifier):
    part(_kind)


def find_methods(names: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """Return the settings of some methods; of all where none is named, and case does not count."""
    spelt = {name.casefold(): name for name in METHODS}
    wanted = [name.strip() for name in names if name.strip()]
    unknown = [name for name in wanted if name.casefold() not in spelt]
    if unknown:
        raise ValueError(f"there is no method {unknown[0]!r} here: there are {', '.join(METHODS)}.")
    chosen = [spelt[name.casefold()] for name in wanted] or list(METHODS)
    return {name: METHODS[name] for name in chosen}


def public_cell(graph: str, method: str, budget: str) -> Cell:
    """Make the cell of a method on the public split of a graph."""
    return Cell("classifier", graph, METHODS[method], budget=budget, random=method in _RANDOM)


def drawn_cell(graph: str, method: str, per_class: int | None = None) -> Cell:
    """Make the cell of a method on draws of a graph's labels; the seed is the draw."""
    how = protocol(dataset_of(graph)) if per_class is None else f"{per_class} per class"
    return Cell("drawn", graph, METHODS[method], split=how)


def protocol(data: Dataset) -> str:
    """Say how the labels of a graph are drawn: by its own fixed splits where it has them."""
    return "folds" if "fold0" in data.splits else f"{PER_CLASS} per class"


def split_of(data: Dataset, how: str, draw: int) -> Mapping[str, np.ndarray]:
    """Draw labels: the fixed split of this number, so many of each class, or as many in all at random."""
    if how == "folds":
        return data.splits[f"fold{draw}"]
    if how == "at random":
        return draw_random(data.labels, PER_CLASS * data.n_classes, random_state=draw)
    return draw_split(data.labels, int(how.split()[0]), random_state=draw)


def draws_of(data: Dataset, seeds: Iterable[int]) -> list[int]:
    """Leave out the draws that a graph with fixed splits does not have."""
    if protocol(data) != "folds":
        return list(seeds)
    return [seed for seed in seeds if f"fold{seed}" in data.splits]


@measure("drawn")
def score_draw(cell: Cell, seed: int) -> dict[str, float]:
    """Fit a classifier to one draw of labels and score it on the draw's test nodes."""
    data = dataset_of(cell.dataset)
    models = {cell.settings["method"]: build(cell.settings, seed)}
    record = compare(models, data, [split_of(data, cell.split, seed)], parts=BUDGETS[cell.budget])[0]
    return {"accuracy": 100 * record.accuracy, "labels": record.n_labels, "iterations": record.n_iter}


def homophily_of(graph: str) -> float:
    """Return the part of a graph's links that join nodes of one class."""
    data = dataset_of(graph)
    return edge_homophily(data.adjacency, data.labels)


CONFIDENCE_GRAPHS = (*PUBLIC, "graphs/amazon_photo", "graphs/coauthor_cs")
CALIBRATED = ("GGCM", "OGC", "LabelSpreading", "auto")
COVERED = ("GGCM", "auto")
# a value is a number, so the map that was chosen is the name of one
_CHOSEN = "chose "


def calibration_cell(graph: str, method: str) -> Cell:
    """Make the cell that compares confidence with accuracy, 20 labels of each class; the seed is the draw."""
    return Cell("calibration", graph, _calibrated(METHODS[method]), split=f"{PER_CLASS} per class")


def coverage_cell(graph: str, method: str, how: str) -> Cell:
    """Make the cell that counts how often label sets at 90 % hold the true label; the seed is the draw."""
    return Cell("coverage", graph, _calibrated(METHODS[method]), split=how)


@measure("calibration")
def score_calibration(cell: Cell, seed: int) -> dict[str, float]:
    """Calibrate a classifier on one draw of labels, and measure its errors before and after."""
    data = dataset_of(cell.dataset)
    models = {cell.settings["method"]: build(cell.settings, seed)}
    found = asdict(next(iter(judge_calibration(models, data, [split_of(data, cell.split, seed)]))))
    kind = found.pop("calibration")
    return {**_numbers(found), f"{_CHOSEN}{kind}": 1.0}


def calibration_record(values: Mapping[str, float], method: str, draw: int) -> CalibrationRecord:
    """Make a record of the values of a cell."""
    kind = next(name for name in values if name.startswith(_CHOSEN))
    numbers: dict[str, Any] = {name: value for name, value in values.items() if name != kind}
    numbers["n_labels"] = round(numbers["n_labels"])
    return CalibrationRecord(method=method, draw=draw, calibration=kind.removeprefix(_CHOSEN), **numbers)


@measure("coverage")
def score_coverage(cell: Cell, seed: int) -> dict[str, float]:
    """Fit a calibrated classifier to one draw of labels, and count what both kinds of its sets hold."""
    data = dataset_of(cell.dataset)
    model = build(cell.settings, seed)
    values = {}
    for record in judge_coverage(model, data, [split_of(data, cell.split, seed)]):
        values.update({f"{record.method}: {k}": v for k, v in _numbers(asdict(record)).items()})
    return values


def coverage_records(values: Mapping[str, float], draw: int) -> list[CoverageRecord]:
    """Make the records of the values of a cell, one for each kind of sets."""
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
