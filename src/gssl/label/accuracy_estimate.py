"""The accuracy on nodes without a label, estimated from labels that were not drawn at random."""

import numpy as np

from gssl.selection.trial import score_error

# how many labels the belief that confidences are right is worth
_PRIOR = 2.0
_NEWTON = 12
_EDGE = 1e-3


def estimate_accuracy(hidden: np.ndarray, hits: np.ndarray, confidences: np.ndarray) -> tuple[float, float]:
    r"""Return the expected share of right guesses among nodes, and its standard error.

    .. math:: \frac1n \sum_i \sigma(a + b\, \mathrm{logit}\, p_i)

    p are the ``confidences`` of the nodes. a and b are fitted to the confidences of labels while they were
    ``hidden``. Labels that a person was asked for are harder than most nodes, and their plain share of
    ``hits`` is too low by far; given its confidence, a label is about as hard as any other node.
    """
    x = _logit(hidden)
    design = np.stack([np.ones_like(x), x], axis=1)
    centre, theta = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    curb = _PRIOR * np.eye(2)
    H = curb
    for _ in range(_NEWTON):
        p = _sigmoid(design @ theta)
        H = (design * (p * (1.0 - p))[:, None]).T @ design + curb
        theta = theta - np.linalg.solve(H, design.T @ (p - hits) + curb @ (theta - centre))
    if not len(confidences):
        return float(hits.mean()), score_error(float(hits.mean()), len(hits))
    z = _logit(confidences)
    q = _sigmoid(theta[0] + theta[1] * z)
    slope = q * (1.0 - q)
    gradient = np.array([slope.mean(), (slope * z).mean()])
    share = float(q.mean())
    # never surer than as many labels drawn at random would be
    error = max(float(np.sqrt(gradient @ np.linalg.solve(H, gradient))), score_error(share, len(hits)))
    return share, error


def _logit(p: np.ndarray) -> np.ndarray:
    p = np.clip(np.asarray(p, dtype=np.float64), _EDGE, 1.0 - _EDGE)
    return np.asarray(np.log(p / (1.0 - p)))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -30, 30))))
