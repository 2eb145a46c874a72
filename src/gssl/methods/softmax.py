r"""Distributions from scores: softmax regression, a softmax map of class scores, and inverse temperatures.

    P = softmax(ZA + b)

Everything that turns scores into probabilities by maximum likelihood uses this file: the logistic head, the
models that AutoClassifier compares, calibration, audits and the labelling page.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

# penalty on deviations of a softmax map from a multiple of the identity, in labels
_MAP_PENALTY = 5.0
# with more classes there are never enough labels to fit a full map
_MOST_MAPPED = 100
_MAP_STEPS = 60
# prior mean of the inverse temperature of ridge scores, strength of the prior in labels, and upper bound
RIDGE_SHARPNESS, _PRIOR, _SHARPEST = 10.0, 1.0, 200.0
# maximum number of Newton steps for a temperature, and the relative change at which they stop
_NEWTON, _SETTLED = 9, 1e-3


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
class SoftmaxMap:
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
    def default(cls, n_classes: int) -> "SoftmaxMap":
        """Return the map to use when no label can be hidden."""
        return cls(RIDGE_SHARPNESS * np.eye(n_classes), np.zeros(n_classes))


def fit_softmax_map(
    Z: np.ndarray, Y: np.ndarray, weights: np.ndarray, sharpness: float
) -> tuple[SoftmaxMap, float]:
    r"""Fit :math:`A = tI + D` and b to leave-one-out scores of labels.

    .. math:: \min_{D, b} -\sum_i w_i \log \mathrm{softmax}(Z_i A + b)_{y_i}
              + \tfrac{\rho}{2} (\|D\|^2 s^2 + \|b\|^2), \qquad s^2 = \mathrm{var}(Z)

    ``sharpness`` is t. Returns the map and the mean loss with its penalty, by which models are compared.
    """
    m, c = Y.shape
    identity = SoftmaxMap(sharpness * np.eye(c), np.zeros(c))
    P, log_sums = softmax_and_log_sum(sharpness * Z)
    if c > _MOST_MAPPED:
        logs = np.log(np.maximum((P * Y).sum(axis=1), np.finfo(np.float64).tiny))
        return identity, -float(np.average(logs, weights=weights))
    w = weights * m / weights.sum()
    scale = max(float(Z.std()), 1e-12)
    F = np.hstack([Z / scale, np.ones((m, 1))])
    fit = softmax_regression(F, Y, w, _MAP_PENALTY, sharpness * Z, maxiter=_MAP_STEPS, ftol=1e-6)
    D = fit.x.reshape(c + 1, c)
    A = sharpness * np.eye(c) + D[:c] / scale
    if np.trace(A) / c <= A.mean():
        # leave-one-out is biased against the true class: a map that reverses scores has fitted only this bias
        return identity, float(log_sums @ w - np.vdot(w[:, None] * Y, sharpness * Z)) / m
    return SoftmaxMap(A, D[c]), float(fit.fun) / m


def inverse_temperatures(
    Z: np.ndarray, Y: np.ndarray, weights: np.ndarray, centre: float = RIDGE_SHARPNESS
) -> tuple[np.ndarray, np.ndarray]:
    r"""Find the t that maximises the likelihood of labels under softmax(tZ), for several Z at once.

    .. math:: \min_t -\sum_i w_i \log \mathrm{softmax}(t Z_i)_{y_i} + \frac{(t - t_0)^2}{2 m t_0^2}

    Returns t and the loss, both of shape (p,), computed by Newton's method.
    """
    w = weights / weights.sum()
    m = len(Y)
    t, curb = np.full(len(Z), 0.5 * centre), _PRIOR / (m * centre**2)
    # subtract the score of the true class, so that the loss is log Σ exp
    Z = Z - np.einsum("pmc,mc->pm", Z, Y)[:, :, None]
    for _ in range(_NEWTON):
        P, _ = softmax_and_log_sum(t[:, None, None] * Z)
        mean = np.einsum("pmc,pmc->pm", P, Z)
        slope = mean @ w + curb * (t - centre)
        curvature = (np.einsum("pmc,pmc,pmc->pm", P, Z, Z) - np.square(mean)) @ w + curb
        # at most a factor of three per step: far from the minimum the curvature is a poor guide
        before, t = t, np.clip(t - slope / curvature, t / 3.0, np.minimum(3.0 * t, _SHARPEST))
        if (np.abs(t - before) <= _SETTLED * t).all():
            break
    losses = softmax_and_log_sum(t[:, None, None] * Z)[1]
    return t, losses @ w + 0.5 * curb * np.square(t - centre)
