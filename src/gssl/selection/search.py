"""Every filter with every penalty, judged by leave-one-out on the labels at hand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TypeAlias

import numpy as np

from gssl.methods._base import iterate, watching
from gssl.operators import small_algebra
from gssl.selection.filters import Filter
from gssl.selection.labelled_rows import LabelledRows
from gssl.selection.leave_one_out import (
    Spectrum,
    dual_coefficients,
    keep_class_mass,
    leave_one_out,
    spectrum,
    spectrum_of_rows,
)

PENALTIES = 10.0 ** np.arange(-2.0, 1.1, 0.5)
# above this many labels and features a decomposition is worth avoiding: so many labels screen the filters
SCREEN = 250
FINALISTS = 8
# how many filters are tried again in the metric of all nodes
CLUSTERED = 6
MOST_CLUSTERED = 1000
# what is averaged: at most so many, within so many standard errors of the best
AVERAGED = 30
NEAR = 1.0


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
    """One filter, all penalties: what it says about each label without having seen it.

    ``predicted`` and ``duals`` are of shape (p, m, c); ``clustered`` tells the metric of the features. Scores
    and errors compare models, with the class mass that leaving a label out takes away given back.
    """

    filter: Filter
    clustered: bool
    predicted: np.ndarray
    duals: np.ndarray
    scores: np.ndarray
    errors: np.ndarray
    seconds: float

    @property
    def best(self) -> int:
        """The penalty with the best score; ties go to the smaller squared error."""
        return int(np.lexsort((self.errors, -self.scores))[0])

    @property
    def rank(self) -> tuple[float, float]:
        """What trials are ordered by: first the smallest."""
        return -float(self.scores[self.best]), float(self.errors[self.best])


Chosen: TypeAlias = Sequence[tuple[Trial, int]]


def try_filter(rows: LabelledRows, filter_: Filter, labels: Labels, part: np.ndarray | None = None) -> Trial:
    """Judge a filter on all labels, or on a part of them where a decomposition of all is too dear.

    Parameters
    ----------
    rows : LabelledRows
    filter_ : Filter
    labels : Labels
    part : int ndarray, optional
        Positions among the labelled nodes.

    Returns
    -------
    Trial
    """
    start = perf_counter()
    U = rows.rows(filter_)
    if part is not None and min(U.shape) > SCREEN:
        U, labels = U[part], labels.part(part)
    roots = np.sqrt(labels.weights)[:, None]
    return _judge(spectrum_of_rows(roots * U), filter_, False, labels, start)


def try_clustered(rows: LabelledRows, filter_: Filter, labels: Labels) -> Trial:
    r"""Judge a filter in the metric of all nodes, which stretches the directions in which they vary most.

    .. math:: K = U_L (U^\top U) U_L^\top = G^\top G, \qquad G = U U_L^\top

    This is the cluster assumption: a boundary should not pass through directions along which the nodes,
    labelled or not, form groups (Chapelle, Weston and Schölkopf, 2003, with the plainest transfer
    function). The predictor is linear in the same features: :math:`\Theta = U^\top G\,\alpha`.

    Parameters
    ----------
    rows : LabelledRows
    filter_ : Filter
        Of a single block.
    labels : Labels

    Returns
    -------
    Trial
    """
    start = perf_counter()
    U = rows.rows(filter_)
    G = rows.filtered(filter_, rows.gathered(U.T)).astype(np.float64, copy=False)
    roots = np.sqrt(labels.weights)
    return _judge(spectrum(roots[:, None] * (G.T @ G) * roots), filter_, True, labels, start)


def try_all(
    rows: LabelledRows, filters: Sequence[Filter], labels: Labels, deadline: float = np.inf
) -> list[Trial]:
    """Try all filters, then the best of them in the metric of all nodes, until time is up.

    Parameters
    ----------
    rows : LabelledRows
    filters : sequence of Filter
        The first one is always tried.
    labels : Labels
    deadline : float, default=inf
        As :func:`time.perf_counter` counts.

    Returns
    -------
    list of Trial
        In no particular order; all of them saw the same labels.
    """
    part = stratified_part(labels.Y, SCREEN) if len(labels.Y) > SCREEN else None
    with small_algebra():
        steps = [("plain", f) for f in filters]
        trials = list(_run(rows, steps, labels, part, deadline))
        if part is not None and any(len(t.predicted[0]) < len(labels.Y) for t in trials):
            # screened on a part of the labels: the finalists, and no graph, now see all of them
            plain = trials[0].filter
            best = [t.filter for t in sorted(trials, key=lambda t: t.rank)[:FINALISTS]]
            # best first, for time may be up after it
            chosen = [*best, *([] if any(f is plain for f in best) else [plain])]
            trials = list(_run(rows, [("plain", f) for f in chosen], labels, None, deadline))
        if len(labels.Y) <= min(rows.X.shape[1], MOST_CLUSTERED):
            best = [t.filter for t in sorted(trials, key=lambda t: t.rank) if len(t.filter.blocks) == 1]
            steps = [("clustered", f) for f in best[:CLUSTERED]]
            trials += _run(rows, steps, labels, None, deadline, first=False)
    return trials


def near_best(trials: Sequence[Trial], labels: Labels) -> Chosen:
    """Choose the trials and penalties whose score is within one standard error of the best.

    Betting on the one that happens to be best would be steered by a handful of labels; the average of all
    that are about as good is steadier.

    Parameters
    ----------
    trials : sequence of Trial
    labels : Labels

    Returns
    -------
    list of (Trial, int)
        At most ``AVERAGED``, best first: ties in score go to the smaller squared error.
    """
    scores = np.concatenate([trial.scores for trial in trials])
    errors = np.concatenate([trial.errors for trial in trials])
    places = (divmod(int(place), len(PENALTIES)) for place in rank_pairs(scores, errors, labels))
    return [(trials[trial], k) for trial, k in places]


def rank_pairs(scores: np.ndarray, errors: np.ndarray, labels: Labels) -> np.ndarray:
    """Give the places of the near-best: at most ``AVERAGED``, best first, ties to the smaller error.

    Examples
    --------
    >>> rank_pairs(np.array([0.1, 0.9, 0.9]), np.array([0.0, 2.0, 1.0]), Labels(np.eye(2), np.ones(2)))
    array([2, 1])
    """
    order = np.lexsort((errors, -scores))[:AVERAGED]
    limit = scores[order[0]] - NEAR * score_error(scores[order[0]], labels)
    return np.asarray(order[scores[order] >= limit])


def score_error(score: float, labels: Labels) -> float:
    r"""Give the standard error of a score, with one success and one failure added.

    .. math:: \sqrt{\tilde p (1 - \tilde p) / (n + 2)}, \quad \tilde p = (n p + 1) / (n + 2)

    where labels of different weight count as :math:`n = (\sum w)^2 / \sum w^2` equal ones.

    Examples
    --------
    >>> round(score_error(1.0, Labels(np.eye(2), np.ones(2))), 3)
    0.217
    """
    n = float(labels.weights.sum() ** 2 / np.square(labels.weights).sum())
    p = (n * score + 1.0) / (n + 2.0)
    return float(np.sqrt(p * (1.0 - p) / (n + 2.0)))


def _run(
    rows: LabelledRows,
    steps: Sequence[tuple[str, Filter]],
    labels: Labels,
    part: np.ndarray | None,
    deadline: float,
    first: bool = True,
) -> Iterator[Trial]:
    def step(_: Trial | None, k: int) -> Trial | None:
        metric, filter_ = steps[k]
        if perf_counter() > deadline and not (first and k == 0):
            return None
        # a bar counts models, not the hops inside of them
        with watching(lambda done, total: None):
            if metric == "clustered":
                return try_clustered(rows, filter_, labels)
            return try_filter(rows, filter_, labels, part)

    for trial in iterate(step, None, range(len(steps))):
        if trial is None:
            return
        yield trial


def _judge(gram: Spectrum, filter_: Filter, clustered: bool, labels: Labels, start: float) -> Trial:
    roots = np.sqrt(labels.weights)[:, None]
    Y = roots * labels.Y
    predicted = leave_one_out(gram, Y, PENALTIES) / roots
    duals = np.stack([roots * dual_coefficients(gram, Y, penalty) for penalty in PENALTIES])
    # to compare models only, for it looks at the label that was left out
    corrected = keep_class_mass(predicted, labels.Y)
    hits = corrected.argmax(axis=2) == labels.Y.argmax(axis=1)
    errors = np.square(corrected - labels.Y).sum(axis=2)
    return Trial(
        filter_,
        clustered,
        predicted,
        duals,
        np.average(hits, axis=1, weights=labels.weights),
        np.average(errors, axis=1, weights=labels.weights),
        perf_counter() - start,
    )


def stratified_part(Y: np.ndarray, size: int) -> np.ndarray:
    """Choose about ``size`` rows, evenly spaced in each class, so that every class keeps its share.

    Examples
    --------
    >>> stratified_part(np.eye(2)[[0, 0, 0, 0, 1, 1]], 3).tolist()
    [0, 2, 4]
    """
    codes = Y.argmax(axis=1)
    chosen = []
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        kept = max(1, round(size * len(members) / len(codes)))
        chosen.append(members[np.arange(kept) * len(members) // kept])
    return np.sort(np.concatenate(chosen))
