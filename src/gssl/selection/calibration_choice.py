"""Which map of confidence to believe: each is judged by labels that it has not seen."""

import numpy as np

from gssl.evaluation.holdout import fold_numbers
from gssl.selection.calibration import FITS, Calibration, temperature

_FOLDS = 5
# what makes one map of several
CHOICES = ("average", "best")


def calibrate(P: np.ndarray, codes: np.ndarray, kind: str = "average") -> Calibration:
    r"""Fit maps to held-out distributions, and average them by how probable they make labels.

    .. math:: P \mapsto \sum_k w_k\, g_k(P), \qquad w_k \propto \exp(-m\, \ell_k)

    :math:`\ell_k` is the cross-validated log loss of the k-th map over m labels, so :math:`w_k` is in
    proportion to the probability that it gave to labels it was not fitted to. With few labels no map is
    clearly the best, and which one happens to be is mostly noise that an average does not have.

    Parameters
    ----------
    P : ndarray of shape (m, c)
        Distributions of nodes whose label was hidden.
    codes : int ndarray of shape (m,)
        Their classes.
    kind : {"average", "best", "temperature", "score", "isotonic"}, default="average"
        All maps, weighted; the one with the least loss; or the one that is named.

    Returns
    -------
    Calibration
        Of few labels, fewer than two per fold, the temperature, which has a belief to fall back on.

    Examples
    --------
    >>> P = np.full((1000, 2), [0.6, 0.4])
    >>> found = calibrate(P, np.repeat([0, 1], [900, 100]))
    >>> found.kind, found(P)[0].round(1), round(sum(weight for weight, _ in found.parts), 6)
    ('average', array([0.9, 0.1]), 1.0)
    """
    if kind not in CHOICES:
        return FITS[kind](P, codes)
    if len(codes) < 2 * _FOLDS:
        return temperature(P, codes)
    losses = cross_validated_losses(P, codes)
    if kind == "best":
        best = FITS[min(losses, key=lambda name: losses[name])](P, codes)
        return Calibration(best.kind, best.temperature, best.knots, losses)
    least = min(losses.values())
    likely = {name: np.exp(-len(codes) * (loss - least)) for name, loss in losses.items()}
    total = sum(likely.values())
    parts = tuple((float(value / total), FITS[name](P, codes)) for name, value in likely.items())
    return Calibration("average", log_loss=losses, parts=parts)


def cross_validated_losses(P: np.ndarray, codes: np.ndarray) -> dict[str, float]:
    """Return the log loss of each map on labels that it was not fitted to."""
    folds = fold_numbers(codes, _FOLDS)
    losses = {}
    for name, fit in FITS.items():
        total = 0.0
        for fold in range(_FOLDS):
            hidden = folds == fold
            total += log_loss(fit(P[~hidden], codes[~hidden])(P[hidden]), codes[hidden]) * hidden.sum()
        losses[name] = float(total / len(codes))
    return losses


def log_loss(P: np.ndarray, codes: np.ndarray) -> float:
    r"""Return the mean of :math:`-\log P_{i y_i}`."""
    chosen = np.asarray(P, dtype=np.float64)[np.arange(len(codes)), codes]
    return float(-np.log(np.maximum(chosen, np.finfo(np.float64).tiny)).mean())
