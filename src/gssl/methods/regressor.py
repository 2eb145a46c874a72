"""Base class of regressors, and how numbers are read."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, column_or_1d

from gssl.graph.validate import refuse_mask
from gssl.methods.graph_model import GraphModel
from gssl.methods.labels import UNLABELLED
from gssl.methods.state import reads_state
from gssl.methods.stored import Stored
from gssl.wording import NUMBER, counted, is_missing, is_missing_text, quoted

# fewest known numbers to learn from
_FEWEST = 3


def read_numbers(y: Any, n_nodes: int | None = None, *, learns: bool = True) -> np.ndarray:
    """Return numbers as float64, NaN where there is none; texts of numbers are read.

    ``learns`` says that there must be enough of them to learn from.
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: give a number or NaN per node.")
    refuse_mask(y, "y")
    values = np.asarray(y)
    if values.dtype.kind not in "iufb":
        values = np.array([_number(value) for value in np.asarray(y, dtype=object).ravel()]).reshape(
            np.shape(values)
        )
    values = np.asarray(column_or_1d(values, warn=True), dtype=np.float64)
    if n_nodes is not None and len(values) != n_nodes:
        raise ValueError(
            f"y has {len(values)} entries but X has {n_nodes} rows: give one number (or NaN) per node."
        )
    if np.isinf(values).any():
        raise ValueError(
            f"Input y contains infinity at position {np.flatnonzero(np.isinf(values))[0]}: give a number, or "
            "NaN where it is unknown."
        )
    known = values[~np.isnan(values)]
    if not learns:
        return values
    if len(known) < _FEWEST:
        raise ValueError(f"y has {counted(len(known), 'known number')}: give at least {_FEWEST}.")
    if not np.ptp(known):
        raise ValueError(
            f"all {len(known):,} known numbers in y are {known[0]:g}: there is nothing to learn."
        )
    return values


def _number(value: Any) -> float:
    """Return a cell as a number, NaN if it is missing."""
    if isinstance(value, str):
        text = value.strip()
        if is_missing_text(text):
            return np.nan
        if NUMBER.fullmatch(text):
            return float(text)
        raise ValueError(
            f"y holds the text {quoted(value)}, which is not a number: correct it, or leave it empty."
        )
    if is_missing(value):
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"y holds {quoted(str(value))}, which is not a number: give one number (or NaN) per node."
        ) from error


class GraphRegressor(RegressorMixin, GraphModel):
    """Predict a number for every node from features, a graph and some known numbers.

    ``_score_graph`` returns a column of values, and one of deviations, for each node.
    """

    _stored: ClassVar[tuple[Stored, ...]] = (
        Stored("_known_values", "float", ("m",)),
        Stored("transduction_", "float", ("n",)),
        Stored("intervals_", "float", ("n", "2")),
    )

    def _read_answers(self, y: Any, n_nodes: int) -> np.ndarray:
        values = read_numbers(y, n_nodes)
        known = ~np.isnan(values)
        self._known_values = values[known]
        return np.where(known, 0, UNLABELLED)

    def is_answer(self, given: Any, answer: Any) -> bool:
        """Return whether a given number, or its text, is one of ``fit_answers``."""
        if given is None or answer is None:
            return given is answer
        return bool(read_numbers([given], learns=False)[0] == answer)

    @property
    def fit_answers(self) -> np.ndarray:
        """The number of every node in fit, None where there was none."""
        answers = np.full(len(self._fit_codes), None, dtype=object)
        answers[self._fit_codes != UNLABELLED] = self._known_values.tolist()
        return answers

    @property
    def held_out_errors(self) -> np.ndarray:
        """By how much predictions without their own number miss the known ones."""
        return np.asarray(self._known_values - self.transduction_[self._fit_codes != UNLABELLED])

    @property
    def fit_values(self) -> np.ndarray:
        """The number of every node in fit, NaN where there was none."""
        values = np.full(len(self._fit_codes), np.nan)
        values[self._fit_codes != UNLABELLED] = self._known_values
        return values

    def predict(self, X: Any, *, adjacency: Any = None, nodes: Any = None) -> np.ndarray:
        """Return a number for nodes that were not seen in fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d)
            Features of *all* nodes of the graph to predict.
        adjacency : array-like or sparse matrix of shape (m, m), optional
            The graph over the rows of X. Not needed by a model fitted without a graph, which averages the
            predictions of each row's nearest neighbours among the nodes of fit.
        nodes : bool mask of shape (m,) or indices, optional
            The k rows to return; all if None.

        Returns
        -------
        ndarray of shape (m,) or (k,)
        """
        return self.predict_with_intervals(X, adjacency=adjacency, nodes=nodes)[:, 0]

    def predict_intervals(self, X: Any, *, adjacency: Any = None, nodes: Any = None) -> np.ndarray:
        """Return the limits of an interval for each node: see :meth:`predict`.

        Returns
        -------
        ndarray of shape (m, 2) or (k, 2)
        """
        return self.predict_with_intervals(X, adjacency=adjacency, nodes=nodes)[:, 1:]

    @reads_state
    def predict_with_intervals(self, X: Any, *, adjacency: Any = None, nodes: Any = None) -> np.ndarray:
        """Return three columns for nodes of a graph: the number, and both limits of its interval."""
        check_is_fitted(self)
        (answers, _), near = self._answers_of(X, adjacency, nodes)
        if near is None:
            return answers
        fitted = np.column_stack([self.transduction_, self.intervals_])
        return np.asarray(fitted[near].mean(axis=1))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, adjacency: Any = None) -> float:
        """Return R² on the nodes that have a number in y."""
        predicted = self.predict(X, adjacency=adjacency)
        truth = read_numbers(y, len(predicted), learns=False)
        known = ~np.isnan(truth)
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(r2_score(truth[known], predicted[known], sample_weight=weights))
