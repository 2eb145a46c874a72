"""The report of a run: compute what ``--report`` shows, and write the page."""

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import scipy
import sklearn

import gssl
from gssl.cli.console import Terminal
from gssl.evaluation import (
    Confusion,
    HeldOut,
    confidence_histogram,
    confusion_matrix,
    expected_calibration_error,
    graph_gain,
    graph_health,
    held_out_accuracy,
    node_map,
    reliability,
)
from gssl.io import Labels, Predictions, Problem
from gssl.report import MapPoint, Page, write_page
from gssl.selection import suggest

# larger embeddings are not computed for a report
_MAX_EMBEDDING_SIZE = 50_000_000
_N_SUGGESTIONS = 20


def write_run_page(
    path: Path,
    problem: Problem,
    model: Any,
    predictions: Predictions,
    held_out: HeldOut | None,
    *,
    name: str,
    command: str,
    truth: Labels | None,
    terminal: Terminal,
) -> None:
    """Compute everything that the report shows, and write it."""
    y, A, X = problem.y, problem.adjacency, problem.features
    # whether the model may compute its embeddings, which a fit can do without
    small = X is not None and np.prod(X.shape) <= _MAX_EMBEDDING_SIZE
    if held_out is None:
        held_out = _held_out(model, problem, terminal)
    bins = [] if held_out is None else reliability(held_out.truth, held_out.distributions, held_out.classes)
    gain = None
    if held_out is not None:
        with terminal.step("comparing with no graph") as move:
            gain = graph_gain(X, y, A, on_fold=move)
    with terminal.step("drawing the map"):
        embedding = getattr(model, "embedding_", None) if small else None
        points = _points(model.label_distributions_ if embedding is None else embedding, predictions)
    suggested = suggest(model, _N_SUGGESTIONS)
    page = Page(
        title=f"{name}: {len(y):,} nodes",
        command=command,
        health=graph_health(A, y, None if X is None else X.shape[1]),
        versions={module.__name__: module.__version__ for module in (gssl, np, scipy, sklearn)},
        seconds=perf_counter() - terminal.start,
        notes=tuple(terminal.notes),
        gain=gain,
        held_out=held_out,
        reliability=bins,
        calibration_error=expected_calibration_error(bins) if bins else None,
        history=getattr(model, "history_", None) if small else None,
        confusion=None if truth is None else _confusion(truth, predictions),
        confidences=confidence_histogram(model.label_distributions_.max(axis=1)),
        points=points,
        next_labels=[predictions[i] for i in suggested],
    )
    with terminal.step("writing the report"):
        write_page(path, page)


def _held_out(model: Any, problem: Problem, terminal: Terminal) -> HeldOut | None:
    with terminal.step("estimating accuracy") as move:
        try:
            return held_out_accuracy(model, problem.features, problem.y, problem.adjacency, on_fold=move)
        except ValueError as error:
            # too few labels to hide any: the report says that there is no estimate
            terminal.note(f"no accuracy estimate: {error}")
            return None


def _points(embedding: np.ndarray, predictions: Predictions) -> list[MapPoint]:
    indices, xy = node_map(embedding)
    rows = [predictions[i] for i in indices]
    return [
        MapPoint(row.id, float(x), float(y), row.label, row.confidence, row.given)
        for row, (x, y) in zip(rows, xy, strict=True)
    ]


def nodes_with_new_truth(truth: Labels, node_ids: np.ndarray, given: np.ndarray) -> list[int]:
    """Return the nodes whose true label is known but was not given to the model."""
    known = {node for node, label in zip(truth.ids, truth.labels, strict=True) if label is not None}
    nodes = [i for i, node in enumerate(node_ids) if not given[i] and node in known]
    if not nodes:
        raise ValueError(
            f"{truth.name} names no node whose label was not given already: add true labels of others."
        )
    return nodes


def _confusion(truth: Labels, predictions: Predictions) -> Confusion:
    """Compare predictions with the true labels that the model was not given."""
    nodes = nodes_with_new_truth(truth, predictions.id, predictions.given)
    known = dict(zip(truth.ids, truth.labels, strict=True))
    true = np.array([known[predictions.id[i]] for i in nodes], dtype=str)
    source = f"{len(nodes):,} labels of {truth.name}, none of them given to fit."
    return confusion_matrix(true, predictions.label[nodes].astype(str), source=source)
