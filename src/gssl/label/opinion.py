"""What models say about the nodes of a session, whatever the labels are."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from gssl.io import Problem
from gssl.label.cards import NodeFacts
from gssl.label.labelling import Labelling

# codes for the page: the guess of a node without one, and the confidence of a labelled node
NO_GUESS, IS_LABELLED = 65_535, 255
# minimum number of labels to estimate how good the model is, and to detect one that only guesses
LEAST, ENOUGH = 8, 20
# maximum number of labels in an explanation (for and against), and of doubtful labels
WHY, DOUBTS = 4, 12
# maximum number of points of the curve, and of those that are computed when a journal is replayed
_CURVE, _REPLAYED = 120, 20
# below this skill, suggested nodes were found to be no better than random ones
_WEAK = 0.25


class Opinion(ABC):
    """The predictions of models that are fitted to a session's labels, and what the page shows of them.

    ``guesses`` and ``confidences`` encode predictions for the page; ``doubt`` is how uncertain they are.
    """

    def __init__(
        self, problem: Problem, facts: NodeFacts, labelling: Labelling, views: Sequence[np.ndarray]
    ) -> None:
        self.problem, self.facts, self.labelling, self.views = problem, facts, labelling, views
        self.answer: Any = None
        # by the number of labels: the accuracy, or R², and its standard error
        self.curve: dict[int, tuple[float, float]] = {}
        self.forget()

    def forget(self) -> None:
        """Set what the page shows of predictions to that of none."""
        n = len(self.problem.node_ids)
        self.guesses = np.full(n, NO_GUESS, dtype=np.uint16)
        self.confidences = np.zeros(n, dtype=np.uint8)
        self.doubt = np.ones(n, dtype=np.float32)

    @abstractmethod
    def fit(self, labels: dict[int, Any]) -> Any:
        """Fit the fast model to the codes of some nodes; return its answer, or None with too few labels."""

    @abstractmethod
    def estimate(self, answer: Any) -> tuple[float, float] | None:
        """Estimate how good an answer is from hidden labels, with a standard error; None if they are few."""

    @abstractmethod
    def combine(self) -> None:
        """Compute ``guesses``, ``confidences`` and ``doubt`` from the answer."""

    @property
    @abstractmethod
    def skill(self) -> float:
        """How good predictions are: 0 is no better than a constant, 1 is no errors or too few labels."""

    @abstractmethod
    def prediction(self, node: int) -> Any:
        """Return the label or the prediction of a node; None if there is none yet."""

    @abstractmethod
    def card(self, node: int) -> dict[str, Any]:
        """Return what the page shows about the prediction of a node, and why."""

    @abstractmethod
    def doubts(self) -> list[dict[str, Any]]:
        """Return the most doubtful labels, each judged by a model without it."""

    def update(self) -> None:
        """Predict all nodes from the current labels."""
        self.answer = self.fit(self.labelling.codes)
        self._note(self.answer)
        self.combine()

    def _note(self, answer: Any) -> None:
        """Add a point to the curve."""
        estimate = None if answer is None else self.estimate(answer)
        if estimate is not None:
            self.curve[len(answer.labelled)] = estimate

    def replay(self) -> None:
        """Estimate the curve for growing numbers of labels, so that a resumed session has it."""
        codes = dict(self.labelling.codes)
        given = [node for node in codes if node in self.labelling.given]
        rest = [node for node in codes if node not in self.labelling.given]
        order = np.array([*np.random.default_rng(0).permutation(np.array(given, dtype=np.int64)), *rest], int)
        sizes = np.unique(np.geomspace(LEAST, max(LEAST, len(order) - 1), _REPLAYED).astype(int))
        for size in sizes[sizes < len(order)].tolist():
            self._note(self.fit({node: codes[node] for node in order[:size].tolist()}))

    @property
    def guessing(self) -> bool:
        """Whether hidden labels are predicted no better than by a constant."""
        return self.skill <= 0.0

    @property
    def view(self) -> int:
        """The number of the view that predicts hidden labels best; the first one while labels are few."""
        if self.answer is None or len(self.answer.labelled) < ENOUGH:
            return 0
        return next(k for k, view in enumerate(self.views) if view is self.answer.rows)

    def state(self) -> dict[str, Any]:
        """Return what the page shows apart from a node: how good predictions are, and doubtful labels."""
        m = len(self.labelling.codes)
        points = [(k, *estimate) for k, estimate in sorted(self.curve.items()) if k <= m]
        step = max(1, -(-len(points) // _CURVE))
        return {
            "speaks": "none" if self.answer is None else "fast",
            "accuracy": self.accuracy(),
            "guessing": self.guessing,
            "weak": self.skill < _WEAK,
            "curve": [list(point) for point in points[::-1][::step][::-1]],
            "doubts": self.doubts(),
        }

    def accuracy(self) -> dict[str, Any] | None:
        """Return the last point of the curve; None if there are too few labels."""
        m = len(self.labelling.codes)
        if self.answer is None or m not in self.curve:
            return None
        share, error = self.curve[m]
        return {"share": share, "error": error}
