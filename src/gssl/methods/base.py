"""Base class of classifiers."""

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from gssl.graph import nearest_rows, reached_nodes
from gssl.graph.mapped import mapped_file
from gssl.methods.inputs import (
    N_NEIGHBORS,
    FitInputs,
    check_graph,
    check_optional_features,
    safe_exponent,
    scale_features,
    select_nodes,
)
from gssl.methods.labels import UNLABELLED, decide, decode_labels, encode_labels, unsure
from gssl.methods.neighbourhood import EVERY, Nodes
from gssl.methods.priors import reweigh
from gssl.methods.shown import ShownModel
from gssl.methods.state import Stateful, features_and_graph, reads_state
from gssl.methods.stored import INPUT, N_ITER, Stored, transient
from gssl.scale.memory import available_memory
from gssl.wording import write_size


class GraphClassifier(ShownModel, Stateful, ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Predict a distribution for every node from features, a graph and a few labels.

    A subclass defines

    - ``fit``: call ``_start``, compute distributions, and pass them to ``_finish``;
    - ``_score_graph``: distributions for nodes of another graph, of which ``neighbourhood`` cuts out a part
      if predictions depend on a limited number of hops;
    - ``_check_parameters``, which is also called when a saved model is loaded;
    - ``propagated_columns``, from which memory is estimated.

    It may override the properties ``uses_features``, ``knows_nodes``, ``runs_by_columns`` and
    ``_needs_graph``; ``distributions_without``, if labels can be hidden without a refit; and
    ``_keep_inputs``, to keep more than features and graph.

    A node is *informed* (``informed_``) if a feature or label reaches it; all others get a uniform
    distribution.
    """

    # whether torch can run the passes over the graph
    runs_on_torch: ClassVar[bool] = False
    # expected class shares among the predicted nodes; a parameter of the methods that support it
    priors: Any = None
    # k: methods get 2ᵏX if squares of X would overflow or underflow
    _feature_exponent: int = 0
    _fit_inputs: FitInputs
    # what a saved model holds, except classes_: see gssl.methods.stored
    _stored: ClassVar[tuple[Stored, ...]] = (
        *INPUT,
        N_ITER,
        Stored("_fit_codes", "code", ("n",)),
        Stored("_fit_features", "matrix", ("n", "d"), or_none=True),
        Stored("_feature_exponent", "exponent", optional=True),
        Stored("label_distributions_", "distribution", ("n", "c")),
        Stored("transduction_", "class", ("n",)),
        Stored("reached_", "bool", ("n",)),
        Stored("informed_", "bool", ("n",)),
        Stored("_priors", "shares", ("2", "c"), or_none=True),
        Stored("_fit_inputs", "inputs", optional=True),
        *transient("_unweighed", "cv_results_", "best_params_", "best_score_"),
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

    def _check_parameters(self) -> None:
        """Check the parameters of the method; called by fit, and when a saved model is loaded."""

    @abstractmethod
    def propagated_columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        """Return how many columns fit would propagate over the graph, to estimate its memory."""

    @abstractmethod
    def _score_graph(self, X: Any, A: csr_array, nodes: Nodes = EVERY) -> tuple[np.ndarray, np.ndarray]:
        """Return distributions for some nodes of a graph, and a mask of the informed ones among them."""

    def _start(self, X: Any, y: Any, adjacency: Any) -> tuple[Any, csr_array, np.ndarray]:
        """Check the inputs of fit; return features, graph and class codes."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give labels, or a "
                "problem of gssl.read, as in fit(problem)."
            )
        X = check_optional_features(self, X, adjacency, reset=True)
        self.classes_, codes = encode_labels(y, n_nodes=X.shape[0])
        self._feature_exponent = safe_exponent(X)
        X = scale_features(X, self._feature_exponent)
        self._fit_features = X if adjacency is None and "predict" in self._needs_graph else None
        self._fit_codes = codes
        A = check_graph(adjacency, X, build="fit" in self._needs_graph)
        self._keep_inputs(X, A)
        # before embeddings are computed, because finding components needs memory, too
        self.reached_ = _reached(A, codes)
        return X, A, codes

    def _restart(self, y: Any) -> np.ndarray:
        """Replace the labels of fit and return the new class codes."""
        A = self._kept_inputs().A
        classes, codes = encode_labels(y, n_nodes=A.shape[0])
        self.classes_, self._fit_codes = classes, codes
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

    def _grown_codes(self, n_nodes: int) -> np.ndarray:
        """Return the label codes of fit for a grown graph, whose first nodes are those of fit."""
        n_new = n_nodes - len(self._fit_codes)
        if n_new < 0:
            raise ValueError(
                f"the labels of {type(self).__name__} belong to nodes, so a graph to predict must begin "
                f"with the {len(self._fit_codes)} nodes of fit, but this one has only {n_nodes} nodes."
            )
        return np.concatenate([self._fit_codes, np.full(n_new, UNLABELLED)])

    def _finish(self, P: np.ndarray, informed: np.ndarray, priors: np.ndarray | None = None) -> Self:
        """Store the distributions of fit; those of uninformed nodes become uniform.

        ``priors`` are the class shares of fit and the expected ones, if they differ.
        """
        self.informed_ = informed
        self._priors = priors
        self._unweighed = None if priors is None else P
        P = _uniform_where_unknown(self._with_priors(P), informed)
        self.label_distributions_ = P
        self.transduction_ = self.classes_[decide(P, informed, self._fit_codes)]
        return self

    def _before_priors(self) -> np.ndarray:
        """Return the distributions of fit before priors were applied."""
        return self.label_distributions_ if self._unweighed is None else self._unweighed

    def _with_priors(self, P: np.ndarray) -> np.ndarray:
        return P if self._priors is None else reweigh(P, *self._priors)

    def predict_proba(self, X: Any, *, adjacency: Any = None, nodes: Any = None) -> np.ndarray:
        """Return a distribution over ``classes_`` for nodes that were not seen in fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d)
            Features of *all* nodes of the graph to predict.
        adjacency : array-like or sparse matrix of shape (m, m), optional
            The graph over the rows of X. Not needed by models that use only a row's own features
            (``ManifoldRegularization``, ``NoGraph``), nor by models fitted without a graph, which average
            the distributions of each row's nearest neighbours among the nodes of fit.
        nodes : bool mask of shape (m,) or indices, optional
            The k rows to return; all if None. Results are the same as on the whole graph, which is read and
            checked, but only the subgraph that these rows depend on is computed if it has less than half of
            the links.

        Notes
        -----
        A model that learns from features can predict any graph with the same features. ``OGC`` uses the
        labels of fit if the first nodes are those of fit, and features alone on other graphs.
        ``LabelPropagation``, ``LabelSpreading`` and ``CorrectAndSmooth`` propagate the labels of fit, so
        they need a graph whose first nodes are those of fit. Embedders that learn from random walks
        (``DeepWalk`` and ``Node2Vec`` in ``reproduction.skipgram``) can only predict the graph of fit.

        Predictions of ``SGC``, ``SSGC``, ``PPR``, ``HeatKernel``, ``OGC`` (one hop per iteration) and
        ``G2CN`` (two hops per step) depend on a limited number of hops. ``GGC`` and ``GGCM`` push all
        unlinked nodes apart, ``NDLS`` compares a node with its whole component, and propagated labels and
        errors reach every node, so these methods, and ``AutoClassifier``, which may average any of them,
        always compute on the whole graph.

        Returns
        -------
        ndarray of shape (m, c) or (k, c)
        """
        return self.predict_informed(X, adjacency, nodes)[0]

    @reads_state
    def predict(
        self, X: Any, *, adjacency: Any = None, nodes: Any = None, abstain: float | None = None
    ) -> np.ndarray:
        """Return a class for nodes that were not seen in fit: see :meth:`predict_proba`.

        With ``abstain``, nodes of lower confidence get no class: see :meth:`transduction`.
        """
        P, informed = self.predict_informed(X, adjacency, nodes)
        chosen = decide(P, informed, self._fit_codes)
        if abstain is None:
            return np.asarray(self.classes_[chosen])
        return decode_labels(self.classes_, np.where(unsure(P, informed, abstain), UNLABELLED, chosen))

    @reads_state
    def transduction(self, *, abstain: float | None = None) -> np.ndarray:
        """Return a class for every node of fit, or none where the model is not sure enough.

        Parameters
        ----------
        abstain : float in [0, 1], optional
            The minimum confidence: the probability of the predicted class. Nodes below it, and nodes that no
            label or feature reaches, get the value that ``fit`` reads as unlabelled: −1 if classes are
            integers, NaN if they are other numbers, otherwise None. Confidences are reliable only if they
            are calibrated: see :class:`gssl.CalibratedClassifier`.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        if abstain is None:
            return np.asarray(self.transduction_)
        silent = unsure(self.label_distributions_, self.informed_, abstain)
        chosen = np.searchsorted(self.classes_, self.transduction_)
        return decode_labels(self.classes_, np.where(silent, UNLABELLED, chosen))

    def distributions_without(self, hidden: np.ndarray, *, with_priors: bool = True) -> np.ndarray | None:
        """Return the distributions of nodes with their labels hidden in fit, None if that needs a refit."""
        return None

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, adjacency: Any = None) -> float:
        """Return the accuracy on the nodes that have a label in y.

        Cross-validation over rows would remove nodes and links from the graph: hide labels instead, as
        :func:`gssl.evaluation.held_out_accuracy` and :func:`gssl.selection.search` do.
        """
        predicted = self.predict(X, adjacency=adjacency)
        classes, codes = encode_labels(y, n_nodes=len(predicted))
        known = codes != UNLABELLED
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average(predicted[known] == classes[codes[known]], weights=weights))

    @reads_state
    def predict_informed(self, X: Any, adjacency: Any, nodes: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return distributions as :meth:`predict_proba`, and a mask of the informed nodes."""
        check_is_fitted(self)
        X, adjacency = features_and_graph(X, adjacency)
        X = scale_features(check_optional_features(self, X, adjacency, reset=False), self._feature_exponent)
        n = X.shape[0]
        chosen = EVERY if nodes is None else select_nodes(nodes, n, "nodes")
        if adjacency is None and "predict" in self._needs_graph:
            return self._nearest_distributions(X[chosen])
        A = csr_array((n, n)) if adjacency is None else check_graph(adjacency, X, allow_empty=True)
        if "predict" not in self._needs_graph and not isinstance(chosen, slice) and len(chosen):
            X, A, chosen = X[chosen], csr_array((len(chosen), len(chosen))), EVERY
        P, informed = self._score_graph(X, A, chosen)
        return _uniform_where_unknown(self._with_priors(P), informed), informed

    def _nearest_distributions(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Average the distributions of each row's nearest neighbours among the nodes of fit."""
        if self._fit_features is None:
            raise ValueError(
                f"this {type(self).__name__} was fitted with a graph: pass adjacency=, the graph over the "
                "rows of X, to predict."
            )
        neighbors = nearest_rows(X, self._fit_features, N_NEIGHBORS)
        P = np.asarray(self.label_distributions_[neighbors].mean(axis=1))
        return P, np.asarray(self.informed_[neighbors].any(axis=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def refuse_if_too_large(model: Any, problem: Any) -> None:
    """Raise if the fit of an estimator to a problem of ``gssl.read`` needs more than the free memory."""
    # two copies of the graph, and three dense matrices of all columns that the method propagates
    X, A = problem.features, problem.adjacency
    columns = X.shape[1] if X is not None else 0
    if isinstance(model, GraphClassifier):
        n_classes = len({label for label in problem.y if label is not None})
        columns = model.propagated_columns(X, A, int(problem.given.sum()), n_classes)
    elif hasattr(model, "embedding_width"):
        columns = model.embedding_width(columns)
    # a memory-mapped graph is not copied
    links = 0 if mapped_file(A.indices) is not None else 2 * A.nnz * 8
    needed = 3 * A.shape[0] * columns * (8 if X is None else X.dtype.itemsize) + links
    free = available_memory()
    if needed > free:
        advice = (
            "use a smaller graph or a larger machine"
            if X is None
            else "use fewer features, or labelpropagation without any"
        )
        raise ValueError(
            f"{type(model).__name__} on {A.shape[0]:,} nodes × {columns:,} numbers needs about "
            f"{write_size(needed)}, and {write_size(free)} are free: {advice}."
        )


def _reached(A: csr_array, codes: np.ndarray) -> np.ndarray:
    # without links, methods use features alone, and components do not matter
    return reached_nodes(A, codes != UNLABELLED, checked=True) if A.nnz else np.ones(len(codes), dtype=bool)


def _uniform_where_unknown(P: np.ndarray, informed: np.ndarray) -> np.ndarray:
    """Make the distributions of uninformed nodes uniform; raise if a probability is not finite."""
    P[~informed] = 1.0 / P.shape[1]
    if not np.isfinite(P).all():
        node = np.flatnonzero(~np.isfinite(P).all(axis=1))[0]
        raise ValueError(
            f"the prediction for node {node} is not a finite number: features or steps are too large; "
            "scale X, for instance to rows that sum to one."
        )
    return P
