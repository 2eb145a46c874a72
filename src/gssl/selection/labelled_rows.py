"""The features that each filter gives to the labelled nodes, from one run over the graph for all of them."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.operators import multiply
from gssl.selection.filters import Block, Filter, operators


class LabelledRows:
    r"""Rows of :math:`T^k X` at some nodes, for every operator T and every power k that is needed.

    Any polynomial filter of X, at these nodes, is a weighted sum of them. They are made by hops over as many
    columns as there are nodes, :math:`(T^k E)^\top X` with E the columns that pick the nodes; or, where
    features are fewer, by hops over the features.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
    A : csr_array of shape (n, n)
    nodes : int ndarray of shape (m,)
    depth : int
        The highest power that may be asked for, which decides the cheaper way.
    """

    def __init__(self, X: Any, A: csr_array, nodes: np.ndarray, depth: int) -> None:
        self.X, self.A, self.nodes = X, A, nodes
        self.operators = operators(A, X.dtype)
        self._transposed = csr_array(X.T) if issparse(X) else X.T
        self.in_label_space = label_space_pays(X, A, len(nodes), depth)
        ones = np.ones(len(nodes), X.dtype)
        self._E = csr_array((ones, (nodes, np.arange(len(nodes)))), shape=(X.shape[0], len(nodes)))
        self._embeddings: dict[Filter, np.ndarray] = {}
        # of each operator: the columns after the last hop, and what was seen after each
        self._powers: dict[str, tuple[Any, list[np.ndarray]]] = {}

    def rows(self, filter_: Filter) -> np.ndarray:
        """Give the features of the nodes, blocks side by side, in double precision.

        Returns
        -------
        ndarray of shape (m, b·d)
        """
        if filter_.embedder is not None:
            if filter_ not in self._embeddings:
                self._embeddings[filter_] = self._embedded(filter_)
            return self._embeddings[filter_].astype(np.float64)
        return np.hstack([self._block(block) for block in filter_.blocks])

    def filtered(self, filter_: Filter, V: np.ndarray) -> np.ndarray:
        """Apply a filter of a single block to columns of all nodes."""
        (block,) = filter_.blocks
        apply = self.operators[block.operator]
        out = block.powers[-1] * V
        for power in block.powers[-2::-1]:
            out = apply(out)
            if power:
                out += power * V
        return np.asarray(out)

    def gathered(self, V: np.ndarray) -> np.ndarray:
        """Give XV."""
        return np.asarray(multiply(self.X, np.ascontiguousarray(V, dtype=self.X.dtype)))

    def spread(self, V: np.ndarray) -> np.ndarray:
        """Give XᵀV."""
        V = V.astype(self.X.dtype, copy=False)
        return multiply(self._transposed, V) if issparse(self.X) else np.asarray(self._transposed @ V)

    def _block(self, block: Block) -> np.ndarray:
        stack = self._stack(block.operator, len(block.powers))
        # one after the other: all powers at once would be a copy of the stack
        total = np.zeros(stack[0].shape)
        for power, rows in zip(block.powers, stack, strict=False):
            if power:
                total += power * rows
        return total

    def _stack(self, operator: str, n_powers: int) -> list[np.ndarray]:
        """Give the rows of the first powers, of which those not yet needed are not yet there."""
        if operator not in self._powers:
            start = self._E.toarray() if self.in_label_space else self.X
            self._powers[operator] = start, [self._seen(start)]
        V, stack = self._powers[operator]
        while len(stack) < n_powers:
            V = self.operators[operator](_dense(V))
            stack.append(self._seen(V))
        self._powers[operator] = V, stack
        return stack

    def _seen(self, V: Any) -> np.ndarray:
        if self.in_label_space:
            return np.ascontiguousarray(self.spread(V).T)
        return _dense(V[self.nodes])

    def _embedded(self, filter_: Filter) -> np.ndarray:
        embedder: Any = filter_.embedder
        filters = embedder._filters(self.A, self.X.dtype)
        if adjoint_pays(self.X, self.A, len(self.nodes), embedder.depth):
            return self.spread(embedder._adjoint(self._E, filters)).T
        return np.asarray(embedder._apply(self.X, filters)[self.nodes])


def label_space_pays(X: Any, A: csr_array, n_rows: int, depth: int) -> bool:
    """Compare hops over one column per node that is needed, each seen by X, with hops over all features."""
    n, d = X.shape
    hop = A.nnz + n
    size = X.nnz if issparse(X) else X.size
    return bool((depth * hop + (depth + 1) * size) * n_rows < depth * (hop + n) * d)


def adjoint_pays(X: Any, A: csr_array, n_rows: int, depth: int) -> bool:
    """Compare a transposed run, seen by X at its end and twice as long for gathering, with one of X."""
    n, d = X.shape
    hop = A.nnz + n
    size = X.nnz if issparse(X) else X.size
    return bool((2 * depth * hop + size) * n_rows < depth * (hop + n) * d)


def _dense(V: Any) -> np.ndarray:
    return V.toarray() if issparse(V) else np.asarray(V)
