"""The report of predicted numbers as one HTML file."""

from collections.abc import Sequence
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
from gssl.report.document import Document, graph_facts, if_possible, percent, write_document
from gssl.report.findings import MAX_ROWS
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
from gssl.wording import counted, write_number

_MAX_MODELS = 10
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


def write_numbers_page(model: Any, problem: Problem, path: str | Path, **about: Any) -> None:
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
        write_number_page(path, page)


def _map_rows(problem: Problem, values: np.ndarray) -> np.ndarray:
    """Return the rows to map: smoothed features, or links, and predictions."""
    signature = smoothed_signature(problem.features, check_adjacency(problem.adjacency, allow_empty=True))
    cut = np.clip(values, -_FARTHEST, _FARTHEST)[:, None] * _WEIGHT
    return np.hstack([signature, cut.astype(np.float32)])


def write_number_page(path: str | Path, page: NumberPage) -> None:
    """Write a page of numbers atomically as one HTML file that needs no network."""
    accuracy, predictions = page.accuracy, page.predictions
    deviations = page.deviations
    ends = colour_ends(predictions.model_says, page.scale)
    score, error = accuracy.r_squared
    curve = page.learning_curve
    write_document(
        path,
        "numbers.html",
        page,
        draw(page, ends),
        headline=headline(page),
        accuracy=accuracy,
        score=f"{score:.2f}",
        score_error=f"{error:.2f}",
        typical=write_number(accuracy.typical_error),
        of_mean=write_number(accuracy.error_of_mean),
        n_given=len(accuracy.truth),
        n_unknown=len(page.unknown),
        intervals=interval_text(page),
        far=far_text(deviations),
        doubts=doubts(page, deviations),
        numbers_needed="" if curve is None else curve.text(curve.next_target),
        unsure=least_certain(page),
        log=page.scale.log,
        gradient=", ".join(GRADIENT),
        ends=[page.text(end) for end in ends],
        models=page.leaderboard[:_MAX_MODELS],
        n_models=len(page.leaderboard),
        n_drawn=len(page.indices),
        all_given=bool(np.isin(np.flatnonzero(predictions.given), page.indices).all()),
        facts=graph_facts(page.health, "number"),
    )


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
    score, error = accuracy.r_squared
    given = counted(len(accuracy.truth), "number")
    first = f"We predicted {counted(n_new, 'node')} from {given}." if n_new else f"All {given} are given."
    return (
        f"{first} Hidden numbers are predicted with R² {score:.2f} ± {error:.2f} and a typical error of "
        f"{write_number(accuracy.typical_error)}; always answering the mean would be off by "
        f"{write_number(accuracy.error_of_mean)}."
    )


def interval_text(page: NumberPage) -> str:
    """Say how many hidden numbers lie within their intervals, and how much that depends on their size."""
    within = page.accuracy.within
    text = (
        f"{percent(float(within.mean()))} of {len(within):,} hidden numbers lie within their intervals; "
        f"{percent(page.promised, 0)} were promised."
    )
    least, most = (percent(pick(each.within for each in page.sizes), 0) for pick in (min, max))
    return text if least == most else f"{text} By the size of the prediction, it is {least} to {most}."


def far_text(deviations: np.ndarray) -> str:
    """Say how many given numbers are far from what the model says."""
    n_far = int((deviations > DOUBTFUL).sum())
    count, verb = f"{n_far:,}" if n_far else "None", "are" if n_far > 1 else "is"
    return (
        f"{count} of {len(deviations):,} given numbers {verb} more than {DOUBTFUL:g} deviations from what "
        "the model says without them."
    )


def doubts(page: NumberPage, deviations: np.ndarray) -> list[dict[str, str]]:
    """Return the given numbers that are farthest from what the model says without them."""
    known = page.predictions.part(page.predictions.given)
    order = np.argsort(-deviations, kind="stable")[:MAX_ROWS]
    return [
        {**row, "deviations": f"{deviations[k]:.1f}"}
        for k, row in zip(order, _rows(page, known, order), strict=True)
        if deviations[k] > 0
    ]


def least_certain(page: NumberPage) -> list[dict[str, str]]:
    """Return the unknown nodes with the widest intervals; none if all are equally wide.

    If the model predicts logarithms, an interval is wide if its limits have a large ratio.
    """
    unknown = page.unknown
    widths = page.scale.values(unknown.high) - page.scale.values(unknown.low)
    if not len(widths) or np.ptp(widths) <= _SAME * widths.max():
        return []
    order = np.argsort(-widths, kind="stable")[:MAX_ROWS]
    usual = float(np.median(widths))
    return [
        {**row, "times": f"{widths[k] / usual:.1f}"}
        for k, row in zip(order, _rows(page, unknown, order), strict=True)
    ]


def _rows(
    page: NumberPage, nodes: NumberPredictions, order: Sequence[int] | np.ndarray
) -> list[dict[str, str]]:
    """Return the texts of some nodes in tables."""
    return [
        {
            "id": nodes.id[k],
            "given": page.text(nodes.value[k]),
            "says": page.text(nodes.model_says[k]),
            "interval": f"{page.text(nodes.low[k])} to {page.text(nodes.high[k])}",
        }
        for k in order
    ]
