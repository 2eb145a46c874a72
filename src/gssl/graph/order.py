"""Numbering nodes so that neighbours lie near each other in memory."""

from typing import Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee


def node_order(adjacency: csr_array, kind: Literal["degree", "rcm"] = "rcm") -> np.ndarray:
    """Give a permutation of the nodes that may make passes over the graph gentler on the caches.

    No method reorders by itself: a hop gains about a tenth on a small synthetic graph (the row ``order`` of
    the benchmarks), and the order has its own cost. For an order ``p``, use ``A[p][:, p]`` and ``X[p]``.

    Parameters
    ----------
    adjacency : csr_array, shape (n, n)
    kind : {"degree", "rcm"}, default="rcm"
        Hubs first, so that the rows read most often share cache lines; or reverse Cuthill–McKee, which keeps
        neighbours close.

    Returns
    -------
    int ndarray, shape (n,)

    Examples
    --------
    >>> star = csr_array([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    >>> node_order(star, "degree")
    array([2, 0, 1])
    """
    if kind == "degree":
        return np.argsort(-np.diff(adjacency.indptr), kind="stable")
    if kind == "rcm":
        return np.asarray(reverse_cuthill_mckee(adjacency, symmetric_mode=True)).astype(np.int64)
    raise ValueError(f'kind must be "degree" or "rcm", not {kind!r}.')
