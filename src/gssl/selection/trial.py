"""One filter with its head, what it said about each label, and which of many are near the best."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import softmax

from gssl.methods.labels import nearest_distribution
from gssl.selection.filters import Filter
from gssl.selection.leave_one_out import Spectrum, keep_class_mass

# ridges count a penalty in units of a row's square, logistic heads in units of the mean over all rows
PENALTIES = 10.0 ** np.arange(-2.0, 1.1, 0.5)
# the first of them is tried first
LOGISTIC_PENALTIES = np.array([1e-3, 1e-4, 1e-2])
# what is averaged: at most so many, within so many standard errors of the best
AVERAGED = 30
NEAR = 1.0
# where labels, and features of the widest filter, are half as many again, so many teach what is compared
TAUGHT = 1000

Head = Literal["ridge", "logistic"]


@dataclass(frozen=True, eq=False)
class Labels:
    """One-hot labels of the labelled nodes, and how much each counts."""

    Y: np.ndarray
    weights: np.ndarray

    def part(self, rows: np.ndarray) -> "Labels":
        """Keep some of them."""
        return Labels(self.Y[rows], self.weights[rows])


@dataclass(frozen=True, eq=False)
class Trial:
    """One filter, one head, all penalties: what it says about each label without having seen it."""

    filter: Filter
    predicted: np.ndarray
    scores: np.ndarray
    errors: np.ndarray
    seconds: float
    penalties: np.ndarray
    head: Head = "ridge"
    gram: np.ndarray | None = None
    spectrum: Spectrum | None = None

    @property
    def name(self) -> str:
        """The model, its metric and its head, where they are not the usual ones."""
        head = ", logistic" if self.head == "logistic" else ""
        return self.filter.model + (", clustered" if self.gram is not None else "") + head

    @property
    def best(self) -> int:
        """The penalty with the best score; ties go to the smaller squared error."""
        return int(np.lexsort((self.errors, -self.scores))[0])

    @property
    def rank(self) -> tuple[float, float]:
        """What trials are ordered by: first the smallest."""
        return -float(self.scores[self.best]), float(self.errors[self.best])


Chosen: TypeAlias = Sequence[tuple[Trial, int]]


def compared(predicted: np.ndarray, head: Head, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which predictions are right, and their squared errors."""
    Z = softmax(predicted, axis=-1) if head == "logistic" else keep_class_mass(predicted, Y)
    return Z.argmax(axis=-1) == Y.argmax(axis=-1), np.square(Z - Y).sum(axis=-1)


def average_distributions(parts: Sequence[tuple[Head, np.ndarray]]) -> np.ndarray:
    """Average what models say: scores among ridges, logarithms among logistic heads, then distributions."""
    total = np.zeros(parts[0][1].shape)
    for head in ("ridge", "logistic"):
        said = [Z for kind, Z in parts if kind == head]
        if said:
            Z = np.mean(said, axis=0)
            P = nearest_distribution(Z) if head == "ridge" else softmax(Z, axis=1)
            total += len(said) / len(parts) * P
    return total


def best_of_models(trials: Sequence[Trial]) -> list[Trial]:
    """Return the best trial of each model, best first: settings of one model say much the same."""
    best: dict[str, Trial] = {}
    for trial in sorted(trials, key=lambda trial: trial.rank):
        best.setdefault(trial.filter.model, trial)
    return list(best.values())


def near_best(trials: Sequence[Trial], labels: Labels) -> Chosen:
    """Choose the trials and penalties whose score is within one standard error of the best.

    Betting on the one that happens to be best would be steered by a handful of labels; the average of all
    that are about as good is steadier.
    """
    scores = np.concatenate([trial.scores for trial in trials])
    errors = np.concatenate([trial.errors for trial in trials])
    pairs = [(trial, k) for trial in trials for k in range(len(trial.scores))]
    return [pairs[place] for place in rank_pairs(scores, errors, labels)]


def rank_pairs(scores: np.ndarray, errors: np.ndarray, labels: Labels) -> np.ndarray:
    """Return the places of the near-best: at most ``AVERAGED``, best first, ties to the smaller error."""
    order = np.lexsort((errors, -scores))[:AVERAGED]
    limit = scores[order[0]] - NEAR * score_error(scores[order[0]], labels)
    return np.asarray(order[scores[order] >= limit])


def score_error(score: float, labels: Labels) -> float:
    r"""Return the standard error of a score, with one success and one failure added.

    .. math:: \sqrt{\tilde p (1 - \tilde p) / (n + 2)}, \quad \tilde p = (n p + 1) / (n + 2)
    """
    n = float(labels.weights.sum() ** 2 / np.square(labels.weights).sum())
    p = (n * score + 1.0) / (n + 2.0)
    return float(np.sqrt(p * (1.0 - p) / (n + 2.0)))


def stratified_part(Y: np.ndarray, size: int) -> np.ndarray:
    """Choose about ``size`` rows, evenly spaced in each class, so that every class keeps its share."""
    codes = Y.argmax(axis=1)
    chosen = []
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        kept = max(1, round(size * len(members) / len(codes)))
        chosen.append(members[np.arange(kept) * len(members) // kept])
    return np.sort(np.concatenate(chosen))


def teachers(Y: np.ndarray, n_features: int) -> np.ndarray | None:
    """Choose the labels that teach what is compared, where a decomposition of all of them would be dear."""
    return stratified_part(Y, TAUGHT) if min(len(Y), n_features) > 1.5 * TAUGHT else None
