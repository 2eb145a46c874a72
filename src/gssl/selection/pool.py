r"""The log-linear pool of two models, with weights that maximise the likelihood of hidden labels.

p ∝ exp(a log p_linear + b log p_trees)
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

# the least probability that counts
_TINY = 1e-6
# standard errors by which the second model must raise the mean log-likelihood
_CLEAR = 2.0


@dataclass(frozen=True, eq=False)
class Pool:
    """Weights of log-distributions, with the gain in mean log-likelihood over the linear ones alone.

    ``gain_error`` is the standard error of ``gain``; ``hits`` counts the (weighted) correct labels gained.
    """

    a: float
    b: float
    gain: float
    gain_error: float
    hits: float

    @property
    def share(self) -> float:
        """The weight of the second model, relative to both."""
        return self.b / max(self.a + self.b, _TINY)

    def distributions(self, P: np.ndarray, Q: np.ndarray) -> np.ndarray:
        """Pool linear distributions P with those of trees Q."""
        return log_linear(P, Q, self.a, self.b)

    def is_clear(self) -> bool:
        """Return whether trees raise the likelihood clearly without lowering the accuracy."""
        return self.gain > _CLEAR * self.gain_error and self.hits >= 0.0


def fit_pool(P: np.ndarray, Q: np.ndarray, truth: np.ndarray, weights: np.ndarray) -> Pool:
    """Choose a and b by the likelihood of labels, and compare with b = 0."""
    L = np.stack([floored_log(P), floored_log(Q)])
    at = np.arange(len(truth))

    def loss(ab: np.ndarray) -> tuple[float, np.ndarray]:
        logs = log_softmax(np.tensordot(ab, L, 1), axis=1)
        slopes = L[:, at, truth] - (np.exp(logs) * L).sum(axis=2)
        return -np.average(logs[at, truth], weights=weights), -np.average(slopes, axis=1, weights=weights)

    def best(most_b: float) -> np.ndarray:
        start = np.array([1.0, min(0.5, most_b)])
        return np.asarray(minimize(loss, start, jac=True, bounds=[(0.0, 5.0), (0.0, most_b)]).x)

    (a, b), (alone, _) = best(5.0), best(0.0)
    logs = [log_softmax(np.tensordot(ab, L, 1), axis=1) for ab in (np.array([a, b]), np.array([alone, 0.0]))]
    gains = logs[0][at, truth] - logs[1][at, truth]
    gain = float(np.average(gains, weights=weights))
    error = float(np.sqrt(np.average((gains - gain) ** 2, weights=weights) / len(truth)))
    right = [np.average(log.argmax(axis=1) == truth, weights=weights) for log in logs]
    return Pool(float(a), float(b), gain, error, float(right[0] - right[1]))


def log_linear(P: np.ndarray, Q: np.ndarray, a: float, b: float) -> np.ndarray:
    r"""Return the pool :math:`p \propto P^a Q^b`."""
    return np.asarray(softmax(a * floored_log(P) + b * floored_log(Q), axis=1))


def floored_log(P: np.ndarray) -> np.ndarray:
    """Return the logarithms of probabilities of at least 1e-6."""
    return np.asarray(np.log(np.maximum(P, _TINY)))
