"""Which nodes hang together, and which a label can reach."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csgraph, csr_array

from gssl.graph.cleaning import is_declared, simplify
from gssl.graph.pages import forget_pages

# links that are followed at a time
_LINKS = 1 << 22


def connected_components(adjacency: Any) -> npt.NDArray[np.int64]:
    """Number the connected components, directions ignored, and return each node's.

    Parameters
    ----------
    adjacency : sparse matrix or array-like, shape (n, n)

    Returns
    -------
    ndarray of int64, shape (n,)
        Components are numbered in the order of their lowest node.

    Examples
    --------
    >>> connected_components([[0, 0, 1], [0, 0, 0], [1, 0, 0]])
    array([0, 1, 0])
    """
    simple, *_ = simplify(adjacency)
    _, component = csgraph.connected_components(simple, directed=False)
    return np.asarray(component, dtype=np.int64)


def reached_nodes(adjacency: Any, labelled: npt.ArrayLike, *, checked: bool = False) -> npt.NDArray[np.bool_]:
    """Tell for each node whether its component holds a labelled node.

    Parameters
    ----------
    adjacency : sparse matrix or array-like, shape (n, n)
    labelled : array-like of bool, shape (n,), or of int
        A mask over the nodes, or the labelled nodes' indices.
    checked : bool, default=False
        That :func:`gssl.graph.check_adjacency` gave this adjacency: every link is there in both directions
        then, so nothing of the size of the graph is copied to look for them.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> reached_nodes([[0, 0, 1], [0, 0, 0], [1, 0, 0]], labelled=[2])
    array([ True, False,  True])
    """
    n = np.shape(adjacency)[0]
    nodes = np.asarray(labelled)
    if nodes.dtype == bool:
        if nodes.shape != (n,):
            raise ValueError(
                f"the mask of labelled nodes has shape {nodes.shape}, not ({n},): one value per node."
            )
        nodes = np.flatnonzero(nodes)
    if nodes.size and nodes.dtype.kind not in "iu":
        raise TypeError(f"labelled nodes have dtype {nodes.dtype}: give a mask, or indices as whole numbers.")
    nodes = nodes.astype(np.int64, copy=False)
    outside = nodes[(nodes < 0) | (nodes >= n)]
    if outside.size:
        raise ValueError(f"labelled node {outside[0]} is outside 0 … {n - 1}: give indices of nodes.")
    if is_declared(adjacency) or (checked and adjacency.nnz > np.iinfo(np.int32).max):
        return _spread(adjacency, nodes)
    component = _mutual_components(adjacency) if checked else connected_components(adjacency)
    has_label = np.zeros(n, dtype=bool)
    has_label[component[nodes]] = True
    return has_label[component]


def _mutual_components(A: csr_array) -> npt.NDArray[np.int32]:
    """Number the components of a graph that has every link in both directions.

    They are the strong components, which SciPy finds without the transpose that it makes for weak ones. It
    looks at no weights, but wants them in double precision: one number stands for all.
    """
    pattern = csr_array(A.shape)
    pattern.indptr, pattern.indices = (a.astype(np.int32, copy=False) for a in (A.indptr, A.indices))
    pattern.data = np.broadcast_to(np.float64(1.0), len(A.indices))
    _, component = csgraph.connected_components(pattern, directed=True, connection="strong")
    return np.asarray(component)


def _spread(A: csr_array, nodes: np.ndarray) -> npt.NDArray[np.bool_]:
    """Follow links from some nodes, ring by ring: unlike SciPy's search, without the transpose of A."""
    seen = np.zeros(A.shape[0], dtype=bool)
    seen[nodes] = True
    ring = np.flatnonzero(seen)
    while len(ring):
        found = []
        lengths = A.indptr[ring + 1] - A.indptr[ring]
        ends = np.cumsum(lengths)
        cuts = np.unique(np.searchsorted(ends, np.arange(0, ends[-1] + _LINKS, _LINKS)))
        for start, stop in zip(cuts, [*cuts[1:], len(ring)], strict=True):
            if start == stop:
                continue
            counts = lengths[start:stop]
            # places of the links of these rows, one row behind the other
            offsets = np.repeat(A.indptr[ring[start:stop]] - (np.cumsum(counts) - counts), counts)
            near = A.indices[offsets + np.arange(counts.sum())]
            new = np.unique(near[~seen[near]])
            seen[new] = True
            found.append(new)
            forget_pages(A.indices)
        ring = np.concatenate([np.empty(0, np.int64), *found])
    return seen
