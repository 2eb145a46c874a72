"""How accuracy grows with the number of labels, and how many more a target needs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from gssl.methods.labels import UNLABELLED
from gssl.operators import small_algebra
from gssl.selection.auto import AutoClassifier
from gssl.selection.average import Average
from gssl.selection.self_training import Targets, self_train
from gssl.selection.why import unwrapped

# draws of subsets, and subsets of each, evenly spaced in the logarithm of their size
_DRAWS, _SIZES = 8, 6
# the largest subset leaves this part of the labels to judge it
_JUDGES = 0.2
# no subset is larger: the curve is known well enough then
_MOST = 4000
# so many labels are needed before a curve can be drawn
_FEWEST = 20
# exponents that are compared, and what is expected of them before any label has spoken
_EXPONENTS = np.linspace(0.1, 1.5, 29)
_USUAL, _SPREAD = 0.5, 0.3
_SAMPLES = 400
# what a power law may miss at any size, and at the end: with more labels, other models are chosen
_MISFIT, _OTHERS = 0.01, 0.02
_NARROW, _WIDE = 5.0, 95.0
# numbers of the scores of subsets that are computed at a time
_ROOM = 1 << 23


@dataclass(frozen=True, eq=False)
class LearningCurve:
    r"""Accuracy against the number of labels: :math:`a - b\, n^{-c}`, with its uncertainty.

    Attributes
    ----------
    n_labels, n_nodes : int
        The number of labels at hand, and of all nodes.
    sizes, accuracy : ndarrays of shape (k,)
        The numbers of labels that models were fitted to, and the mean accuracy on labels that were left out.
    target : float or None
        The accuracy that is wanted, in [0, 1].
    samples : ndarray of shape (s, 3)
        a, b and c of curves that are about as likely.
    """

    n_labels: int
    n_nodes: int
    sizes: np.ndarray
    accuracy: np.ndarray
    target: float | None
    samples: np.ndarray

    def at(self, n: float) -> tuple[float, float, float]:
        """Return the expected accuracy with n labels, and a 90 % interval."""
        a, b, c = self.samples.T
        low, middle, high = np.percentile(a - b * float(n) ** -c, [_NARROW, 50.0, _WIDE])
        return float(middle), float(max(low, 0.0)), float(min(high, 1.0))

    @property
    def limit(self) -> tuple[float, float, float]:
        """Where the curve ends: the accuracy with labels of all nodes, and a 90 % interval."""
        return self.at(self.n_nodes)

    def gain(self, more: int = 50) -> float:
        """Return what so many more labels would add to the accuracy."""
        b, c = self.samples[:, 1:].T
        n = float(self.n_labels)
        return float(np.median(b * (n**-c - (n + more) ** -c)))

    def labels_needed(self, target: float | None = None) -> tuple[float, float, float]:
        """Return how many more labels reach a target, and a 90 % interval; infinite if nodes are too few.

        Parameters
        ----------
        target : float, optional
            In (0, 1]; that of the curve if None.
        """
        wanted = self._target(target)
        a, b, c = self.samples.T
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            n = np.where(a > wanted, (b / np.maximum(a - wanted, 1e-300)) ** (1.0 / c), np.inf)
        n[n > self.n_nodes] = np.inf
        # rounding is no label
        more = np.maximum(np.ceil(np.sort(n) - self.n_labels - 1e-6), 0.0)
        low, middle, high = (more[int(p / 100.0 * (len(more) - 1))] for p in (_NARROW, 50.0, _WIDE))
        return float(middle), float(low), float(high)

    def _target(self, target: float | None) -> float:
        wanted = self.target if target is None else target
        if wanted is None:
            raise ValueError("labels_needed: give a target, such as 0.85.")
        return check_target(wanted)

    def text(self, target: float | None = None, more: int = 50) -> str:
        """Say how many more labels reach the target, and what the next ones would add."""
        now, low, high = self.at(self.n_labels)
        said = [
            f"with {self.n_labels:,} labels about {now:.1%} of predictions are right "
            f"({low:.1%} to {high:.1%})"
        ]
        if target is not None or self.target is not None:
            said.append(self._answer(self._target(target)))
        said.append(f"another {more:,} labels would add about {100 * self.gain(more):.1f} points")
        return " ".join(sentence[0].upper() + sentence[1:] + "." for sentence in said).replace("%", " %")

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


def learning_curve(model: Any, target: float | None = None, *, random_state: int = 0) -> LearningCurve:
    """Estimate accuracy against the number of labels from the labels at hand.

    The models that were averaged are fitted again, in closed form, to parts of the labels, each class in
    proportion, and judged on the labels that are left out. Through the accuracies goes an inverse power law.
    Its uncertainty is that of curves through resampled labels, so it holds for nodes that are drawn as the
    labelled ones were, and for labels that are added at random: suggested ones may do better.

    Parameters
    ----------
    model : fitted AutoClassifier
        Not one that was loaded from a file.
    target : float, optional
        The accuracy that is wanted, in (0, 1].
    random_state : int, default=0

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
    average: Average | None = getattr(model, "_fitted_average", None)
    if not isinstance(model, AutoClassifier) or average is None:
        raise ValueError(
            "a learning curve needs models that are fitted again in closed form: fit AutoClassifier to "
            "features, or give it some."
        )
    codes = model.fit_codes[model.fit_codes != UNLABELLED]
    sizes = subset_sizes(codes)
    rng = np.random.default_rng(random_state)
    with small_algebra():
        hits, shown = _subset_hits(average, codes, sizes, rng)
        samples = _sample_curves(hits, shown, sizes, len(codes), rng)
    judged = ~shown
    accuracy = (hits & judged).sum(axis=(0, 2)) / np.maximum(judged.sum(axis=(0, 2)), 1)
    return LearningCurve(len(codes), len(model.fit_codes), sizes, accuracy, target, samples)


def check_target(target: float) -> float:
    """Return an accuracy, and refuse what is none."""
    if not isinstance(target, int | float | np.number) or not 0.0 < target <= 1.0:
        raise ValueError(f"target is an accuracy between 0 and 1, such as 0.85, not {target!r}.")
    return float(target)


def subset_sizes(codes: np.ndarray) -> np.ndarray:
    """Return the numbers of labels of which subsets are drawn."""
    m, c = len(codes), len(np.unique(codes))
    most = min(int((1.0 - _JUDGES) * m), _MOST)
    least = max(2 * c, most // 8)
    if m < max(_FEWEST, 4 * c) or least >= most:
        raise ValueError(
            f"{m} labels in {c} classes are too few for a learning curve: label at least "
            f"{max(_FEWEST, 4 * c)} nodes."
        )
    return np.unique(np.geomspace(least, most, _SIZES).astype(int))


def nested_order(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return labels in a random order of which every beginning has its share of each class."""
    position = np.empty(len(codes))
    for code in np.unique(codes):
        members = rng.permutation(np.flatnonzero(codes == code))
        position[members] = (np.arange(len(members)) + rng.random()) / len(members)
    return np.argsort(position)


def _subset_hits(
    average: Average, codes: np.ndarray, sizes: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return which labels fits to subsets predict, and which they were shown, by draw, size and label."""
    Y, weights, m = average.labels.Y, average.labels.weights, len(codes)
    sets: list[Targets] = []
    shown = np.zeros((_DRAWS, len(sizes), m), dtype=bool)
    for draw in range(_DRAWS):
        order = nested_order(codes, rng)
        for k, size in enumerate(sizes):
            part = np.sort(order[:size])
            shown[draw, k, part] = True
            hidden = np.sort(order[size:])
            links = [member.link_without(hidden, average.labels) for member in average.members]
            sets.append(Targets(average.places[part], Y[part], weights[part], links))
    ensemble, n = average.ensemble, average.A.shape[0]
    at_once = max(1, _ROOM // (n * Y.shape[1]))
    hits = []
    for start in range(0, len(sets), at_once):
        some = sets[start : start + at_once]
        taught = len(average.teachers) > 0
        fits = self_train(ensemble, some, average.teachers) if taught else map(ensemble.solve, some)
        hits += [ensemble.logits_at(fit, average.places).argmax(axis=1) == codes for fit in fits]
    return np.array(hits).reshape(shown.shape), shown


def _sample_curves(
    hits: np.ndarray,
    shown: np.ndarray,
    sizes: np.ndarray,
    n_labels: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Fit curves to resampled labels and draws; the exponent of each is drawn by how well it fits."""
    found = []
    for _ in range(_SAMPLES):
        weights = rng.multinomial(n_labels, np.full(n_labels, 1.0 / n_labels))
        draws = rng.integers(len(hits), size=len(hits))
        judged = ~shown[draws] * weights
        counts = judged.sum(axis=2)
        kept = counts > 0
        rate = (judged * hits[draws]).sum(axis=2) / np.maximum(counts, 1)
        mean = (rate * kept).sum(axis=0) / np.maximum(kept.sum(axis=0), 1)
        spread = np.sqrt(np.square((rate - mean) * kept).sum(axis=0)) / np.maximum(kept.sum(axis=0), 1)
        curve = fit_power_law(sizes, mean, np.hypot(spread, _MISFIT), rng)
        a, b, c = curve
        found.append((min(a + _OTHERS * rng.standard_normal(), 1.0), b, c))
    return np.array(found)


def fit_power_law(
    n: np.ndarray, y: np.ndarray, errors: np.ndarray, rng: np.random.Generator
) -> tuple[float, float, float]:
    r"""Fit :math:`a - b\, n^{-c}` by weighted least squares, with c drawn by its likelihood.

    a is at most one and b is not negative.
    """
    w = 1.0 / np.square(errors)
    fits, losses = [], []
    for c in _EXPONENTS:
        x = n.astype(np.float64) ** -c
        x_mean, y_mean = np.average(x, weights=w), np.average(y, weights=w)
        b = -(w @ ((x - x_mean) * (y - y_mean))) / max(float(w @ np.square(x - x_mean)), 1e-300)
        b = max(float(b), 0.0)
        a = float(y_mean + b * x_mean)
        if a > 1.0:
            a = 1.0
            b = max(float(w @ (x * (1.0 - y)) / (w @ np.square(x))), 0.0)
        loss = 0.5 * float(w @ np.square(y - a + b * x)) + 0.5 * ((c - _USUAL) / _SPREAD) ** 2
        fits.append((a, b, float(c)))
        losses.append(loss)
    likely = softmax(-np.array(losses))
    return fits[int(rng.choice(len(fits), p=likely))]


def _rounded(n: float) -> str:
    """Write a number with two digits that count."""
    if n < 10:
        return f"{max(1, round(n))}"
    unit = 10 ** (len(str(int(n))) - 2)
    return f"{round(n / unit) * unit:,}"
