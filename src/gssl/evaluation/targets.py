"""Kinds of answers: how scores become answers, and what hidden answers say about scores.

Models compute scores Z by least squares, whatever the answers are; a :class:`Target` knows the rest.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_softmax

from gssl.evaluation.metrics import score_error
from gssl.methods.ridge import keep_class_mass
from gssl.methods.softmax import FittedMap, ScoreMap, fit_softmax_map, inverse_temperatures

# penalties of softmax maps, in labels
MAP_PENALTIES = (100.0, 25.0, 5.0)
# filters that are not smooth need their map: a higher penalty must raise a log-likelihood by this
_CLEARLY = 0.1
# labels × classes up to which every penalty of a ridge is judged by likelihood
_MANY_SCORES = 200_000
# the least variance of residuals, in units of that of the answers
_LEAST_VARIANCE = 1e-9
# strength of the prior of sigmoid maps, in labels, and the number of Newton steps to fit them
_SIGMOID_PRIOR, _NEWTON = 5.0, 25


@dataclass(frozen=True, eq=False)
class Judged:
    """The best of some leave-one-out scores: its number, its map, and what hidden answers say about it.

    ``logs`` are log-likelihoods of the answers. ``score`` is accuracy, R² or the share of right cells, with
    its standard ``error``. ``points`` are what models are compared by, answer by answer: hits, shares of R²,
    or log-likelihoods of several labels. ``t`` and ``strength`` are the settings of the map.
    """

    best: int
    scores: np.ndarray
    map: ScoreMap
    t: float
    strength: float
    logs: np.ndarray
    score: float
    error: float
    points: np.ndarray


class Target(ABC):
    """A kind of answers, as rows of a matrix Y."""

    # whether scores have an intercept of their own: without it, a score that leaves out an answer tells it,
    # because the sum of the others does
    has_intercept: bool = False

    @abstractmethod
    def judge(self, Z: np.ndarray, Y: np.ndarray, weights: np.ndarray, *, smooth: bool) -> Judged:
        """Choose among leave-one-out scores of shape (p, m, c), and fit the map from scores to answers."""

    @abstractmethod
    def fit_map(
        self, Z: np.ndarray, Y: np.ndarray, weights: np.ndarray, t: float, strength: float
    ) -> ScoreMap:
        """Fit the map of some scores with given settings."""

    @abstractmethod
    def default_map(self, n_columns: int) -> ScoreMap:
        """Return the map to use when no answer can be hidden."""


class Classes(Target):
    """One class per node: rows of Y are one-hot, and scores become distributions by a softmax map."""

    def __init__(self, many_scores: int = _MANY_SCORES) -> None:
        self.many_scores = many_scores

    def judge(self, Z: np.ndarray, Y: np.ndarray, weights: np.ndarray, *, smooth: bool) -> Judged:
        Z, numbers = keep_class_mass(Z, Y), np.arange(len(Z))
        if Y.size > self.many_scores:
            # computing the likelihood of every penalty would take too long: choose by squared error
            numbers = np.array([_least_error(Z, Y, weights)])
        temperatures, losses = inverse_temperatures(Z[numbers], Y, weights)
        best = int(np.argmin(losses))
        t, scores = float(temperatures[best]), Z[numbers[best]]
        fitted, strength, logs = _best_map(scores, Y, weights, t, smooth=smooth)
        hits = fitted.logits_without.argmax(axis=1) == Y.argmax(axis=1)
        score = float(np.average(hits, weights=weights))
        error = score_error(score, effective_number(weights))
        return Judged(int(numbers[best]), scores, fitted.map, t, strength, logs, score, error, hits)

    def fit_map(
        self, Z: np.ndarray, Y: np.ndarray, weights: np.ndarray, t: float, strength: float
    ) -> ScoreMap:
        return fit_softmax_map(Z, Y, weights, t, strength).map

    def default_map(self, n_columns: int) -> ScoreMap:
        return ScoreMap.default(n_columns)


class Numbers(Target):
    """A number per node, standardised: scores are the answers, with errors of one variance."""

    def judge(self, Z: np.ndarray, Y: np.ndarray, weights: np.ndarray, *, smooth: bool) -> Judged:
        best = _least_error(Z, Y, weights)
        squares = np.square(Y - Z[best])[:, 0]
        variance = max(float(np.average(squares, weights=weights)), _LEAST_VARIANCE)
        logs = -0.5 * (np.log(2.0 * np.pi * variance) + squares / variance)
        score, error = r_squared(Y[:, 0], Z[best, :, 0], weights)
        points = 1.0 - squares / max(float(np.average(np.square(Y[:, 0]), weights=weights)), _LEAST_VARIANCE)
        return Judged(best, Z[best], self.default_map(1), 1.0, np.inf, logs, score, error, points)

    def fit_map(
        self, Z: np.ndarray, Y: np.ndarray, weights: np.ndarray, t: float, strength: float
    ) -> ScoreMap:
        return self.default_map(1)

    def default_map(self, n_columns: int) -> ScoreMap:
        return ScoreMap(np.eye(n_columns), np.zeros(n_columns))


class LabelSets(Target):
    """Several labels per node: columns of Y are 0 or 1 minus the ``shares`` of the labels.

    Each label has a sigmoid map of its own.
    """

    has_intercept = True

    def __init__(self, shares: np.ndarray) -> None:
        self.shares = shares

    def judge(self, Z: np.ndarray, Y: np.ndarray, weights: np.ndarray, *, smooth: bool) -> Judged:
        best = _least_error(Z, Y, weights)
        fitted = self.fit_map(Z[best], Y, weights, 1.0, _SIGMOID_PRIOR)
        logs, score, error = score_sets(fitted.logits(Z[best]), Y + self.shares, weights)
        return Judged(best, Z[best], fitted, 1.0, _SIGMOID_PRIOR, logs, score, error, logs)

    def fit_map(
        self, Z: np.ndarray, Y: np.ndarray, weights: np.ndarray, t: float, strength: float
    ) -> ScoreMap:
        a, b = fit_sigmoids(Z, Y + self.shares, weights, strength)
        return ScoreMap(np.diag(a), b)

    def default_map(self, n_columns: int) -> ScoreMap:
        return ScoreMap.default(n_columns)


def score_sets(logits: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return the log-likelihood of each row of labels, and the share of right cells with its error."""
    logs = (Y * logits - np.logaddexp(0.0, logits)).sum(axis=1)
    right = ((logits > 0) == (Y > 0.5)).mean(axis=1)
    score = float(np.average(right, weights=weights))
    return logs, score, float(np.std(right) / np.sqrt(effective_number(weights)))


def fit_sigmoids(
    Z: np.ndarray, Y: np.ndarray, weights: np.ndarray, strength: float
) -> tuple[np.ndarray, np.ndarray]:
    r"""Fit the probability :math:`\sigma(a_k z_k + b_k)` of each label to its scores, by Newton's method.

    .. math:: \min_{a, b} -\sum_i w_i \log p(y_{ik})
              + \tfrac{\rho}{2} \big( (a_k - a_0)^2 s_k^2 + (b_k - b_{0k})^2 \big)

    with the slope :math:`a_0` that all labels share, the log-odds :math:`b_{0k}` of the share of the label,
    and the deviation :math:`s_k` of its scores, which are centred. Returns a and b.
    """
    w = (weights * len(Y) / weights.sum())[:, None]
    centre, scale = np.average(Z, axis=0, weights=weights), np.maximum(Z.std(axis=0), 1e-12)
    x = (Z - centre) / scale
    shares = (np.average(Y, axis=0, weights=weights) * len(Y) + 0.5) / (len(Y) + 1.0)
    prior = np.zeros(Y.shape[1])
    intercepts = np.log(shares / (1.0 - shares))
    for shared in (True, False):
        slopes, shifts = prior.copy(), intercepts.copy()
        for _ in range(_NEWTON):
            p = expit(slopes * x + shifts)
            residual, curvature = w * (p - Y), w * np.maximum(p * (1.0 - p), 1e-9)
            g = (residual * x).sum(axis=0) + strength * (slopes - prior)
            h = residual.sum(axis=0) + strength * (shifts - intercepts)
            aa = (curvature * x * x).sum(axis=0) + strength
            ab, bb = (curvature * x).sum(axis=0), curvature.sum(axis=0) + strength
            det = np.maximum(aa * bb - ab * ab, 1e-12)
            step_a, step_b = (bb * g - ab * h) / det, (aa * h - ab * g) / det
            slopes, shifts = slopes - np.clip(step_a, -2.0, 2.0), shifts - np.clip(step_b, -2.0, 2.0)
            if max(np.abs(step_a).max(initial=0.0), np.abs(step_b).max(initial=0.0)) < 1e-6:
                break
        if shared:
            prior = np.full_like(prior, np.median(slopes))
    # a map that reverses scores has fitted the bias of leave-one-out: the share of the label is better
    slopes, shifts = np.maximum(slopes, 0.0), np.where(slopes > 0, shifts, intercepts)
    return slopes / scale, shifts - slopes * centre / scale


def effective_number(weights: np.ndarray) -> float:
    """Return the number of equally weighted answers with the same variance."""
    return float(weights.sum() ** 2 / np.square(weights).sum())


def r_squared(truth: np.ndarray, predicted: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    r"""Return the share of variance that predictions explain, and its standard error.

    .. math:: R^2 = 1 - \frac{\sum_i w_i (y_i - \hat y_i)^2}{\sum_i w_i (y_i - \bar y)^2}

    Examples
    --------
    >>> r_squared(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0]), np.ones(3))[0]
    0.5
    """
    squares = np.square(truth - predicted)
    total = np.square(truth - np.average(truth, weights=weights))
    variance = float(np.average(total, weights=weights))
    if not variance:
        return 0.0, 0.0
    score = 1.0 - float(np.average(squares, weights=weights)) / variance
    # that of the ratio of two means
    influence = squares - (1.0 - score) * total
    return score, float(np.std(influence) / (variance * np.sqrt(effective_number(weights))))


def _least_error(Z: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> int:
    """Return which of some scores have the least squared error."""
    errors = [float(np.average(np.square(scores - Y).sum(axis=1), weights=weights)) for scores in Z]
    return int(np.argmin(errors))


def _best_map(
    Z: np.ndarray, Y: np.ndarray, weights: np.ndarray, t: float, *, smooth: bool
) -> tuple[FittedMap, float, np.ndarray]:
    """Fit a softmax map with the penalty that predicts labels best by maps without them.

    Begins with the highest penalty for a smooth filter, else with the lowest, and stops when the next one is
    no better. Returns the map, its penalty, and the log-likelihoods of the labels.
    """
    best: tuple[FittedMap, float, np.ndarray] | None = None
    needed = 0.0 if smooth else _CLEARLY * weights.sum()
    for penalty in MAP_PENALTIES if smooth else reversed(MAP_PENALTIES):
        fitted = fit_softmax_map(Z, Y, weights, t, penalty)
        logs = (log_softmax(fitted.logits_without, axis=1) * Y).sum(axis=1)
        if best is not None and weights @ logs <= weights @ best[2] + needed:
            break
        best = fitted, penalty, logs
    assert best is not None
    return best
