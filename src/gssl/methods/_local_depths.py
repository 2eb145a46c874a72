"""How many times each node may be smoothed before it is one with its component."""

from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import count

import numpy as np
from scipy.sparse import csgraph

from gssl.methods._base import iterate, last
from gssl.operators import Filters, Mixture, NormalizedAdjacency, mix

# columns that are smoothed at a time: two buffers of 512 bytes per node
_COLUMNS = 64
# results that are kept, 8 bytes per node each
_MOST_KEPT = 4
_kept: dict[tuple[bytes, float, int], np.ndarray] = {}


@dataclass(frozen=True)
class _Pool:
    """Columns of powers of Â, the node and the power of each, and how many nodes have had a column."""

    U: np.ndarray
    spare: np.ndarray
    nodes: np.ndarray
    powers: np.ndarray
    taken: int

    @property
    def settled(self) -> bool:
        return bool((self.nodes < 0).all())


def kept_local_depths(A_hat: NormalizedAdjacency, epsilon: float, limit: int) -> np.ndarray:
    """Give :func:`local_depths`, or what it gave for this graph before: other parameters leave it as it is.

    A graph is known by a hash of its arrays, so that none is kept; only the last few results are.

    Parameters
    ----------
    A_hat : NormalizedAdjacency
        In double precision.
    epsilon : float
    limit : int

    Returns
    -------
    int64 ndarray of shape (n,)
        Not to be written to.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from gssl.operators import normalized_adjacency
    >>> pair = normalized_adjacency(csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> kept_local_depths(pair, 0.2, 10) is kept_local_depths(pair, 0.2, 10)
    True
    """
    digest = blake2b(digest_size=16)
    for part in (A_hat.indptr, A_hat.indices, A_hat.weights, A_hat.scale):
        digest.update(part.tobytes())
    key = digest.digest(), float(epsilon), int(limit)
    depths = _kept.get(key)
    if depths is None:
        depths = local_depths(A_hat, epsilon, limit)
        depths.flags.writeable = False
        _kept[key] = depths
        for oldest in list(_kept)[:-_MOST_KEPT]:
            _kept.pop(oldest, None)
    return depths


def local_depths(A_hat: NormalizedAdjacency, epsilon: float, limit: int) -> np.ndarray:
    r"""Give each node's local smoothing iteration (Zhang et al., 2021, Def. 3.2).

    .. math:: k_i = \min \{k : \|(\hat A^\infty)_i - (\hat A^k)_i\|_2 < \epsilon\}, \qquad
              (\hat A^\infty)_{ij} = \sqrt{\tilde d_i \tilde d_j} \, / \sum_{v \sim i} \tilde d_v

    with the sum over the component of i, and zero between components. :math:`\hat A^\infty` is a projection
    that :math:`\hat A` leaves alone, so the squared distance is
    :math:`\|\hat A^k e_i\|^2 - (\hat A^\infty)_{ii}` and no n × n matrix is needed: a fixed number of columns
    is smoothed at a time, and a node that is done leaves its column to the next. The work grows with
    :math:`\sum_i k_i` products of the graph with a vector.

    Parameters
    ----------
    A_hat : NormalizedAdjacency
        In double precision.
    epsilon : float
    limit : int
        The largest number given.

    Returns
    -------
    int64 ndarray of shape (n,)

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from gssl.operators import normalized_adjacency
    >>> path = csr_array([[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0] * 4])
    >>> local_depths(normalized_adjacency(path), epsilon=0.2, limit=10)
    array([2, 1, 2, 0])
    """
    n = A_hat.shape[0]
    degrees = np.square(1.0 / A_hat.scale)
    component = csgraph.connected_components(A_hat.tocsr(), directed=False)[1]
    stationary = degrees / np.bincount(component, degrees)[component]
    depths = np.zeros(n, dtype=np.int64)
    waiting = np.flatnonzero(1.0 - stationary >= epsilon**2) if limit else np.empty(0, dtype=np.int64)
    filters, smooth = Filters(A_hat), Mixture(smooth=1.0)

    def step(pool: _Pool, _: int) -> _Pool:
        U = mix(filters, pool.U, smooth, out=pool.spare)
        powers = pool.powers + 1
        distances = np.einsum("ic,ic->c", U, U) - stationary[pool.nodes]
        done = (pool.nodes >= 0) & ((distances < epsilon**2) | (powers >= limit))
        depths[pool.nodes[done]] = powers[done]
        return _refill(replace(pool, U=U, spare=pool.U, powers=powers), np.flatnonzero(done), waiting)

    empty = np.zeros((n, _COLUMNS)), np.empty((n, _COLUMNS))
    pool = _Pool(*empty, np.full(_COLUMNS, -1), np.zeros(_COLUMNS, dtype=np.int64), 0)
    pool = _refill(pool, np.arange(_COLUMNS), waiting)
    if not pool.settled:
        last(iterate(step, pool, count(1)))
    return depths


def _refill(pool: _Pool, columns: np.ndarray, waiting: np.ndarray) -> _Pool:
    """Give free columns to the nodes that wait; those that stay free hold zeros."""
    fresh = waiting[pool.taken : pool.taken + len(columns)]
    nodes, powers = pool.nodes.copy(), pool.powers.copy()
    nodes[columns], powers[columns] = -1, 0
    pool.U[:, columns] = 0.0
    columns = columns[: len(fresh)]
    nodes[columns] = fresh
    pool.U[fresh, columns] = 1.0
    return replace(pool, nodes=nodes, powers=powers, taken=pool.taken + len(fresh))
