"""Softmax regressions that see different labels of the same rows, solved side by side."""

import numpy as np
from scipy.optimize import minimize

from gssl.selection.trial import Labels

_MAX_ITER = 1000


def solve_together(
    F: np.ndarray, labels: Labels, penalty: float, shown: np.ndarray, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise one softmax loss for each set of labels, all of them in one run."""
    (m, r), (n_sets, c) = F.shape, (shown.shape[1], labels.Y.shape[1])
    w = labels.weights[:, None] * shown
    w = (w / w.sum(axis=0))[:, :, None]
    wY = w * labels.Y[:, None, :]
    # the diagonal of the Hessian, up to the softmax's ≤ ¼
    curvature = np.sqrt(labels.weights @ np.square(F) / labels.weights.sum() / 4.0 + penalty)[:, None]
    F = F / curvature.T
    ridge = penalty / np.square(curvature)

    def loss_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        V = theta.reshape(r + 1, n_sets * c)
        scores = (F @ V[:r] + V[r]).reshape(m, n_sets, c)
        scores -= scores.max(axis=2, keepdims=True)
        Z = np.exp(scores)
        sums = Z.sum(axis=2, keepdims=True)
        loss = np.vdot(w, np.log(sums)) - np.vdot(scores, wY) + 0.5 * np.vdot(ridge * V[:r], V[:r])
        R = (Z * (w / sums) - wY).reshape(m, n_sets * c)
        return float(loss), np.vstack([F.T @ R + ridge * V[:r], R.sum(axis=0)]).ravel()

    options = {"maxiter": _MAX_ITER, "gtol": tol, "ftol": 0.0, "maxcor": 20}
    start = np.zeros((r + 1) * n_sets * c)
    found = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    V = found.x.reshape(r + 1, n_sets, c)
    return (V[:r] / curvature[:, :, None]).transpose(1, 0, 2), V[r]
