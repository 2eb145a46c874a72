"""Predicted label sets of all nodes, as columns of a table."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gssl.frames import Tabular
from gssl.graph import reached_nodes
from gssl.io.label_tables import SEPARATOR
from gssl.io.table_writing import write_columns
from gssl.methods.label_sets import UNKNOWN
from gssl.methods.labels import UNLABELLED
from gssl.wording import quoted

_COLUMNS = ("id", "labels", "model_says", "given", "reached")


@dataclass(frozen=True, eq=False, repr=False)
class SetPredictions(Tabular):
    """The labels of all nodes, as columns.

    Attributes
    ----------
    id : object ndarray of str, shape (n,)
    labels : object ndarray of str, shape (n,)
        The given labels if they were given, otherwise ``model_says``; several are separated by "; ".
    model_says : object ndarray of str, shape (n,)
        What the model predicts; for given labels, without them.
    given, reached : bool ndarrays of shape (n,)
        Whether labels were given, and whether a labelled node is in the node's component.
    probabilities : ndarray of shape (n, q)
        The probability of every label; for given labels, without them.
    class_names : tuple of q str
    """

    id: np.ndarray
    labels: np.ndarray
    model_says: np.ndarray
    given: np.ndarray
    reached: np.ndarray
    probabilities: np.ndarray
    class_names: tuple[str, ...]

    def columns(self) -> dict[str, np.ndarray]:
        """Return the columns of the table, with ``p_<label>`` for the probability of each label."""
        names = _COLUMNS if self.given.any() else _COLUMNS[:-2]
        columns = {name: getattr(self, name) for name in names}
        by_label = zip(self.class_names, self.probabilities.T, strict=True)
        return columns | {f"p_{name}": np.ascontiguousarray(column) for name, column in by_label}

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a dict of columns."""
        return {name: column.tolist() for name, column in self.columns().items()}

    def part(self, nodes: np.ndarray) -> "SetPredictions":
        """Return the predictions for some nodes."""
        names = (*_COLUMNS, "probabilities")
        return replace(self, **{name: getattr(self, name)[nodes] for name in names})

    def __len__(self) -> int:
        return len(self.id)

    def __repr__(self) -> str:
        rows = [f"{self.id[i]}  {self.labels[i]}" for i in range(min(5, len(self)))]
        return "\n".join([f"Predictions of {len(self):,} nodes: id, labels", *rows])


def list_sets(model: Any, node_ids: Any) -> SetPredictions:
    """Return the label sets of a fitted classifier for the nodes it was fitted to.

    Parameters
    ----------
    model : fitted AutoClassifier
        Fitted to several labels per node.
    node_ids : array-like of n str

    Returns
    -------
    SetPredictions

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = [{"a"} if k % 2 else {"a", "b"} if k % 3 else {"b"} for k in range(34)]
    >>> model = gssl.AutoClassifier(depth=2).fit(None, y, adjacency=data.adjacency)
    >>> list_sets(model, data.node_ids).labels[:3].tolist()
    ['b', 'a', 'a; b']
    """
    inner = model.label_sets_
    P, nodes = inner.probabilities_.copy(), np.flatnonzero(inner.fit_codes != UNLABELLED)
    P[nodes] = inner.held_out_probabilities
    return _tabulate(inner, node_ids, P, inner.fit_answers, inner.reached_)


def predict_sets(model: Any, problem: Any, *, known: bool) -> SetPredictions:
    """Predict a graph that is not that of fit; if ``known``, it begins with its nodes, which keep labels."""
    inner = model.label_sets_
    P = inner.predict_proba(problem.features, adjacency=problem.adjacency)
    answers, reached = np.full(len(P), None, dtype=object), np.ones(len(P), dtype=bool)
    if known:
        n, nodes = len(inner.fit_codes), np.flatnonzero(inner.fit_codes != UNLABELLED)
        answers[:n] = inner.fit_answers
        reached = reached_nodes(problem.adjacency, np.array([answer is not None for answer in answers]))
        P[nodes] = inner.held_out_probabilities
    return _tabulate(inner, problem.node_ids, P, answers, reached)


def _tabulate(
    inner: Any, node_ids: Any, P: np.ndarray, answers: np.ndarray, reached: np.ndarray
) -> SetPredictions:
    names = np.array([str(name) for name in inner.classes_], dtype=object)
    ids, says, labels = (np.empty(len(P), dtype=object) for _ in range(3))
    ids[:] = [str(node) for node in node_ids]
    says[:] = [SEPARATOR.join(names[row]) for row in inner.decide(P)]
    given = np.array([answer is not None for answer in answers], dtype=bool)
    labels[:] = says
    # of cells that were not given, the model decides
    cells = np.full(P.shape, UNKNOWN)
    cells[: len(inner.fit_codes)] = inner.fit_cells
    both = np.where(cells == UNKNOWN, inner.decide(P), cells == 1)
    labels[given] = [SEPARATOR.join(names[row]) for row in both[given]]
    return SetPredictions(ids, labels, says, given, reached, P, tuple(names))


def write_sets(path: str | Path, predictions: SetPredictions) -> list[str]:
    """Write label sets as a table, atomically.

    Parameters
    ----------
    path : path ending in .csv, .tsv, .parquet or .jsonl
    predictions : SetPredictions

    Returns
    -------
    list of str
        Notes about changed texts: see :func:`gssl.io.write_columns`.
    """
    joined = next((name for name in predictions.class_names if SEPARATOR in name), None)
    if joined is not None:
        raise ValueError(
            f"{path} cannot keep the label {quoted(joined)}, because {SEPARATOR!r} separates labels: "
            "rename it."
        )
    return write_columns(path, predictions.columns())
