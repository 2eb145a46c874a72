"""Softmax regression on the best filters, judged on labels that were hidden from it."""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from scipy.special import log_softmax

from gssl.evaluation.held_out import label_folds
from gssl.methods import LogisticHead
from gssl.operators import small_algebra
from gssl.selection.filters import Filter
from gssl.selection.labelled_rows import LabelledRows
from gssl.selection.leave_one_out import Spectrum, spectrum_of_rows
from gssl.selection.trial import LOGISTIC_PENALTIES, Labels, Trial, best_of_models, compared, near_best

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
    """Give the best filters a logistic head: the best filter of each model, and of those the best few.

    A ridge draws scores to zero and one, which where features tell little leans to large classes for no
    reason; a logistic head does not, but has no closed form. So it is judged on folds of labels, each hidden
    once, which with fewer labels to learn from is a little harder than being left out alone. One penalty
    comes first, and only what is near the best of all trials then is tried with the others.

    Parameters
    ----------
    rows : LabelledRows
    trials : sequence of Trial
        Ridges, all judged on all labels.
    labels : Labels
    deadline : float, default=inf
        As :func:`time.perf_counter` counts.

    Returns
    -------
    list of Trial
        Empty where no class has two labels, so that none can be hidden.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from gssl.selection.filters import candidate_filters
    >>> from gssl.selection.search import try_all
    >>> X = np.repeat(np.eye(2), 4, axis=0)
    >>> rows, labels = LabelledRows(X, csr_array((8, 8)), np.arange(8), depth=1), Labels(X, np.ones(8))
    >>> [found] = try_logistic(rows, try_all(rows, candidate_filters(1)[:1], labels), labels)
    >>> found.name, found.scores.tolist()
    ('no graph, logistic', [1.0, 1.0, 1.0])
    """
    codes = labels.Y.argmax(axis=1)
    if np.bincount(codes).max() < 2:
        return []
    folds = label_folds(codes, FOLDS, random_state=0)
    best = best_of_models([trial for trial in trials if trial.gram is None])
    found: list[Trial] = []
    with small_algebra():
        for trial in best[:FILTERS]:
            if perf_counter() > deadline:
                return found
            found.append(_judge(rows, trial.filter, LOGISTIC_PENALTIES[:1], labels, folds))
        near = {trial for trial, _ in near_best([*trials, *found], labels)}
        for trial in [t for t in sorted(found, key=lambda t: t.rank) if t in near][:THOROUGH]:
            if perf_counter() > deadline:
                return found
            more = _judge(rows, trial.filter, LOGISTIC_PENALTIES[1:], labels, folds)
            found[found.index(trial)] = _joined(trial, more)
    return found


def _judge(
    rows: LabelledRows, filter_: Filter, penalties: np.ndarray, labels: Labels, folds: Sequence[np.ndarray]
) -> Trial:
    start = perf_counter()
    gram = spectrum_of_rows(rows.rows(filter_))
    said = np.stack([hidden_logits(gram, labels, penalty, folds) for penalty in penalties])
    hits, errors = compared(said, "logistic", labels.Y)
    return Trial(
        filter_,
        said,
        np.average(hits, axis=1, weights=labels.weights),
        np.average(errors, axis=1, weights=labels.weights),
        perf_counter() - start,
        penalties,
        head="logistic",
    )


def _joined(one: Trial, other: Trial) -> Trial:
    """Put the penalties of two trials of a filter together."""
    parts = ("predicted", "scores", "errors", "penalties")
    together: dict[str, Any] = {
        name: np.concatenate([getattr(one, name), getattr(other, name)]) for name in parts
    }
    return replace(one, seconds=one.seconds + other.seconds, **together)


def hidden_logits(gram: Spectrum, labels: Labels, penalty: float, folds: Sequence[np.ndarray]) -> np.ndarray:
    """Give the logarithms of the distributions that a logistic head gives to labels it has not seen.

    Parameters
    ----------
    gram : Spectrum
        Of all labelled rows.
    labels : Labels
    penalty : float
        In units of the mean squared row norm.
    folds : sequence of int ndarray
        Labels that are hidden together.

    Returns
    -------
    ndarray of shape (m, c)
        A label that is in no fold is the only one of its class, which nobody could know without it.

    Examples
    --------
    >>> labels = Labels(np.repeat(np.eye(2), 2, axis=0), np.ones(4))
    >>> logits = hidden_logits(spectrum_of_rows(labels.Y), labels, 1e-3, [np.array([0, 2])])
    >>> logits.argmax(axis=1).tolist()
    [0, 1, 1, 0]
    """
    F, _ = _coordinates(gram, penalty)
    scores = -labels.Y
    for hidden in folds:
        seen = np.setdiff1d(np.arange(len(F)), hidden)
        W, b = _solve(F[seen], labels.part(seen), penalty, _COARSE)
        scores[hidden] = F[hidden] @ W + b
    return np.asarray(log_softmax(scores, axis=1))


def fit_logistic(U: np.ndarray, labels: Labels, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    r"""Fit softmax regression to labelled rows, in the space that they span.

    Parameters
    ----------
    U : ndarray of shape (m, d)
    labels : Labels
    penalty : float

    Returns
    -------
    coefficients : ndarray of shape (d, c)
    intercept : ndarray of shape (c,)

    Examples
    --------
    >>> theta, b = fit_logistic(np.eye(2), Labels(np.eye(2), np.ones(2)), 1e-3)
    >>> (np.eye(2) @ theta + b).argmax(axis=1).tolist()
    [0, 1]
    """
    gram = spectrum_of_rows(U)
    F, basis = _coordinates(gram, penalty)
    W, b = _solve(F, labels, penalty, _FINE)
    return U.T @ (basis @ W), b


def _coordinates(gram: Spectrum, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """Write rows in an orthogonal basis, with unit mean square; give also what brings coefficients back."""
    # a direction of mean square e moves scores by e/λ at most
    kept = gram.values > _NEGLIGIBLE * penalty * len(gram.vectors)
    roots, Q = np.sqrt(gram.values[kept]), gram.vectors[:, kept]
    return np.ascontiguousarray(Q * roots), Q / (roots * gram.scale)


def _solve(F: np.ndarray, labels: Labels, penalty: float, tol: float) -> tuple[np.ndarray, np.ndarray]:
    w = labels.weights[:, None] / labels.weights.sum()
    W, b, _ = LogisticHead(penalty=penalty, tol=tol)._solve(F, labels.Y, w)
    return W, b
