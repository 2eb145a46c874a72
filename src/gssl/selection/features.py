"""The features that filters read: as given, with rows of unit length, or with standardised columns."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import normalize

from gssl.graph.mapped import FileArray, iterate_blocks, take_rows
from gssl.operators import multiply

# deviations at which columns are cut off before they are multiplied
_FARTHEST = 4.0
# bytes of rows copied at a time
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, eq=False)
class Features:
    """A matrix X whose rows may be scaled, or columns standardised, when they are read."""

    X: Any
    divisors: np.ndarray | None = None
    # means and standard deviations of columns, of shape (2, d); empty if columns are not standardised
    scales: np.ndarray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def unit(cls, X: Any) -> "Features":
        """Scale rows to unit length, except rows of zeros."""
        # divide by the largest entry first: squares may overflow or underflow
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

    @classmethod
    def standardized(cls, X: Any, scales: np.ndarray) -> "Features":
        """Scale columns to mean zero and variance one."""
        return cls(X, None, scales.astype(X.dtype))

    @classmethod
    def products(cls, X: Any, scales: np.ndarray) -> "Features":
        """Return standardised columns and their products; ``scales`` are those of X, then of both."""
        d = X.shape[1]
        return cls.standardized(multiplied(X, scales[:, :d]), scales[:, d:])

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of nodes and features."""
        n, d = self.X.shape
        return int(n), int(d)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The data type of X."""
        dtype: np.dtype[Any] = np.dtype(self.X.dtype)
        return dtype

    @property
    def numbers(self) -> tuple[Any, ...]:
        """The arrays that identify these features."""
        return self._opened(), self.divisors, self.scales

    def rows(self, nodes: np.ndarray) -> Any:
        """Return some rows; sparse if X is sparse."""
        part = take_rows(self._opened(), nodes)
        return part if issparse(part) else self._scaled(part, nodes, slice(None))

    def times(self, V: np.ndarray) -> np.ndarray:
        """Return the product with V, in the data type of X."""
        V = np.ascontiguousarray(V, dtype=self.dtype)
        X = self._opened()
        if self.divisors is None and not len(self.scales):
            return np.asarray(multiply(X, V))
        out = np.zeros((self.shape[0], V.shape[1]), V.dtype)
        for rows, columns in _parts(X):
            out[rows] += self._scaled(np.array(X[rows, columns]), rows, columns) @ V[columns]
        return out

    def transposed_times(self, V: np.ndarray) -> np.ndarray:
        """Return the product of the transpose with V, which has a row for every node."""
        X = self._opened()
        if issparse(X):
            return np.asarray(X.T @ V)
        out = np.zeros((self.shape[1], V.shape[1]), V.dtype)
        for rows, columns in _parts(X):
            out[columns] += self._scaled(np.array(X[rows, columns]), rows, columns).T @ V[rows]
        return out

    def _opened(self) -> Any:
        return self.X.open() if isinstance(self.X, FileArray) else self.X

    def _scaled(self, part: np.ndarray, rows: Any, columns: Any) -> np.ndarray:
        """Scale the rows or standardise the columns of a part of X in place."""
        for divisor in () if self.divisors is None else self.divisors:
            part /= divisor[rows, None]
        if len(self.scales):
            # before any product, for precision: means may be far larger than deviations
            part -= self.scales[0, columns]
            part /= self.scales[1, columns]
        return part


def multiplied(X: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return standardised columns, cut off at a few deviations, and the products of any two of them."""
    Z = np.clip((X - scales[0]) / scales[1], -_FARTHEST, _FARTHEST)
    i, j = np.triu_indices(Z.shape[1])
    return np.asarray(np.hstack([Z, Z[:, i] * Z[:, j]]), dtype=X.dtype)


def _parts(X: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Split X into blocks of a few rows; pages of a memory-mapped X are released after use."""
    for rows, columns in iterate_blocks(X):
        step = _rows_at_a_time(columns.stop - columns.start, X.itemsize)
        for start in range(rows.start, rows.stop, step):
            yield slice(start, min(start + step, rows.stop)), columns


def _rows_at_a_time(width: int, itemsize: int) -> int:
    # at least 64: products with fewer rows are slow
    return max(64, _BLOCK_BYTES // max(1, width * itemsize))
