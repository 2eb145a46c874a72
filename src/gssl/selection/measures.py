"""What a learning curve measures on hidden answers: accuracy of labels, or R² of numbers."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from gssl.selection.auto_regressor import AutoRegressor
from gssl.selection.residuals import residual_field
from gssl.wording import write_fixed, write_share

# how far predictions may lie beyond the known values, in deviations: ridges on a few rows may go astray
_BEYOND = 1.0


@dataclass(frozen=True, repr=False)
class Measure:
    """How a score and its gain are called and written; ``formats`` are those of an axis and a tooltip."""

    name: str
    answers: str
    least: float
    now: str
    goal: str
    needs: str
    limit: str
    gain: str
    formats: tuple[str, str]
    write: Callable[[float], str]
    write_gain: Callable[[float], str]

    def __repr__(self) -> str:
        return self.name


def _points(gain: float) -> str:
    text = write_fixed(100 * gain, 1)
    return "next to nothing" if text == "0.0" else f"about {text} points"


def _of_r_squared(gain: float) -> str:
    text = write_fixed(gain, 3)
    return "next to nothing" if text == "0.000" else f"about {text}"


ACCURACY = Measure(
    name="accuracy",
    answers="labels",
    least=0.0,
    now="with {n:,} labels about {score} of predictions are right{range}",
    goal="{percent:g} %",
    needs="about {more} more labels{range} reach {goal}",
    limit="accuracy levels off near {score}{range}",
    gain="another {more:,} labels would add {gain}",
    formats=(".0%", ".1%"),
    write=partial(write_share, digits=1),
    write_gain=_points,
)
R_SQUARED = Measure(
    name="R²",
    answers="numbers",
    least=-np.inf,
    now="with {n:,} numbers R² is about {score}{range}",
    goal="R² {score:.2f}",
    needs="{goal} needs about {more} more numbers{range}",
    limit="R² levels off near {score}{range}",
    gain="another {more:,} numbers would add {gain}",
    formats=(".2f", ".2f"),
    write=partial(write_fixed, digits=2),
    write_gain=_of_r_squared,
)


class JudgedAnswers(ABC):
    """Known answers that are hidden in turn: a score is one minus the ratio of losses and ``reference``.

    ``reference`` are the losses of one answer for all; ``codes`` are the groups that subsets draw from.
    If ``reach`` is not zero, residuals are propagated.
    """

    measure: Measure
    codes: np.ndarray
    reference: np.ndarray
    reach: float = 0.0

    @abstractmethod
    def losses(self, scores: np.ndarray) -> np.ndarray:
        """Return the losses of scores of shape (..., m, c)."""

    def spread(self, e: np.ndarray, shown: np.ndarray) -> np.ndarray:
        """Return what residuals e of the shown answers add to the scores of all."""
        return np.zeros((len(shown), 1))


class JudgedClasses(JudgedAnswers):
    """Classes, which are predicted or missed, so that the score is accuracy."""

    measure = ACCURACY

    def __init__(self, codes: np.ndarray) -> None:
        self.codes, self.reference = codes, np.ones(len(codes))

    def losses(self, scores: np.ndarray) -> np.ndarray:
        return np.asarray(scores.argmax(axis=-1) != self.codes, dtype=np.float64)


class JudgedNumbers(JudgedAnswers):
    """Numbers with squared errors, so that the score is R²; scores are standardised values."""

    measure = R_SQUARED

    def __init__(self, model: AutoRegressor, nodes: np.ndarray) -> None:
        self._scale, self.reach = model.number_scale, float(model._pool[0])
        self._S, self._nodes = model.field(model._fit_inputs.A), nodes
        numbers = model.fit_values[nodes]
        values = self._scale.values(numbers)
        self._range = values.min() - _BEYOND, values.max() + _BEYOND
        # squares may overflow
        self._unit = np.abs(numbers).max() or 1.0
        self._truth = numbers / self._unit
        self.codes = np.zeros(len(numbers), dtype=np.int64)
        self.reference = np.square(self._truth - self._truth.mean())

    def losses(self, scores: np.ndarray) -> np.ndarray:
        predicted = self._scale.numbers(np.clip(scores[..., 0], *self._range))
        return np.asarray(np.square(predicted / self._unit - self._truth))

    def spread(self, e: np.ndarray, shown: np.ndarray) -> np.ndarray:
        field = residual_field(self._S, self._nodes[shown], e[:, 0], self.reach)
        return field[self._nodes, None]
