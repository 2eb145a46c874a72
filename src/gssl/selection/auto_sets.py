"""Several labels per node: the estimator behind AutoClassifier when y is a matrix or a list of sets."""

from functools import cached_property
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from gssl.graph.adjacency import relations_of
from gssl.methods.label_sets import UNKNOWN, read_label_sets
from gssl.methods.labels import UNLABELLED
from gssl.methods.neighbourhood import EVERY, Nodes
from gssl.methods.state import reads_state, replaces_state
from gssl.methods.stored import Stored
from gssl.operators import small_algebra
from gssl.scale.execution import Execution, current_execution, without_resume
from gssl.selection.auto_model import LINKS, AutoModel
from gssl.selection.set_search import HiddenSets, deal_sets, log_odds, select_for_sets, set_inputs
from gssl.selection.trees import Trees, one_thread
from gssl.selection.trial import Labels
from gssl.selection.wording import explain_sets


class AutoLabelSets(AutoModel):
    """Predict the probability of each of several labels for every node.

    Parameters are those of :class:`gssl.AutoClassifier`, which fits this estimator if y has several labels
    per node.
    """

    _views: ClassVar[dict[str, bool]] = {"selves": True}
    _tree_map: np.ndarray
    _held_out: np.ndarray
    _stored = (
        Stored("_cells", "code", ("m", "c")),
        Stored("probabilities_", "float", ("n", "c")),
        Stored("thresholds_", "float", ("c",)),
        Stored("_held_out", "float", ("m", "c")),
        Stored("_constant", "float", ("c",)),
        Stored("_tree_map", "float", ("2", "c"), optional=True),
    )

    def __init__(self, depth: int = 16, directed: Any = False, time_budget: Any = None) -> None:
        self.depth = depth
        self.directed = directed
        self.time_budget = time_budget

    def _read_answers(self, y: Any, n_nodes: int) -> np.ndarray:
        self.classes_, cells = read_label_sets(y, n_nodes)
        known = (cells != UNKNOWN).any(axis=1)
        self._cells = cells[known]
        return np.where(known, 0, UNLABELLED)

    @property
    def fit_answers(self) -> np.ndarray:
        """The labels of every node in fit as sorted tuples, None where nothing was known."""
        answers = np.full(len(self._fit_codes), None, dtype=object)
        for node, row in zip(np.flatnonzero(self._fit_codes != UNLABELLED), self._cells, strict=True):
            answers[node] = tuple(self.classes_[row == 1].tolist())
        return answers

    @property
    def fit_cells(self) -> np.ndarray:
        """The matrix of labels in fit: 0, 1, or −1 where it was not known."""
        cells = np.full((len(self._fit_codes), len(self.classes_)), UNKNOWN)
        cells[self._fit_codes != UNLABELLED] = self._cells
        return cells

    @replaces_state
    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Self:
        """Choose models by leave-one-out and predict every node."""
        self._check_parameters()
        execution = current_execution(self)
        self._drop("_tree_map")
        X, A, codes = self._start(X, y, adjacency)
        execution.checkpoint(X, A, *relations_of(A).items(), codes)
        return self._choose(execution)

    @replaces_state
    def update_labels(self, y: Any) -> Self:
        """Choose models again for other labels of the same nodes; the result is that of a new fit."""
        with without_resume():
            self._restart(y)
            return self._choose(current_execution(self))

    def _choose(self, execution: Execution) -> Self:
        inputs = self._fit_inputs
        deadline = perf_counter() + (np.inf if self.time_budget is None else self.time_budget)
        self._drop("_tree_map")
        self.n_iter_ = self.depth
        with small_algebra():
            selection = select_for_sets(
                inputs.views, inputs.A, self.fit_cells, self.depth, execution, deadline
            )
            if selection.average is not None:
                self._keep_average(selection.average)
        self.leaderboard_, self.thresholds_ = selection.leaderboard, selection.thresholds
        self._constant, self._held_out = selection.constant, selection.held_out
        if selection.trees is not None:
            assert selection.tree_map is not None
            self._tree_map, self._trees = selection.tree_map, selection.trees
            self._keep_walks(list(selection.trees.walks))
        self._keep_parameters()
        self.probabilities_, self.informed_ = self._score_graph(inputs.X, inputs.A)
        self.explain_ = explain_sets(selection, self.classes_)
        return self

    @property
    def has_trees(self) -> bool:
        """Whether randomised trees are part of the pool."""
        return hasattr(self, "_tree_map")

    @property
    def _n_columns(self) -> int:
        return len(self.classes_)

    def _hidden(self) -> HiddenSets:
        inputs = self._kept_inputs()
        return deal_sets(self.fit_cells, inputs.views, inputs.A)

    def _labels(self) -> Labels:
        return self._hidden().labels

    @property
    def knows_nodes(self) -> bool:
        """Whether prediction uses links to the nodes of fit, or their labels."""
        return hasattr(self, "_tree_map") or bool(set(self._kinds()) & set(LINKS)) or not self.uses_features

    @cached_property
    def _trees(self) -> Trees:
        """The trees, which a loaded model fits again."""
        if not self.has_trees:
            raise AttributeError("this AutoLabelSets has no trees.")
        inputs = self._kept_inputs()
        with one_thread():
            return set_inputs(inputs.views, inputs.A, self._hidden(), self._walks).fit_all()

    def _score_graph(self, X: Any, A: csr_array, nodes: Nodes = EVERY) -> tuple[np.ndarray, np.ndarray]:
        logits = np.tile(self._constant, (A.shape[0], 1))
        informed = np.zeros(A.shape[0], dtype=bool)
        if self._kinds():
            logits += self._linear_scores(X, A)
            informed = self._informed_by_features(X, A)
        if hasattr(self, "_tree_map"):
            self._grown_codes(A.shape[0])  # raises if the graph lacks nodes of fit
            with one_thread():
                odds = log_odds(self._trees.of_graph(X, A))
            logits += odds * self._tree_map[0] + self._tree_map[1]
        return expit(logits)[nodes], informed[nodes]

    @property
    def held_out_probabilities(self) -> np.ndarray:
        """The probabilities of the labels of known nodes, made without them."""
        return self._held_out

    def decide(self, P: np.ndarray) -> np.ndarray:
        """Return a mask of the labels whose probability reaches their threshold."""
        return np.asarray(self.thresholds_ <= P)

    @reads_state
    def predict_proba(self, X: Any, *, adjacency: Any = None, nodes: Any = None) -> np.ndarray:
        """Return the probability of every label for nodes of a graph."""
        (P, _), near = self._answers_of(X, adjacency, nodes)
        return P if near is None else np.asarray(self.probabilities_[near].mean(axis=1))

    def predict(self, X: Any, *, adjacency: Any = None, nodes: Any = None) -> np.ndarray:
        """Return 0 or 1 for every label of nodes of a graph."""
        P = self.predict_proba(X, adjacency=adjacency, nodes=nodes)
        return self.decide(P).astype(np.int64)
