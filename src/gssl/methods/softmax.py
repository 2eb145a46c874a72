r"""Distributions from scores: softmax regression, a softmax map of class scores, and inverse temperatures.

    P = softmax(ZA + b)

Everything that turns scores into probabilities by maximum likelihood uses this file: the logistic head, the
models that AutoClassifier compares, calibration, audits and the labelling page.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

# with more classes there are never enough labels to fit a full map
_MOST_MAPPED = 100
_MAP_STEPS = 60
# the least 1 − h by which a change is divided: one Newton step says little about a label of more influence
_LEAST_REST = 0.1
# prior mean of the inverse temperature of ridge scores, strength of the prior in labels, and upper bound
RIDGE_SHARPNESS, _PRIOR, _SHARPEST = 10.0, 1.0, 200.0
# maximum number of Newton steps for a temperature, the change of its logarithm at which they stop, the
# longest step, and how far it may be from its prior mean
_NEWTON, _SETTLED, _LONGEST, _FARTHEST = 30, 1e-4, np.log(3.0), 6.0


def softmax_and_log_sum(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the softmax over the last axis, and the logarithm of its denominator."""
    most = logits.max(axis=-1, keepdims=True)
    P = np.exp(logits - most)
    total = P.sum(axis=-1, keepdims=True)
    P /= total
    return P, (most + np.log(total))[..., 0]


def softmax_regression(
    F: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray,
    penalty: Any,
    offset: np.ndarray | float = 0.0,
    **options: Any,
) -> OptimizeResult:
    r"""Minimise the weighted cross-entropy of softmax(O + FV) with a ridge penalty, by L-BFGS from zero.

    .. math:: \min_V \sum_i -w_i \log \mathrm{softmax}(O_i + F_i V)_{y_i} + \tfrac12 \sum_j \rho_j \|V_j\|^2

    ``penalty`` is ρ, one number or one per column of F; ``options`` are those of the optimiser.
    """
    d, c = F.shape[1], Y.shape[1]
    w, wY = weights[:, None], weights[:, None] * Y
    rho = np.broadcast_to(np.reshape(penalty, (-1, 1)), (d, 1))

    def loss_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        V = theta.reshape(d, c)
        logits = F @ V
        logits += offset
        P, log_sums = softmax_and_log_sum(logits)
        loss = log_sums @ weights - np.vdot(wY, logits) + 0.5 * np.vdot(rho * V, V)
        P *= w
        P -= wY
        return float(loss), (F.T @ P + rho * V).ravel()

    return minimize(loss_and_gradient, np.zeros(d * c), jac=True, method="L-BFGS-B", options=options)


@dataclass(frozen=True, eq=False)
class ScoreMap:
    r"""The distribution :math:`\mathrm{softmax}(Z A + b)` of scores Z.

    Least squares masks a class that lies between two others; a linear map of the scores can undo this, as in
    linear discriminant analysis.
    """

    A: np.ndarray
    b: np.ndarray

    def logits(self, Z: np.ndarray) -> np.ndarray:
        """Return log-probabilities, up to a constant in each row."""
        if len(self.b) > _MOST_MAPPED:
            return np.asarray(Z * np.diagonal(self.A) + self.b)
        return np.asarray(Z @ self.A + self.b)

    @classmethod
    def default(cls, n_classes: int) -> "ScoreMap":
        """Return the map to use when no label can be hidden."""
        return cls(RIDGE_SHARPNESS * np.eye(n_classes), np.zeros(n_classes))


@dataclass(frozen=True, eq=False)
class FittedMap:
    """A softmax map, and the logits of each label by a map that was fitted without it."""

    map: ScoreMap
    logits_without: np.ndarray


def fit_softmax_map(
    Z: np.ndarray, Y: np.ndarray, weights: np.ndarray, sharpness: float, penalty: float
) -> FittedMap:
    r"""Fit :math:`A = tI + D` and b to leave-one-out scores of labels.

    .. math:: \min_{D, b} -\sum_i w_i \log \mathrm{softmax}(Z_i A + b)_{y_i}
              + \tfrac{\rho}{2} (\|D\|^2 s^2 + \|b\|^2), \qquad s^2 = \mathrm{var}(Z)

    ``sharpness`` is t and ``penalty`` is ρ, in labels; with an infinite one, A = tI and b = 0.
    """
    m, c = Y.shape
    identity = FittedMap(ScoreMap(sharpness * np.eye(c), np.zeros(c)), sharpness * Z)
    scale = float(Z.std())
    if c > _MOST_MAPPED or np.isinf(penalty) or scale <= 1e-9 * np.abs(Z).max(initial=0.0):
        return identity
    w = weights * m / weights.sum()
    F = np.hstack([Z / scale, np.ones((m, 1))])
    fit = softmax_regression(F, Y, w, penalty, sharpness * Z, maxiter=_MAP_STEPS, ftol=1e-6)
    D = fit.x.reshape(c + 1, c)
    A = sharpness * np.eye(c) + D[:c] / scale
    if np.trace(A) / c <= A.mean():
        # leave-one-out is biased against the true class: a map that reverses scores has fitted only this bias
        return identity
    logits = sharpness * Z + F @ D
    return FittedMap(ScoreMap(A, D[c]), logits + _without_own(F, Y, w, logits, penalty))


def _without_own(
    F: np.ndarray, Y: np.ndarray, w: np.ndarray, logits: np.ndarray, penalty: float
) -> np.ndarray:
    r"""Return how the logits of each label change if a softmax regression leaves it out.

    .. math:: \frac{h_{ik} (P_{ik} - Y_{ik})}{1 - h_{ik} P_{ik} (1 - P_{ik})}, \qquad
              h_{ik} = w_i F_i^\top \Big( \sum_j w_j P_{jk} (1 - P_{jk}) F_j F_j^\top + \rho I \Big)^{-1} F_i

    One Newton step, in which each class has a Hessian of its own.
    """
    (m, d), c = F.shape, Y.shape[1]
    P, _ = softmax_and_log_sum(logits)
    curvature = P * (1.0 - P)
    pairs = (F[:, :, None] * F[:, None, :]).reshape(m, d * d)
    H = ((w[:, None] * curvature).T @ pairs).reshape(c, d, d) + penalty * np.eye(d)
    h = w[:, None] * (pairs @ np.linalg.inv(H).reshape(c, d * d).T)
    return np.asarray(h * (P - Y) / np.maximum(1.0 - h * curvature, _LEAST_REST))


def inverse_temperatures(
    Z: np.ndarray, Y: np.ndarray, weights: np.ndarray, centre: float = RIDGE_SHARPNESS
) -> tuple[np.ndarray, np.ndarray]:
    r"""Find the t that maximises the likelihood of labels under softmax(tZ), for several Z at once.

    .. math:: \min_t -\sum_i w_i \log \mathrm{softmax}(t Z_i)_{y_i}
              + \frac1{2m} \Big(\log \frac t{t_0}\Big)^2, \qquad \sum_i w_i = 1

    The last term is a prior that t is :math:`t_0`, worth one label; it matters when labels are few. Returns t
    and the loss, both of shape (p,), computed by Newton's method for log t.
    """
    w = weights / weights.sum()
    start, curb = np.log(centre), _PRIOR / len(Y)
    low, high = start - _FARTHEST, np.log(_SHARPEST)
    # subtract the score of the true class, so that the loss is log Σ exp
    Z = Z - np.einsum("pmc,mc->pm", Z, Y)[:, :, None]
    log_t = np.full(len(Z), start - np.log(2.0))
    for _ in range(_NEWTON):
        t = np.exp(log_t)
        P, _ = softmax_and_log_sum(t[:, None, None] * Z)
        mean = np.einsum("pmc,pmc->pm", P, Z)
        slope = t * (mean @ w) + curb * (log_t - start)
        curvature = np.square(t) * ((np.einsum("pmc,pmc,pmc->pm", P, Z, Z) - np.square(mean)) @ w) + curb
        # at most a factor of three per step: far from the minimum the curvature is a poor guide
        step = np.clip(slope / curvature, -_LONGEST, _LONGEST)
        before, log_t = log_t, np.clip(log_t - step, low, high)
        if (np.abs(log_t - before) <= _SETTLED).all():
            break
    t = np.exp(log_t)
    losses = softmax_and_log_sum(t[:, None, None] * Z)[1]
    return t, losses @ w + 0.5 * curb * np.square(log_t - start)
