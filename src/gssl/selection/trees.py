"""Boosted trees on a node's features, its neighbours' features and its neighbours' labels.

They are judged on hidden labels and pooled with the average of linear models. A short fit to a sample decides
whether to try them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse
from threadpoolctl import threadpool_limits

from gssl.graph.mapped import mapped_file
from gssl.methods.labels import UNLABELLED, one_hot
from gssl.selection.hidden_labels import HiddenLabels
from gssl.selection.leaderboard import Entry
from gssl.selection.node_order import stratified_part
from gssl.selection.pool import Pool, fit_pool, floored_log

# fewest labels to try trees with
FEWEST_LABELS = 100
# up to this many features, all are columns, with two hops, minima and maxima; else WORDS chosen ones and
# their neighbours' means, and DIRECTIONS principal directions and theirs
FEW_FEATURES, WORDS, DIRECTIONS = 32, 128, 32
# labels to choose columns on and to screen with, and labels × classes to fit to
_CHOSEN_ON, _SCREENED = 4_000, 2_000
_MOST_FITTED = 288_000
# rounds × classes, the most and fewest rounds, and learning rate × rounds
_TREES, _MOST_ROUNDS, _FEWEST_ROUNDS, _PACE = 600, 120, 30, 12.0
_MOST_RATE = 0.3
_SETTINGS = {
    "max_leaf_nodes": 15,
    "max_bins": 63,
    "l2_regularization": 10.0,
    "max_features": 0.3,
    "early_stopping": False,
    "random_state": 0,
}
_SHORT = {"max_iter": 20, "learning_rate": 0.3, "max_leaf_nodes": 8, "max_bins": 31}
# held-out likelihood is compared every so many rounds
_STRIDE = 5
_ROWS = 8_192
# columns are rounded to so many steps, up or down at a point where no simple fraction lies
_STEPS, _MIDDLE = 1 << 13, 0.5137
# keys times this are scattered enough for their fractions to be random
_SCATTERED = 1e4
# bytes of the columns of all nodes
_MOST_BYTES = 1 << 30

# features of the node, and features to average over its neighbours
Chosen: TypeAlias = tuple[np.ndarray, np.ndarray]


def one_thread() -> Any:
    """Limit trees to one thread: on a busy machine, more threads mostly wait for each other."""
    return threadpool_limits(limits=1, user_api="openmp")


class Neighbourhood:
    """Columns of a graph's nodes, made for the rows that are asked for."""

    def __init__(self, X: Any, A: csr_array, axes: np.ndarray, order: np.ndarray) -> None:
        self.A, self.axes, self.order = A, axes, order
        self.X, self._given = X[:, order], X
        self.degrees = np.diff(A.indptr)
        sums = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
        shares = np.repeat(1.0 / np.where(sums > 0, sums, 1.0), self.degrees) * A.data
        self.walk = csr_array((shares.astype(np.float32), A.indices, A.indptr), shape=A.shape)

    @cached_property
    def way_back(self) -> np.ndarray:
        """The probability that a walk of two hops ends where it began."""
        return np.asarray(self.walk.multiply(self.walk.T).sum(axis=1)).reshape(-1, 1)

    @cached_property
    def fixed(self) -> np.ndarray:
        """The columns of all nodes that depend neither on labels nor on a choice of features."""
        log_degrees = np.log1p(self.degrees)[:, None].astype(np.float32)
        columns = [log_degrees, self.walk @ log_degrees]
        if 0 < self.X.shape[1] <= FEW_FEATURES:
            Z = _dense(self.X)
            once = self.walk @ Z
            columns += [Z, once, self.walk @ once, self._extreme(np.minimum, Z), self._extreme(np.maximum, Z)]
        elif self.X.shape[1]:
            Z = np.asarray(self._given @ self.axes, dtype=np.float32)
            columns += [Z, self.walk @ Z]
        return _rounded(np.hstack(columns))

    def _extreme(self, of: np.ufunc, Z: np.ndarray) -> np.ndarray:
        """Return the least or greatest value among neighbours; NaN without neighbours."""
        extremes = np.full(Z.shape, np.nan, np.float32)
        linked = np.flatnonzero(self.degrees)
        for k in range(Z.shape[1] if len(linked) else 0):
            extremes[linked, k] = of.reduceat(Z[self.A.indices, k], self.A.indptr[linked])
        return extremes

    def label_columns(self, codes: np.ndarray, n_classes: int) -> np.ndarray:
        """Return the class shares one and two hops away, never counting a node's own label."""
        known = np.flatnonzero(codes != UNLABELLED)
        M = np.zeros((len(codes), n_classes + 1), np.float32)
        M[known, codes[known]] = M[known, -1] = 1.0
        prior = M[known, :-1].mean(axis=0)
        counted = csr_array((np.ones_like(self.walk.data), self.A.indices, self.A.indptr), shape=self.A.shape)
        one = counted @ M
        # a walk of two hops may return to its own label
        two = np.maximum(self.walk @ (self.walk @ M) - self.way_back * M, 0.0)
        # shrunk towards the class shares where few labels are near
        shares = [(S[:, :-1] + w * prior) / (S[:, -1:] + w) for S, w in ((one, 1.0), (two, 0.01))]
        # differences of shares may be rounding errors
        columns = np.hstack([*shares, one[:, -1:], two[:, -1:]])
        return np.asarray(np.floor(columns * _STEPS + _MIDDLE) / _STEPS, dtype=np.float32)

    def choose(self, codes: np.ndarray, rows: np.ndarray, n_classes: int) -> Chosen:
        """Choose features, and features to average over neighbours, by their F statistics at some nodes."""
        d = self.X.shape[1]
        if d <= FEW_FEATURES:
            return np.arange(0), np.arange(0)
        Y = one_hot(codes[rows], n_classes, np.float64)
        F = np.concatenate([_f_statistics(Z, Y) for Z in (self.X[rows], self.walk[rows] @ self.X)])
        best = np.sort(np.argsort(-F, kind="stable")[:WORDS])
        return best[best < d], best[best >= d] - d

    def columns(self, rows: np.ndarray, chosen: Chosen, labels: np.ndarray) -> np.ndarray:
        """Return the columns of some nodes."""
        own, near = chosen
        parts = [self.fixed[rows], labels[rows]]
        if len(own):
            parts.append(_dense(self.X[rows][:, own]))
        if len(near):
            parts.append(_rounded(_dense(self.walk[rows] @ self.X[:, near])))
        return np.hstack(parts)


@dataclass(frozen=True, eq=False)
class Trees:
    """Fitted trees with the features they read and the labels that their label columns count."""

    model: Any
    axes: np.ndarray
    order: np.ndarray
    chosen: Chosen
    # classes are numbered in this order
    classes: np.ndarray
    codes: np.ndarray

    def distributions(self, X: Any, A: csr_array) -> np.ndarray:
        """Predict all nodes of a graph that begins with the nodes of fit."""
        return self.of_rows(Neighbourhood(X, A, self.axes, self.order), np.arange(A.shape[0]))

    def of_rows(self, nearby: Neighbourhood, rows: np.ndarray) -> np.ndarray:
        """Predict some nodes."""
        parts = [self.model.predict_proba(D) for D in self._columns(nearby, rows)]
        return self._spread(np.concatenate(parts))

    def stages(self, nearby: Neighbourhood, rows: np.ndarray) -> np.ndarray:
        """Predict some nodes after every few rounds; returns (stages, rows, classes)."""
        parts = [
            [P for k, P in enumerate(self.model.staged_predict_proba(D), 1) if k % _STRIDE == 0]
            for D in self._columns(nearby, rows)
        ]
        return self._spread(np.concatenate(parts, axis=1))

    def _columns(self, nearby: Neighbourhood, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the columns of some nodes, block by block."""
        codes = np.full(nearby.A.shape[0], UNLABELLED)
        codes[: len(self.codes)] = self.codes
        labels = nearby.label_columns(codes, len(self.classes))
        for first in range(0, len(rows), _ROWS):
            yield nearby.columns(rows[first : first + _ROWS], self.chosen, labels)

    def _spread(self, P: np.ndarray) -> np.ndarray:
        """Return distributions over all classes, with zeros for those without a label in the sample."""
        full = np.zeros((*P.shape[:-1], len(self.classes)))
        full[..., self.classes[self.model.classes_]] = P
        return full


@dataclass(frozen=True, eq=False)
class TreeInputs:
    """What trees are fitted to: features, graph, labels with their weights and keys, and directions of X.

    ``column_keys`` order the features, and ``keys`` the labelled nodes, so that trees do not depend on how
    these are stored.
    """

    X: Any
    A: csr_array
    codes: np.ndarray
    weights: np.ndarray
    keys: np.ndarray
    axes: np.ndarray
    column_keys: np.ndarray

    @property
    def fits(self) -> bool:
        """Whether features and columns can be held in memory."""
        n, c = self.A.shape[0], len(self.classes)
        width = 2 * (c + 2) + max(2 * DIRECTIONS, 5 * FEW_FEATURES)
        return (
            4 * n * width <= _MOST_BYTES
            and mapped_file(self.X) is None
            and mapped_file(self.A.indices) is None
        )

    @cached_property
    def nodes(self) -> np.ndarray:
        """The labelled nodes."""
        return np.flatnonzero(self.codes != UNLABELLED)

    @cached_property
    def classes(self) -> np.ndarray:
        """The classes in the order of the mean keys of their labels, whatever their codes."""
        codes = self.codes[self.nodes]
        return np.argsort(np.bincount(codes, self.keys) / np.maximum(np.bincount(codes), 1), kind="stable")

    @cached_property
    def ranks(self) -> np.ndarray:
        """The positions of the classes of all nodes in that order."""
        ranks = np.full(len(self.codes), UNLABELLED)
        ranks[self.nodes] = np.argsort(self.classes)[self.codes[self.nodes]]
        return ranks

    @cached_property
    def nearby(self) -> Neighbourhood:
        """The columns of all nodes."""
        return Neighbourhood(self.X, self.A, self.axes[:, :DIRECTIONS], np.argsort(self.column_keys))

    def sample(self, of: np.ndarray, size: int) -> np.ndarray:
        """Return some of the labelled nodes, in an order that does not depend on how they are stored."""
        at = np.searchsorted(self.nodes, of)
        some = stratified_part(self.ranks[of], self.keys[at], size)
        return np.asarray(of[some][np.argsort(self.keys[at][some], kind="stable")])

    def folds(self, count: int) -> list[np.ndarray]:
        """Divide the labelled nodes by their keys, so that nodes that cannot be told apart stay together."""
        fold = np.floor(count * np.modf(np.abs(self.keys) * _SCATTERED)[0])
        return [part for k in range(count) if len(part := self.nodes[fold == k])]

    def fit(self, hidden: np.ndarray, size: int, **settings: Any) -> Trees:
        """Fit trees to about ``size`` labels, without those of hidden nodes."""
        from sklearn.ensemble import HistGradientBoostingClassifier  # not needed where trees are not tried

        shown, n_classes = self.ranks.copy(), len(self.classes)
        shown[hidden] = UNLABELLED
        rest = np.setdiff1d(self.nodes, hidden)
        rows = self.sample(rest, size)
        own = self.weights[np.searchsorted(self.nodes, rows)]
        chosen = self.nearby.choose(shown, self.sample(rest, _CHOSEN_ON), n_classes)
        D = self.nearby.columns(rows, chosen, self.nearby.label_columns(shown, n_classes))
        model = HistGradientBoostingClassifier(**(_SETTINGS | settings))
        # equal weights are left out: binning is slow with weights
        model.fit(D, self.ranks[rows], sample_weight=own if np.ptp(own) else None)
        return Trees(model, self.nearby.axes, self.nearby.order, chosen, self.classes, shown)

    def fit_rounds(self, rounds: int, hidden: np.ndarray | None = None) -> Trees:
        """Fit so many rounds at the usual rate, to all labels that are not hidden."""
        n_classes = len(self.classes)
        most = _most_rounds(n_classes)
        none = self.nodes[:0] if hidden is None else hidden
        rate = min(_MOST_RATE, _PACE / most)
        return self.fit(none, _MOST_FITTED // n_classes, max_iter=rounds, learning_rate=rate)


@dataclass(frozen=True, eq=False)
class Judgement:
    """Trees that are worth adding: the pool, their rounds, and the pooled distributions of hidden labels."""

    pool: Pool
    rounds: int
    held_out: np.ndarray
    entry: Entry


def judge_trees(inputs: TreeInputs, hidden: HiddenLabels, linear: np.ndarray) -> Judgement | None:
    """Try trees beside the held-out distributions ``linear`` of labels; None if they add nothing clear.

    A short fit to a sample decides whether to try them.
    """
    if len(hidden.nodes) < FEWEST_LABELS or not hidden.folds or not inputs.fits:
        return None
    start = perf_counter()

    def pooled(of: np.ndarray, Q: np.ndarray) -> Pool:
        at = hidden.positions(of)
        return fit_pool(linear[at], Q, hidden.truth[at], hidden.labels.weights[at])

    folds, nearby = inputs.folds(len(hidden.folds)), inputs.nearby
    if len(folds) < 2:
        return None
    first = folds[0]
    tested = inputs.sample(first, _SCREENED)
    if not pooled(tested, inputs.fit(first, _SCREENED, **_SHORT).of_rows(nearby, tested)).is_clear():
        return None
    most = _most_rounds(hidden.n_classes)
    fits = [inputs.fit_rounds(most, fold) for fold in folds]
    parts = [trees.stages(nearby, fold) for trees, fold in zip(fits, folds, strict=True)]
    stages, every = np.concatenate(parts, axis=1), np.concatenate(folds)
    at = hidden.positions(every)
    logs = floored_log(stages[:, np.arange(len(every)), hidden.truth[at]])
    best = int(np.argmax(np.average(logs, axis=1, weights=hidden.labels.weights[at])))
    pool = pooled(every, stages[best])
    if not pool.is_clear():
        return None
    alone, held_out = hidden.uniform_scores(), linear.copy()
    alone[at] = stages[best]
    held_out[at] = pool.distributions(linear[at], stages[best])
    rounds = (best + 1) * _STRIDE
    settings = f"rounds={rounds}, weight={pool.share:.2f}"
    entry = hidden.entry("boosted trees", settings, alone, perf_counter() - start, chosen=True)
    return Judgement(pool, rounds, held_out, entry)


def _most_rounds(n_classes: int) -> int:
    return int(np.clip(_TREES // n_classes, _FEWEST_ROUNDS, _MOST_ROUNDS))


def _f_statistics(Z: Any, Y: np.ndarray) -> np.ndarray:
    """Return the ratio of the variances between and within classes of every column."""
    sums, counts = np.asarray(Z.T @ Y), np.maximum(Y.sum(axis=0), 1.0)
    squares = np.asarray(Z.multiply(Z).sum(axis=0)).ravel() if issparse(Z) else np.square(Z).sum(axis=0)
    centre = sums.sum(axis=1) ** 2 / len(Y)
    between = (sums**2 / counts).sum(axis=1) - centre
    return np.asarray(between / np.maximum(squares - centre - between, 1e-9 * np.maximum(squares, 1e-6)))


def _rounded(Z: np.ndarray) -> np.ndarray:
    """Round to some bits after the first, so that the order of a sum decides no split."""
    mantissa, exponent = np.frexp(Z)
    return np.asarray(np.ldexp(np.floor(mantissa * _STEPS + _MIDDLE) / _STEPS, exponent), dtype=np.float32)


def _dense(Z: Any) -> np.ndarray:
    return np.asarray(Z.toarray() if issparse(Z) else Z, dtype=np.float32)
