"""Compute what a report shows, and write the page."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.utils.validation import check_is_fitted

from gssl.evaluation import (
    Confusion,
    HeldOut,
    confusion_matrix,
    graph_health,
    held_out_accuracy,
    held_out_if_known,
    node_map,
)
from gssl.graph import check_adjacency
from gssl.io import Labels, Predictions, Problem, list_predictions, read_labels
from gssl.io.problem import is_problem_of_fit
from gssl.methods.label_sets import refuse_label_sets
from gssl.methods.regressor import GraphRegressor
from gssl.methods.state import current
from gssl.report.document import check_extra, if_possible
from gssl.report.number_page import write_numbers_page
from gssl.report.page import MapPoint, Page, write_page
from gssl.scale.progress import note, report_progress, step
from gssl.selection import audit, learning_curve, suggestions, why
from gssl.selection.suggestion import smoothed_signature

# larger inputs get no losses of iterations, and a map without features
_MAX_EMBEDDING_SIZE = 50_000_000
_MAX_MAP_NODES = 200_000
_N_SUGGESTIONS = 12
# number of doubted labels, and of suggestions, to explain
_EXPLAINED = 3
# folds for a method without held-out predictions of its own
_FEW_FOLDS = 3


def write_report(
    model: Any,
    problem: Problem,
    path: str | Path,
    *,
    title: str | None = None,
    truth: Labels | None = None,
    predictions: Predictions | None = None,
    held_out: HeldOut | None = None,
    command: str = "",
    notes: Sequence[str] | None = None,
    seconds: float = 0.0,
    data: str | Path | None = None,
) -> HeldOut | None:
    """Write a page about a fitted model: predictions, accuracy, doubtful labels, explanations and a map.

    Everything on the page is computed here. It is one HTML file that needs no network.

    Parameters
    ----------
    model : fitted classifier or regressor
    problem : Problem
        That of fit: see :func:`gssl.read`.
    path : path
    title : str, optional
        What was predicted; the number of nodes and the name of the graph if None.
    truth : Labels, optional
        True labels of nodes that the model was not given, to compare with.
    predictions : Predictions, optional
        To show others than those of the model, such as with labels withheld.
    held_out : HeldOut, optional
        The model's predictions for hidden labels, if already known.
    command : str, optional
        The command line of the run.
    notes : sequence of str, optional
        Notes about the data; those of the problem if None.
    seconds : float, optional
        The duration of the run.
    data : path, optional
        Where to write all data of the page as JSON. Both files are written, or none.

    Returns
    -------
    HeldOut or None
        The model's predictions for hidden labels that the page shows, None if no label could be hidden, and
        for a regressor.

    Examples
    --------
    >>> import gssl, tempfile, pandas as pd
    >>> links = pd.DataFrame({"src": list("abcabd"), "dst": list("bcadee")})
    >>> known = pd.DataFrame({"id": list("abde"), "label": ["spy", "spy", "cook", "cook"]})
    >>> problem = gssl.read(links, labels=known)
    >>> model = gssl.LabelSpreading().fit(problem)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     held_out = gssl.write_report(model, problem, f"{folder}/page.html")
    >>> held_out.n_labels
    4
    """
    check_extra()
    model = current(model)
    refuse_label_sets(model, "write_report")
    check_is_fitted(model)
    if not is_problem_of_fit(model, problem):
        raise ValueError("the problem is not that of the model's fit: give the one that fit was called with.")
    about: dict[str, Any] = {
        "title": _title(problem) if title is None else title,
        "command": command,
        "versions": {
            module.__name__: module.__version__ for module in (sys.modules["gssl"], np, scipy, sklearn)
        },
        "seconds": seconds,
        "notes": tuple(problem.notes if notes is None else notes),
        "explain": getattr(model, "explain_", ""),
    }
    if isinstance(model, GraphRegressor):
        if not (truth is None and predictions is None and held_out is None):
            raise ValueError(
                "truth, predictions and held_out are of classes: leave them out for a regressor."
            )
        write_numbers_page(model, problem, path, data, **about)
        return None
    y, A, X = problem.y, problem.adjacency, problem.features
    known = held_out_if_known(model) if held_out is None else held_out
    if predictions is None:
        predictions = list_predictions(model, problem.node_ids, problem.given, held_out=known)
    if known is None:
        known = _held_out(model, problem)
        if known is not None:
            shown = list_predictions(model, problem.node_ids, problem.given, held_out=known)
            # keep labels empty where the model abstained
            predictions = replace(shown, label=predictions.label)
    with step("choosing nodes to label next"):
        signature = smoothed_signature(X, check_adjacency(A, allow_empty=True))
        picks = suggestions(model, _N_SUGGESTIONS, problem=problem, signature=signature)
    with step("drawing the map"):
        points = _points(_map_rows(model, problem, signature), predictions)
    with step("checking labels"):
        audited = None if known is None else audit(model, changes=0, held_out=known)
        doubted = (
            [] if audited is None else audited.nodes[audited.given != audited.says][:_EXPLAINED].tolist()
        )
        explained = [*doubted, *(pick.node for pick in picks[:_EXPLAINED])]
        # some methods cannot be explained, and some have no learning curve
        reasons = if_possible(why, model, explained)
        curve = if_possible(learning_curve, model, held_out=known)
    # computing the losses of the iterations takes as long as the fit
    small = X is not None and np.prod(X.shape) <= _MAX_EMBEDDING_SIZE
    page = Page(
        **about,
        health=graph_health(A, y, None if X is None else X.shape[1]),
        predictions=predictions,
        held_out=known,
        history=getattr(model, "history_", None) if small else None,
        confusion=None if truth is None else _confusion(truth, predictions),
        points=points,
        next_labels=list(zip(picks.ids, picks, strict=True)),
        audit=audited,
        why=reasons or (),
        feature_names=problem.feature_names,
        learning_curve=curve,
    )
    with step("writing the report"):
        write_page(path, page, data)
    return known


def _title(problem: Problem) -> str:
    of = f" of {problem.name}" if problem.name else ""
    return f"{len(problem.y):,} nodes{of}"


def _held_out(model: Any, problem: Problem) -> HeldOut | None:
    with step("estimating accuracy"):
        try:
            return held_out_accuracy(
                model,
                problem.features,
                problem.y,
                problem.adjacency,
                n_folds=_FEW_FOLDS,
                on_fold=report_progress,
            )
        except ValueError as error:
            # too few labels to hide any: the report shows no estimate
            note(f"no accuracy estimate: {error}")
            return None


def _map_rows(model: Any, problem: Problem, signature: np.ndarray) -> np.ndarray:
    """Return the rows to map: class distributions and, unless there are many nodes, smoothed features."""
    P = np.sqrt(np.asarray(model.label_distributions_, dtype=np.float32))
    X = problem.features
    if X is None or not X.shape[1] or len(P) > _MAX_MAP_NODES:
        return P
    return np.hstack([signature, P])


def _points(rows: np.ndarray, predictions: Predictions) -> list[MapPoint]:
    indices, xy = node_map(rows, always=predictions.given)
    nodes = [predictions[i] for i in indices]
    return [
        MapPoint(node.id, float(x), float(y), node.label or node.model_says, node.confidence, node.given)
        for node, (x, y) in zip(nodes, xy, strict=True)
    ]


def read_truth(
    source: Any, problem: Problem, *, na: Sequence[str] | None = None, header: bool | None = None
) -> Labels:
    """Read true labels for :func:`write_report`; raise if none is new to the model.

    Parameters
    ----------
    source : path, glob, SQL or data frame
        See :func:`gssl.io.read_labels`, also for the options.
    problem : Problem
        That of fit.

    Returns
    -------
    Labels

    Examples
    --------
    >>> import gssl
    >>> problem = gssl.read("SELECT 'a' AS src, 'b' AS dst", labels="SELECT 'a' AS id, 'spy' AS label")
    >>> read_truth("SELECT 'b' AS id, 'cook' AS label", problem).labels.tolist()
    ['cook']
    """
    truth = read_labels(source, na=na, header=header)
    truth = truth if problem.kinds is None else problem.kinds.resolve(truth)
    nodes_with_new_truth(truth, problem.node_ids, problem.given)
    return truth


def nodes_with_new_truth(truth: Labels, node_ids: np.ndarray, given: np.ndarray) -> list[int]:
    """Return the nodes whose true label is known but was not given to the model; raise if there are none."""
    known = {node for node, label in zip(truth.ids, truth.labels, strict=True) if label is not None}
    nodes = [i for i, node in enumerate(node_ids) if not given[i] and node in known]
    if not nodes:
        raise ValueError(
            f"{truth.name} has no true label of a node without a given label: add true labels of such nodes."
        )
    return nodes


def _confusion(truth: Labels, predictions: Predictions) -> Confusion:
    """Compare predictions with the true labels that the model was not given."""
    nodes = nodes_with_new_truth(truth, predictions.id, predictions.given)
    known = dict(zip(truth.ids, truth.labels, strict=True))
    true = np.array([known[predictions.id[i]] for i in nodes], dtype=str)
    source = f"{len(nodes):,} labels of {truth.name}, none of them given to fit."
    return confusion_matrix(true, predictions.model_says[nodes].astype(str), source=source)
