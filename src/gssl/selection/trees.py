"""Boosted trees on a node's features, its neighbours' features and its neighbours' known answers.

They are judged on hidden answers and pooled with the average of linear models. For classes, a short fit to a
sample decides whether to try them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from gssl.graph.mapped import mapped_file
from gssl.methods.labels import UNLABELLED, one_hot
from gssl.selection.hidden_labels import HiddenLabels
from gssl.selection.leaderboard import Entry
from gssl.selection.neighbour_columns import DIRECTIONS, FEW_FEATURES, Chosen, Neighbourhood
from gssl.selection.node_order import scattered_folds, stratified_part
from gssl.selection.pool import Pool, fit_pool, floored_log

# fewest answers to try trees with
FEWEST_LABELS = 100
# answers to choose columns on and to screen with, and answers × classes to fit to
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
# of trees for several labels
_RANDOMISED: dict[str, Any] = {
    "n_estimators": 200,
    "min_samples_leaf": 5,
    "max_features": 0.3,
    "bootstrap": True,
    "random_state": 0,
}
# folds of their hidden labels, and the number of trees for each
_SET_FOLDS, _FOLD_TREES = 4, 100
# fewest numbers in a leaf
_LEAF = 5
# held-out likelihood is compared every so many rounds
STRIDE = 5
_ROWS = 8_192
# bytes of the columns of all nodes
_MOST_BYTES = 1 << 30
# every round grows a tree for each class, so time and memory grow with both
_MOST_CLASSES = 100


def one_thread() -> Any:
    """Limit trees to one thread: on a busy machine, more threads mostly wait for each other."""
    return threadpool_limits(limits=1, user_api="openmp")


@dataclass(frozen=True, eq=False)
class Trees:
    """Fitted trees with the features they read and the known answers that their columns count."""

    model: Any
    axes: np.ndarray
    order: np.ndarray
    chosen: Chosen
    # the answers of the nodes of fit, and a mask of those that are known
    answers: np.ndarray
    known: np.ndarray
    # operators of relations whose neighbours count apart
    walks: Sequence[str] = ()
    # how many rounds predict; all if None
    rounds: int | None = None

    def cut(self, rounds: int) -> "Trees":
        """Return trees whose first rounds predict."""
        return replace(self, rounds=rounds)

    def of_graph(self, X: Any, A: csr_array, extra: np.ndarray | None = None) -> np.ndarray:
        """Predict all nodes of a graph that begins with the nodes of fit; ``extra`` are further columns."""
        nearby = Neighbourhood(X, A, self.axes, self.order, extra, self.walks)
        return self.of_rows(nearby, np.arange(A.shape[0]))

    def of_rows(self, nearby: Neighbourhood, rows: np.ndarray) -> np.ndarray:
        """Predict some nodes."""
        return np.concatenate([self._predicted(D) for D in self._columns(nearby, rows)])

    def stages(self, nearby: Neighbourhood, rows: np.ndarray) -> np.ndarray:
        """Predict some nodes after every few rounds; returns (stages, rows, columns of the answers)."""
        parts = [
            [P for k, P in enumerate(self._staged(D), 1) if k % STRIDE == 0]
            for D in self._columns(nearby, rows)
        ]
        return np.concatenate(parts, axis=1)

    def _predicted(self, D: np.ndarray) -> np.ndarray:
        if self.rounds is not None:
            return next(islice(self._staged(D), self.rounds - 1, None))
        return np.asarray(self.model.predict(D)).reshape(len(D), -1)

    def _staged(self, D: np.ndarray) -> Iterator[np.ndarray]:
        return (np.asarray(P).reshape(len(D), -1) for P in self.model.staged_predict(D))

    def _columns(self, nearby: Neighbourhood, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the columns of some nodes, block by block."""
        n_new = nearby.A.shape[0] - len(self.known)
        answers = np.vstack([self.answers, np.zeros((n_new, self.answers.shape[1]), self.answers.dtype)])
        known = np.concatenate([self.known, np.zeros(n_new, dtype=bool)])
        columns = nearby.answer_columns(answers, known)
        for first in range(0, len(rows), _ROWS):
            yield nearby.columns(rows[first : first + _ROWS], self.chosen, columns)


@dataclass(frozen=True, eq=False)
class ClassTrees(Trees):
    """Trees that predict distributions; ``classes`` are the classes in the order of the trees."""

    classes: np.ndarray = field(default_factory=lambda: np.arange(0))

    def _predicted(self, D: np.ndarray) -> np.ndarray:
        return self._spread(self.model.predict_proba(D))

    def _staged(self, D: np.ndarray) -> Iterator[np.ndarray]:
        return (self._spread(P) for P in self.model.staged_predict_proba(D))

    def _spread(self, P: np.ndarray) -> np.ndarray:
        """Return distributions over all classes, with zeros for those without a label in the sample."""
        full = np.zeros((*P.shape[:-1], len(self.classes)))
        full[..., self.classes[self.model.classes_]] = P
        return full


@dataclass(frozen=True, eq=False)
class TreeInputs(ABC):
    """What trees are fitted to: features, graph, weights and keys of the known answers, directions of X.

    ``column_keys`` order the features, and ``keys`` the nodes with known answers, so that trees do not depend
    on how these are stored.
    """

    X: Any
    A: csr_array
    weights: np.ndarray
    keys: np.ndarray
    axes: np.ndarray
    column_keys: np.ndarray
    # operators of relations whose neighbours count apart
    walks: Sequence[str]

    @property
    @abstractmethod
    def nodes(self) -> np.ndarray:
        """The nodes with known answers."""

    @property
    @abstractmethod
    def answers(self) -> np.ndarray:
        """The answers as rows, one for every node; those of other nodes do not matter."""

    @property
    def strata(self) -> np.ndarray:
        """A group of every node, in which samples are drawn evenly."""
        return np.zeros(self.A.shape[0], dtype=np.int64)

    @abstractmethod
    def basis(self, rows: np.ndarray) -> np.ndarray:
        """Return orthogonal columns that span the answers of some nodes and the constant."""

    @abstractmethod
    def learn(self, D: np.ndarray, rows: np.ndarray, weights: Any, **settings: Any) -> Any:
        """Fit an estimator of scikit-learn to the columns of some nodes."""

    def wrap(self, trees: Trees) -> Trees:
        """Return trees of the kind that these answers need."""
        return trees

    @property
    def most_rounds(self) -> int:
        """The largest number of rounds."""
        return int(np.clip(_TREES // self.answers.shape[1], _FEWEST_ROUNDS, _MOST_ROUNDS))

    @property
    def fits(self) -> bool:
        """Whether features and columns can be held in memory."""
        n, c = self.A.shape[0], self.answers.shape[1]
        width = 2 * (c + 2) + max(2 * DIRECTIONS, 5 * FEW_FEATURES) + len(self.walks) * (c + 2 + DIRECTIONS)
        return (
            4 * n * width <= _MOST_BYTES
            and mapped_file(self.X) is None
            and mapped_file(self.A.indices) is None
        )

    @property
    def extra(self) -> np.ndarray | None:
        """Further columns of all nodes."""
        return None

    @cached_property
    def nearby(self) -> Neighbourhood:
        """The columns of all nodes."""
        order = np.argsort(self.column_keys)
        return Neighbourhood(self.X, self.A, self.axes[:, :DIRECTIONS], order, self.extra, self.walks)

    def sample(self, of: np.ndarray, size: int) -> np.ndarray:
        """Return some of the known nodes, in an order that does not depend on how they are stored."""
        at = np.searchsorted(self.nodes, of)
        some = stratified_part(self.strata[of], self.keys[at], size)
        return np.asarray(of[some][np.argsort(self.keys[at][some], kind="stable")])

    def folds(self, count: int) -> list[np.ndarray]:
        """Divide the known nodes by their keys, so that nodes that cannot be told apart stay together."""
        return [self.nodes[part] for part in scattered_folds(self.keys, count)]

    def fit(self, hidden: np.ndarray, size: int, **settings: Any) -> Trees:
        """Fit trees to about ``size`` answers, without those of hidden nodes."""
        known = np.zeros(self.A.shape[0], dtype=bool)
        known[self.nodes] = True
        known[hidden] = False
        rest = np.setdiff1d(self.nodes, hidden)
        rows = self.sample(rest, size)
        own = self.weights[np.searchsorted(self.nodes, rows)]
        on = self.sample(rest, _CHOSEN_ON)
        chosen = self.nearby.choose(on, self.basis(on))
        D = self.nearby.columns(rows, chosen, self.nearby.answer_columns(self.answers, known))
        # equal weights are left out: binning is slow with weights
        weights = own if np.ptp(own) else None
        model = self.learn(D, rows, weights, **settings)
        near, answers = self.nearby, self.answers
        return self.wrap(Trees(model, near.axes, near.order, chosen, answers, known, self.walks))

    def fit_rounds(self, rounds: int, hidden: np.ndarray | None = None) -> Trees:
        """Fit so many rounds at the usual rate, to all answers that are not hidden."""
        none = self.nodes[:0] if hidden is None else hidden
        rate = min(_MOST_RATE, _PACE / self.most_rounds)
        size = _MOST_FITTED // self.answers.shape[1]
        return self.fit(none, size, max_iter=rounds, learning_rate=rate)


@dataclass(frozen=True, eq=False)
class ClassInputs(TreeInputs):
    """The same for classes, given as codes of all nodes."""

    codes: np.ndarray = field(default_factory=lambda: np.arange(0))

    @property
    def fits(self) -> bool:
        """Whether features and columns can be held in memory, and there are not too many classes."""
        return super().fits and self.answers.shape[1] <= _MOST_CLASSES

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
    def strata(self) -> np.ndarray:
        """The positions of the classes of all nodes in that order."""
        ranks = np.full(len(self.codes), UNLABELLED)
        ranks[self.nodes] = np.argsort(self.classes)[self.codes[self.nodes]]
        return ranks

    @cached_property
    def answers(self) -> np.ndarray:
        """One-hot classes."""
        return one_hot(np.maximum(self.strata, 0), len(self.classes), np.float32)

    def basis(self, rows: np.ndarray) -> np.ndarray:
        """Return the one-hot classes of some nodes."""
        return one_hot(self.strata[rows], len(self.classes), np.float64)

    def has_one_class_without(self, hidden: np.ndarray) -> bool:
        """Return whether the labels of the other nodes are all of one class."""
        rest = np.setdiff1d(self.nodes, hidden, assume_unique=True)
        return len(np.unique(self.codes[rest])) < 2

    def learn(self, D: np.ndarray, rows: np.ndarray, weights: Any, **settings: Any) -> Any:
        """Fit a classifier."""
        from sklearn.ensemble import HistGradientBoostingClassifier  # not needed where trees are not tried

        model = HistGradientBoostingClassifier(**(_SETTINGS | settings))
        return model.fit(D, self.strata[rows], sample_weight=weights)

    def wrap(self, trees: Trees) -> Trees:
        """Return trees that predict distributions."""
        return ClassTrees(**vars(trees), classes=self.classes)


@dataclass(frozen=True, eq=False)
class NumberInputs(TreeInputs):
    """The same for numbers, given for all nodes, NaN where unknown.

    ``linear`` are the predictions of linear models, for known nodes without their own number. They are a
    column where features are many, of which trees see only some.
    """

    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    linear: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def extra(self) -> np.ndarray | None:
        """The predictions of linear models as a column, if there are many features."""
        return self.linear[:, None] if self.X.shape[1] > FEW_FEATURES else None

    @cached_property
    def nodes(self) -> np.ndarray:
        """The nodes with known numbers."""
        return np.flatnonzero(~np.isnan(self.values))

    @cached_property
    def answers(self) -> np.ndarray:
        """The numbers as a column."""
        return np.asarray(np.nan_to_num(self.values)[:, None], dtype=np.float32)

    def basis(self, rows: np.ndarray) -> np.ndarray:
        """Return a constant and the centred numbers of some nodes."""
        values = self.values[rows]
        return np.stack([np.ones(len(rows)), values - values.mean()], axis=1)

    def learn(self, D: np.ndarray, rows: np.ndarray, weights: Any, **settings: Any) -> Any:
        """Fit a regressor."""
        from sklearn.ensemble import HistGradientBoostingRegressor  # not needed where trees are not tried

        model = HistGradientBoostingRegressor(min_samples_leaf=_LEAF, **(_SETTINGS | settings))
        return model.fit(D, self.values[rows], sample_weight=weights)


@dataclass(frozen=True, eq=False)
class SetInputs(TreeInputs):
    """The same for several labels per node: rows ``Y`` of 0 and 1 for the known nodes ``at``.

    Trees read the labels in the order of the mean keys of their nodes, whatever their columns.
    """

    at: np.ndarray = field(default_factory=lambda: np.arange(0))
    Y: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def nodes(self) -> np.ndarray:
        """The nodes with known labels."""
        return self.at

    @cached_property
    def label_order(self) -> np.ndarray:
        """The labels in the order of the trees."""
        return np.argsort(self.keys @ self.Y / np.maximum(self.Y.sum(axis=0), 1e-9), kind="stable")

    @cached_property
    def answers(self) -> np.ndarray:
        """The labels of all nodes in that order, zeros where unknown."""
        answers = np.zeros((self.A.shape[0], self.Y.shape[1]), np.float32)
        answers[self.at] = self.Y[:, self.label_order]
        return answers

    def basis(self, rows: np.ndarray) -> np.ndarray:
        """Return an orthogonal basis of the labels of some nodes and the constant."""
        return np.linalg.qr(np.column_stack([np.ones(len(rows)), self.answers[rows]]))[0]

    def learn(self, D: np.ndarray, rows: np.ndarray, weights: Any, **settings: Any) -> Any:
        """Fit randomised trees for all labels at once, which predict every node without its own labels."""
        from sklearn.ensemble import ExtraTreesRegressor  # not needed where trees are not tried

        model = ExtraTreesRegressor(**(_RANDOMISED | settings))
        return model.fit(np.nan_to_num(D), self.answers[rows])

    def wrap(self, trees: Trees) -> Trees:
        """Return trees that predict labels in the order of their columns."""
        return SetTrees(**vars(trees), label_order=self.label_order)

    @property
    def _size(self) -> int:
        return _MOST_FITTED // int(self.Y.shape[1])

    def fit_all(self) -> Trees:
        """Fit to all labels, or to a sample of many."""
        return self.fit(self.nodes[:0], self._size)

    def held_out(self) -> np.ndarray:
        """Predict the labels of each fold by trees that neither learn nor count them.

        What neighbours' labels say without a node's own would give its own away: out-of-bag predictions of
        nodes with the same neighbours are not held out.
        """
        P = np.zeros(self.Y.shape)
        for fold in self.folds(_SET_FOLDS):
            trees = self.fit(fold, self._size, n_estimators=_FOLD_TREES)
            P[np.searchsorted(self.nodes, fold)] = trees.of_rows(self.nearby, fold)
        return P


@dataclass(frozen=True, eq=False)
class SetTrees(Trees):
    """Trees that read no missing cells; their columns are labels in ``label_order``."""

    label_order: np.ndarray = field(default_factory=lambda: np.arange(0))

    def _predicted(self, D: np.ndarray) -> np.ndarray:
        return super()._predicted(np.nan_to_num(D))[:, np.argsort(self.label_order)]


@dataclass(frozen=True, eq=False)
class Judgement:
    """Trees that are worth adding: the pool, their rounds, and the pooled distributions of hidden labels."""

    pool: Pool
    rounds: int
    held_out: np.ndarray
    entry: Entry


def judge_trees(inputs: ClassInputs, hidden: HiddenLabels, linear: np.ndarray) -> Judgement | None:
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
    # nodes that look the same are in one fold, so the others may have a single class
    if len(folds) < 2 or any(inputs.has_one_class_without(fold) for fold in folds):
        return None
    first = folds[0]
    tested = inputs.sample(first, _SCREENED)
    if not pooled(tested, inputs.fit(first, _SCREENED, **_SHORT).of_rows(nearby, tested)).is_clear():
        return None
    fits = [inputs.fit_rounds(inputs.most_rounds, fold) for fold in folds]
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
    rounds = (best + 1) * STRIDE
    settings = f"rounds={rounds}, weight={pool.share:.2f}"
    entry = hidden.entry("boosted trees", settings, alone, perf_counter() - start, chosen=True)
    return Judgement(pool, rounds, held_out, entry)
