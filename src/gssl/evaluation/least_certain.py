"""Which nodes to label next."""

from typing import Any

import numpy as np

from gssl.graph import clean_adjacency


def least_certain(distributions: Any, given: Any, adjacency: Any, n: int = 20) -> np.ndarray:
    """Pick the unlabelled nodes whose two best classes are closest, no two of them linked.

    Nodes without a neighbour are left out: their label would help no other node.

    Parameters
    ----------
    distributions : array-like of shape (n_nodes, c)
    given : bool mask of shape (n_nodes,)
        Nodes that have a label already.
    adjacency : sparse matrix or array-like of shape (n_nodes, n_nodes)
    n : int, default=20
        At most so many.

    Returns
    -------
    int ndarray
        The least certain first; of equal ones, the one with more neighbours.

    Examples
    --------
    >>> P = [[0.5, 0.5], [0.6, 0.4], [0.9, 0.1], [0.5, 0.5]]
    >>> A = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    >>> least_certain(P, [False] * 4, A)
    array([0, 2])
    """
    A, _ = clean_adjacency(adjacency)
    two_best = np.sort(np.asarray(distributions, dtype=np.float64), axis=1)[:, -2:]
    margin = two_best[:, -1] - two_best[:, 0]
    degree = np.diff(A.indptr)
    open_nodes = ~np.asarray(given, dtype=bool) & (degree > 0)
    order = np.lexsort((-degree, margin))
    chosen: list[int] = []
    for node in order[open_nodes[order]]:
        if len(chosen) == n:
            break
        if open_nodes[node]:
            chosen.append(int(node))
            open_nodes[A.indices[A.indptr[node] : A.indptr[node + 1]]] = False
    return np.array(chosen, dtype=np.int64)
