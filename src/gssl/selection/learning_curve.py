"""Learning curves: accuracy, or R², against the number of known answers, and how many a target needs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
from scipy.special import softmax

from gssl.evaluation.holdout import HeldOut
from gssl.evaluation.number_accuracy import NumberAccuracy
from gssl.frames import Tabular
from gssl.methods.labels import UNLABELLED
from gssl.methods.ridge import Ridge
from gssl.methods.state import current
from gssl.operators import small_algebra
from gssl.selection.auto import AutoClassifier
from gssl.selection.auto_regressor import AutoRegressor
from gssl.selection.ensemble import FittedEnsemble
from gssl.selection.measures import ACCURACY, JudgedAnswers, JudgedClasses, JudgedNumbers, Measure
from gssl.selection.why import unwrapped
from gssl.wording import write_range, write_rough

# number of draws, and of nested subsets per draw, with logarithmically spaced sizes
_DRAWS, _SIZES = 8, 6
# the fraction of labels that the largest subset leaves for evaluation
_EVALUATED = 0.2
# maximum subset size: the curve is known well enough by then
_MOST = 4000
# minimum number of labels for a curve
_FEWEST = 20
# grid of exponents, and the mean and standard deviation of their prior
_EXPONENTS = np.linspace(0.1, 1.5, 29)
_USUAL_EXPONENT, _SPREAD = 0.5, 0.3
_SAMPLES = 400
# standard deviations of the misfit at any size, and of the limit: with more labels, other models are chosen
_MISFIT, _OTHERS = 0.01, 0.02
_NARROW, _WIDE = 5.0, 95.0
# number of averaged models to refit, in place of all
_MEMBERS = 4
# from this many labels on, half as many draws: each is evaluated on many labels
_MANY_LABELS = 1000


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(Tabular):
    r"""Accuracy, or R², against the number of known answers: :math:`a - b\, n^{-c}`, with its uncertainty.

    Attributes
    ----------
    n_labels, n_nodes : int
        The numbers of given labels, or numbers, and of all nodes.
    sizes, accuracy : ndarrays of shape (k,)
        How many labels models were fitted to, and the mean accuracy on the other labels; of numbers, R².
    target : float or None
        The desired accuracy, or R², in (0, 1].
    samples : ndarray of shape (s, 3)
        a, b and c of sampled curves, which express the uncertainty.
    measure : Measure
        How accuracy, or R², is called and written.
    """

    n_labels: int
    n_nodes: int
    sizes: np.ndarray
    accuracy: np.ndarray
    target: float | None
    samples: np.ndarray
    measure: Measure = ACCURACY

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a dict of columns: numbers of labels, or numbers, and the accuracy, or R², with each."""
        return {self.measure.answers: self.sizes.tolist(), self.measure.name: self.accuracy.tolist()}

    def __repr__(self) -> str:
        return f"LearningCurve: {self.text()}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.text())}</p>{super()._repr_html_()}"

    def at(self, n: float) -> tuple[float, float, float]:
        """Return the median accuracy with n labels, and a 90 % interval."""
        a, b, c = self.samples.T
        low, middle, high = np.percentile(a - b * float(n) ** -c, [_NARROW, 50.0, _WIDE])
        return float(middle), float(max(low, self.measure.least)), float(min(high, 1.0))

    @property
    def limit(self) -> tuple[float, float, float]:
        """The accuracy if all nodes were labelled, and a 90 % interval."""
        return self.at(self.n_nodes)

    def moved_to(self, accuracy: float) -> "LearningCurve":
        """Return the curve shifted to a given accuracy at the current number of labels.

        Labels that were not drawn at random give a biased accuracy; the shape of the curve is unchanged.
        """
        shift = accuracy - self.at(self.n_labels)[0]
        a, b, c = self.samples.T
        samples = np.stack([np.minimum(a + shift, 1.0), b, c], axis=1)
        return replace(
            self, accuracy=np.clip(self.accuracy + shift, self.measure.least, 1.0), samples=samples
        )

    @property
    def next_target(self) -> float:
        """The next higher multiple of 5 %, or of 1 % from 95 % on."""
        now = 100.0 * max(self.at(self.n_labels)[0], 0.0)
        step = 5 if now < 95 else 1
        return min(step * (int(now / step) + 1), 100) / 100

    def gain(self, more: int = 50) -> float:
        """Return by how much this many more labels would increase the accuracy."""
        b, c = self.samples[:, 1:].T
        n = float(self.n_labels)
        return float(np.median(b * (n**-c - (n + more) ** -c)))

    def labels_needed(self, target: float | None = None) -> tuple[float, float, float]:
        """Return how many more labels reach a target, and a 90 % interval; infinite if no number does.

        If None, the target of the curve is used.
        """
        wanted = self._target(target)
        a, b, c = self.samples.T
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            n = np.where(a > wanted, (b / np.maximum(a - wanted, 1e-300)) ** (1.0 / c), np.inf)
        n[n > self.n_nodes] = np.inf
        # a rounding error must not count as a label
        more = np.maximum(np.ceil(np.sort(n) - self.n_labels - 1e-6), 0.0)
        low, middle, high = (more[int(p / 100.0 * (len(more) - 1))] for p in (_NARROW, 50.0, _WIDE))
        return float(middle), float(low), float(high)

    def _target(self, target: float | None) -> float:
        wanted = self.target if target is None else target
        if wanted is None:
            raise ValueError("labels_needed: give a target, such as 0.85.")
        return check_target(wanted)

    def text(self, target: float | None = None, more: int = 50) -> str:
        """Describe how many more labels reach the target, and what ``more`` labels would add."""
        measure, (now, low, high) = self.measure, self.at(self.n_labels)
        shown = _within(now, low, high, measure.write)
        sentences = [measure.now.format(n=self.n_labels, score=measure.write(now), range=shown)]
        if target is not None or self.target is not None:
            sentences.append(self._answer(self._target(target)))
        sentences.append(measure.gain.format(more=more, gain=measure.write_gain(self.gain(more))))
        return " ".join(sentence[0].upper() + sentence[1:] + "." for sentence in sentences)

    def _answer(self, wanted: float) -> str:
        measure, (middle, low, high) = self.measure, self.labels_needed(wanted)
        goal = measure.goal.format(score=wanted, percent=100 * wanted)
        if middle == 0.0:
            return f"{goal} is reached already"
        if np.isinf(middle):
            end, least, most = self.limit
            hope = np.isfinite(low)
            levels = measure.limit.format(
                score=measure.write(end), range=_within(end, least, most, measure.write)
            )
            if not hope:
                return f"{goal} is not reachable: {levels}"
            answers = measure.answers if low > 1 else measure.answers.removesuffix("s")
            return f"{goal} is probably not reachable: {levels}; at best, {_more(low)} more {answers} may do"
        return measure.needs.format(goal=goal, more=_more(middle), range=_within(middle, low, high, _more))


def learning_curve(
    model: Any, target: float | None = None, *, random_state: int = 0, held_out: HeldOut | None = None
) -> LearningCurve:
    """Estimate accuracy as a function of the number of labels from the given labels; of numbers, R².

    The best models of the average are refitted in closed form to stratified subsets of the labels, without
    self-training, and evaluated on the other labels. An inverse power law is fitted to the accuracies, and
    again to resampled labels for its uncertainty. The estimate holds for nodes drawn like the labelled ones
    and for labels added at random; suggested ones may do better. Residuals of numbers are
    propagated, too, and the curve of a regressor is shifted to its R² on hidden numbers.

    Parameters
    ----------
    model : fitted AutoClassifier or AutoRegressor
        If it was loaded from a file, one that was saved with its problem.
    target : float, optional
        The desired accuracy, or R², in (0, 1].
    random_state : int, default=0
    held_out : HeldOut, optional
        The model's predictions for hidden labels. If they are enough, the curve is shifted to their accuracy,
        which other functions show.

    Returns
    -------
    LearningCurve

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("cora")
    >>> y = data.mask_labels("default")
    >>> model = gssl.AutoClassifier(depth=4).fit(data.features, y, adjacency=data.adjacency)
    >>> curve = learning_curve(model, 0.6)
    >>> curve.labels_needed()
    (0.0, 0.0, 0.0)
    >>> curve.at(140)[0] < curve.at(1400)[0] < 1.0
    True
    """
    return draw_curve(model, target, random_state=random_state, held_out=held_out)


def draw_curve(
    model: Any, target: float | None = None, *, random_state: int = 0, held_out: Any = None, most: int = _MOST
) -> LearningCurve:
    """Draw the curve from subsets of at most ``most`` labels."""
    if target is not None:
        target = check_target(target)
    model = unwrapped(current(model), "learning_curve")
    average: FittedEnsemble | None = getattr(model, "_fitted_average", None)
    if not isinstance(model, AutoClassifier | AutoRegressor) or average is None:
        raise ValueError(
            "a learning curve needs models that are fitted again in closed form: fit AutoClassifier or "
            "AutoRegressor to features, or give it some."
        )
    codes = model.fit_codes[model.fit_codes != UNLABELLED]
    sizes = subset_sizes(codes, most)
    # a sample of many labels is enough
    part = average.labels.sample(int(most / (1.0 - _EVALUATED)))
    hidden = _hidden_answers(model, codes, part)
    rng = np.random.default_rng(random_state)
    with small_algebra():
        losses, shown = _subset_losses(average, part, hidden, sizes, rng)
        # resample labels in the order of their keys: the order of nodes must not matter
        order = np.argsort(average.labels.keys[part], kind="stable")
        samples = _sample_curves(losses[:, :, order], shown[:, :, order], hidden.reference[order], sizes, rng)
    evaluated = ~shown
    lost = (losses * evaluated).sum(axis=(0, 2)) / np.maximum(evaluated.sum(axis=(0, 2)), 1)
    accuracy = 1.0 - lost / hidden.reference.mean()
    curve = LearningCurve(len(codes), len(model.fit_codes), sizes, accuracy, target, samples, hidden.measure)
    if isinstance(model, AutoRegressor):
        return curve.moved_to(_held_out_score(model))
    return curve if held_out is None or not held_out.tells else curve.moved_to(held_out.accuracy)


def _hidden_answers(
    model: AutoClassifier | AutoRegressor, codes: np.ndarray, part: np.ndarray
) -> JudgedAnswers:
    """Return the known answers of which some are hidden."""
    if isinstance(model, AutoRegressor):
        return JudgedNumbers(model, np.flatnonzero(model.fit_codes != UNLABELLED)[part])
    return JudgedClasses(codes[part])


def _held_out_score(model: AutoRegressor) -> float:
    """Return R² on hidden numbers, as other functions show it."""
    known = model.fit_codes != UNLABELLED
    low, high = model.intervals_[known].T
    return NumberAccuracy(model.fit_values[known], model.held_out_, low, high).r_squared[0]


def check_target(target: float) -> float:
    """Return an accuracy, or R², as a float; raise if it is invalid."""
    if not isinstance(target, int | float | np.number) or not 0.0 < target <= 1.0:
        raise ValueError(f"target is an accuracy between 0 and 1, such as 0.85, not {target!r}.")
    return float(target)


def subset_sizes(codes: np.ndarray, most: int = _MOST) -> np.ndarray:
    """Return the sizes of the subsets of labels to draw."""
    m, c = len(codes), len(np.unique(codes))
    most = min(int((1.0 - _EVALUATED) * m), most)
    least = max(2 * c, most // 8)
    if m < max(_FEWEST, 4 * c) or least >= most:
        known = f"{m} labels in {c} classes" if c > 1 else f"{m} known nodes"
        raise ValueError(
            f"{known} are too few for a learning curve: label at least {max(_FEWEST, 4 * c)} nodes."
        )
    return np.unique(np.geomspace(least, most, _SIZES).astype(int))


def nested_order(codes: np.ndarray, keys: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random order of labels such that every prefix is stratified by class."""
    position, ordered = np.empty(len(codes)), np.argsort(keys, kind="stable")
    for code in dict.fromkeys(codes[ordered].tolist()):
        members = rng.permutation(ordered[codes[ordered] == code])
        position[members] = (np.arange(len(members)) + rng.random()) / len(members)
    return np.argsort(position)


def _subset_losses(
    average: FittedEnsemble,
    part: np.ndarray,
    hidden: JudgedAnswers,
    sizes: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Fit subsets; return the losses and a mask of shown labels, by draw, size and label."""
    m, labels = len(part), average.labels.part(part)
    n_draws = _DRAWS if m < _MANY_LABELS else _DRAWS // 2
    shown = np.zeros((n_draws, len(sizes), m), dtype=bool)
    logits = np.zeros((*shown.shape, labels.Y.shape[1]))
    orders = [nested_order(hidden.codes, labels.keys, rng) for _ in range(n_draws)]
    for draw, order in enumerate(orders):
        for k, size in enumerate(sizes):
            shown[draw, k, order[:size]] = True
    members, missed = average.members[:_MEMBERS], np.zeros_like(logits)
    for member, rows in zip(members, average.rows, strict=False):
        U = rows[part]
        for draw, k in np.ndindex(*shown.shape[:2]):
            part_of = labels.part(np.flatnonzero(shown[draw, k]))
            fit = Ridge(U[shown[draw, k]], member.penalty, part_of.weights)
            W = fit.coefficients(part_of.Y)
            score_map = member.map_without(part[~shown[draw, k]], average.labels)
            logits[draw, k] += score_map.logits(U @ W) / len(members)
            if hidden.reach:
                missed[draw, k, shown[draw, k]] += fit.residuals(part_of.Y) / len(members)
    for draw, k in np.ndindex(*shown.shape[:2] if hidden.reach else (0, 0)):
        known = shown[draw, k]
        logits[draw, k] += hidden.spread(missed[draw, k, known], known)
    return hidden.losses(logits), shown


def _sample_curves(
    losses: np.ndarray, shown: np.ndarray, reference: np.ndarray, sizes: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Fit curves to resampled labels and draws, with exponents sampled by likelihood."""
    n_draws, _, n_labels = losses.shape
    weights = rng.multinomial(n_labels, np.full(n_labels, 1.0 / n_labels), size=_SAMPLES).astype(np.float64)
    draws = rng.integers(n_draws, size=(_SAMPLES, n_draws))
    # numbers of evaluated labels and sums of their losses, by draw, size and sample
    counts, lost = ((~shown * part) @ weights.T for part in (np.ones(n_labels), losses))
    chosen = draws.T, slice(None), np.arange(_SAMPLES)
    counts, lost = counts[chosen], lost[chosen]
    kept = counts > 0
    usual = np.maximum(weights @ reference / n_labels, np.finfo(np.float64).tiny)[:, None]
    rate = 1.0 - lost / np.maximum(counts, 1.0) / usual
    n_kept = np.maximum(kept.sum(axis=0), 1)
    mean = (rate * kept).sum(axis=0) / n_kept
    spread = np.sqrt(np.square((rate - mean) * kept).sum(axis=0)) / n_kept
    curves = fit_power_laws(sizes, mean, np.hypot(spread, _MISFIT), rng)
    curves[:, 0] = np.minimum(curves[:, 0] + _OTHERS * rng.standard_normal(_SAMPLES), 1.0)
    return curves


def fit_power_laws(n: np.ndarray, y: np.ndarray, errors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""Fit :math:`a - b\, n^{-c}` to each row of y by weighted least squares, with c sampled by likelihood.

    a is at most one and b is nonnegative. Returns a, b and c for each row.
    """
    w = 1.0 / np.square(errors)
    total = w.sum(axis=1, keepdims=True)
    X = n.astype(np.float64) ** -_EXPONENTS[:, None]
    x_mean, y_mean = w @ X.T / total, (w * y).sum(axis=1, keepdims=True) / total
    # the following arrays are by row and exponent
    centred = y - y_mean
    spread = np.maximum(w @ np.square(X).T - total * np.square(x_mean), 1e-300)
    b = np.maximum(-((w * centred) @ X.T) / spread, 0.0)
    a = y_mean + b * x_mean
    most = np.maximum((w * (1.0 - y)) @ X.T / (w @ np.square(X).T), 0.0)
    a, b = np.minimum(a, 1.0), np.where(a > 1.0, most, b)
    residual = y[:, None] - a[:, :, None] + b[:, :, None] * X
    losses = 0.5 * (w[:, None] * np.square(residual)).sum(axis=2)
    losses += 0.5 * np.square((_EXPONENTS - _USUAL_EXPONENT) / _SPREAD)
    likely = np.cumsum(softmax(-losses, axis=1), axis=1)
    drawn = np.argmax(rng.random((len(y), 1)) <= likely, axis=1)
    rows = np.arange(len(y))
    return np.stack([a[rows, drawn], b[rows, drawn], _EXPONENTS[drawn]], axis=1)


def _more(n: float) -> str:
    return write_rough(max(1.0, n))


def _within(middle: float, low: float, high: float, write: Callable[[float], str]) -> str:
    """Return an interval in parentheses; nothing if it reads like its middle."""
    interval = write_range(low, high, write)
    return "" if interval == write(middle) else f" ({interval})"
