"""The interface of the embeddings U of OGC, and U in memory.

OGC needs three operations: ``U.rows(nodes)``, ``U @ W`` and ``U.step(beta, pull)``. Every kind of U supports
them: dense, factored (label space), in slabs on disk, or on a cluster.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from gssl.operators.arrays import alike, fetch
from gssl.operators.mixture import Filters, Mixture, mix, multiply
from gssl.operators.supervision import Pull

# rows copied at a time
_BLOCK = 4096


class Rows(Protocol):
    """Some rows of U, for the products ``rows @ W`` and ``rows.T @ R``."""

    @property
    def T(self) -> Any:
        """The transpose."""

    def __matmul__(self, W: np.ndarray) -> np.ndarray: ...


class Embedding(Protocol):
    """The embeddings U of all nodes."""

    def rows(self, nodes: np.ndarray) -> Rows:
        """Return some rows of the current U."""

    def __matmul__(self, W: np.ndarray) -> np.ndarray:
        """Return the scores UW of all nodes; the next product may overwrite them."""

    def step(self, beta: float, pull: Pull | None) -> "Embedding":
        """Return ``[βÂ + (1−β)I] U + pull``; U itself may be overwritten."""


class DenseEmbedding:
    """U as a dense array, or as a tensor if X is one, in two alternating buffers."""

    def __init__(self, X: Any, filters: Filters) -> None:
        self.U = X
        self._X = X
        self._filters = filters
        self._spare: Any = None
        self._scores: Any = None

    def rows(self, nodes: np.ndarray) -> "DenseRows":
        """Return some rows of U, which are copied only when used."""
        return DenseRows(self.U, nodes)

    def step(self, beta: float, pull: Pull | None) -> "DenseEmbedding":
        """Take one step, writing to the spare buffer."""
        U = mix(self._filters, self.U, Mixture.lazy(beta), out=self._spare)
        if pull is not None:
            pull.add_to(U)
        self._spare = None if self.U is self._X else self.U
        self.U = U
        return self

    def __matmul__(self, W: np.ndarray) -> np.ndarray:
        U = self.U
        if U is self._X or not isinstance(U, np.ndarray) or self._scores is None:
            self._scores = fetch(multiply(U, W))
            return np.asarray(self._scores)
        return np.asarray(np.matmul(U, W, out=self._scores))


class DenseRows:
    """Some rows of an array or tensor, copied a block at a time."""

    def __init__(self, U: Any, nodes: np.ndarray) -> None:
        self._U, self._nodes = U, nodes

    @property
    def T(self) -> "TransposedRows":
        """The transpose."""
        return TransposedRows(self)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield the positions and values of each block of rows."""
        for start in range(0, len(self._nodes), _BLOCK):
            part = slice(start, start + _BLOCK)
            yield part, self._U[self._nodes[part]]

    def __matmul__(self, W: np.ndarray) -> np.ndarray:
        scores = np.empty((len(self._nodes), W.shape[1]), W.dtype)
        for part, rows in self.blocks():
            scores[part] = fetch(rows @ alike(W, self._U))
        return scores

    def transposed_times(self, R: np.ndarray) -> np.ndarray:
        """Return the product of the transpose with R."""
        G = np.zeros((self._U.shape[1], R.shape[1]), R.dtype)
        for part, rows in self.blocks():
            G += fetch(rows.T @ alike(R[part], self._U))
        return G

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        rows = self._U[self._nodes]
        return np.asarray(fetch(rows.toarray() if hasattr(rows, "toarray") else rows), dtype=dtype)


class TransposedRows:
    """The transpose of some rows; ``@`` calls their ``transposed_times``."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def __matmul__(self, R: np.ndarray) -> np.ndarray:
        return np.asarray(self._rows.transposed_times(R))
