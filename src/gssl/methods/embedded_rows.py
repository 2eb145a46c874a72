"""Embeddings of single nodes: m rows of U = FX need m columns of the transposed filter, (FᵀE)ᵀX."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.graph.mapped import mapped_file
from gssl.operators import dense, multiply
from gssl.scale.execution import Execution


class EmbeddedRows:
    """Embeddings of the nodes of a fit, each computed when it is first needed and kept from then on."""

    def __init__(self, embedder: Any, X: Any, A: csr_array) -> None:
        self._embedder, self._X, self._A = embedder, X, A
        self._filters: Any = None
        # nodes in order, and a row for each; replaced as a pair, so that threads can share them
        self._kept = np.empty(0, dtype=np.int64), np.empty((0, X.shape[1]), X.dtype)

    def __getstate__(self) -> dict[str, Any]:
        # functions cannot be pickled; the filters are built again when needed
        return {**self.__dict__, "_filters": None}

    @property
    def filters(self) -> Any:
        """The filters of the graph, built once for all passes, which may cost less than building them."""
        if self._filters is None:
            self._filters = self._embedder._filters(self._A, self._X.dtype)
        return self._filters

    def every(self, execution: Execution) -> np.ndarray:
        """Return the embeddings of all nodes."""
        return np.asarray(self._embedder._embed(self._X, self.filters, execution))

    def missing(self, nodes: np.ndarray) -> np.ndarray:
        """Return the nodes whose embeddings are not known."""
        return np.setdiff1d(nodes, self._kept[0])

    def rows(self, nodes: np.ndarray, execution: Execution) -> np.ndarray:
        """Return the embeddings of some nodes, computing those that are not known."""
        known, rows = self._kept
        missing = np.setdiff1d(nodes, known)
        if len(missing):
            known = np.concatenate([known, missing])
            rows = np.concatenate([rows, self._compute(missing, execution)])
            order = np.argsort(known)
            self._kept = known, rows = known[order], rows[order]
        return np.asarray(rows[np.searchsorted(known, nodes)])

    def _compute(self, nodes: np.ndarray, execution: Execution) -> np.ndarray:
        """Run the transposed filter on E, which has a unit column for each node."""
        X = self._X
        if not self._embedder._needs_graph:
            return np.asarray(dense(X[nodes]))
        ones = np.ones(len(nodes), X.dtype)
        E = csr_array((ones, (nodes, np.arange(len(nodes)))), shape=(X.shape[0], len(nodes)))
        V = self._embedder._embed_transposed(E, self.filters, execution)
        if issparse(X) or mapped_file(X) is not None:
            return np.asarray(multiply(csr_array(X.T) if issparse(X) else X.T, V).T)
        return np.asarray(V.T @ X)


def rows_are_cheaper(embedder: Any, X: Any, links: int, width: int) -> bool:
    """Return whether the transposed filter on ``width`` columns costs less than half of the filter on X."""
    n, d = X.shape
    # reading a sparse X is cheap; writing n × d numbers is not
    transposed = embedder._cost(n, links, width) + (X.nnz if issparse(X) else X.size) * width
    return bool(transposed < 0.5 * (embedder._cost(n, links, d) + n * d))
