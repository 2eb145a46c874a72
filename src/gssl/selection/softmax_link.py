"""Convert class scores to distributions by a softmax of a linear map that is fitted to hidden labels."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

# penalty on deviations of the map from a multiple of the identity, in labels
_RIDGE = 5.0
# with more classes there are never enough labels to fit a full map
_MOST_MAPPED = 100
_STEPS = 60
# prior mean of the inverse temperature, strength of the prior in labels, and upper bound
_USUAL, _PRIOR, _SHARPEST = 10.0, 1.0, 200.0
# maximum number of Newton steps for a temperature, and the relative change at which they stop
_NEWTON, _SETTLED = 9, 1e-3


@dataclass(frozen=True, eq=False)
class Link:
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
    def usual(cls, n_classes: int) -> "Link":
        """Return the default link, for use when no label can be hidden."""
        return cls(_USUAL * np.eye(n_classes), np.zeros(n_classes))


def inverse_temperatures(
    Z: np.ndarray, Y: np.ndarray, weights: np.ndarray, usual: float = _USUAL
) -> tuple[np.ndarray, np.ndarray]:
    r"""Find the t that maximises the likelihood of labels under softmax(tZ), for several Z at once.

    .. math:: \min_t -\sum_i w_i \log \mathrm{softmax}(t Z_i)_{y_i} + \frac{(t - t_0)^2}{2 m t_0^2}

    Returns t and the loss, both of shape (p,), computed by Newton's method.
    """
    w = weights / weights.sum()
    m = len(Y)
    t, curb = np.full(len(Z), 0.5 * usual), _PRIOR / (m * usual**2)
    # subtract the score of the true class, so that the loss is log Σ exp
    Z = Z - np.einsum("pmc,mc->pm", Z, Y)[:, :, None]
    for _ in range(_NEWTON):
        P, _ = _softmax(t[:, None, None] * Z)
        mean = np.einsum("pmc,pmc->pm", P, Z)
        slope = mean @ w + curb * (t - usual)
        curvature = (np.einsum("pmc,pmc,pmc->pm", P, Z, Z) - np.square(mean)) @ w + curb
        # at most a factor of three per step: far from the minimum the curvature is a poor guide
        before, t = t, np.clip(t - slope / curvature, t / 3.0, np.minimum(3.0 * t, _SHARPEST))
        if (np.abs(t - before) <= _SETTLED * t).all():
            break
    losses = _softmax(t[:, None, None] * Z)[1]
    return t, losses @ w + 0.5 * curb * np.square(t - usual)


def _softmax(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the softmax of logits and the logarithm of its denominator."""
    most = logits.max(axis=-1, keepdims=True)
    P = np.exp(logits - most)
    total = P.sum(axis=-1, keepdims=True)
    P /= total
    return P, (most + np.log(total))[..., 0]


def fit_link(Z: np.ndarray, Y: np.ndarray, weights: np.ndarray, t: float) -> tuple[Link, float]:
    r"""Fit :math:`A = tI + D` and b to leave-one-out scores of labels.

    .. math:: \min_{D, b} -\sum_i w_i \log \mathrm{softmax}(Z_i A + b)_{y_i}
              + \tfrac{\rho}{2} (\|D\|^2 s^2 + \|b\|^2), \qquad s^2 = \mathrm{var}(Z)

    Returns the link and the mean loss with its penalty, by which models are compared.
    """
    m, c = Y.shape
    if c > _MOST_MAPPED:
        logs = np.log(np.maximum((_softmax(t * Z)[0] * Y).sum(axis=1), np.finfo(np.float64).tiny))
        return Link(t * np.eye(c), np.zeros(c)), -float(np.average(logs, weights=weights))
    w = (weights * m / weights.sum())[:, None]
    scale = max(float(Z.std()), 1e-12)
    F = np.hstack([Z / scale, np.ones((m, 1))])
    base, wY = t * Z, w * Y

    def loss_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        D = theta.reshape(c + 1, c)
        logits = base + F @ D
        P, total = _softmax(logits)
        loss = total @ w[:, 0] - np.vdot(wY, logits) + 0.5 * _RIDGE * (theta @ theta)
        return float(loss), (F.T @ (w * P - wY) + _RIDGE * D).ravel()

    found = minimize(
        loss_and_gradient,
        np.zeros((c + 1) * c),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _STEPS, "ftol": 1e-6},
    )
    D = found.x.reshape(c + 1, c)
    A = t * np.eye(c) + D[:c] / scale
    if np.trace(A) / c <= A.mean():
        # leave-one-out is biased against the true class: a map that reverses scores has fitted only this bias
        return Link(t * np.eye(c), np.zeros(c)), loss_and_gradient(np.zeros((c + 1) * c))[0] / m
    return Link(A, D[c]), float(found.fun) / m
