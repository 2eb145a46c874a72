"""EmbeddingClassifier: an embedder without labels and a linear head on its labelled rows."""

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from gssl.methods._base import GraphClassifier, GraphEmbedder, featured_nodes
from gssl.methods._labels import UNLABELLED
from gssl.methods._selection import select_labelled
from gssl.methods.ggcm import GGCM
from gssl.methods.heads import AdamHead, LogisticHead, RidgeHead

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
            raise ValueError(
                f"embedder must be one of gssl's embedders, such as GGCM(), not {self.embedder!r}."
            )
        self.embedding_ = self.embedder_.fit_transform(X, adjacency=A)
        self.n_iter_ = self.embedder_.n_iter_
        self.head_ = self._make_head()
        self._fit_head(codes, validation)
        return self._finish(self._distributions(self.embedding_), featured_nodes(A, X), A)

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

    def _fit_head(self, codes: np.ndarray, validation: Any) -> None:
        training = codes != UNLABELLED
        held_out = select_labelled([] if validation is None else validation, codes, "validation")
        if not len(held_out):
            self.head_.fit(self.embedding_[training], codes[training])
            return
        if not isinstance(self.head_, AdamHead):
            raise ValueError('validation nodes are of use to the "adam" head only: leave them out here.')
        training[held_out] = False
        if len(np.unique(codes[training])) < 2:
            raise ValueError(
                "validation leaves labels of fewer than two classes to train on: name fewer nodes."
            )
        self.head_.fit(
            self.embedding_[training], codes[training], (self.embedding_[held_out], codes[held_out])
        )

    def _distributions(self, U: np.ndarray) -> np.ndarray:
        """Give the head's distributions over all classes, also those that only validation nodes have."""
        P = np.zeros((len(U), len(self.classes_)), dtype=U.dtype)
        P[:, self.head_.classes_] = self.head_.predict_proba(U)
        return P

    def _score_graph(self, X: Any, A: csr_array) -> tuple[np.ndarray, np.ndarray]:
        return self._distributions(self.embedder_.transform(X, adjacency=A)), featured_nodes(A, X)
