"""Base class of classifiers."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from gssl.graph.mapped import mapped_file
from gssl.methods.graph_model import GraphModel
from gssl.methods.labels import UNLABELLED, decide, decode_labels, encode_labels, unsure
from gssl.methods.priors import reweigh
from gssl.methods.state import reads_state
from gssl.methods.stored import Stored, transient
from gssl.scale.memory import available_memory
from gssl.wording import write_size


class GraphClassifier(ClassifierMixin, GraphModel):
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

    # expected class shares among the predicted nodes; a parameter of the methods that support it
    priors: Any = None
    # what a saved model holds, except classes_: see gssl.methods.stored
    _stored: ClassVar[tuple[Stored, ...]] = (
        Stored("label_distributions_", "distribution", ("n", "c")),
        Stored("transduction_", "class", ("n",)),
        Stored("_priors", "shares", ("2", "c"), or_none=True),
        *transient("_unweighed", "cv_results_", "best_params_", "best_score_"),
    )

    def _read_answers(self, y: Any, n_nodes: int) -> np.ndarray:
        self.classes_, codes = encode_labels(y, n_nodes=n_nodes)
        return codes

    @property
    def fit_answers(self) -> np.ndarray:
        """The label of every node in fit, None where there was none."""
        answers = np.full(len(self._fit_codes), None, dtype=object)
        known = self._fit_codes != UNLABELLED
        answers[known] = self.classes_[self._fit_codes[known]].tolist()
        return answers

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
        (P, informed), near = self._answers_of(X, adjacency, nodes)
        if near is not None:
            return np.asarray(self.label_distributions_[near].mean(axis=1)), informed
        return _uniform_where_unknown(self._with_priors(P), informed), informed


def refuse_if_too_large(model: Any, problem: Any) -> None:
    """Raise if the fit of an estimator to a problem of ``gssl.read`` needs more than the free memory."""
    # two copies of the graph, and three dense matrices of all columns that the method propagates
    X, A = problem.features, problem.adjacency
    columns = X.shape[1] if X is not None else 0
    if isinstance(model, GraphModel):
        n_classes = 1
        if isinstance(model, GraphClassifier):
            given = [label for label in problem.y if label is not None]
            # of several labels per node, every one is a column
            flat = [label for one in given for label in (one if isinstance(one, tuple) else (one,))]
            n_classes = len(set(flat))
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
