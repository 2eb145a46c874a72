"""EmbeddingClassifier: an embedder without labels and a linear head on its labelled rows."""

from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone

from gssl.methods._classifier import GraphClassifier, featured_nodes
from gssl.methods._embedder import GraphEmbedder
from gssl.methods._inputs import generator
from gssl.methods._labels import UNLABELLED
from gssl.methods._selection import select_labelled
from gssl.methods.ggcm import GGCM
from gssl.methods.heads import AdamHead, LinearHead, LogisticHead, RidgeHead
from gssl.operators import multiply

_HEADS = {"logistic": LogisticHead, "ridge": RidgeHead, "adam": AdamHead}


class EmbeddingClassifier(GraphClassifier):
    """Embed all nodes, fit a linear classifier to the labelled ones, and predict all.

    Parameters
    ----------
    embedder : GraphEmbedder, optional
        ``GGC, GGCM, SGC, SSGC`` …; ``GGCM()`` if None.
    head : {"logistic", "ridge", "adam"} or a classifier, default="logistic"
        A convex softmax regression, a closed-form ridge, the paper's Adam protocol, each with its
        defaults; or any scikit-learn classifier with ``predict_proba``.
    random_state : int, Generator, RandomState or None, default=None
        Handed to a head given by name, where it has any use for it.

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

    def __init__(self, embedder: Any = None, head: Any = "logistic", random_state: Any = None) -> None:
        self.embedder = embedder
        self.head = head
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, adjacency: Any = None, validation: Any = None) -> Self:
        """Embed every node and fit the head.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
            Labels; −1, None or NaN where there is none.
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.
        validation : bool mask of shape (n,) or indices, optional
            Labelled nodes that only choose the epoch of the ``adam`` head and train nothing.

        Returns
        -------
        self
        """
        X, A, codes = self._start(X, y, adjacency)
        self.embedder_ = GGCM() if self.embedder is None else clone(self.embedder)
        if not isinstance(self.embedder_, GraphEmbedder):
            raise ValueError(f"embedder must be an embedder of gssl, such as GGCM(), not {self.embedder!r}.")
        self.embedder_._check_parameters()
        self._fix_randomness()
        self.head_ = self._make_head()
        training, held_out = self._rows(codes, validation)
        informed = featured_nodes(A, X)
        self.__dict__.pop("embedding_", None)  # of an earlier fit
        if self._label_space_pays(X, A, len(training) + len(held_out)):
            rows = self._embed_rows(np.concatenate([training, held_out]))
            U_train, U_held_out = rows[: len(training)], rows[len(training) :]
            self._fit_rows: Any = U_train
        else:
            self._fit_rows = None  # they are in the embedding
            U_train, U_held_out = self.embedding_[training], self.embedding_[held_out]
        if len(held_out):
            self.head_.fit(U_train, codes[training], (U_held_out, codes[held_out]))
        else:
            self.head_.fit(U_train, codes[training])
        self.n_iter_ = self.embedder_.n_iter_ = self.embedder_.depth
        self.embedder_.n_features_in_ = self.n_features_in_
        self.embedder_._fitted_on_graph = adjacency is not None
        if hasattr(self, "feature_names_in_"):
            self.embedder_.feature_names_in_ = self.feature_names_in_
        return self._finish(self._distributions(X, A, self.__dict__.get("embedding_")), informed)

    def _distributions_without(self, hidden: np.ndarray) -> np.ndarray | None:
        """Fit the head again: embeddings do not know labels."""
        if not hasattr(self, "_fit_inputs"):
            return None
        nodes = np.flatnonzero(self._fit_codes != UNLABELLED)
        if self._fit_rows is not None and len(self._fit_rows) != len(nodes):
            return None  # some labels only chose an epoch
        U = self.embedding_[nodes] if self._fit_rows is None else self._fit_rows
        kept = ~np.isin(nodes, hidden)
        head = self._make_head().fit(U[kept], self._fit_codes[nodes[kept]])
        P = np.zeros((len(hidden), len(self.classes_)))
        P[:, head.classes_] = head.predict_proba(U[np.searchsorted(nodes, hidden)])
        P[~self.informed_[hidden]] = 1.0 / P.shape[1]
        return P

    @cached_property
    def embedding_(self) -> np.ndarray:
        """The embedding of every node, computed when it is first asked for if fit could do without."""
        if not hasattr(self, "_fit_inputs"):
            raise AttributeError("there are no embeddings before fit, and a loaded model keeps none: fit it.")
        X, A = self._fit_inputs
        return self.embedder_._apply(X, self.embedder_._filters(A, X.dtype))

    def _fix_randomness(self) -> None:
        """Make sampled negatives the same in every pass: they are drawn again for the embeddings."""
        seed = self.embedder_.get_params().get("random_state", 0)
        if not isinstance(seed, int | np.integer):
            self.embedder_.set_params(random_state=int(generator(seed).integers(2**31)))

    def _label_space_pays(self, X: Any, A: csr_array, n_rows: int) -> bool:
        """Compare hops over d columns with hops over one column per row that is needed and per class."""
        return bool(self._columns(X, A, n_rows, len(self.classes_)) < X.shape[1])

    def _columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        n, d = X.shape
        width = n_labelled + n_classes
        depth = (self.embedder or GGCM()).depth
        hops = depth * (A.nnz + n)
        # a sparse X is cheap to read; writing n×d is not
        in_label_space = (hops + (X.nnz if issparse(X) else X.size)) * width
        linear = isinstance(self.head, LinearHead | str)
        return width if linear and in_label_space < 0.5 * (hops + n) * d else int(d)

    def _embed_rows(self, nodes: np.ndarray) -> np.ndarray:
        """Embed a few nodes only, by the transposed filter: (fᵀE)ᵀX with E the columns that pick them."""
        X, A = self._fit_inputs
        ones = np.ones(len(nodes), X.dtype)
        E = csr_array((ones, (nodes, np.arange(len(nodes)))), shape=(X.shape[0], len(nodes)))
        V = self.embedder_._adjoint(E, self.embedder_._filters(A, X.dtype))
        return multiply(csr_array(X.T), V).T if issparse(X) else np.asarray(V.T @ X)

    def _rows(self, codes: np.ndarray, validation: Any) -> tuple[np.ndarray, np.ndarray]:
        """Give the nodes to train on, and those that only choose the epoch."""
        held_out = select_labelled([] if validation is None else validation, codes, "validation")
        if len(held_out) and not isinstance(self.head_, AdamHead):
            raise ValueError('validation nodes are of use to the "adam" head only: leave them out here.')
        training = np.setdiff1d(np.flatnonzero(codes != UNLABELLED), held_out)
        if len(np.unique(codes[training])) < 2:
            raise ValueError("validation leaves fewer than two classes to train on: name fewer nodes.")
        return training, held_out

    def _make_head(self) -> Any:
        if hasattr(self.head, "predict_proba") and not isinstance(self.head, type):
            return clone(self.head)
        if self.head not in _HEADS:
            raise ValueError(
                f"head must be {', '.join(_HEADS)} or a classifier with predict_proba, not {self.head!r}."
            )
        head = _HEADS[self.head]()
        if "random_state" in head.get_params():
            head.set_params(random_state=self.random_state)
        return head

    def _distributions(self, X: Any, A: csr_array, embedding: np.ndarray | None = None) -> np.ndarray:
        """Give the head's distributions over all classes, also those that only validation nodes have."""
        filters = self.embedder_._filters(A, X.dtype)
        if isinstance(self.head_, LinearHead):
            # the filter acts on rows and the head on columns: scores may be filtered instead of features
            scores = self.embedder_._apply(multiply(X, self.head_.coef_.astype(X.dtype)), filters)
            predicted = self.head_.distributions(scores + self.head_.intercept_)
        else:
            U = self.embedder_._apply(X, filters) if embedding is None else embedding
            predicted = self.head_.predict_proba(U)
        P = np.zeros((X.shape[0], len(self.classes_)), dtype=X.dtype)
        P[:, self.head_.classes_] = predicted
        return P

    def _score_graph(self, X: Any, A: csr_array) -> tuple[np.ndarray, np.ndarray]:
        return self._distributions(X, A), featured_nodes(A, X)
