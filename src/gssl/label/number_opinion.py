"""What the fast model says about the numbers of nodes."""

from typing import Any

import numpy as np

from gssl.label.number_model import FEWEST, NumberAnswer, NumberModel
from gssl.label.opinion import DOUBTS, ENOUGH, IS_LABELLED, LEAST, WHY, Opinion
from gssl.operators import small_algebra
from gssl.selection.number_advice import DOUBTFUL, robust_deviations
from gssl.selection.picture import Mark, draw_neighbourhood
from gssl.selection.why import strongest_voices
from gssl.wording import write_number

# the code of the lowest number for the page, which has a colour for each level of numbers
FIRST_LEVEL, LEVELS = 65_000, 64
# bars of the histogram
_BARS = 16
# the share of numbers beyond the colours, at either end
_BEYOND = 0.02


class NumberOpinion(Opinion):
    """A number and an interval for every node."""

    answer: NumberAnswer | None

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._model = NumberModel(self.views)
        self._limits = 0.0, 0.0

    def fit(self, labels: dict[int, float]) -> NumberAnswer | None:
        nodes = np.array(sorted(labels), dtype=np.int64)
        numbers = np.array([labels[node] for node in nodes.tolist()], dtype=np.float64)
        if len(np.unique(numbers)) < 2:
            return None
        with small_algebra():
            return self._model.fit(nodes, numbers)

    def estimate(self, answer: NumberAnswer) -> tuple[float, float] | None:
        return answer.accuracy.r_squared if len(answer.labelled) >= LEAST else None

    def combine(self) -> None:
        self.forget()
        given = np.array(list(self.labelling.codes.values()), dtype=np.float64)
        if self.answer is not None:
            self._limits = _limits(given, self.answer.values)
            self.guesses = self._levels(self.answer.values)
            roots = self.answer.roots
            self.confidences = (254.0 * roots.min() / roots).astype(np.uint8)
            # without the noise of numbers, which no label reduces
            doubt = np.sqrt(np.square(roots) - 1.0)
            self.doubt = (doubt / (doubt.max() or 1.0)).astype(np.float32)
        elif len(given):
            self._limits = _limits(given)
        nodes = list(self.labelling.codes)
        self.guesses[nodes], self.confidences[nodes] = self._levels(given), IS_LABELLED

    def _levels(self, numbers: np.ndarray) -> np.ndarray:
        """Return the codes of the colours of some numbers."""
        low, high = self._limits
        if low == high:
            return np.full(len(numbers), FIRST_LEVEL + LEVELS // 2, dtype=np.uint16)
        shares = np.clip((numbers - low) / (high - low), 0.0, 1.0)
        return (FIRST_LEVEL + np.rint(shares * (LEVELS - 1))).astype(np.uint16)

    @property
    def skill(self) -> float:
        """R² of hidden numbers: 0 if it is not above zero by a standard error, 1 if they are too few."""
        answer = self.answer
        if answer is None or len(answer.labelled) < ENOUGH:
            return 1.0
        return answer.accuracy.r_squared[0] if answer.accuracy.beats_mean else 0.0

    def prediction(self, node: int) -> float | None:
        if node in self.labelling.codes or self.answer is None:
            return self.labelling.codes.get(node)
        return float(self.answer.values[node])

    def accuracy(self) -> dict[str, Any] | None:
        """Return R² with its standard error, and the typical errors of the model and of the mean."""
        score = super().accuracy()
        if score is None or self.answer is None:
            return None
        hidden = self.answer.accuracy
        return score | {"typical": hidden.typical_error, "of_mean": hidden.error_of_mean}

    def state(self) -> dict[str, Any]:
        low, high = self._limits
        given = np.array(list(self.labelling.codes.values()), dtype=np.float64)
        return super().state() | {
            "classes": [],
            "wrong": self._far(),
            "low": low,
            "high": high,
            "labels": self._bars(given),
            "predicted": [] if self.answer is None else self._bars(self.answer.values),
        }

    def _bars(self, numbers: np.ndarray) -> list[int]:
        """Count numbers by level, several levels together."""
        levels = (self._levels(numbers).astype(np.int64) - FIRST_LEVEL) * _BARS // LEVELS
        return [int(count) for count in np.bincount(levels, minlength=_BARS)]

    def _deviations(self) -> np.ndarray:
        """Return how far each number is from what the model says without it; nothing if there are few."""
        answer = self.answer
        if answer is None or len(answer.labelled) < LEAST:
            return np.zeros(0)
        return robust_deviations(answer.numbers - answer.hidden)

    def _far(self) -> str:
        deviations = self._deviations()
        far = int((deviations > DOUBTFUL).sum())
        told = f"{far:,} of {len(deviations):,} numbers {'is' if far == 1 else 'are'} more than {DOUBTFUL:g} "
        return told + "deviations away from what the model says without knowing them." if far else ""

    def doubts(self) -> list[dict[str, Any]]:
        deviations, answer = self._deviations(), self.answer
        order = np.argsort(-deviations, kind="stable")[:DOUBTS]
        return [
            {
                "index": (node := int(answer.labelled[k])),
                "id": self.facts.name(node),
                "label": float(answer.numbers[k]),
                "says": float(answer.hidden[k]),
                "deviations": float(deviations[k]),
            }
            for k in order
            if answer is not None and deviations[k] > DOUBTFUL
        ]

    def card(self, node: int) -> dict[str, Any]:
        """Return the prediction of a node with its interval, and the numbers that raise and lower it most.

        For a labelled node, the model predicts without its number.
        """
        answer = self.answer
        if answer is None:
            return {"thinks": None, "why": [], "picture": ""}
        position = int(np.searchsorted(answer.labelled, node))
        own = position < len(answer.labelled) and answer.labelled[position] == node
        value = float(answer.hidden[position] if own else answer.values[node])
        width = answer.quantile * float(answer.hidden_roots[position] if own else answer.roots[node])
        shares = answer.shares(node)
        if own:
            shares[position] = 0.0
        voices = strongest_voices(self.problem.adjacency, node, answer.labelled, answer.numbers, shares, WHY)
        enough = len(answer.labelled) >= FEWEST
        limits = {"low": value - width, "high": value + width} if enough else {}
        names = "a higher number", "a lower number"
        return {
            "thinks": {"value": value, **limits},
            "why": [{"index": voice.node, "share": voice.share} for voice in voices],
            "picture": draw_neighbourhood(node, *names, voices, self._mark),
        }

    def _mark(self, node: int) -> Mark:
        number = self.prediction(node)
        shown = "" if number is None else write_number(number)
        return Mark(self.facts.name(node), shown, int(self.guesses[node]), node in self.labelling.codes)


def _limits(given: np.ndarray, predicted: np.ndarray | None = None) -> tuple[float, float]:
    """Return limits between which nearly all numbers lie."""
    low, high = np.quantile(given, [_BEYOND, 1.0 - _BEYOND])
    if predicted is not None:
        least, most = np.quantile(predicted, [_BEYOND, 1.0 - _BEYOND])
        low, high = min(low, least), max(high, most)
    return float(low), float(high)
