"""NDLS: node-dependent local smoothing (Zhang et al., 2021)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import count

import numpy as np
from scipy.sparse import csgraph, csr_array

from gssl.methods.embedder import GraphEmbedder
from gssl.methods.inputs import check_number
from gssl.methods.iteration import iterate, last
from gssl.operators import Filters, Mixture, NormalizedAdjacency, Program, Step, mix, normalized_adjacency

# columns smoothed at a time: two buffers of 512 bytes per node
_COLUMNS = 64
# number of results in the cache, 8 bytes per node each
_MOST_KEPT = 4
_kept: dict[tuple[bytes, float, int], np.ndarray] = {}


@dataclass(frozen=True)
class _Pool:
    """Columns of powers of Â, the node and power of each, and the number of nodes started so far."""

    U: np.ndarray
    spare: np.ndarray
    nodes: np.ndarray
    powers: np.ndarray
    taken: int

    @property
    def settled(self) -> bool:
        return bool((self.nodes < 0).all())


def kept_local_depths(A_hat: NormalizedAdjacency, epsilon: float, limit: int) -> np.ndarray:
    """Return :func:`local_depths` from a cache of the last few results.

    The key contains a hash of the graph's arrays, so that no graph is kept in memory.
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
    """Return each node's local smoothing iteration (Zhang et al., 2021, Def. 3.2)."""
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
    """Assign free columns to waiting nodes; columns that stay free are zero."""
    fresh = waiting[pool.taken : pool.taken + len(columns)]
    nodes, powers = pool.nodes.copy(), pool.powers.copy()
    nodes[columns], powers[columns] = -1, 0
    pool.U[:, columns] = 0.0
    columns = columns[: len(fresh)]
    nodes[columns] = fresh
    pool.U[fresh, columns] = 1.0
    return replace(pool, nodes=nodes, powers=powers, taken=pool.taken + len(fresh))


class NDLS(GraphEmbedder):
    r"""Average each node's features smoothed 0, 1, … times, up to a depth of its own.

    .. math:: U_i = \alpha X_i + (1 - \alpha) \frac1{k_i + 1} \sum_{t=0}^{k_i} (\hat A^t X)_i, \qquad
              k_i = \min \{k : \|(\hat A^\infty)_i - (\hat A^k)_i\|_2 < \epsilon\}

    A node in a dense region converges after a few steps, a node at the periphery after many. α is not in the
    paper, but in its authors' experiments. As its last step, the paper smooths predictions with the same
    filter: ``NDLS().fit_transform(model.label_distributions_, adjacency=A)``.

    The depths :math:`k_i` are exact. Computing them takes :math:`\sum_i k_i` products of the graph with a
    vector: seconds on thousands of nodes, minutes on tens of thousands, too long on millions.

    Parameters
    ----------
    depth : int, default=32
        The largest :math:`k_i`.
    epsilon : float, default=0.03
        The distance to the stationary state of its component at which a node stops.
    alpha : float, default=0.15
        The weight of the raw features.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
    n_iter_ : int
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> gssl.NDLS().fit_transform(data.features, adjacency=data.adjacency).shape
    (34, 34)
    """

    runs_on_torch = False

    def __init__(self, depth: int = 32, epsilon: float = 0.03, alpha: float = 0.15) -> None:
        self.depth = depth
        self.epsilon = epsilon
        self.alpha = alpha

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "epsilon", low=0.0, high=1e6)
        check_number(self, "alpha", low=0.0, high=1.0)

    def program(self, A: csr_array | None = None) -> Program:
        """Return the filter of a graph, on which the depths of its nodes depend."""
        if A is None:
            raise ValueError("the filter of NDLS depends on the graph: program(A).")
        return self._average(self._depths(A))

    def programs(self, A: csr_array) -> Iterator[Program]:
        depths = self._depths(A)
        for k in range(1, self.depth + 1):
            yield self._average(np.minimum(depths, k))

    def _depths(self, A: csr_array) -> np.ndarray:
        # in double precision, so that depths do not depend on the precision of the features
        return kept_local_depths(normalized_adjacency(A, np.float64), self.epsilon, self.depth)

    def _cost(self, n: int, links: int, width: int) -> int:
        # the largest cost on any graph, because computing the depths would take longer than the run
        return self._average(np.array([self.depth])).cost(n, links, width)

    def _average(self, depths: np.ndarray) -> Program:
        """Gather the features smoothed t times at the nodes whose depth is at least t."""
        if not self.depth:
            return Program(())
        weights = (1.0 - self.alpha) / (depths + 1.0)
        keep = Mixture(keep=1.0)
        last = int(depths.max(initial=0))
        steps = [
            # nothing is carried on after the last
            Step(
                Mixture(smooth=1.0 if t < last else 0.0),
                gather=keep,
                gather_weights=np.where(depths >= t, weights, 0.0),
            )
            for t in range(last + 1)
        ]
        return Program(steps, end=0.0, keep=self.alpha)

    @property
    def _hops(self) -> int | None:
        return None  # a node is compared with its whole component
