"""EmbeddingClassifier: an embedder without labels and a linear head on its labelled rows."""

from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from gssl.graph.mapped import nonzero_rows, take_rows
from gssl.methods.adam_head import AdamHead
from gssl.methods.base import GraphClassifier
from gssl.methods.embedded_rows import EmbeddedRows, rows_are_cheaper
from gssl.methods.embedder import Embedder, GraphEmbedder, GraphFilter
from gssl.methods.ggc import GGCM
from gssl.methods.head_weights import encode_class_weights, mean_class_weights
from gssl.methods.heads import LinearHead, LogisticHead, RidgeHead
from gssl.methods.inputs import generator, select_labelled
from gssl.methods.labels import UNLABELLED
from gssl.methods.neighbourhood import EVERY, Nodes, featured_nodes, neighbourhood
from gssl.methods.priors import prior_shares
from gssl.methods.state import reads_state, replaces_state
from gssl.methods.stored import Stored, transient
from gssl.operators import Filters, multiply
from gssl.scale.execution import Execution, current_execution

_HEADS = {"logistic": LogisticHead, "ridge": RidgeHead, "adam": AdamHead}


class EmbeddingClassifier(GraphClassifier):
    """Embed all nodes, fit a linear classifier to the labelled ones, and predict all.

    Parameters
    ----------
    embedder : estimator, optional
        An embedder of gssl, such as ``G2CN, GGC, GGCM, NDLS, PPR, SGC, SSGC``; ``GGCM()`` if None.
        ``NoGraph()`` passes raw features to the head, as a baseline without a graph.
    head : {"logistic", "ridge", "adam"} or a classifier, default="logistic"
        Convex softmax regression, closed-form ridge regression or the paper's Adam protocol, each with its
        defaults; or any scikit-learn classifier with ``predict_proba``. If its ``class_weight`` is a dict,
        the keys are classes of y.
    random_state : int, Generator, RandomState or None, default=None
        Passed to a head given by name, if it has this parameter.
    priors : None, "labels", "uniform", dict or array-like of shape (c,), default=None
        Expected class shares among the predicted nodes, if they differ from those among the labels (weighted
        by the head's ``class_weight``). Distributions are corrected by the ratio of the two, so ``"labels"``
        undoes the effect of a ``class_weight`` on them.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        A class for every node.
    label_distributions_ : ndarray of shape (n, c)
    reached_ : bool ndarray of shape (n,)
        Whether a label is in the node's component.
    embedding_ : ndarray of shape (n, d)
    embedder_, head_ : the fitted parts
    n_iter_ : int
    classes_ : ndarray of shape (c,)
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = gssl.EmbeddingClassifier(gssl.SSGC()).fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    _stored = (
        Stored("embedder_", "model"),
        Stored("head_", "model"),
        *transient("embedding_", "_embedded"),
    )

    def __init__(
        self, embedder: Any = None, head: Any = "logistic", random_state: Any = None, priors: Any = None
    ) -> None:
        self.embedder = embedder
        self.head = head
        self.random_state = random_state
        self.priors = priors

    @replaces_state
    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None, validation: Any = None) -> Self:
        """Embed every node and fit the head.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, d)
            May be None if a graph is given and the embedder does not use features. A data frame with columns
            other than numbers is filled, encoded and scaled as :func:`gssl.read` does.
        y : array-like of shape (n,)
            Labels; −1, None or NaN where there is none.
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.
        validation : bool mask of shape (n,) or indices, optional
            Labelled nodes that are not trained on, but select the epoch of the ``adam`` head.

        Returns
        -------
        self
        """
        self._check_parameters()
        # first, because it decides whether features and a graph are needed
        self.embedder_ = GGCM() if self.embedder is None else clone(self.embedder)
        X, A, codes = self._start(X, y, adjacency)
        self._fix_randomness()
        execution = current_execution(self.embedder_)
        self.head_ = self._make_head()
        self._rows(codes, validation)  # raises before the work begins
        self.embedder_._learn(A, X)
        self.embedder_._keep_parameters()
        self.n_iter_ = self.embedder_.n_iter_
        self.embedder_._fitted_on_graph = adjacency is not None
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(self.embedder_, name, getattr(self, name))
        for name in ("embedding_", "_embedded"):
            self.__dict__.pop(name, None)  # from an earlier fit
        return self._learn(codes, validation, execution)

    @replaces_state
    def update_labels(self, y: Any, *, validation: Any = None) -> Self:
        """Refit the head to new labels of the same nodes, with the same result as a new fit.

        Embeddings do not depend on labels, so only the scores of the classes are propagated. If fit worked in
        label space, this adds one column for each labelled node that had no label before. Labels may be
        added, removed or of new classes.

        Parameters
        ----------
        y : array-like of shape (n,)
            All labels, old and new; −1, None or NaN where there is none.
        validation : bool mask of shape (n,) or indices, optional
            See :meth:`fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> import gssl
        >>> data = gssl.datasets.load("karate")
        >>> y = data.mask_labels("default")
        >>> model = gssl.EmbeddingClassifier(gssl.SGC()).fit(data.features, y, adjacency=data.adjacency)
        >>> y[1] = data.labels[1]
        >>> model.update_labels(y).transduction_[1] == data.labels[1]
        np.True_
        """
        self._check_parameters()
        return self._learn(self._restart(y), validation, self._no_fit())

    def _learn(self, codes: np.ndarray, validation: Any, execution: Execution) -> Self:
        """Fit the head to labels, and predict all nodes."""
        X, A = self._fit_inputs.X, self._fit_inputs.A
        self.head_ = self._make_head()
        training, held_out = self._rows(codes, validation)
        weights = None if self.priors is None else mean_class_weights(self.head_, codes, training)
        priors = prior_shares(self.priors, self.classes_, codes, weights)
        rows = self._embed_rows(np.concatenate([training, held_out]), execution)
        U_train, U_held_out = rows[: len(training)], rows[len(training) :]
        held = ((U_held_out, codes[held_out]),) if len(held_out) else ()
        self.head_.fit(U_train, codes[training], *held)
        P = self._distributions(X, self._embedded.filters, execution, self.__dict__.get("embedding_"))
        return self._finish(P, self._informed(X, A), priors)

    @reads_state
    def distributions_without(self, hidden: np.ndarray, *, with_priors: bool = True) -> np.ndarray | None:
        """Refit only the head, because embeddings do not depend on labels."""
        if not hasattr(self, "_fit_inputs"):
            return None
        kept = np.setdiff1d(np.flatnonzero(self._fit_codes != UNLABELLED), hidden)
        head = clone(self.head_).fit(self._embed_rows(kept, self._no_fit()), self._fit_codes[kept])
        P = np.zeros((len(hidden), len(self.classes_)))
        P[:, head.classes_] = head.predict_proba(self._embed_rows(hidden, self._no_fit()))
        P = self._with_priors(P) if with_priors else P
        P[~self.informed_[hidden]] = 1.0 / P.shape[1]
        return P

    @cached_property
    def embedding_(self) -> np.ndarray:
        """The embedding of every node, computed on first use if fit did not need it."""
        return self._embedded.every(self._no_fit())

    @cached_property
    def _embedded(self) -> EmbeddedRows:
        """Embeddings of single nodes; those of a loaded model are computed again."""
        inputs = self._kept_inputs()
        return EmbeddedRows(self.embedder_, inputs.X, inputs.A)

    @property
    def tells_relations(self) -> bool:
        """Whether the embedder reads links of several kinds apart, and directions."""
        return bool(getattr(self._inner(), "tells_relations", False))

    @property
    def directed(self) -> Any:
        """Whether the embedder keeps the directions of a matrix."""
        return getattr(self._inner(), "directed", False)

    @property
    def runs_by_columns(self) -> bool:
        """Whether the embedder can process slabs of columns."""
        return self._inner() is None or bool(getattr(self._inner(), "runs_by_columns", False))

    @property
    def uses_features(self) -> bool:
        """Whether the embedder uses features."""
        return bool(getattr(self._inner(), "uses_features", True))

    def _fix_randomness(self) -> None:
        """Fix the embedder's seed, so that negatives drawn again for later embeddings are the same."""
        draws = getattr(self.embedder_, "_draws", True)
        seed = self.embedder_.get_params().get("random_state", 0) if draws else 0
        if not isinstance(seed, int | np.integer):
            self.embedder_.set_params(random_state=int(generator(seed).integers(2**31)))

    @property
    def _needs_graph(self) -> tuple[str, ...]:
        return cast("tuple[str, ...]", getattr(self._inner(), "_needs_graph", super()._needs_graph))

    def _inner(self) -> Any:
        """Return the fitted embedder, or the parameter before fit."""
        return self.__dict__.get("embedder_", self.embedder)

    def _informed(self, X: Any, A: csr_array) -> np.ndarray:
        """Return a mask of the informed nodes."""
        if not self.uses_features:
            # without features, an embedding says nothing about a node that no label reaches
            return np.asarray(self.reached_ & (np.diff(A.indptr) > 0))
        return featured_nodes(A, X) if self._needs_graph else nonzero_rows(X)

    def _label_space_pays(self, X: Any, A: csr_array, n_rows: int) -> bool:
        """Compare the cost of hops over d columns and over one column per required row and per class."""
        if not self._needs_graph:
            return True  # the rows of X are the embedding
        linear = isinstance(self.embedder_, GraphEmbedder)
        return linear and self.propagated_columns(X, A, n_rows, len(self.classes_)) < X.shape[1]

    def propagated_columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        """Return the width of U, or one column per labelled row and class if label space is cheaper."""
        embedder = GGCM() if self._inner() is None else self._inner()
        if not isinstance(embedder, GraphEmbedder):
            return int(embedder.embedding_width(0 if X is None else X.shape[1]))
        width = n_labelled + n_classes
        linear = isinstance(self.__dict__.get("head_", self.head), LinearHead | str)
        return width if linear and rows_are_cheaper(embedder, X, A.nnz, width) else int(X.shape[1])

    def _embed_rows(self, nodes: np.ndarray, execution: Execution) -> np.ndarray:
        """Return the embeddings of some nodes, computing those of all nodes only if that is cheaper."""
        inputs, n_missing = self._fit_inputs, len(self._embedded.missing(nodes))
        if "embedding_" in self.__dict__ or not self._label_space_pays(inputs.X, inputs.A, n_missing):
            return np.asarray(take_rows(self.embedding_, nodes))
        return self._embedded.rows(nodes, execution)

    def _rows(self, codes: np.ndarray, validation: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes that train the head, and the validation nodes that select its epoch."""
        held_out = select_labelled([] if validation is None else validation, codes, "validation")
        if len(held_out) and not isinstance(self.head_, AdamHead):
            raise ValueError('validation nodes are of use to the "adam" head only: leave them out here.')
        training = np.setdiff1d(np.flatnonzero(codes != UNLABELLED), held_out)
        if len(np.unique(codes[training])) < 2:
            raise ValueError("validation leaves fewer than two classes to train on: name fewer nodes.")
        return training, held_out

    def _check_parameters(self) -> None:
        if self.embedder is not None:
            if not isinstance(self.embedder, Embedder):
                raise ValueError(
                    f"embedder must be an embedder of gssl, such as GGCM(), not {self.embedder!r}."
                )
            self.embedder._check_parameters()
        known = self.head in _HEADS if isinstance(self.head, str) else hasattr(self.head, "predict_proba")
        if not known or isinstance(self.head, type):
            raise ValueError(
                f"head must be {', '.join(_HEADS)} or a classifier with predict_proba, not {self.head!r}."
            )

    def _make_head(self) -> Any:
        if not isinstance(self.head, str):
            return encode_class_weights(clone(self.head), self.classes_)
        head = _HEADS[self.head]()
        if "random_state" in head.get_params():
            head.set_params(random_state=self.random_state)
        return head

    def _distributions(self, X: Any, filters: Any, execution: Execution, embedding: Any = None) -> np.ndarray:
        """Return the head's distributions over all classes; classes not seen in training have 0."""
        if isinstance(self.head_, LinearHead) and isinstance(self.embedder_, GraphEmbedder):
            # the filter acts on rows and the head on columns, so filter the narrower scores
            scores = multiply(X, self.head_.coef_.astype(X.dtype))
            scores = self.embedder_._embed(scores, filters, execution)
            predicted = self.head_.distributions(scores + self.head_.intercept_)
        else:
            U = self.embedder_._embed(X, filters, execution) if embedding is None else embedding
            predicted = self.head_.predict_proba(U)
        P = np.zeros((X.shape[0], len(self.classes_)), dtype=X.dtype)
        P[:, self.head_.classes_] = predicted
        return P

    def _score_graph(self, X: Any, A: csr_array, nodes: Nodes = EVERY) -> tuple[np.ndarray, np.ndarray]:
        hops = None if isinstance(nodes, slice) else self.embedder_._hops
        if hops is None:
            P = self._distributions(X, self.embedder_._filters(A, X.dtype), self._no_fit())
            return P[nodes], self._informed(X, A)[nodes]
        part = neighbourhood(X, A, nodes, hops)
        matrices = Filters(part.A_hat)
        filters = GraphFilter(self.embedder_.program(), lambda k: matrices)
        return self._distributions(part.X, filters, self._no_fit())[part.positions], part.informed

    def _no_fit(self) -> Execution:
        """Return the execution for embeddings after fit, which writes nothing to resume from."""
        return current_execution(self.embedder_, resumes=False)
