"""Methods with labels: what they check, keep and predict alike."""

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from gssl.graph import check_adjacency, nearest_rows, reached_nodes
from gssl.methods._distributions import decide, unsure
from gssl.methods._inputs import N_NEIGHBORS, check_features, check_graph
from gssl.methods._labels import UNLABELLED, decode_labels, encode_labels


class GraphClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """A method with labels: features, a graph and a few labels in, a distribution for every node out.

    A subclass calls ``_start`` and ``_finish`` in fit and says how a grown or new graph is scored.
    """

    # False: X only serves to build a graph where there is none, and may be None where there is one
    _uses_features: ClassVar[bool] = True

    @abstractmethod
    def _score_graph(self, X: Any, A: csr_array) -> tuple[np.ndarray, np.ndarray]:
        """Give distributions for a graph that was not seen in fit, and of which nodes anything is known."""

    @abstractmethod
    def _columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        """Count the numbers per node that a fit would carry over the graph, for an estimate of its memory."""

    def _start(self, X: Any, y: Any, adjacency: Any) -> tuple[Any, csr_array, np.ndarray]:
        """Check the inputs of fit; give features, graph and class codes."""
        X = self._check_features(X, adjacency, reset=True)
        self.classes_, codes = encode_labels(y, n_nodes=X.shape[0])
        self._fit_features = X if adjacency is None else None
        self._fit_codes = codes
        A = check_graph(adjacency, X)
        self._fit_inputs = X, A  # no copies; a saved model is without
        # before embeddings take their memory: finding components takes some, too
        self.reached_ = reached_nodes(A, codes != UNLABELLED)
        return X, A, codes

    def _check_features(self, X: Any, adjacency: Any, *, reset: bool) -> Any:
        if X is None and not self._uses_features:
            if adjacency is None:
                raise ValueError("there is neither X nor adjacency: give a graph, or features to build one.")
            n = check_adjacency(adjacency, allow_empty=True).shape[0]
            return csr_array((n, 0), dtype=np.float64)
        return check_features(self, X, reset=reset)

    def _finish(self, P: np.ndarray, informed: np.ndarray) -> Self:
        """Keep the distributions, uniform for the nodes about which nothing can be known."""
        self.informed_ = informed
        P = _honest(P, informed)
        self.label_distributions_ = P
        self.transduction_ = self.classes_[decide(P, informed, self._fit_codes)]
        return self

    def predict_proba(self, X: Any, *, adjacency: Any = None) -> np.ndarray:
        """Give a distribution over ``classes_`` for nodes that were not seen in fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d)
            Features of *all* nodes of the graph that is scored.
        adjacency : array-like or sparse matrix of shape (m, m), optional
            The graph over the rows of X. A model that was fitted without a graph needs none: every
            row then joins its nearest neighbours among the nodes of fit and takes their mean.

        Notes
        -----
        A model that learns from features scores any graph that has the same features; the new graph
        has no labels that could guide it, so OGC may differ from ``transduction_`` on its own graph. A
        model of labels alone needs a graph that has grown: its first nodes are those of fit.

        Returns
        -------
        ndarray of shape (m, c)
        """
        return self._predict(X, adjacency)[0]

    def predict(self, X: Any, *, adjacency: Any = None, abstain: float | None = None) -> np.ndarray:
        """Give a class for nodes that were not seen in fit: see :meth:`predict_proba`.

        With ``abstain``, a node whose confidence is less has none: see :meth:`transduction`.
        """
        P, informed = self._predict(X, adjacency)
        chosen = decide(P, informed, self._fit_codes)
        if abstain is None:
            return np.asarray(self.classes_[chosen])
        return decode_labels(self.classes_, np.where(unsure(P, informed, abstain), UNLABELLED, chosen))

    def transduction(self, *, abstain: float | None = None) -> np.ndarray:
        """Give a class for every node of fit, or none where the model is not sure enough.

        Parameters
        ----------
        abstain : float in [0, 1], optional
            The least confidence, which is the probability of the class. Nodes below it, and nodes that no
            label or feature reaches, have the class −1 where classes are whole numbers, NaN where they are
            other numbers, and else None: what ``fit`` takes for unlabelled. A confidence can be believed as
            far as it is calibrated: see :class:`gssl.CalibratedClassifier`.

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

    def _distributions_without(self, hidden: np.ndarray) -> np.ndarray | None:
        """Give what a fit without the labels of some nodes says about them, where that is cheaper than a fit.

        None where it is not.
        """
        return None

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, adjacency: Any = None) -> float:
        """Give the part of nodes that have a label in y and are predicted to have it.

        Splitting the rows of a graph for cross-validation cuts it apart: hide labels instead, as
        :func:`gssl.evaluation.held_out_accuracy` does.
        """
        predicted = self.predict(X, adjacency=adjacency)
        classes, codes = encode_labels(y, n_nodes=len(predicted))
        known = codes != UNLABELLED
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average(predicted[known] == classes[codes[known]], weights=weights))

    def _predict(self, X: Any, adjacency: Any) -> tuple[np.ndarray, np.ndarray]:
        """Give distributions, and for which nodes anything is known."""
        check_is_fitted(self)
        X = self._check_features(X, adjacency, reset=False)
        if adjacency is not None:
            A = check_graph(adjacency, X, allow_empty=True)
            P, informed = self._score_graph(X, A)
            return _honest(P, informed), informed
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


def _honest(P: np.ndarray, informed: np.ndarray) -> np.ndarray:
    """Make distributions uniform where nothing is known, and refuse those that are none."""
    P[~informed] = 1.0 / P.shape[1]
    if not np.isfinite(P).all():
        node = np.flatnonzero(~np.isfinite(P).all(axis=1))[0]
        raise ValueError(
            f"the prediction for node {node} is not a finite number: features or steps are too large; "
            "scale X, for instance to rows that sum to one."
        )
    return P


def featured_nodes(A: csr_array, X: Any) -> np.ndarray:
    """Tell the nodes in whose component there is any feature at all.

    Examples
    --------
    >>> featured_nodes(csr_array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]), np.array([[0.0], [2.0], [0.0]]))
    array([ True,  True, False])
    """
    # a stored zero is no feature; the absolute values of a dense X would be a second X
    has_feature = abs(X).sum(axis=1) > 0 if issparse(X) else X.any(axis=1)
    return has_feature if has_feature.all() else reached_nodes(A, has_feature)
