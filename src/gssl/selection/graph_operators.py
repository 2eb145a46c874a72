"""The operators that filters are polynomials of, on one graph."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.operators import Filters, Mixture, complement_negatives, mix, normalized_adjacency

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
