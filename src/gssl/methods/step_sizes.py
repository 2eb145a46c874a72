"""Step sizes of OGC, which cannot diverge: W by backtracking, U by its Lipschitz constant."""

from typing import Any

import numpy as np

from gssl.operators import Loss, classification_loss, linear_step, residual

# after this many halvings, eta_w is treated as zero
_MAX_HALVINGS = 60


def scaled_steps(eta_w: float, eta_sup: float, scale: float, loss: Loss) -> tuple[float, float]:
    """Return both step sizes in units of the feature scale; the published squared loss has no factor ½."""
    factor = 2.0 if loss == "squared" else 1.0
    # not scale**2: pow is not always correctly rounded, so its last bit could depend on the unit
    return factor * eta_w / (scale * scale), factor * eta_sup * (scale * scale)


def descending_step(
    U_L: Any, W: np.ndarray, Z_L: np.ndarray, Y: np.ndarray, eta_w: float, loss: Loss
) -> tuple[np.ndarray, np.ndarray, float]:
    """Take one step of W, halving ``eta_w`` until the loss does not rise.

    Return W, the scores of the labelled nodes, and ``eta_w``, which stays halved.
    """
    R = residual(Z_L, Y, loss)
    # tolerate rounding errors at the optimum
    limit = classification_loss(Z_L, Y, loss) * (1.0 + 1e-6)
    for _ in range(_MAX_HALVINGS):
        W_next = linear_step(U_L, W, R, eta_w)
        Z_next = U_L @ W_next
        if classification_loss(Z_next, Y, loss) <= limit:
            return W_next, Z_next, eta_w
        eta_w /= 2.0
    return W, Z_L, 0.0


def bounded_step(eta_sup: float, W: np.ndarray) -> float:
    """Return ``eta_sup``, or 1/‖W‖² if it is 2/‖W‖² or more and could raise the loss.

    ‖W‖² is the Lipschitz constant of the gradient (UW − Y)Wᵀ, and twice that of the cross-entropy's.
    """
    # scaled by a power of two, so that the unit of the features does not change the rounding
    unit = 2.0 ** int(np.frexp(np.abs(W).max(initial=0.0))[1])
    V = W / unit
    curvature = unit**2 * float(np.linalg.norm(V.T @ V, 2))
    return eta_sup if eta_sup * curvature < 2.0 else 1.0 / curvature
