"""What the steps of a transposed filter share: products of the graph with the columns it is applied to.

The columns are those of single nodes. After a few hops they are still sparse, and so are ÂE and N̂E but for a
part of rank one: for the complement, N̂ = T(3I + A)T − ttᵀ with t the diagonal of T.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from gssl.graph.mapped import mapped_file
from gssl.operators import Complement, Filters, Mixture, add_scaled, dense, mix

# links of a graph that is copied into a sparse matrix: some 50 MB
_MOST_LINKS = 1 << 22
# the share of all nodes, reached from one, up to which a sparse product is cheaper than a pass
_SPARSE = 0.05


class Products:
    """ÂE and N̂E, computed once per graph, and the steps that they are added to."""

    def __init__(self, E: Any, filters: Filters, *, whole: bool = False) -> None:
        self._E = E
        # torch, and graphs that are too large to be copied, take dense products
        self._sparse = not whole and issparse(E) and is_small(filters)
        self._A_hat = filters.A_hat
        self._matrix = filters.A_hat.tocsr() if self._sparse else None
        self._filters: Filters | None = None
        self._parts: list[tuple[str, Any]] = []
        # V lacks the product of this column with the row tᵀE
        self._column: Any = None
        self._row: Any = None
        self._before: Any = None

    def sparse_steps(self) -> int:
        """Return how many steps leave V sparse, which depends on the graph alone, not on how many columns."""
        if not self._sparse:
            return 0
        n, degrees = self._A_hat.shape[0], np.diff(self._A_hat.indptr).astype(np.float64)
        growth = max(1.0, float(degrees @ (degrees - 1.0)) / max(1.0, degrees.sum()))
        reached, steps = 1.0 + growth, 0
        while reached <= _SPARSE * n and steps < n:
            reached, steps = 1.0 + growth * reached, steps + 1
        return steps

    def step(self, filters: Filters, V: Any, carried: Mixture, *, sparse: bool) -> Any:
        """Return the mixture of V, sparse or in the buffer of the step before, which nobody reads again."""
        if self._column is not None:
            self._column = mix(filters, self._column, carried)
        if sparse:
            return csr_array(carried.smooth * (self._matrix @ V) + carried.keep * V)
        free, self._before = self._before, None if issparse(V) else V
        return mix(filters, V, carried, out=None if free is self._E else free)

    def add(self, filters: Filters, mixture: Mixture, V: Any) -> Any:
        """Return V with the mixture of E added."""
        if filters is not self._filters:
            self._parts, self._filters = self._multiply(filters), filters
        if self._row is not None:
            # N̂E is that of the sparse part, less t times this row
            self._column = _zeros_like(filters.N_hat.scale) if self._column is None else self._column
            self._column -= self._column.dtype.type(mixture.sharp) * filters.N_hat.scale[:, None]
        parts = [(getattr(mixture, name), product) for name, product in self._parts]
        parts = [(weight, part) for weight, part in [*parts, (mixture.keep, self._E)] if weight]
        if issparse(V):
            return sum((weight * part for weight, part in parts), start=V)
        for weight, part in parts:
            add_scaled(V, weight, part)
        return V

    def finish(self, V: Any) -> Any:
        """Return V dense and whole."""
        V = dense(V)
        if self._column is not None:
            for start in range(0, len(V), 4096):
                V[start : start + 4096] += self._column[start : start + 4096] * self._row
        return V

    def _multiply(self, filters: Filters) -> list[tuple[str, Any]]:
        """Return ÂE and N̂E; the part of rank one is kept apart."""
        E, N_hat = self._E, filters.N_hat
        if not self._sparse:
            sharp = [] if N_hat is None else [("sharp", mix(filters, E, Mixture(sharp=1.0)))]
            return [("smooth", mix(filters, E, Mixture(smooth=1.0))), *sharp]
        parts = [("smooth", csr_array(self._matrix @ E))]
        if isinstance(N_hat, Complement):
            self._row = (E.T @ N_hat.scale)[None, :]
            parts.append(("sharp", csr_array(_sparse_part(N_hat) @ E)))
        elif N_hat is not None:
            parts.append(("sharp", csr_array(N_hat @ E)))
        return parts


def _sparse_part(N_hat: Complement) -> csr_array:
    """Return T(3I + A)T."""
    n, t = len(N_hat.scale), diags_array(N_hat.scale)
    ones = np.ones(len(N_hat.indices), N_hat.scale.dtype)
    links = csr_array((ones, N_hat.indices, N_hat.indptr), shape=(n, n))
    return csr_array(t @ links @ t + N_hat.scale.dtype.type(3) * (t @ t))


def is_small(filters: Filters) -> bool:
    """Return whether a graph may be copied into a sparse matrix: it is in memory, and not large."""
    indices = filters.A_hat.indices
    here = type(filters) is Filters and mapped_file(indices) is None
    return here and len(indices) <= _MOST_LINKS


def _zeros_like(scale: np.ndarray) -> np.ndarray:
    return np.zeros((len(scale), 1), scale.dtype)
