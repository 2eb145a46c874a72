"""Predictions of numbers for all nodes, as columns of a table."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gssl.frames import Tabular
from gssl.graph import reached_nodes
from gssl.io.table_writing import write_columns
from gssl.methods.labels import UNLABELLED
from gssl.wording import write_number, write_range

_COLUMNS = ("id", "value", "low", "high", "model_says", "given", "reached")


@dataclass(frozen=True, eq=False, repr=False)
class NumberPredictions(Tabular):
    """The predicted numbers of all nodes, as columns.

    Attributes
    ----------
    id : object ndarray of str, shape (n,)
    value : float ndarray of shape (n,)
        The given number if there is one, otherwise ``model_says``.
    low, high : float ndarrays of shape (n,)
        The interval around ``model_says``.
    model_says : float ndarray of shape (n,)
        What the model predicts; for a given number, without that number.
    given, reached : bool ndarrays of shape (n,)
        Whether the number was given, and whether a given number is in the node's component.
    """

    id: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    model_says: np.ndarray
    given: np.ndarray
    reached: np.ndarray

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a dict of columns."""
        return {name: getattr(self, name).tolist() for name in _COLUMNS}

    def part(self, nodes: np.ndarray) -> "NumberPredictions":
        """Return the predictions for some nodes."""
        return replace(self, **{name: getattr(self, name)[nodes] for name in _COLUMNS})

    def __len__(self) -> int:
        return len(self.id)

    def __repr__(self) -> str:
        rows = [
            f"{self.id[i]}  {write_number(self.value[i])}  ({write_range(self.low[i], self.high[i])})"
            for i in range(min(5, len(self)))
        ]
        return "\n".join([f"Predictions of {len(self):,} nodes: id, value, interval", *rows])


def list_numbers(model: Any, node_ids: Any) -> NumberPredictions:
    """Return the predictions of a fitted regressor for the nodes it was fitted to.

    Parameters
    ----------
    model : fitted regressor
    node_ids : array-like of n str

    Returns
    -------
    NumberPredictions

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = np.where(np.arange(34) % 3, np.arange(34.0), np.nan)
    >>> model = gssl.AutoRegressor(depth=2).fit(None, y, adjacency=data.adjacency)
    >>> list_numbers(model, data.node_ids).value[:3].tolist()[1:]
    [1.0, 2.0]
    """
    answers = np.column_stack([model.transduction_, model.intervals_])
    return _tabulate(node_ids, answers, model.fit_values, model.reached_)


def predict_numbers(model: Any, problem: Any, *, known: bool) -> NumberPredictions:
    """Predict a graph that is not that of fit; if ``known``, it begins with its nodes, which keep numbers."""
    answers = model.predict_with_intervals(problem.features, adjacency=problem.adjacency)
    given = np.full(len(answers), np.nan)
    reached = np.ones(len(answers), dtype=bool)
    if known:
        nodes = np.flatnonzero(model.fit_codes != UNLABELLED)
        given[: len(model.fit_codes)] = model.fit_values
        answers[nodes] = np.column_stack([model.transduction_, model.intervals_])[nodes]
        reached = reached_nodes(problem.adjacency, ~np.isnan(given))
    return _tabulate(problem.node_ids, answers, given, reached)


def _tabulate(
    node_ids: Any, answers: np.ndarray, numbers: np.ndarray, reached: np.ndarray
) -> NumberPredictions:
    ids = np.empty(len(answers), dtype=object)
    ids[:] = [str(node) for node in node_ids]
    given = ~np.isnan(numbers)
    says, low, high = np.ascontiguousarray(answers.T)
    return NumberPredictions(ids, np.where(given, numbers, says), low, high, says, given, reached)


def write_numbers(path: str | Path, predictions: NumberPredictions) -> list[str]:
    """Write predicted numbers as a table, atomically.

    Parameters
    ----------
    path : path ending in .csv, .tsv, .parquet or .jsonl
    predictions : NumberPredictions

    Returns
    -------
    list of str
        Notes about changed texts: see :func:`gssl.io.write_columns`.
    """
    names = _COLUMNS if predictions.given.any() else _COLUMNS[:-2]
    return write_columns(path, {name: getattr(predictions, name) for name in names}, decimals=None)
