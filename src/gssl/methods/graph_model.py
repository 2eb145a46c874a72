"""What all estimators that answer for nodes share: checked inputs, their state, and graphs to predict."""

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gssl.graph import nearest_rows, reached_nodes
from gssl.methods.inputs import (
    N_NEIGHBORS,
    FitInputs,
    check_graph,
    check_optional_features,
    safe_exponent,
    scale_features,
    select_nodes,
)
from gssl.methods.labels import UNLABELLED
from gssl.methods.neighbourhood import EVERY, Nodes
from gssl.methods.shown import ShownModel
from gssl.methods.state import Stateful, features_and_graph
from gssl.methods.stored import INPUT, N_ITER, Stored


class GraphModel(ShownModel, Stateful, BaseEstimator, metaclass=ABCMeta):
    """Answer for every node from features, a graph and a few known answers.

    A subclass defines ``_read_answers``, ``_score_graph`` and ``propagated_columns``, calls ``_start`` at the
    beginning of ``fit``, and may override the properties below.

    A node is *informed* (``informed_``) if a feature or a known answer reaches it.
    """

    # whether torch can run the passes over the graph
    runs_on_torch: ClassVar[bool] = False
    # whether it reads links of several kinds apart, and directions
    tells_relations: Any = False
    # whether it keeps the directions of a matrix: see gssl.graph.check_adjacency
    directed: Any = False
    # k: methods get 2ᵏX if squares of X would overflow or underflow
    _feature_exponent: int = 0
    _fit_inputs: FitInputs
    # what a saved model holds: see gssl.methods.stored
    _stored: ClassVar[tuple[Stored, ...]] = (
        *INPUT,
        N_ITER,
        Stored("_fit_codes", "code", ("n",)),
        Stored("_fit_features", "matrix", ("n", "d"), or_none=True),
        Stored("_feature_exponent", "exponent", optional=True),
        Stored("reached_", "bool", ("n",)),
        Stored("informed_", "bool", ("n",)),
        Stored("_fit_inputs", "inputs", optional=True),
    )

    @property
    def uses_features(self) -> bool:
        """Whether fit learns from X; if not, X may be None, and only builds a graph if none is given."""
        return True

    @property
    def knows_nodes(self) -> bool:
        """Whether predictions need the nodes of fit, so that a graph without them cannot be predicted."""
        return not self.uses_features

    @property
    def runs_by_columns(self) -> bool:
        """Whether fit can process slabs of columns, for memory budgets, clusters and resumed runs."""
        return False

    @property
    def _needs_graph(self) -> tuple[str, ...]:
        """Which of "fit" and "predict" read links; if none is given, fit builds a graph from X."""
        return "fit", "predict"

    @property
    def fit_codes(self) -> np.ndarray:
        """Class code of every node's label in fit, −1 where there was none."""
        return self._fit_codes

    def is_answer(self, given: Any, answer: Any) -> bool:
        """Return whether a given answer is one of ``fit_answers``."""
        return bool(given == answer)

    @property
    @abstractmethod
    def fit_answers(self) -> np.ndarray:
        """The known answer of every node in fit, as an object array with None where there was none."""

    def _check_parameters(self) -> None:
        """Check the parameters of the method; called by fit, and when a saved model is loaded."""

    @abstractmethod
    def propagated_columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        """Return how many columns fit would propagate over the graph, to estimate its memory."""

    @abstractmethod
    def _read_answers(self, y: Any, n_nodes: int) -> np.ndarray:
        """Read the known answers of fit; return a code for every node, −1 where there is none."""

    def _start(self, X: Any, y: Any, adjacency: Any) -> tuple[Any, csr_array, np.ndarray]:
        """Check the inputs of fit; return features, graph and the codes of known answers."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give labels, or a "
                "problem of gssl.read, as in fit(problem)."
            )
        X = check_optional_features(self, X, adjacency, reset=True)
        codes = self._read_answers(y, X.shape[0])
        self._feature_exponent = safe_exponent(X)
        X = scale_features(X, self._feature_exponent)
        self._fit_features = X if adjacency is None and "predict" in self._needs_graph else None
        self._fit_codes = codes
        A = check_graph(self, adjacency, X, reset=True, build="fit" in self._needs_graph)
        self._keep_inputs(X, A)
        # before embeddings are computed, because finding components needs memory, too
        self.reached_ = _reached(A, codes)
        return X, A, codes

    def _restart(self, y: Any) -> np.ndarray:
        """Replace the known answers of fit and return their codes."""
        A = self._kept_inputs().A
        codes = self._read_answers(y, A.shape[0])
        self._fit_codes = codes
        self.reached_ = _reached(A, codes)
        return codes

    def _keep_inputs(self, X: Any, A: csr_array) -> None:
        """Keep the checked inputs of fit, also those of a loaded model."""
        self._fit_inputs = FitInputs(X, A)

    def _kept_inputs(self) -> Any:
        """Return features and graph of fit."""
        if not hasattr(self, "_fit_inputs"):
            raise AttributeError(
                f"{type(self).__name__} has no graph before fit, and a loaded model keeps none: fit it."
            )
        return self._fit_inputs

    def _check_relations(self, A: csr_array) -> None:
        """Raise if a graph to predict lacks the kinds of links that the model reads."""

    def _grown_codes(self, n_nodes: int) -> np.ndarray:
        """Return the label codes of fit for a grown graph, whose first nodes are those of fit."""
        n_new = n_nodes - len(self._fit_codes)
        if n_new < 0:
            raise ValueError(
                f"the labels of {type(self).__name__} belong to nodes, so a graph to predict must begin "
                f"with the {len(self._fit_codes)} nodes of fit, but this one has only {n_nodes} nodes."
            )
        return np.concatenate([self._fit_codes, np.full(n_new, UNLABELLED)])

    @abstractmethod
    def _score_graph(self, X: Any, A: csr_array, nodes: Nodes = EVERY) -> tuple[np.ndarray, np.ndarray]:
        """Return the answers for some nodes of a graph, and a mask of the informed ones among them."""

    def _answers_of(
        self, X: Any, adjacency: Any, nodes: Any
    ) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray | None]:
        """Return the answers and informed nodes of a graph; of rows without a graph, their neighbours in fit.

        These are the nearest rows among the nodes of fit; the second value is None if there is a graph.
        """
        check_is_fitted(self)
        X, adjacency = features_and_graph(X, adjacency)
        X = scale_features(check_optional_features(self, X, adjacency, reset=False), self._feature_exponent)
        n = X.shape[0]
        chosen = EVERY if nodes is None else select_nodes(nodes, n, "nodes")
        if adjacency is None and "predict" in self._needs_graph:
            if self._fit_features is None:
                raise ValueError(
                    f"this {type(self).__name__} was fitted with a graph: pass adjacency=, the graph over "
                    "the rows of X, to predict."
                )
            near = nearest_rows(X[chosen], self._fit_features, N_NEIGHBORS)
            nothing = np.empty((0, 0)), np.asarray(self.informed_[near].any(axis=1))
            return nothing, near
        A = csr_array((n, n))
        if adjacency is not None:
            A = check_graph(self, adjacency, X, reset=False, allow_empty=True)
            self._check_relations(A)
        if "predict" not in self._needs_graph and not isinstance(chosen, slice) and len(chosen):
            X, A, chosen = X[chosen], csr_array((len(chosen), len(chosen))), EVERY
        return self._score_graph(X, A, chosen), None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _reached(A: csr_array, codes: np.ndarray) -> np.ndarray:
    # without links, methods use features alone, and components do not matter
    return reached_nodes(A, codes != UNLABELLED, checked=True) if A.nnz else np.ones(len(codes), dtype=bool)
