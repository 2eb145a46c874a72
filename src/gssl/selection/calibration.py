"""From distributions that order nodes well to distributions that can be believed.

Every map here is one increasing function g of a probability, the same for all classes, and a division by the
sum of the row; or an average of such maps. So the order of classes within a row, and with it the predicted
class, stays.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.isotonic import IsotonicRegression

from gssl.evaluation.holdout import fold_numbers

# a probability of zero has no logarithm, and no method knows that little can be ruled out
FLOOR = 1e-3
# how many labels the belief that the temperature needs no change is worth
_PRIOR = 1.0
# softmax(P / T) is about P itself here, for a handful of classes
_PLAIN_SCORE = 0.2
# a step of an isotonic map is no step but a steep slope, so that no two probabilities become one
_SLOPE = 0.02

Kind = Literal["none", "temperature", "score", "isotonic", "average"]


@dataclass(frozen=True, eq=False)
class Calibration:
    """A map from distributions to distributions that keeps the order of classes in each row.

    Attributes
    ----------
    kind : {"none", "temperature", "score", "isotonic", "average"}
    temperature : float
        T of the two softmax maps.
    knots : ndarray of shape (2, k)
        Where an isotonic map bends: probabilities, and what becomes of them.
    log_loss : dict
        The cross-validated loss of every map that was tried, on labels it had not seen.
    parts : tuple of (float, Calibration)
        The weights and maps of an average.
    """

    kind: Kind = "none"
    temperature: float = 1.0
    knots: np.ndarray | None = None
    log_loss: dict[str, float] | None = None
    parts: tuple[tuple[float, "Calibration"], ...] = ()

    def __call__(self, P: np.ndarray) -> np.ndarray:
        """Calibrate distributions."""
        values = np.asarray(P, dtype=np.float64)
        if self.kind == "none":
            return np.array(P)
        if self.parts:
            Q = np.asarray(sum(weight * part(values) for weight, part in self.parts))
        elif self.knots is not None:
            Q = np.interp(values, *self.knots)
            Q /= Q.sum(axis=1, keepdims=True)
        else:
            Q = softmax(_scores(values, self.kind) / self.temperature, axis=1)
        return np.asarray(Q, dtype=P.dtype)


def temperature(P: np.ndarray, codes: np.ndarray) -> Calibration:
    r"""Find the temperature under which held-out labels are most probable.

    .. math:: \min_T\; -\sum_i \log \mathrm{softmax}(\log P_i / T)_{y_i} + \tfrac12 (\log T)^2

    The last term leaves few labels less to say: one label's worth of belief that T is one.

    Parameters
    ----------
    P, codes : ndarrays of shape (m, c) and (m,)
        Distributions of nodes whose label was hidden, and their classes.

    Returns
    -------
    Calibration

    Examples
    --------
    Right nine times out of ten, and only 60 % sure:

    >>> P = np.full((1000, 2), [0.6, 0.4])
    >>> found = temperature(P, np.repeat([0, 1], [900, 100]))
    >>> found(P)[0].round(2)
    array([0.9, 0.1])
    """
    return _softmax_map("temperature", P, codes, centre=1.0)


def score_temperature(P: np.ndarray, codes: np.ndarray) -> Calibration:
    r"""Find the temperature of a softmax of P itself, for methods whose P is a projection of scores.

    .. math:: \min_T\; -\sum_i \log \mathrm{softmax}(P_i / T)_{y_i} + \tfrac12 (\log T / T_0)^2

    OGC and ridge regression project scores onto the simplex, which keeps their differences and makes zeros:
    the differences, not the logarithms, carry what is known. T₀ = 0.2 is the T that changes least.

    Parameters
    ----------
    P, codes : ndarrays of shape (m, c) and (m,)
        Distributions of nodes whose label was hidden, and their classes.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> P = np.full((1000, 2), [0.6, 0.4])
    >>> found = score_temperature(P, np.repeat([0, 1], [900, 100]))
    >>> found(P)[0].round(2), round(found.temperature, 2)
    (array([0.9, 0.1]), 0.09)
    """
    return _softmax_map("score", P, codes, centre=_PLAIN_SCORE)


def isotonic(P: np.ndarray, codes: np.ndarray) -> Calibration:
    r"""Find the increasing function that is nearest to what held-out labels turned out to be.

    .. math:: \min_{g \text{ increasing}} \sum_{i,k} (g(P_{ik}) - [y_i = k])^2, \qquad
              P_{ik} \mapsto g(P_{ik}) / \textstyle\sum_l g(P_{il})

    One g for all classes: with twenty labels of a class a function for each would be noise. It joins the
    middles of its steps by lines, mixed with a little of P, so that it rises everywhere.

    Parameters
    ----------
    P, codes : ndarrays of shape (m, c) and (m,)
        Distributions of nodes whose label was hidden, and their classes.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> P = np.full((1000, 2), [0.6, 0.4])
    >>> isotonic(P, np.repeat([0, 1], [900, 100]))(P)[0].round(2)
    array([0.89, 0.11])
    """
    values = np.asarray(P, dtype=np.float64).ravel()
    hits = (np.arange(P.shape[1]) == codes[:, None]).ravel().astype(np.float64)
    # clipped: values that differ by a rounding error are one to it, so the largest may lie beyond its range
    regression = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    steps = regression.fit(values, hits).predict(values)
    levels, which = np.unique(steps, return_inverse=True)
    middles = np.bincount(which, weights=values) / np.bincount(which)
    x = np.concatenate([[0.0], middles, [1.0]])
    g = np.concatenate([levels[:1], levels, levels[-1:]])
    knots = np.stack([x, FLOOR + (1.0 - _SLOPE) * g + _SLOPE * x])
    return Calibration("isotonic", knots=knots)


FITS: dict[str, Callable[[np.ndarray, np.ndarray], Calibration]] = {
    "temperature": temperature,
    "score": score_temperature,
    "isotonic": isotonic,
}


def _scores(P: np.ndarray, kind: Kind) -> np.ndarray:
    return P if kind == "score" else np.log(P + FLOOR)


def _softmax_map(kind: Kind, P: np.ndarray, codes: np.ndarray, centre: float) -> Calibration:
    scores, rows = _scores(np.asarray(P, dtype=np.float64), kind), np.arange(len(codes))

    def loss(log_t: float) -> float:
        likely = log_softmax(scores / (centre * np.exp(log_t)), axis=1)[rows, codes].sum()
        return float(0.5 * _PRIOR * log_t**2 - likely)

    found = minimize_scalar(loss, bounds=(-6.0, 6.0), method="bounded", options={"xatol": 1e-6})
    return Calibration(kind, temperature=float(centre * np.exp(found.x)))


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
    P, codes : ndarrays of shape (m, c) and (m,)
        Distributions of nodes whose label was hidden, and their classes.
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
