"""Calibration of predicted distributions.

A map applies one increasing function g to the probabilities of all classes and normalises the rows to sum to
one, or is an average of such maps. The order of classes in each row, and so the prediction, does not change.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import softmax
from sklearn.isotonic import IsotonicRegression

from gssl.evaluation.holdout import fold_numbers
from gssl.methods.labels import one_hot
from gssl.methods.softmax import inverse_temperatures

# added to probabilities: log(0) is undefined, and no method can rule out a class
FLOOR = 1e-3
# the T at which softmax(P / T) is about P, for a handful of classes
_PLAIN_SCORE = 0.2
# weight of the identity in an isotonic map, which makes it strictly increasing
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
        Knots of an isotonic map: probabilities, and their values before rows are normalised.
    log_loss : dict
        The cross-validated loss of every map that was tried.
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
    r"""Find the temperature that maximises the likelihood of held-out labels.

    .. math:: \min_T\; -\sum_i \log \mathrm{softmax}(\log P_i / T)_{y_i} + \tfrac12 (\log T)^2

    The last term is a prior that T is one, worth one label; it matters when labels are few.

    Parameters
    ----------
    P, codes : ndarrays of shape (m, c) and (m,)
        Distributions of nodes whose label was hidden, and their classes.

    Returns
    -------
    Calibration

    Examples
    --------
    A model that is right nine times out of ten but only 60 % confident:

    >>> P = np.full((1000, 2), [0.6, 0.4])
    >>> fitted = temperature(P, np.repeat([0, 1], [900, 100]))
    >>> fitted(P)[0].round(2)
    array([0.9, 0.1])
    """
    return _softmax_map("temperature", P, codes, centre=1.0)


def score_temperature(P: np.ndarray, codes: np.ndarray) -> Calibration:
    r"""Find the temperature of a softmax of P itself, for methods that project scores onto the simplex.

    .. math:: \min_T\; -\sum_i \log \mathrm{softmax}(P_i / T)_{y_i} + \tfrac12 (\log (T / T_0))^2

    The projection, used by OGC and ridge regression, keeps the differences of scores and produces zeros, so
    the information is in the differences, not in the logarithms. T₀ = 0.2 changes P least.

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
    >>> fitted = score_temperature(P, np.repeat([0, 1], [900, 100]))
    >>> fitted(P)[0].round(2), round(fitted.temperature, 2)
    (array([0.9, 0.1]), 0.09)
    """
    return _softmax_map("score", P, codes, centre=_PLAIN_SCORE)


def isotonic(P: np.ndarray, codes: np.ndarray) -> Calibration:
    r"""Fit an increasing function of probabilities to held-out labels by least squares.

    .. math:: \min_{g \text{ increasing}} \sum_{i,k} (g(P_{ik}) - [y_i = k])^2, \qquad
              P_{ik} \mapsto g(P_{ik}) / \textstyle\sum_l g(P_{il})

    All classes share one g: with about twenty labels per class, separate functions would fit noise. The
    centres of its steps are joined by lines and mixed with a little of P, so that g is strictly increasing.

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
    # clip: scikit-learn merges values that differ by rounding, so the largest may be outside its range
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
    scores, Y = _scores(np.asarray(P, dtype=np.float64), kind), one_hot(codes, P.shape[1], np.float64)
    t, _ = inverse_temperatures(scores[None], Y, np.ones(len(codes)), centre=1.0 / centre)
    return Calibration(kind, temperature=1.0 / float(t[0]))


_FOLDS = 5
# ways to combine the maps of FITS, or to choose one
CHOICES = ("average", "best")


def calibrate(P: np.ndarray, codes: np.ndarray, kind: str = "average") -> Calibration:
    r"""Fit calibration maps to held-out labels, and average them by likelihood.

    .. math:: P \mapsto \sum_k w_k\, g_k(P), \qquad w_k \propto \exp(-m\, \ell_k)

    :math:`\ell_k` is the cross-validated log loss of the k-th map over m labels, so :math:`w_k` is
    proportional to the likelihood of labels that the map was not fitted to. With few labels no map is clearly
    best, and averaging is more stable than choosing one.

    Parameters
    ----------
    P, codes : ndarrays of shape (m, c) and (m,)
        Distributions of nodes whose label was hidden, and their classes.
    kind : {"average", "best", "temperature", "score", "isotonic"}, default="average"
        The weighted average of all maps, the map with the least loss, or the named map.

    Returns
    -------
    Calibration
        With fewer than 10 labels, "average" and "best" fall back to a temperature, which has a prior.

    Examples
    --------
    >>> P = np.full((1000, 2), [0.6, 0.4])
    >>> fitted = calibrate(P, np.repeat([0, 1], [900, 100]))
    >>> fitted.kind, fitted(P)[0].round(1), round(sum(weight for weight, _ in fitted.parts), 6)
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
    """Return the cross-validated log loss of each map."""
    # keys of the labels' own distributions, so that neither the order of labels nor of classes matters
    keys = P[np.arange(len(codes)), codes] + np.square(P).sum(axis=1) / np.sqrt(2.0)
    folds = fold_numbers(codes, _FOLDS, keys)
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
