"""The base class of methods with labels, and the loop that methods iterate in."""

from abc import ABCMeta, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from gssl.graph import k_hop_subgraph, nearest_rows, reached_nodes
from gssl.graph.mapped import nonzero_rows
from gssl.methods.inputs import (
    N_NEIGHBORS,
    FitInputs,
    check_graph,
    check_optional_features,
    safe_exponent,
    scale_features,
    select_nodes,
)
from gssl.methods.labels import (
    UNLABELLED,
    class_shares,
    decide,
    decode_labels,
    encode_labels,
    read_priors,
    reweigh,
    unsure,
)
from gssl.operators import NormalizedAdjacency, normalized_adjacency
from gssl.scale.execution import report_progress

State = TypeVar("State")


def iterate(step: Callable[[State, int], State], state: State, ks: Iterable[int]) -> Iterator[State]:
    """Yield the state after each step ``k`` in ``ks``; stop early after a state whose ``settled`` is true."""
    total = len(ks) if isinstance(ks, Sized) else None
    for done, k in enumerate(ks, start=1):
        state = step(state, k)
        report_progress(done, total)
        yield state
        if getattr(state, "settled", False):
            return


def last(states: Iterable[State]) -> State:
    """Run an iteration to its end and return the last state."""
    return deque(states, maxlen=1).pop()


class GraphClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """A method with labels: features, a graph and a few labels in, a distribution for every node out.

    ``fit`` of a subclass calls ``_start``, computes distributions, and passes them to ``_finish``;
    ``_score_graph`` predicts another graph. A node is *informed* (``informed_``) if a feature or label
    reaches it; all others get a uniform distribution.
    """

    # whether torch can run its passes over the graph
    runs_on_torch: ClassVar[bool] = False
    # expected class shares among the predicted nodes; a parameter of the methods that support it
    priors: Any = None
    # k, where methods see 2ᵏX because squares of X would leave the range of its type
    _feature_exponent: int = 0
    _fit_inputs: FitInputs

    @property
    def uses_features(self) -> bool:
        """Whether fit learns from X; if not, X serves only to build a missing graph and may be None."""
        return True

    @property
    def knows_nodes(self) -> bool:
        """Whether the model belongs to the nodes of fit, so that it cannot predict a graph without them."""
        return not self.uses_features

    @property
    def runs_by_columns(self) -> bool:
        """Whether fit can process some columns at a time: within a memory budget, on a cluster, resumed."""
        return False

    @property
    def fit_codes(self) -> np.ndarray:
        """Class codes of the labels of fit, one per node, −1 where there was none."""
        return self._fit_codes

    def _check_parameters(self) -> None:
        """Check the parameters of the method; called by fit, and when a saved model is loaded."""

    @abstractmethod
    def propagated_columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        """Return how many columns fit would propagate over the graph, to estimate its memory."""

    @abstractmethod
    def _score_graph(self, X: Any, A: csr_array) -> tuple[np.ndarray, np.ndarray]:
        """Return distributions for a graph not seen in fit, and a mask of its informed nodes."""

    def _reach(self) -> int | None:
        """Return the number of hops that a node's prediction depends on, None if it has no bound."""
        return None

    def _score_part(self, X: Any, A_hat: NormalizedAdjacency, nodes: np.ndarray) -> np.ndarray:
        """Return distributions for the subgraph of some nodes; only called if ``_reach`` is a number.

        X has the rows of the whole graph, ``A_hat`` belongs to the subgraph.
        """
        raise NotImplementedError

    def _start(self, X: Any, y: Any, adjacency: Any) -> tuple[Any, csr_array, np.ndarray]:
        """Check the inputs of fit; return features, graph and class codes."""
        X = check_optional_features(self, X, adjacency, reset=True)
        self.classes_, codes = encode_labels(y, n_nodes=X.shape[0])
        self._feature_exponent = safe_exponent(X)
        X = scale_features(X, self._feature_exponent)
        self._fit_features = X if adjacency is None and not self._rows_suffice() else None
        self._fit_codes = codes
        A = self._graph(adjacency, X)
        self._fit_inputs = FitInputs(X, A)
        # now, because finding components takes memory that embeddings will need later
        self.reached_ = _reached(A, codes)
        return X, A, codes

    def _restart(self, y: Any) -> np.ndarray:
        """Replace the labels of fit; return their class codes."""
        A = self._kept_inputs().A
        classes, codes = encode_labels(y, n_nodes=A.shape[0])
        if self.priors is not None:
            # raises while the model is still unchanged
            read_priors(self.priors, classes, codes[codes != UNLABELLED])
        self.classes_, self._fit_codes = classes, codes
        self.reached_ = _reached(A, codes)
        return codes

    @contextmanager
    def _rollback_on_error(self) -> Iterator[None]:
        """Restore the model if the block raises."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _kept_inputs(self) -> FitInputs:
        """Return features and graph of fit."""
        if not hasattr(self, "_fit_inputs"):
            raise AttributeError(
                f"{type(self).__name__} has no graph before fit, and a loaded model keeps none: fit it."
            )
        return self._fit_inputs

    def _graph(self, adjacency: Any, X: Any) -> csr_array:
        """Check the graph of fit, or build one from X if there is none."""
        return check_graph(adjacency, X)

    def _rows_suffice(self) -> bool:
        """Return whether a node's own features suffice to predict it, so that predict needs no graph."""
        return False

    def _grown_codes(self, n_nodes: int) -> np.ndarray:
        """Return the label codes of fit for a grown graph, whose first nodes are those of fit."""
        n_new = n_nodes - len(self._fit_codes)
        if n_new < 0:
            raise ValueError(
                f"the labels of {type(self).__name__} belong to nodes, so a graph to predict must begin "
                f"with the {len(self._fit_codes)} nodes of fit, but this one has only {n_nodes} nodes."
            )
        return np.concatenate([self._fit_codes, np.full(n_new, UNLABELLED)])

    def _finish(self, P: np.ndarray, informed: np.ndarray, class_weight: Any = None) -> Self:
        """Store the distributions of fit; those of uninformed nodes become uniform.

        ``class_weight`` holds the weight that each class had in fit; equal if None.
        """
        self.informed_ = informed
        self._priors = self._read_priors(class_weight)
        self._unweighed = None if self._priors is None else P
        P = _uniform_where_unknown(self._with_priors(P), informed)
        self.label_distributions_ = P
        self.transduction_ = self.classes_[decide(P, informed, self._fit_codes)]
        return self

    def _read_priors(self, class_weight: Any) -> np.ndarray | None:
        """Return the class shares of fit and, as the second row, the expected ones."""
        if self.priors is None:
            return None
        codes = self._fit_codes[self._fit_codes != UNLABELLED]
        weights = np.ones(len(self.classes_)) if class_weight is None else class_weight
        return np.stack([class_shares(codes, weights), read_priors(self.priors, self.classes_, codes)])

    def _before_priors(self) -> np.ndarray:
        """Return the distributions of fit before priors were applied."""
        return self.label_distributions_ if self._unweighed is None else self._unweighed

    def _with_priors(self, P: np.ndarray) -> np.ndarray:
        return P if self._priors is None else reweigh(P, *self._priors)

    @contextmanager
    def without_priors(self) -> Iterator[None]:
        """Predict as if no priors had been given, for the length of a block."""
        if self._priors is None:
            yield
            return
        given = self.priors, self._priors
        self.priors = self._priors = None
        try:
            yield
        finally:
            self.priors, self._priors = given

    def predict_proba(self, X: Any, *, adjacency: Any = None, nodes: Any = None) -> np.ndarray:
        """Return a distribution over ``classes_`` for nodes that were not seen in fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d)
            Features of *all* nodes of the graph that is scored.
        adjacency : array-like or sparse matrix of shape (m, m), optional
            The graph over the rows of X. A model whose predictor looks at a row's own features only
            (``ManifoldRegularization``, ``NoGraph``) needs none. Neither does one that was fitted without
            a graph: every row then joins its nearest neighbours among the nodes of fit and takes their
            mean.
        nodes : bool mask of shape (m,) or indices, optional
            The k rows that are wanted: all if None. They come out as from the whole graph, which is read and
            checked once but computed on only as far as they can see, if that is less than half of it.

        Notes
        -----
        A model that learns from features scores any graph that has the same features. ``OGC`` uses the
        labels of fit where the first nodes are those of fit, and features alone on other graphs. A model
        that goes back to the labels themselves (``LabelPropagation``, ``LabelSpreading``,
        ``CorrectAndSmooth``) needs a graph that has grown: its first nodes are those of fit. One on walks
        (``DeepWalk``, ``Node2Vec``) knows the graph of fit alone.

        A filter of K hops sees no farther than K hops: ``OGC`` (one per iteration), ``SGC``, ``SSGC``,
        ``PPR`` and ``G2CN`` (two per step). ``GGC`` and ``GGCM`` push all unlinked nodes apart, ``NDLS``
        compares a node with its whole component, and labels and their errors go everywhere, so these, and
        ``AutoClassifier``, which may average any of them, always take the whole graph.

        Returns
        -------
        ndarray of shape (m, c) or (k, c)
        """
        return self.predict_informed(X, adjacency, nodes)[0]

    def predict(
        self, X: Any, *, adjacency: Any = None, nodes: Any = None, abstain: float | None = None
    ) -> np.ndarray:
        """Return a class for nodes that were not seen in fit: see :meth:`predict_proba`.

        With ``abstain``, a node whose confidence is less has none: see :meth:`transduction`.
        """
        P, informed = self.predict_informed(X, adjacency, nodes)
        chosen = decide(P, informed, self._fit_codes)
        if abstain is None:
            return np.asarray(self.classes_[chosen])
        return decode_labels(self.classes_, np.where(unsure(P, informed, abstain), UNLABELLED, chosen))

    def transduction(self, *, abstain: float | None = None) -> np.ndarray:
        """Return a class for every node of fit, or none where the model is not sure enough.

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

    def distributions_without(self, hidden: np.ndarray) -> np.ndarray | None:
        """Return distributions of nodes as if their labels were hidden in fit, None if that needs a fit."""
        return None

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, adjacency: Any = None) -> float:
        """Return the part of nodes that have a label in y and are predicted to have it.

        Splitting the rows of a graph for cross-validation cuts it apart: hide labels instead, as
        :func:`gssl.evaluation.held_out_accuracy` and :func:`gssl.selection.search` do.
        """
        predicted = self.predict(X, adjacency=adjacency)
        classes, codes = encode_labels(y, n_nodes=len(predicted))
        known = codes != UNLABELLED
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average(predicted[known] == classes[codes[known]], weights=weights))

    def predict_informed(self, X: Any, adjacency: Any, nodes: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return distributions as :meth:`predict_proba`, and a mask of the informed nodes."""
        check_is_fitted(self)
        X = scale_features(check_optional_features(self, X, adjacency, reset=False), self._feature_exponent)
        chosen = None if nodes is None else select_nodes(nodes, X.shape[0], "nodes")
        if adjacency is not None or self._rows_suffice():
            n = X.shape[0]
            # if rows suffice, the graph is never read
            A = csr_array((n, n)) if adjacency is None else check_graph(adjacency, X, allow_empty=True)
            P, informed = self._score_graph(X, A) if chosen is None else self._score_nodes(X, A, chosen)
            return _uniform_where_unknown(self._with_priors(P), informed), informed
        if self._fit_features is None:
            raise ValueError(
                f"this {type(self).__name__} was fitted with a graph: pass adjacency=, the graph over the "
                "rows of X, to predict."
            )
        neighbors = nearest_rows(X if chosen is None else X[chosen], self._fit_features, N_NEIGHBORS)
        P = np.asarray(self.label_distributions_[neighbors].mean(axis=1))
        return P, np.asarray(self.informed_[neighbors].any(axis=1))

    def _score_nodes(self, X: Any, A: csr_array, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Score a few nodes of a graph, on the subgraph they depend on if that is less work."""
        if self._rows_suffice() and len(nodes):
            return self._score_graph(X[nodes], csr_array((len(nodes), len(nodes))))
        reach, part = self._reach(), None
        if reach is not None and len(nodes):
            part = k_hop_subgraph(A, nodes, reach, max_links=A.nnz // 2)
        if part is None:
            P, informed = self._score_graph(X, A)
            return P[nodes], informed[nodes]
        P = self._score_part(X, normalized_adjacency(part.links, X.dtype, part.degrees), part.nodes)
        # unchecked: the farthest nodes of the subgraph have lost their links back
        informed = featured_nodes(part.links, X[part.nodes], checked=False)[part.places]
        if not informed.all():
            # a feature outside the subgraph may still be in the component
            informed = featured_nodes(A, X)[nodes]
        return P[part.places], informed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _reached(A: csr_array, codes: np.ndarray) -> np.ndarray:
    # without links, methods go by features alone, and components mean nothing
    return reached_nodes(A, codes != UNLABELLED, checked=True) if A.nnz else np.ones(len(codes), dtype=bool)


def _uniform_where_unknown(P: np.ndarray, informed: np.ndarray) -> np.ndarray:
    """Make the distributions of uninformed nodes uniform, and refuse numbers that are not finite."""
    P[~informed] = 1.0 / P.shape[1]
    if not np.isfinite(P).all():
        node = np.flatnonzero(~np.isfinite(P).all(axis=1))[0]
        raise ValueError(
            f"the prediction for node {node} is not a finite number: features or steps are too large; "
            "scale X, for instance to rows that sum to one."
        )
    return P


def featured_nodes(A: csr_array, X: Any, *, checked: bool = True) -> np.ndarray:
    """Return a mask of the nodes whose component has a nonzero feature.

    ``checked`` says that A stores every link in both directions: see :func:`gssl.graph.reached_nodes`.
    """
    nonzero = nonzero_rows(X)
    return nonzero if nonzero.all() else reached_nodes(A, nonzero, checked=checked)
