"""How good predictions of hidden numbers are."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gssl.evaluation.targets import r_squared


@dataclass(frozen=True, eq=False)
class NumberAccuracy:
    """Numbers, what a model predicts without them, and the limits of its intervals."""

    truth: np.ndarray
    predicted: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @cached_property
    def r_squared(self) -> tuple[float, float]:
        """R² and its standard error."""
        unit = np.abs(self.truth).max() or 1.0  # squares may overflow
        return r_squared(self.truth / unit, self.predicted / unit, np.ones(len(self.truth)))

    @cached_property
    def errors(self) -> np.ndarray:
        """The absolute errors."""
        return np.asarray(np.abs(self.truth - self.predicted))

    @property
    def typical_error(self) -> float:
        """The median absolute error."""
        return float(np.median(self.errors))

    @property
    def error_of_mean(self) -> float:
        """The median absolute error of always answering the mean."""
        return float(np.median(np.abs(self.truth - self.truth.mean())))

    @property
    def beats_mean(self) -> bool:
        """Whether R² is above zero by a standard error."""
        score, error = self.r_squared
        return score >= error

    @cached_property
    def within(self) -> np.ndarray:
        """Which numbers lie within their intervals."""
        return np.asarray((self.low <= self.truth) & (self.truth <= self.high))
