"""Softmax regression on the best filters, judged on labels that were hidden from it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from scipy.special import log_softmax

from gssl.evaluation.holdout import balanced_fold_count, label_folds
from gssl.operators import small_algebra
from gssl.selection.filters import MOST_BLOCKS
from gssl.selection.labelled_rows import LabelledRows
from gssl.selection.leave_one_out import Spectrum, spectrum_of_rows
from gssl.selection.side_by_side import solve_together
from gssl.selection.trial import (
    LOGISTIC_PENALTIES,
    Labels,
    Trial,
    best_of_models,
    compared,
    near_best,
    teachers,
)

# how many filters are tried with this head: the best one of so many models; how many with all penalties
FILTERS = 4
THOROUGH = 2
FOLDS = 5
# what tells models apart is far coarser than what predicts should be
_COARSE, _FINE = 1e-3, 1e-6
# directions whose share of the scores would be less than this part of one are left out
_NEGLIGIBLE = 0.03


def try_logistic(
    rows: LabelledRows, trials: Sequence[Trial], labels: Labels, deadline: float = np.inf
) -> list[Trial]:
    """Return the best filters a logistic head: the best filter of each model, and of those the best few."""
    part = teachers(labels.Y, MOST_BLOCKS * rows.X.shape[1])
    codes = labels.Y.argmax(axis=1) if part is None else labels.Y[part].argmax(axis=1)
    if np.bincount(codes).max() < 2:
        return []
    folds = label_folds(codes, balanced_fold_count(codes, FOLDS), random_state=0)
    judge = _Judge(rows, labels, folds, part)
    best = best_of_models([trial for trial in trials if trial.gram is None])[:FILTERS]
    found: list[Trial] = []
    with small_algebra():
        for trial in best:
            if perf_counter() > deadline:
                return found
            found.append(judge.judge(trial, LOGISTIC_PENALTIES[:1]))
        near = {trial for trial, _ in near_best([*trials, *found], labels)}
        for trial in [t for t in sorted(found, key=lambda t: t.rank) if t in near][:THOROUGH]:
            if perf_counter() > deadline:
                return found
            more = judge.judge(trial, LOGISTIC_PENALTIES[1:])
            found[found.index(trial)] = _joined(trial, more)
    return found


@dataclass(frozen=True, eq=False)
class _Judge:
    """Labels and what is hidden of them at a time: folds of all, or of a part that teaches."""

    rows: LabelledRows
    labels: Labels
    folds: Sequence[np.ndarray]
    part: np.ndarray | None

    def judge(self, trial: Trial, penalties: np.ndarray) -> Trial:
        """Put a logistic head on the filter of a trial."""
        start = perf_counter()
        labels, filter_ = self.labels, trial.filter
        if self.part is None:
            gram = row_spectrum(self.rows, trial, labels)
            said = np.stack([hidden_logits(gram, labels, penalty, self.folds) for penalty in penalties])
        else:
            U, said = self.rows.rows(filter_), np.empty((len(penalties), *labels.Y.shape))
            others = np.setdiff1d(np.arange(len(U)), self.part)
            gram, crossed = spectrum_of_rows(U[self.part]), U[others] @ U[self.part].T
            taught, order = labels.part(self.part), np.concatenate([self.part, others])
            for k, penalty in enumerate(penalties):
                said[k, order] = hidden_logits(gram, taught, penalty, self.folds, crossed)
        hits, errors = compared(said, "logistic", labels.Y)
        return Trial(
            filter_,
            said,
            np.average(hits, axis=1, weights=labels.weights),
            np.average(errors, axis=1, weights=labels.weights),
            perf_counter() - start,
            penalties,
            head="logistic",
            spectrum=gram if self.part is None and trial.spectrum is not None else None,
        )


def row_spectrum(rows: LabelledRows, trial: Trial, labels: Labels) -> Spectrum:
    """Decompose the rows of a trial, whatever labels weigh, unless that was done when it was judged."""
    even = trial.head == "logistic" or np.ptp(labels.weights) == 0.0
    if trial.spectrum is None or not even:
        return spectrum_of_rows(rows.rows(trial.filter))
    if trial.head == "logistic":
        return trial.spectrum
    return replace(trial.spectrum, scale=trial.spectrum.scale / float(labels.weights[0]))


def _joined(one: Trial, other: Trial) -> Trial:
    """Put the penalties of two trials of a filter together."""
    parts = ("predicted", "scores", "errors", "penalties")
    together: dict[str, Any] = {
        name: np.concatenate([getattr(one, name), getattr(other, name)]) for name in parts
    }
    return replace(one, seconds=one.seconds + other.seconds, **together)


def hidden_logits(
    gram: Spectrum,
    labels: Labels,
    penalty: float,
    folds: Sequence[np.ndarray],
    crossed: np.ndarray | None = None,
) -> np.ndarray:
    """Return the logarithms of the distributions that a logistic head gives to labels it has not seen.

    The labels that it sees count for those of their class that it does not,
    """
    F, basis = _coordinates(gram, penalty)
    shown = np.ones((len(F), len(folds) + (crossed is not None)))
    for k, hidden in enumerate(folds):
        shown[hidden, k] = 0.0
        # no fold holds all labels of a class; a class without labels has none to count
        counts = labels.Y.sum(axis=0)
        shown[:, k] *= labels.Y @ (counts / np.maximum(counts - labels.Y[hidden].sum(axis=0), 1.0))
    W, b = solve_together(F, labels, penalty, shown, _COARSE)
    scores = -labels.Y
    for k, hidden in enumerate(folds):
        scores[hidden] = F[hidden] @ W[k] + b[k]
    if crossed is not None:
        scores = np.vstack([scores, crossed @ (basis @ W[-1]) + b[-1]])
    return np.asarray(log_softmax(scores, axis=1))


def fit_logistic(
    U: np.ndarray, labels: Labels, penalty: float, gram: Spectrum | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Fit softmax regression to labelled rows, in the space that they span."""
    F, basis = _coordinates(spectrum_of_rows(U) if gram is None else gram, penalty)
    W, b = solve_together(F, labels, penalty, np.ones((len(F), 1)), _FINE)
    return U.T @ (basis @ W[0]), b[0]


def _coordinates(gram: Spectrum, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """Write rows in an orthogonal basis, with unit mean square; give also what brings coefficients back."""
    # a direction of mean square e moves scores by e/λ at most
    kept = gram.values > _NEGLIGIBLE * penalty * len(gram.vectors)
    roots, Q = np.sqrt(gram.values[kept]), gram.vectors[:, kept]
    return np.ascontiguousarray(Q * roots), Q / (roots * gram.scale)
