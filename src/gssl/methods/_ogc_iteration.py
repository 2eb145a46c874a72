"""The iteration of OGC (Alg. 1), whatever its embeddings are kept in."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gssl.methods._execution import FinishedStep
from gssl.methods._guided import GuidedEmbedding
from gssl.operators import Loss, classification_loss, residual

# a step this often halved is no step
_HALVINGS = 60


@dataclass(frozen=True)
class Problem:
    """What stays the same over the iterations: the labels, and where they are."""

    labelled: np.ndarray
    Y: np.ndarray
    anchors: np.ndarray
    # positions of the anchors among the labelled nodes
    anchored: np.ndarray
    watched: np.ndarray
    eta_sup: float


@dataclass(frozen=True)
class State:
    """What changes: the predictor and its step, the scores, the pull on the anchors, and the stop rule."""

    W: np.ndarray
    eta_w: float
    scores: np.ndarray
    chosen: np.ndarray
    pull: Any = None
    agreement: float = 0.0
    calm: int = 0
    settled: bool = False


@dataclass(frozen=True)
class Iteration:
    """The rules of a step: which loss, how the pull decays, and when predictions count as settled."""

    loss: Loss
    decay: float
    tol: float
    patience: int

    def first(self, problem: Problem, W: np.ndarray, eta_w: float, scores: np.ndarray, past: Any) -> State:
        """Give the state to go on from: that of X, or the last of steps that an earlier run has taken."""
        if past:
            W, eta_w = past[-1].W, past[-1].facts["eta_w"]
        calm = sum(step.facts["agreement"] > self.tol for step in past)
        chosen = scores.argmax(axis=1)[problem.watched]
        return State(W, eta_w, scores, chosen, calm=calm, settled=calm > self.patience)

    def step(self, problem: Problem, embedding: GuidedEmbedding, state: State, k: int) -> State:
        """Do one W step, then move U by its old value and the new W (the order of the authors' scripts)."""
        scores = state.scores[problem.labelled]
        G = embedding.pull_back(residual(scores, problem.Y, self.loss))
        eta_w, scores = self.downhill(scores, embedding.push(G), problem.Y, state.eta_w)
        W = state.W - eta_w * G
        eta_sup = problem.eta_sup * self.decay ** (k - 1)
        anchored = problem.anchored
        pull = eta_sup * residual(scores[anchored], problem.Y[anchored], self.loss)
        scores = embedding.advance(W, eta_w, pull)

        chosen = scores.argmax(axis=1)[problem.watched]
        agreement = float((chosen == state.chosen).mean())
        calm = state.calm + (agreement > self.tol)
        return State(W, eta_w, scores, chosen, pull, agreement, calm, settled=calm > self.patience)

    def finished(self, problem: Problem, state: State) -> FinishedStep:
        """Give what is written down of a step."""
        loss = classification_loss(state.scores[problem.labelled], problem.Y, self.loss)
        facts = {"eta_w": state.eta_w, "agreement": state.agreement, "loss": loss}
        return FinishedStep(state.pull, state.W, facts)

    def downhill(
        self, scores: np.ndarray, change: np.ndarray, Y: np.ndarray, eta_w: float
    ) -> tuple[float, np.ndarray]:
        """Give a step length that does not overshoot, and the labelled scores after it."""
        # rounding at the optimum is no overshoot
        limit = classification_loss(scores, Y, self.loss) * (1.0 + 1e-6)
        for _ in range(_HALVINGS):
            after = scores - eta_w * change
            if classification_loss(after, Y, self.loss) <= limit:
                return eta_w, after
            eta_w /= 2.0
        return 0.0, scores

    @property
    def gain(self) -> float:
        """Give the factor of the published squared loss, a sum without the appendix's ½."""
        return 2.0 if self.loss == "squared" else 1.0
