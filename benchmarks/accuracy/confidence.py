"""What confidences and label sets are worth, as cells: resumable, draw by draw."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from reproduction.measures import build, measure
from reproduction.sources import dataset_of
from reproduction.spec import Cell

from benchmarks.accuracy.rivals import METHODS, PER_CLASS, PUBLIC, split_of
from benchmarks.accuracy.worth import CalibrationRecord, CoverageRecord, judge_calibration, judge_coverage

CONFIDENCE_GRAPHS = (*PUBLIC, "graphs/amazon_photo", "graphs/coauthor_cs")
CALIBRATED = ("GGCM", "OGC", "LabelSpreading", "auto")
COVERED = ("GGCM", "auto")
# a value is a number, so the map that was chosen is the name of one
_CHOSEN = "chose "


def calibration_cell(graph: str, method: str) -> Cell:
    """Make the cell that compares confidence with accuracy, 20 labels of each class; the seed is the draw.

    Parameters
    ----------
    graph : str
    method : str
        A name in :data:`benchmarks.accuracy.rivals.METHODS`.

    Returns
    -------
    Cell

    Examples
    --------
    >>> calibration_cell("digits", "OGC").title
    'calibration of CalibratedClassifier, OGC on digits, labels: train'
    """
    return Cell("calibration", graph, _calibrated(METHODS[method]), split=f"{PER_CLASS} per class")


def coverage_cell(graph: str, method: str, how: str) -> Cell:
    """Make the cell that counts how often label sets at 90 % hold the true label; the seed is the draw.

    Parameters
    ----------
    graph, method : str
    how : {"at random", "20 per class"}
        How labels are drawn.

    Returns
    -------
    Cell

    Examples
    --------
    >>> coverage_cell("digits", "OGC", "at random").split
    'at random'
    """
    return Cell("coverage", graph, _calibrated(METHODS[method]), split=how)


@measure("calibration")
def score_calibration(cell: Cell, seed: int) -> dict[str, float]:
    """Calibrate a classifier on one draw of labels, and measure its errors before and after.

    Parameters
    ----------
    cell : Cell
    seed : int

    Returns
    -------
    dict
        The numbers of a CalibrationRecord, and the name of the map that was chosen.

    Examples
    --------
    >>> values = score_calibration(calibration_cell("digits", "LabelSpreading"), 0)
    >>> values["error_after"] < values["error_before"]
    True
    """
    data = dataset_of(cell.dataset)
    models = {cell.settings["method"]: build(cell.settings, seed)}
    found = asdict(next(iter(judge_calibration(models, data, [split_of(data, cell.split, seed)]))))
    kind = found.pop("calibration")
    return {**_numbers(found), f"{_CHOSEN}{kind}": 1.0}


def calibration_record(values: Mapping[str, float], method: str, draw: int) -> CalibrationRecord:
    """Make a record of the values of a cell.

    Parameters
    ----------
    values : mapping
        From :func:`score_calibration`.
    method : str
    draw : int

    Returns
    -------
    CalibrationRecord

    Examples
    --------
    >>> numbers = dict.fromkeys(["n_labels", "accuracy", "error_before", "error_after"], 1.0)
    >>> losses = {"loss_before": 2.0, "loss_after": 1.0, "chose score": 1.0}
    >>> calibration_record({**numbers, **losses}, "OGC", 0).calibration
    'score'
    """
    kind = next(name for name in values if name.startswith(_CHOSEN))
    numbers: dict[str, Any] = {name: value for name, value in values.items() if name != kind}
    numbers["n_labels"] = round(numbers["n_labels"])
    return CalibrationRecord(method=method, draw=draw, calibration=kind.removeprefix(_CHOSEN), **numbers)


@measure("coverage")
def score_coverage(cell: Cell, seed: int) -> dict[str, float]:
    """Fit a calibrated classifier to one draw of labels, and count what both kinds of its sets hold.

    Parameters
    ----------
    cell : Cell
    seed : int

    Returns
    -------
    dict
        The numbers of both CoverageRecords, each after the name of its kind.

    Examples
    --------
    >>> values = score_coverage(coverage_cell("digits", "LabelSpreading", "at random"), 0)
    >>> values["one threshold: coverage"] > 0.85
    True
    """
    data = dataset_of(cell.dataset)
    model = build(cell.settings, seed)
    values = {}
    for record in judge_coverage(model, data, [split_of(data, cell.split, seed)]):
        values.update({f"{record.method}: {k}": v for k, v in _numbers(asdict(record)).items()})
    return values


def coverage_records(values: Mapping[str, float], draw: int) -> list[CoverageRecord]:
    """Make the records of the values of a cell, one for each kind of sets.

    Parameters
    ----------
    values : mapping
        From :func:`score_coverage`.
    draw : int

    Returns
    -------
    list of CoverageRecord

    Examples
    --------
    >>> names = ["n_labels", "coverage", "mean_size", "singles", "worst_class"]
    >>> coverage_records({f"one threshold: {name}": 1.0 for name in names}, 0)[0].method
    'one threshold'
    """
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
