"""Features as they are given or with rows of length one, without a scaled copy of a dense matrix."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import normalize

from gssl.graph.mapped import FileArray, iterate_blocks, release_pages
from gssl.operators import multiply, multiply_transposed

# bytes of rows that are copied at a time
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, eq=False)
class Features:
    """A matrix X, the rows of which may be divided by numbers when they are read."""

    X: Any
    divisors: np.ndarray | None = None

    @classmethod
    def unit(cls, X: Any) -> "Features":
        """Return rows the length one; a row of zeros stays."""
        # by the largest entry first, for squares may leave the range of the type
        if issparse(X):
            scaled = csr_array((X.data.copy(), X.indices, X.indptr), shape=X.shape)
            return cls(normalize(normalize(scaled, norm="max", copy=False), norm="l2", copy=False))
        divisors = np.ones((2, X.shape[0]), X.dtype)
        largest = np.zeros(X.shape[0], X.dtype)
        for rows, columns in _parts(X):
            np.maximum(largest[rows], np.abs(X[rows, columns]).max(axis=1), out=largest[rows])
        divisors[0] = np.where(largest > 0, largest, 1)
        squares = np.zeros(X.shape[0])
        for rows, columns in _parts(X):
            part = X[rows, columns] / divisors[0, rows, None]
            squares[rows] += np.einsum("ij,ij->i", part, part, dtype=np.float64)
        divisors[1] = np.where(squares > 0, np.sqrt(squares), 1)
        return cls(X, divisors)

    @property
    def shape(self) -> tuple[int, int]:
        """Nodes and features."""
        n, d = self.X.shape
        return int(n), int(d)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        dtype: np.dtype[Any] = np.dtype(self.X.dtype)
        return dtype

    @property
    def numbers(self) -> tuple[Any, ...]:
        """All that it is made of, to tell it from others."""
        return self._opened(), self.divisors

    def rows(self, nodes: np.ndarray) -> np.ndarray:
        """Return some rows, dense."""
        part = self.X[nodes]
        return self._divided(part.toarray() if issparse(part) else np.array(part), nodes)

    def scaled(self, columns: Any) -> Any:
        """Divide columns of X; they are given back as they are where nothing is divided."""
        return columns if self.divisors is None else self._divided(np.array(columns), slice(None))

    def times(self, V: np.ndarray) -> np.ndarray:
        """Return the product with V, of the same type."""
        V = np.ascontiguousarray(V, dtype=self.dtype)
        if self.divisors is None:
            return np.asarray(multiply(self._opened(), V))
        X, out = self._opened(), np.zeros((self.shape[0], V.shape[1]), V.dtype)
        for rows, columns in _parts(X):
            out[rows] += self._divided(np.array(X[rows, columns]), rows) @ V[columns]
        return out

    def transposed_times(self, V: np.ndarray) -> np.ndarray:
        """Return the product of the transpose with V, of the same type."""
        X, V = self._opened(), V.astype(self.dtype, copy=False)
        if issparse(X):
            return multiply_transposed(X, V)
        out = np.zeros((self.shape[1], V.shape[1]), V.dtype)
        for rows, columns in _parts(X):
            part = X[rows, columns]
            if self.divisors is not None:
                part = self._divided(np.array(part), rows)
            out[columns] += part.T @ V[rows]
        return out

    def _opened(self) -> Any:
        return self.X.open() if isinstance(self.X, FileArray) else self.X

    def _divided(self, part: np.ndarray, rows: Any) -> np.ndarray:
        for divisor in () if self.divisors is None else self.divisors:
            part /= divisor[rows, None]
        return part


def _parts(X: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Cut X into blocks of a few rows each, none of which stays in memory if X is a file."""
    for rows, columns in iterate_blocks(X):
        step = _rows_at_a_time(columns.stop - columns.start, X.itemsize)
        for start in range(rows.start, rows.stop, step):
            yield slice(start, min(start + step, rows.stop)), columns


def _rows_at_a_time(width: int, itemsize: int) -> int:
    # fewer would be slow to multiply with
    return max(64, _BLOCK_BYTES // max(1, width * itemsize))


def gram_of_columns(G: np.ndarray) -> np.ndarray:
    r"""Return :math:`G^\top G` in double precision by blocks of rows; G may be a file by columns."""
    total = np.zeros((G.shape[1], G.shape[1]))
    step = _rows_at_a_time(G.shape[1], total.itemsize)
    for start in range(0, len(G), step):
        part = np.ascontiguousarray(G[start : start + step], dtype=np.float64)
        total += part.T @ part
        release_pages(G)
    return total
