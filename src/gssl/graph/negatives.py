"""Random graphs between unlinked nodes: the "negative" graph ¬A of inverse graph convolution.

A pair u < v is encoded as the 64-bit integer u·n + v, so pairs are compared and merged by sorting.
"""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gssl.graph.simplify import clean_adjacency
from gssl.graph.validate import row_pointers

Codes = npt.NDArray[np.int64]

# unpaired stubs decrease geometrically; those left after this many rounds cannot be paired
_STUB_ROUNDS = 32


def sample_negatives(
    adjacency: Any,
    multiple: float,
    random_state: int | np.random.Generator | None = None,
    *,
    kind: Literal["uniform", "regular"] = "uniform",
) -> csr_array:
    """Sample a random graph of unlinked pairs, with ``multiple`` times as many edges as the graph.

    Real edges and self-loops are never drawn; the scripts behind the paper's numbers may draw real edges.

    Parameters
    ----------
    adjacency : sparse matrix or array-like, shape (n, n)
        The graph; weights are ignored. Never modified.
    multiple : float
        Pairs to draw per edge of the graph; if fewer pairs are unlinked, all of them are returned.
    random_state : int, Generator or None, default=None
        Seed of the draw.
    kind : {"uniform", "regular"}, default="uniform"
        "uniform" draws all pairs with equal probability; "regular" gives all nodes the same degree ξ (within
        one, and as far as their unlinked pairs allow), as the proof of Theorem 2 assumes.

    Returns
    -------
    csr_array, shape (n, n)
        Symmetric, with the value 1 for each edge.

    Examples
    --------
    >>> path = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> sample_negatives(path, multiple=1, random_state=0).toarray()
    array([[0., 0., 1., 1.],
           [0., 0., 0., 1.],
           [1., 0., 0., 0.],
           [1., 1., 0., 0.]])
    """
    if kind not in ("uniform", "regular"):
        raise ValueError(f'kind must be "uniform" or "regular", got {kind!r}.')
    if not 0 <= multiple < np.inf:
        raise ValueError(f"multiple must be a finite number that is not negative, got {multiple}.")
    graph, _ = clean_adjacency(adjacency)
    n = graph.shape[0]
    linked = _edge_codes(graph)
    n_unlinked = n * (n - 1) // 2 - linked.size
    wanted = min(round(multiple * linked.size), n_unlinked)
    rng = np.random.default_rng(random_state)
    codes = _pair_stubs(wanted, linked, n, rng) if kind == "regular" else np.empty(0, dtype=np.int64)
    return _graph_of(_fill_up(codes, wanted, linked, n, rng), n)


def _edge_codes(graph: csr_array) -> Codes:
    n = graph.shape[0]
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(graph.indptr))
    upper = graph.indices > rows
    return np.asarray(rows[upper] * n + graph.indices[upper], dtype=np.int64)


def _fill_up(codes: Codes, wanted: int, linked: Codes, n: int, rng: np.random.Generator) -> Codes:
    """Add random unlinked pairs, all equally likely, until there are ``wanted``."""
    n_pairs = n * (n - 1) // 2
    n_free = n_pairs - linked.size
    if codes.size < wanted and (wanted > n_free // 2 or n_free < n_pairs // 2):
        # most random draws would be rejected, and all pairs are only a few times as many as the edges
        u, v = np.triu_indices(n, k=1)
        free = _without(_without(u * n + v, linked), codes)
        return _merged(codes, rng.choice(free, wanted - codes.size, replace=False))
    while codes.size < wanted:
        missing = wanted - codes.size
        size = missing + missing // 16 + 16
        u = rng.integers(n, size=size)
        v = rng.integers(n - 1, size=size)
        v += v >= u
        fresh = _without(_without(pair_codes(u, v, n), linked), codes)
        if fresh.size > missing:
            # drop the surplus at random: cutting off the end would favour low node indices
            fresh = np.delete(fresh, rng.choice(fresh.size, fresh.size - missing, replace=False))
        codes = _merged(codes, fresh)
    return codes


def _pair_stubs(wanted: int, linked: Codes, n: int, rng: np.random.Generator) -> Codes:
    """Pair stubs at random, equally many per node, and redraw pairs that are not allowed."""
    degree = np.full(n, 2 * wanted // max(n, 1), dtype=np.int64)
    degree[rng.permutation(n)[: 2 * wanted - degree.sum()]] += 1
    codes = np.empty(0, dtype=np.int64)
    for _ in range(_STUB_ROUNDS):
        if not degree.any():
            break
        stubs = rng.permutation(np.repeat(np.arange(n, dtype=np.int64), degree))
        u, v = stubs[0::2], stubs[1::2]
        different = u != v
        fresh = _without(_without(pair_codes(u[different], v[different], n), linked), codes)
        degree -= np.bincount(fresh // n, minlength=n) + np.bincount(fresh % n, minlength=n)
        codes = _merged(codes, fresh)
    return codes


def pair_codes(u: Codes, v: Codes, n: int) -> Codes:
    """Return the sorted, unique codes of pairs in any order."""
    codes: Codes = np.sort(np.minimum(u, v) * n + np.maximum(u, v))
    return codes[np.diff(codes, prepend=-1) > 0]


def _without(codes: Codes, taken: Codes) -> Codes:
    """Return the codes that are not in ``taken``; both must be sorted."""
    if not taken.size:
        return codes
    position = np.minimum(np.searchsorted(taken, codes), taken.size - 1)
    free: Codes = codes[taken[position] != codes]
    return free


def _merged(codes: Codes, fresh: Codes) -> Codes:
    return np.sort(np.concatenate([codes, fresh])) if codes.size else np.sort(fresh)


def _graph_of(codes: Codes, n: int) -> csr_array:
    rows, columns = np.divmod(codes, max(n, 1))
    pointers = row_pointers(np.bincount(rows, minlength=n))
    upper = csr_array((np.ones(codes.size), columns, pointers), shape=(n, n))
    return upper + upper.T.tocsr()
