"""Learning curves: accuracy against the number of labels, and how many labels a target needs."""

from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
from scipy.special import softmax

from gssl.evaluation.holdout import HeldOut
from gssl.frames import Tabular
from gssl.methods.labels import UNLABELLED
from gssl.methods.ridge import Ridge
from gssl.operators import small_algebra
from gssl.selection.auto import AutoClassifier
from gssl.selection.ensemble import FittedEnsemble
from gssl.selection.why import unwrapped

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
    r"""Accuracy against the number of labels: :math:`a - b\, n^{-c}`, with its uncertainty.

    Attributes
    ----------
    n_labels, n_nodes : int
        The numbers of given labels and of all nodes.
    sizes, accuracy : ndarrays of shape (k,)
        The numbers of labels that models were fitted to, and the mean accuracy on the other labels.
    target : float or None
        The desired accuracy, in (0, 1].
    samples : ndarray of shape (s, 3)
        a, b and c of sampled curves, which express the uncertainty.
    """

    n_labels: int
    n_nodes: int
    sizes: np.ndarray
    accuracy: np.ndarray
    target: float | None
    samples: np.ndarray

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a dict of columns: numbers of labels, and the accuracy with each."""
        return {"labels": self.sizes.tolist(), "accuracy": self.accuracy.tolist()}

    def __repr__(self) -> str:
        return f"LearningCurve: {self.text()}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.text())}</p>{super()._repr_html_()}"

    def at(self, n: float) -> tuple[float, float, float]:
        """Return the median accuracy with n labels, and a 90 % interval."""
        a, b, c = self.samples.T
        low, middle, high = np.percentile(a - b * float(n) ** -c, [_NARROW, 50.0, _WIDE])
        return float(middle), float(max(low, 0.0)), float(min(high, 1.0))

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
        return replace(self, accuracy=np.clip(self.accuracy + shift, 0.0, 1.0), samples=samples)

    @property
    def next_target(self) -> float:
        """The next higher multiple of 5 %, or of 1 % from 95 % on."""
        now = 100.0 * self.at(self.n_labels)[0]
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
        now, low, high = self.at(self.n_labels)
        sentences = [
            f"with {self.n_labels:,} labels about {now:.1%} of predictions are right "
            f"({low:.1%} to {high:.1%})"
        ]
        if target is not None or self.target is not None:
            sentences.append(self._answer(self._target(target)))
        sentences.append(f"another {more:,} labels would add about {100 * self.gain(more):.1f} points")
        return " ".join(sentence[0].upper() + sentence[1:] + "." for sentence in sentences).replace("%", " %")

    def _answer(self, wanted: float) -> str:
        middle, low, high = self.labels_needed(wanted)
        goal = f"{100 * wanted:g}%"
        if middle == 0.0:
            return f"{goal} is reached already"
        if np.isinf(middle):
            end, least, most = self.limit
            hope = np.isfinite(low)
            return (
                f"{goal} is {'probably ' if hope else ''}not reachable: accuracy levels off near {end:.0%} "
                f"({least:.0%} to {most:.0%})"
                + (f"; at best, {_rounded(low)} more labels do" if hope else "")
            )
        upper = "no limit" if np.isinf(high) else _rounded(high)
        return f"about {_rounded(middle)} more labels ({_rounded(low)} to {upper}) reach {goal}"


def learning_curve(
    model: Any, target: float | None = None, *, random_state: int = 0, held_out: HeldOut | None = None
) -> LearningCurve:
    """Estimate accuracy as a function of the number of labels from the given labels.

    The best models of the average are refitted in closed form to stratified subsets of the labels, without
    self-training, and evaluated on the other labels. An inverse power law is fitted to the accuracies, and
    again to resampled labels for its uncertainty. The estimate holds for nodes drawn like the labelled ones
    and for labels added at random; suggested ones may do better.

    Parameters
    ----------
    model : fitted AutoClassifier
        If it was loaded from a file, one that was saved with its problem.
    target : float, optional
        The desired accuracy, in (0, 1].
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
    if target is not None:
        target = check_target(target)
    model = unwrapped(model)
    average: FittedEnsemble | None = getattr(model, "_fitted_average", None)
    if not isinstance(model, AutoClassifier) or average is None:
        raise ValueError(
            "a learning curve needs models that are fitted again in closed form: fit AutoClassifier to "
            "features, or give it some."
        )
    codes = model.fit_codes[model.fit_codes != UNLABELLED]
    n_labels = len(codes)
    sizes = subset_sizes(codes)
    # a sample of many labels is enough
    part = average.labels.sample(int(_MOST / (1.0 - _EVALUATED)))
    codes = codes[part]
    rng = np.random.default_rng(random_state)
    with small_algebra():
        hits, shown = _subset_hits(average, part, codes, sizes, rng)
        # resample labels in the order of their keys: the order of nodes must not matter
        order = np.argsort(average.labels.keys[part], kind="stable")
        samples = _sample_curves(hits[:, :, order], shown[:, :, order], sizes, rng)
    evaluated = ~shown
    accuracy = (hits & evaluated).sum(axis=(0, 2)) / np.maximum(evaluated.sum(axis=(0, 2)), 1)
    curve = LearningCurve(n_labels, len(model.fit_codes), sizes, accuracy, target, samples)
    return curve if held_out is None or not held_out.tells else curve.moved_to(held_out.accuracy)


def check_target(target: float) -> float:
    """Return an accuracy as a float; raise if it is invalid."""
    if not isinstance(target, int | float | np.number) or not 0.0 < target <= 1.0:
        raise ValueError(f"target is an accuracy between 0 and 1, such as 0.85, not {target!r}.")
    return float(target)


def subset_sizes(codes: np.ndarray) -> np.ndarray:
    """Return the sizes of the subsets of labels to draw."""
    m, c = len(codes), len(np.unique(codes))
    most = min(int((1.0 - _EVALUATED) * m), _MOST)
    least = max(2 * c, most // 8)
    if m < max(_FEWEST, 4 * c) or least >= most:
        raise ValueError(
            f"{m} labels in {c} classes are too few for a learning curve: label at least "
            f"{max(_FEWEST, 4 * c)} nodes."
        )
    return np.unique(np.geomspace(least, most, _SIZES).astype(int))


def nested_order(codes: np.ndarray, keys: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random order of labels such that every prefix is stratified by class."""
    position, ordered = np.empty(len(codes)), np.argsort(keys, kind="stable")
    for code in dict.fromkeys(codes[ordered].tolist()):
        members = rng.permutation(ordered[codes[ordered] == code])
        position[members] = (np.arange(len(members)) + rng.random()) / len(members)
    return np.argsort(position)


def _subset_hits(
    average: FittedEnsemble, part: np.ndarray, codes: np.ndarray, sizes: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Fit subsets; return masks of correctly predicted and of shown labels, by draw, size and label."""
    m, labels = len(codes), average.labels.part(part)
    n_draws = _DRAWS if m < _MANY_LABELS else _DRAWS // 2
    shown = np.zeros((n_draws, len(sizes), m), dtype=bool)
    logits = np.zeros((*shown.shape, labels.Y.shape[1]))
    orders = [nested_order(codes, labels.keys, rng) for _ in range(n_draws)]
    for draw, order in enumerate(orders):
        for k, size in enumerate(sizes):
            shown[draw, k, order[:size]] = True
    for member, rows in zip(average.members[:_MEMBERS], average.rows, strict=False):
        U = rows[part]
        for draw, k in np.ndindex(*shown.shape[:2]):
            hidden = part[~shown[draw, k]]
            part_of = labels.part(np.flatnonzero(shown[draw, k]))
            W = Ridge(U[shown[draw, k]], member.penalty, part_of.weights).coefficients(part_of.Y)
            logits[draw, k] += member.map_without(hidden, average.labels).logits(U @ W)
    return logits.argmax(axis=3) == codes, shown


def _sample_curves(
    hits: np.ndarray, shown: np.ndarray, sizes: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Fit curves to resampled labels and draws, with exponents sampled by likelihood."""
    n_labels = hits.shape[2]
    weights = rng.multinomial(n_labels, np.full(n_labels, 1.0 / n_labels), size=_SAMPLES).astype(np.float64)
    draws = rng.integers(len(hits), size=(_SAMPLES, len(hits)))
    # numbers of evaluated and of correct labels, by draw, size and sample
    counts, right = ((~shown & part) @ weights.T for part in (np.ones_like(hits), hits))
    chosen = draws.T, slice(None), np.arange(_SAMPLES)
    counts, right = counts[chosen], right[chosen]
    kept = counts > 0
    rate = right / np.maximum(counts, 1.0)
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


def _rounded(n: float) -> str:
    """Format a number with two significant digits."""
    if n < 10:
        return f"{max(1, round(n))}"
    unit = 10 ** (len(str(int(n))) - 2)
    return f"{round(n / unit) * unit:,}"
