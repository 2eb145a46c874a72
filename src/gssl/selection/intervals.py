r"""Prediction intervals by held-out residuals (conformal prediction).

[ŷ − q, ŷ + q],  q = the ⌈(m + 1)(1 − α)⌉-th smallest |y − ŷ|
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Intervals:
    """The distances of both limits from a prediction."""

    widths: np.ndarray

    @classmethod
    def fit(cls, truth: np.ndarray, held_out: np.ndarray, share: float) -> "Intervals":
        """Return the widths that hold the given share of the answers."""
        errors = np.sort(np.abs(truth - held_out))
        rank = int(np.ceil((len(errors) + 1) * share))
        return cls(np.full(2, errors[min(rank, len(errors)) - 1]))

    def limits(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return both limits of some predictions."""
        return values - self.widths[0], values + self.widths[1]
