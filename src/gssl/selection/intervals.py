r"""Prediction intervals: conformal quantiles of held-out errors, in units of the error that a node suggests.

[ŷ − q σ^γ, ŷ + q σ^γ],  q = the ⌈(m + 1)(1 − α)⌉-th smallest |y − ŷ| / σ^γ
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.methods.ridge import Ridge, leave_one_out
from gssl.selection.neighbour_columns import Neighbourhood

# fewest held-out errors to learn from which nodes are hard
_FEWEST = 100
# how strongly widths may follow the expected error
_POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
# the least difference of both halves that counts, in deviations of all answers
_LEAST_GAP = 0.03
# penalties relative to the number of errors, and where columns are cut off, in deviations
_PENALTIES, _FARTHEST = np.array([0.003, 0.03, 0.3]), 3.0


@dataclass(frozen=True, eq=False)
class Intervals:
    """The expected errors of nodes, by a ridge of their logarithms, and the width in their units.

    Rows of ``columns`` are means, deviations and coefficients; ``scale`` holds γ, q, and the least and the
    largest expected log error.
    """

    columns: np.ndarray
    scale: np.ndarray

    @classmethod
    def fit(cls, D: np.ndarray, errors: np.ndarray, share: float) -> "Intervals":
        """Fit to held-out absolute errors of nodes with some columns D."""
        spread = D.std(axis=0)
        columns = np.stack([D.mean(axis=0), np.where(spread > 1e-9, spread, 1.0), np.zeros(D.shape[1])])
        plain = cls(columns, np.array([0.0, conformal_quantile(errors, share), 0.0, 0.0]))
        if len(errors) < _FEWEST or not errors.any():
            return plain
        Z = plain._standardized(D)
        logs = np.log(errors + 0.1 * errors.mean())
        logs -= logs.mean()
        penalties = _PENALTIES * len(Z)
        expected = leave_one_out(Z, logs[:, None], penalties)[:, :, 0]
        best = int(np.argmin(np.square(expected - logs).sum(axis=1)))
        columns[2] = Ridge(Z, float(penalties[best])).coefficients(logs[:, None])[:, 0]
        s = expected[best]
        widths = []
        for power in _POWERS:
            sigma = np.exp(power * s)
            widths.append((conformal_quantile(errors / sigma, share) * sigma.mean(), power))
        power = min(widths)[1]
        q = conformal_quantile(errors / np.exp(power * s), share)
        return cls(columns, np.array([power, q, s.min(), s.max()]))

    def _standardized(self, D: np.ndarray) -> np.ndarray:
        return np.asarray(np.clip((D - self.columns[0]) / self.columns[1], -_FARTHEST, _FARTHEST))

    def widths(self, D: np.ndarray) -> np.ndarray:
        """Return half of the width of the interval of each node."""
        power, q, least, most = self.scale
        s = np.clip(self._standardized(D) @ self.columns[2], least, most)
        return np.asarray(q * np.exp(power * s))


def conformal_quantile(errors: np.ndarray, share: float) -> float:
    """Return the conformal quantile of some errors: the largest one if there are too few."""
    rank = int(np.ceil((len(errors) + 1) * share))
    return float(np.sort(errors)[min(rank, len(errors)) - 1])


def difficulty_columns(
    values: np.ndarray, gap: np.ndarray, A: csr_array, nodes: np.ndarray, errors: np.ndarray
) -> np.ndarray:
    """Return columns that tell how far predictions may be off, for all nodes of a graph.

    They are the predicted ``values`` and their squares, by how much both halves of the pool differ (``gap``),
    how many neighbours there are and how many are known, and the held-out ``errors`` of known ``nodes``
    nearby, never a node's own.
    """
    n = A.shape[0]
    known, answers = np.zeros(n, dtype=bool), np.zeros((n, 1))
    known[nodes], answers[nodes, 0] = True, errors
    empty: Any = csr_array((n, 0))
    nearby = Neighbourhood(empty, A, np.zeros((0, 0)), np.arange(0))
    one, two, count, _ = nearby.answer_columns(answers, known).T.astype(np.float64)
    least = 0.1 * max(float(errors.mean()), 1e-9)
    return np.column_stack(
        [
            values,
            np.square(values),
            np.log(gap + _LEAST_GAP),
            np.log1p(count),
            np.log1p(np.diff(A.indptr)),
            np.log(np.maximum(one, 0.0) + least),
            np.log(np.maximum(two, 0.0) + least),
        ]
    )
