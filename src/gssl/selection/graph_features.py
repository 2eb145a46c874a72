"""Features that filters read, and the operators on the graph that they apply."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import normalize

from gssl.graph.mapped import FileArray, iterate_blocks, release_pages
from gssl.operators import (
    Complement,
    Filters,
    Mixture,
    complement_negatives,
    mix,
    multiply,
    multiply_transposed,
    normalized_adjacency,
)

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


# rows that are computed with at a time where nothing is fused
_ROWS = 8192


@dataclass(frozen=True, eq=False)
class GraphOperator:
    """A symmetric operator on columns of all nodes: a mixture on the graph, and a multiple of each node.

    ``on`` gives the same operator with the matrices of an execution, so that it may travel without them.
    """

    filters: Any
    mixture: Mixture
    own: np.ndarray | None = None

    def __call__(self, V: Any, **more: Any) -> np.ndarray:
        """Apply it; ``out``, ``gathered`` and ``total`` are those of :func:`gssl.operators.mix`."""
        out = np.asarray(mix(self.filters, V, self.mixture, **more))
        if self.own is not None:
            for start in range(0, len(out), _ROWS):
                rows = slice(start, start + _ROWS)
                out[rows] += self.own[rows, None] * V[rows]
        return out

    def on(self, filters: Filters | None) -> "GraphOperator":
        """Return it on other matrices."""
        return replace(self, filters=filters)


def operators(A: csr_array, dtype: Any) -> dict[str, Any]:
    """Return the operators on a graph as functions of columns; all are symmetric."""
    A_hat = normalized_adjacency(A, dtype)
    both = Filters(A_hat, complement_negatives(A, dtype))
    # in double precision until all values are at most one
    unweighted = not A_hat.weights.size
    degree = np.asarray(
        np.diff(A.indptr) if unweighted else A.sum(axis=1, dtype=np.float64), dtype=np.float64
    )
    # a node without links has one: it is taken away again
    s = 1.0 / np.sqrt(np.where(degree > 0, degree, 1.0))
    t = 1.0 / np.sqrt(degree + 2.0)
    if not unweighted:
        # a degree may be far less than one, and nothing large is added only to be taken away
        hop = replace(A_hat, weights=_weighed(A, s, dtype), scale=np.zeros_like(A_hat.scale))
        high = replace(A_hat, weights=_weighed(A, t, dtype), scale=t.astype(dtype))
        own = None
    else:
        hop, high = replace(A_hat, scale=s.astype(dtype)), replace(A_hat, scale=t.astype(dtype))
        own = -np.square(hop.scale)
    return {
        "smooth": GraphOperator(both, Mixture(smooth=1.0)),
        "hop": GraphOperator(Filters(hop), Mixture(smooth=1.0), own),
        "high": GraphOperator(Filters(high), Mixture(smooth=-1.0), 3.0 * np.square(high.scale)),
        "sharp": GraphOperator(both, Mixture(sharp=1.0)),
    }


def _weighed(A: csr_array, scale: np.ndarray, dtype: Any) -> np.ndarray:
    """Weigh the links of a graph by the scales of both ends, those of some rows at a time."""
    weights = np.empty(len(A.indices), dtype)
    for start in range(0, A.shape[0], _ROWS):
        rows = scale[start : start + _ROWS]
        pointers = A.indptr[start : start + len(rows) + 1]
        part = slice(pointers[0], pointers[-1])
        weights[part] = np.repeat(rows, np.diff(pointers)) * A.data[part] * scale[A.indices[part]]
    return weights


def polynomial(apply: Any, powers: np.ndarray, V: np.ndarray) -> np.ndarray:
    r"""Apply a polynomial of an operator, :math:`\sum_k p_k T^k V`, added power by power."""
    V = np.ascontiguousarray(V)
    # plain numbers, which leave the precision as it is
    first, final = float(powers[0]), float(powers[-1])
    total = first * V if powers[:-1].any() or len(powers) == 1 else None
    buffers = np.empty_like(V), np.empty_like(V)
    # what an operator adds of each node itself is in no mixture
    fused = getattr(apply, "own", None) is None
    for k, power in enumerate(powers[1:].tolist()):
        if power and total is not None and fused:
            gathered = Mixture(smooth=power * apply.mixture.smooth)
            V = apply(V, out=buffers[k % 2], gathered=gathered, total=total)
            continue
        V = apply(V, out=buffers[k % 2])
        if power and total is not None:
            total += power * V
    return np.asarray(final * V if total is None else total)


def complement_rows(negatives: Complement, V: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    r"""Return some rows of :math:`\hat N V` for the complement of a graph, without the others."""
    scale, indptr = negatives.scale, negatives.indptr
    counts = indptr[nodes + 1] - indptr[nodes]
    ends = np.concatenate([[0], np.cumsum(counts)])
    # of the links of these nodes alone: a graph may be a file
    places = np.arange(ends[-1]) + np.repeat(indptr[nodes] - ends[:-1], counts)
    neighbours = negatives.indices[places]
    linked = csr_array((scale[neighbours], neighbours, ends), shape=(len(nodes), len(V)))
    s = scale[nodes][:, None]
    return np.asarray(s * (3.0 * s * V[nodes] + multiply(linked, V) - scale @ V))


def label_space_pays(X: Any, A: csr_array, n_rows: int, depth: int) -> bool:
    """Compare hops over one column per node that is needed, each seen by X, with hops over all features."""
    n, d = X.shape
    hop = A.nnz + n
    size = X.nnz if issparse(X) else X.size
    # columns that stay in the cache are read about twice as fast as those of all features
    return bool((depth * hop + (depth + 1) * size) * n_rows < 2 * depth * (hop + n) * d)
