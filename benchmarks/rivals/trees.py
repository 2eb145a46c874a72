"""Boosted trees of scikit-learn on tables made of features, links and known labels."""

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse
from sklearn.base import BaseEstimator
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier

_DIRECTIONS = 128


class NeighbourTrees(BaseEstimator):
    """Boosted trees with default settings on a node's features, means over neighbours and their labels.

    A row is [X, PX, P²X, log(1 + degree), shares of classes among the neighbours' known labels], with
    P = D⁻¹A without self-loops. The shares of a node do not contain its own label.
    """

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: np.ndarray, *, adjacency: csr_array) -> Self:
        """Fit trees to the labelled nodes and predict all nodes."""
        rows = self._rows(X, y, adjacency)
        labelled = np.flatnonzero(y >= 0)
        trees = HistGradientBoostingClassifier(random_state=self.random_state)
        trees.fit(rows[labelled], y[labelled])
        self.classes_, self.n_iter_ = trees.classes_, trees.n_iter_
        self.label_distributions_ = trees.predict_proba(rows)
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]
        return self

    def _rows(self, X: Any, y: np.ndarray, adjacency: csr_array) -> np.ndarray:
        A = csr_array(adjacency - diags_array(adjacency.diagonal()))
        degree = np.asarray(A.sum(axis=1)).reshape(-1, 1)
        own = self._dense(X)
        near = A @ own / np.maximum(degree, 1e-12)
        far = A @ near / np.maximum(degree, 1e-12)
        known = A @ (y[:, None] == np.unique(y[y >= 0])).astype(np.float64)
        total = known.sum(axis=1, keepdims=True)
        # a missing value where no neighbour has a label
        shares = np.divide(known, total, out=np.full(known.shape, np.nan), where=total > 0)
        return np.hstack([own, near, far, np.log1p(degree), shares])

    def _dense(self, X: Any) -> np.ndarray:
        """Return X as an array: the leading directions of wide sparse features."""
        if not issparse(X):
            return np.asarray(X)
        if X.shape[1] <= _DIRECTIONS:
            return np.asarray(X.toarray())
        return np.asarray(TruncatedSVD(_DIRECTIONS, random_state=self.random_state).fit_transform(X))
