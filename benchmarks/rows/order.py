"""Whether numbering nodes anew makes a hop gentler on the caches."""

import numpy as np

from benchmarks import graphs
from benchmarks.entry import Contest, Race, Rival
from gssl.graph import node_order
from gssl.operators import NormalizedAdjacency, normalized_adjacency

_WIDTH = 64


def entries(*, quick: bool) -> list[Race]:
    """Give the race of the order as it came against two others; no method uses any of them."""
    shape = graphs.SMALL_SHAPE if quick else graphs.REDDIT_SHAPE
    what = f"one hop in the nodes' own order, {shape[0]:,} nodes, d = {_WIDTH}; the order itself is not timed"
    return [Race("order", what, lambda: _contest(quick), repeats=3)]


def _contest(quick: bool) -> Contest:
    A, U, _ = graphs.reddit(quick)
    U = np.ascontiguousarray(U[:, :_WIDTH])

    def reordered(kind: str) -> tuple[NormalizedAdjacency, np.ndarray]:
        order = node_order(A, kind)  # type: ignore[arg-type]
        return normalized_adjacency(A[order][:, order], U.dtype), np.ascontiguousarray(U[order])

    own = normalized_adjacency(A, U.dtype)
    rivals = []
    for kind, name in (("degree", "hubs first"), ("rcm", "reverse Cuthill–McKee")):
        A_hat, V = reordered(kind)
        rivals.append(Rival(name, lambda A_hat=A_hat, V=V: A_hat @ V, note="below 1 the new order is faster"))
    return Contest(lambda: own @ U, tuple(rivals))
