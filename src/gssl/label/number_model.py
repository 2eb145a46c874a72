"""The fast model of numbers on the labelling page: ridge regression, refitted after every number."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gssl.evaluation.number_accuracy import NumberAccuracy
from gssl.methods.ridge import Ridge, leave_one_out, mean_square
from gssl.selection.intervals import conformal_quantile
from gssl.selection.number_search import NumberScale
from gssl.selection.trial import PENALTIES

# the share of numbers that should lie within their intervals, and how many numbers an interval needs for it
SHARE, FEWEST = 0.9, 9
# the square of the constant column, relative to the mean squared length of rows
_CONSTANT = 10.0
# rows whose intervals are computed at a time
_TOGETHER = 8192


@dataclass(frozen=True, eq=False)
class NumberAnswer:
    """Predictions for all nodes (``values``), and for each number while it was hidden (``hidden``).

    Half of an interval is ``quantile`` times one of ``roots``, or of ``hidden_roots``. ``rows`` are those of
    the chosen view, and ``constant`` is what the ridge has beside them.
    """

    labelled: np.ndarray
    numbers: np.ndarray
    values: np.ndarray
    hidden: np.ndarray
    quantile: float
    roots: np.ndarray
    hidden_roots: np.ndarray
    rows: np.ndarray
    constant: float
    ridge: Ridge

    @cached_property
    def accuracy(self) -> NumberAccuracy:
        """How good predictions of hidden numbers are."""
        widths = self.quantile * self.hidden_roots
        return NumberAccuracy(self.numbers, self.hidden, self.hidden - widths, self.hidden + widths)

    def shares(self, node: int) -> np.ndarray:
        r"""Return the contribution of each number to a prediction, beside the mean of all numbers.

        .. math:: s_j = H_{ij} (y_j - \bar y), \qquad \hat y_i = \bar y + \sum_j s_j
        """
        row = np.append(self.rows[node].astype(np.float64), self.constant)
        return np.asarray(self.ridge.influence(row[None])[0] * (self.numbers - self.numbers.mean()))


class NumberModel:
    r"""Ridge regression on the view and penalty with the least leave-one-out squared error.

    .. math:: \hat y_i \pm q \sqrt{1 + b_i (B^\top B + \lambda I)^{-1} b_i^\top}

    q is the conformal quantile of leave-one-out errors in units of that root, which is
    :math:`1 / \sqrt{1 - H_{jj}}` for a hidden number.
    """

    def __init__(self, views: Sequence[np.ndarray]) -> None:
        self.views = list(views)

    def fit(self, labelled: np.ndarray, numbers: np.ndarray) -> NumberAnswer:
        """Predict all nodes from some numbers, which must not all be equal."""
        scale = NumberScale.of(numbers, log=False)
        y = scale.values(numbers)[:, None]
        tried = []
        for k, rows in enumerate(self.views):
            U, unit = rows[labelled].astype(np.float64), mean_square(rows[labelled])
            B = np.column_stack([U, np.full(len(U), np.sqrt(_CONSTANT * unit))])
            hidden = leave_one_out(B, y, unit * PENALTIES)[:, :, 0]
            errors = np.square(hidden - y[:, 0]).sum(axis=1)
            best = int(np.argmin(errors))
            tried.append((float(errors[best]), k, B, float(unit * PENALTIES[best]), hidden[best]))
        _, k, B, penalty, hidden_values = min(tried, key=lambda each: each[:2])
        rows, constant, ridge = self.views[k], float(B[0, -1]), Ridge(B, penalty)
        W = ridge.coefficients(y)[:, 0]
        inverse = ridge.inverse_times(np.eye(B.shape[1]))
        values = rows @ W[:-1].astype(np.float32) + np.float32(constant * W[-1])
        # from rounding, a leverage may be one
        leverages = np.minimum(np.einsum("ij,ij->i", B @ inverse, B), 1.0 - 1e-9)
        hidden_roots = 1.0 / np.sqrt(1.0 - leverages)
        errors = np.abs(hidden_values - y[:, 0]) / hidden_roots
        return NumberAnswer(
            labelled,
            numbers,
            scale.numbers(values.astype(np.float64)),
            scale.numbers(hidden_values),
            scale.spread * conformal_quantile(errors, SHARE),
            _roots(rows, constant, inverse),
            hidden_roots,
            rows,
            constant,
            ridge,
        )


def _roots(rows: np.ndarray, constant: float, inverse: np.ndarray) -> np.ndarray:
    """Return the root of 1 + b (BᵀB + λI)^-1 bᵀ for all rows b, which end in a constant."""
    C, shift = inverse[:-1, :-1].astype(np.float32), (2.0 * constant * inverse[:-1, -1]).astype(np.float32)
    squares = np.full(len(rows), 1.0 + constant**2 * inverse[-1, -1])
    for start in range(0, len(rows), _TOGETHER):
        part = rows[start : start + _TOGETHER]
        squares[start : start + len(part)] += np.einsum("ij,ij->i", part @ C + shift, part)
    return np.asarray(np.sqrt(np.maximum(squares, 1.0)))
