"""The report of predicted numbers as one HTML file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gssl.evaluation import graph_health, node_map
from gssl.evaluation.number_accuracy import NumberAccuracy
from gssl.graph import check_adjacency
from gssl.io import NumberPredictions, Problem, list_numbers
from gssl.report.charts import Spec, learning_band
from gssl.report.document import Document, graph_facts, if_possible, shared_facts, write_document
from gssl.report.findings import curve_facts
from gssl.report.number_charts import (
    GRADIENT,
    Drawn,
    SizeBin,
    colour_ends,
    error_bars,
    fit_scatter,
    number_histogram,
    number_map,
    size_bins,
)
from gssl.scale.progress import step
from gssl.selection import Leaderboard, LearningCurve, learning_curve
from gssl.selection.number_advice import DOUBTFUL, robust_deviations
from gssl.selection.number_search import NumberScale
from gssl.selection.suggestion import smoothed_signature
from gssl.wording import counted, estimate_interval, write_estimate, write_number, write_range, write_share

# rows of a table, most of them folded
_MAX_ROWS = 50
_BLIND = (
    "The model is no better than always answering the mean. Do not rely on these numbers: give more numbers, "
    "or better features."
)
# up to so many given numbers are all on the map
_MAX_RINGS = 2500
# how much predictions count on the map beside features, and where they are cut off, in deviations
_WEIGHT, _FARTHEST = 0.5, 3.0
# widths of intervals that differ by less are the same
_SAME = 1e-6


@dataclass(frozen=True, eq=False, kw_only=True)
class NumberPage(Document):
    """The contents of a report of numbers; ``promised`` is the share that intervals should hold.

    ``deviations`` say how far the given numbers are from what the model says without them.

    ``indices`` are the nodes on the map, and ``xy`` their positions. Some models have no learning curve.
    """

    predictions: NumberPredictions
    scale: NumberScale
    promised: float
    deviations: np.ndarray
    leaderboard: Leaderboard
    indices: np.ndarray
    xy: np.ndarray
    learning_curve: LearningCurve | None = None

    @cached_property
    def accuracy(self) -> NumberAccuracy:
        """How good predictions of hidden numbers are."""
        known = self.predictions.part(self.predictions.given)
        return NumberAccuracy(known.value, known.model_says, known.low, known.high)

    @cached_property
    def unknown(self) -> NumberPredictions:
        """The predictions of nodes without a given number."""
        return self.predictions.part(~self.predictions.given)

    @cached_property
    def sizes(self) -> list[SizeBin]:
        """Errors by the size of predictions."""
        return size_bins(self.accuracy)

    @property
    def drawn(self) -> Drawn:
        """How numbers are drawn and written."""
        return Drawn(self.scale, self.text)

    def text(self, number: float) -> str:
        """Write a number, with enough digits to show a typical error."""
        return write_number(number, 0.0 if self.scale.log else self.accuracy.typical_error)


def write_numbers_page(
    model: Any, problem: Problem, path: str | Path, data: str | Path | None = None, **about: Any
) -> None:
    """Compute and write the page of a fitted regressor; ``about`` are fields of :class:`Document`."""
    predictions = list_numbers(model, problem.node_ids)
    with step("drawing the map"):
        rows = _map_rows(problem, model.number_scale.values(predictions.model_says))
        few = predictions.given.sum() <= _MAX_RINGS
        indices, xy = node_map(rows, always=predictions.given if few else None)
    n_features = None if problem.features is None else problem.features.shape[1]
    page = NumberPage(
        **about,
        # known numbers as one class: only where they are is of interest
        health=graph_health(problem.adjacency, model.fit_codes, n_features),
        predictions=predictions,
        scale=model.number_scale,
        promised=model.interval,
        deviations=robust_deviations(model.held_out_errors),
        leaderboard=model.leaderboard_,
        indices=indices,
        xy=xy,
        learning_curve=if_possible(learning_curve, model),
    )
    with step("writing the report"):
        write_number_page(path, page, data)


def _map_rows(problem: Problem, values: np.ndarray) -> np.ndarray:
    """Return the rows to map: smoothed features, or links, and predictions."""
    signature = smoothed_signature(problem.features, check_adjacency(problem.adjacency, allow_empty=True))
    cut = np.clip(values, -_FARTHEST, _FARTHEST)[:, None] * _WEIGHT
    return np.hstack([signature, cut.astype(np.float32)])


def write_number_page(path: str | Path, page: NumberPage, data: str | Path | None = None) -> None:
    """Write a page of numbers atomically as one HTML file that needs no network, and its data as JSON."""
    ends = colour_ends(page.predictions.model_says, page.scale)
    facts, drawn = number_facts(page, ends), draw(page, ends)
    write_document(
        path,
        "numbers.html",
        facts,
        drawn,
        data,
        page.text,
        sections=_sections(facts, drawn),
        n_unknown=len(page.unknown),
        gradient=", ".join(GRADIENT),
        n_drawn=len(page.indices),
        all_given=bool(np.isin(np.flatnonzero(page.predictions.given), page.indices).all()),
        graph=graph_facts(page.health, "number"),
    )


def number_facts(page: NumberPage, ends: np.ndarray) -> dict[str, Any]:
    """Return what a page tells, apart from the rows of its charts; ``ends`` are the numbers of colours."""
    accuracy, curve, within = page.accuracy, page.learning_curve, page.accuracy.within
    (score, error) = accuracy.r_squared
    low, high = estimate_interval(score, error, most=1.0)
    return {
        **shared_facts(page, "numbers", headline(page), "" if accuracy.beats_mean else _BLIND),
        "logarithms": page.scale.log,
        "accuracy": {
            "r_squared": score,
            "low": low,
            "high": high,
            "typical_error": accuracy.typical_error,
            "error_of_mean": accuracy.error_of_mean,
            "n_numbers": len(accuracy.truth),
        },
        "intervals": {"text": interval_text(page), "within": within.mean(), "promised": page.promised},
        "numbers_to_check": {"text": far_text(page.deviations), "farthest": doubts(page, page.deviations)},
        "learning_curve": None if curve is None else curve_facts(curve),
        "least_certain": least_certain(page),
        "colours": ends,
        "models": page.leaderboard,
    }


def _sections(facts: Mapping[str, Any], drawn: Mapping[str, Any]) -> dict[str, str]:
    """Return the headings of sections that have contents, by id."""
    shown = {
        "accuracy": ("Hidden numbers", True),
        "numbers": ("Predicted numbers", "numbers" in drawn),
        "doubts": ("Numbers to check", facts["numbers_to_check"]["farthest"]),
        "learning": ("How many more numbers", "learning" in drawn),
        "unsure": ("Least certain", facts["least_certain"]),
        "map": ("Map", True),
        "graph": ("Graph", True),
        "models": ("Models", facts["models"]),
        "run": ("How this was made", True),
    }
    return {name: heading for name, (heading, there) in shown.items() if there}


def draw(page: NumberPage, ends: np.ndarray) -> dict[str, Spec]:
    """Return the charts of a page by name."""
    predictions, drawn = page.predictions, page.drawn
    charts = {
        "fit": fit_scatter(page.accuracy, predictions.id[predictions.given], drawn),
        "sizes": error_bars(page.sizes, drawn),
        "map": number_map(predictions, page.indices, page.xy, ends, drawn),
    }
    if len(page.unknown):
        charts["numbers"] = number_histogram(page.unknown.model_says, drawn)
    if page.learning_curve is not None:
        charts["learning"] = learning_band(page.learning_curve)
    return charts


def headline(page: NumberPage) -> str:
    """Return a short summary of a run."""
    accuracy, n_new = page.accuracy, len(page.unknown)
    given = counted(len(accuracy.truth), "number")
    first = f"We predicted {counted(n_new, 'node')} from {given}." if n_new else f"All {given} are given."
    score = write_estimate(*accuracy.r_squared, 2, most=1.0)
    return (
        f"{first} Hidden numbers are predicted with R² {score} and a typical error of "
        f"{write_number(accuracy.typical_error)}; always answering the mean would be off by "
        f"{write_number(accuracy.error_of_mean)}."
    )


def interval_text(page: NumberPage) -> str:
    """Say how many hidden numbers lie within their intervals, and how much that depends on their size."""
    within = page.accuracy.within
    text = (
        f"{write_share(float(within.mean()), 1)} of {len(within):,} hidden numbers lie within their "
        f"intervals; {write_share(page.promised)} were promised."
    )
    shares = [each.within for each in page.sizes]
    return (
        f"{text} By the size of the prediction, it is {write_range(min(shares), max(shares), write_share)}."
    )


def far_text(deviations: np.ndarray) -> str:
    """Say how many given numbers are far from what the model says."""
    n_far = int((deviations > DOUBTFUL).sum())
    count, verb = f"{n_far:,}" if n_far else "None", "are" if n_far > 1 else "is"
    return (
        f"{count} of {len(deviations):,} given numbers {verb} more than {DOUBTFUL:g} times the usual error "
        "away from what the model says without them."
    )


def doubts(page: NumberPage, deviations: np.ndarray) -> list[dict[str, Any]]:
    """Return the given numbers that are farthest from what the model says without them."""
    known = page.predictions.part(page.predictions.given)
    order = np.argsort(-deviations, kind="stable")[:_MAX_ROWS]
    return [
        {**row, "deviations": deviations[k]}
        for k, row in zip(order, _rows(known, order), strict=True)
        if deviations[k] > 0
    ]


def least_certain(page: NumberPage) -> list[dict[str, Any]]:
    """Return the unknown nodes with the widest intervals; none if all are equally wide.

    If the model predicts logarithms, an interval is wide if its limits have a large ratio.
    """
    unknown = page.unknown
    widths = page.scale.values(unknown.high) - page.scale.values(unknown.low)
    if not len(widths) or np.ptp(widths) <= _SAME * widths.max():
        return []
    order = np.argsort(-widths, kind="stable")[:_MAX_ROWS]
    usual = float(np.median(widths))
    return [{**row, "widths": widths[k] / usual} for k, row in zip(order, _rows(unknown, order), strict=True)]


def _rows(nodes: NumberPredictions, order: Sequence[int] | np.ndarray) -> list[dict[str, Any]]:
    """Return some nodes as rows of tables."""
    return [
        {
            "id": nodes.id[k],
            "given": nodes.value[k] if nodes.given[k] else None,
            "says": nodes.model_says[k],
            "low": nodes.low[k],
            "high": nodes.high[k],
        }
        for k in order
    ]
