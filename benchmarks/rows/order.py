"""Whether reordering nodes speeds up a hop by better use of caches."""

import numpy as np
from scipy.sparse import coo_array, csr_array

from benchmarks import graphs
from benchmarks.entry import Contest, Race, Rival
from gssl.graph import node_order
from gssl.operators import NormalizedAdjacency, normalized_adjacency

_WIDTH = 64


def entries(*, quick: bool) -> list[Race]:
    """Return races of the original node order against two others, which no method uses."""
    shape = graphs.SMALL_SHAPE if quick else graphs.REDDIT_SHAPE
    n_edges = 2 * 10**5 if quick else 2 * 10**7
    what = f"one hop in the nodes' own order, {{}}, d = {_WIDTH}; the order itself is not timed"
    races = [Race("order", what.format(f"{shape[0]:,} nodes"), lambda: _reddit(quick), repeats=3)]
    name = f"{n_edges // 10:,} nodes, {n_edges:,} links by a power law"
    races.append(Race("order-power", what.format(name), lambda: _race(_power_law(n_edges)), repeats=3))
    if not quick:
        words = "WordNet's nouns, 82,115 nodes"
        races.append(Race("order-wordnet", what.format(words), lambda: _race(_wordnet()), repeats=5))
    return races


def _reddit(quick: bool) -> Contest:
    A, U, _ = graphs.reddit(quick)
    return _race(A, np.ascontiguousarray(U[:, :_WIDTH]))


def _wordnet() -> csr_array:
    return graphs.load("graphs/wordnet_nouns").adjacency


def _power_law(n_edges: int) -> csr_array:
    """Return a random graph in which the k-th node is an end of a link in proportion to k^−0.6."""
    n, rng = n_edges // 10, np.random.default_rng(0)
    share = np.cumsum(np.arange(1.0, n + 1) ** -0.6)
    # random node numbers, as in a table of names
    order = rng.permutation(n)
    u, v = (order[np.searchsorted(share, share[-1] * rng.random(n_edges))] for _ in range(2))
    u, v = u[u != v], v[u != v]
    A = coo_array((np.ones(2 * len(u), np.float32), (np.r_[u, v], np.r_[v, u])), shape=(n, n)).tocsr()
    A.data[:] = 1.0
    return A


def _race(A: csr_array, U: np.ndarray | None = None) -> Contest:
    A = A.astype(np.float32)
    if U is None:
        U = np.random.default_rng(0).standard_normal((A.shape[0], _WIDTH), dtype=np.float32)

    def reordered(kind: str) -> tuple[NormalizedAdjacency, np.ndarray]:
        order = node_order(A, kind)  # type: ignore[arg-type]
        B = A[order][:, order]
        B.sort_indices()
        return normalized_adjacency(B, U.dtype), np.ascontiguousarray(U[order])

    own = normalized_adjacency(A, U.dtype)
    rivals = []
    for kind, name in (("degree", "hubs first"), ("rcm", "reverse Cuthill–McKee")):
        A_hat, V = reordered(kind)
        rivals.append(Rival(name, lambda A_hat=A_hat, V=V: A_hat @ V, note="below 1 the new order is faster"))
    return Contest(lambda: own @ U, tuple(rivals))
