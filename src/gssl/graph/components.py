"""Connected components, nodes reachable from labels, and k-hop subgraphs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csgraph, csr_array

from gssl.graph.mapped import release_pages
from gssl.graph.simplify import is_declared, simplify
from gssl.graph.validate import row_pointers

# links followed at a time
_LINKS = 1 << 22


def connected_components(adjacency: Any) -> npt.NDArray[np.int64]:
    """Return the index of each node's connected component, ignoring edge directions.

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
    if is_declared(adjacency):
        component = _mutual_components(simple)
    else:
        _, component = csgraph.connected_components(simple, directed=False)
    # numbered by the search: renumber by the lowest node
    _, first, numbers = np.unique(component, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[numbers], dtype=np.int64)


def reached_nodes(adjacency: Any, labelled: npt.ArrayLike, *, checked: bool = False) -> npt.NDArray[np.bool_]:
    """Return a mask of the nodes whose component holds a labelled node.

    Parameters
    ----------
    adjacency : sparse matrix or array-like, shape (n, n)
    labelled : array-like of bool, shape (n,), or of int
        A mask over the nodes, or the indices of the labelled nodes.
    checked : bool, default=False
        Whether the adjacency comes from :func:`gssl.graph.check_adjacency`. Every link is then stored in both
        directions, and the graph is not copied.

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
    reached = np.zeros(n, dtype=bool)
    if is_declared(adjacency) or (checked and adjacency.nnz > np.iinfo(np.int32).max):
        # unlike SciPy's search, this needs no transpose
        for ring in rings_around(adjacency, nodes):
            reached[ring] = True
        return reached
    component = _mutual_components(adjacency) if checked else connected_components(adjacency)
    reached[component[nodes]] = True
    return reached[component]


@dataclass(frozen=True)
class Subgraph:
    """The subgraph within a number of hops of given nodes.

    Attributes
    ----------
    nodes : int ndarray of shape (m,)
        The nodes of the subgraph, sorted.
    positions : int ndarray of shape (k,)
        Positions in ``nodes`` of the given nodes.
    links : csr_array of shape (m, m)
        Adjacency of the subgraph, in the order of ``nodes``. Rows of the outermost nodes are empty, because a
        filter of that many hops does not read them.
    degrees : float64 ndarray of shape (m,)
        Row sums in the whole graph.
    """

    nodes: np.ndarray
    positions: np.ndarray
    links: csr_array
    degrees: np.ndarray


def k_hop_subgraph(
    adjacency: csr_array, nodes: np.ndarray, hops: int, max_links: int | None = None
) -> Subgraph | None:
    r"""Return the subgraph that a K-hop filter reads to compute the rows of given nodes.

    Row i of :math:`\hat A^K U` reads rows of U within K hops of i and the links of nodes within K − 1, so
    computing on the subgraph, with the degrees of the whole graph, gives the same rows.

    Parameters
    ----------
    adjacency : csr_array of shape (n, n)
        Symmetric, sorted, without duplicates (see :func:`gssl.graph.check_adjacency`).
    nodes : int ndarray of shape (k,)
        In any order, repetitions allowed.
    hops : int
        The number of hops K.
    max_links : int, optional
        Return None if more links would be read, since the whole graph is then as cheap.

    Examples
    --------
    >>> path = csr_array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    >>> part = k_hop_subgraph(path, np.array([0]), hops=1)
    >>> part.nodes, part.degrees
    (array([0, 1]), array([1., 2.]))
    >>> part.links.toarray()
    array([[0, 1],
           [0, 0]])
    """
    none = np.empty(0, dtype=np.int64)
    near, inner, n_links = [none], [none], 0
    for hop, ring in enumerate(rings_around(adjacency, nodes)):
        near.append(ring)
        if hop == hops:
            break
        inner.append(ring)
        n_links += int((adjacency.indptr[ring + 1] - adjacency.indptr[ring]).sum())
        if max_links is not None and n_links > max_links:
            return None
    part, linked = np.sort(np.concatenate(near)), np.sort(np.concatenate(inner))
    m = len(part)
    position = np.empty(adjacency.shape[0], dtype=np.int32)
    position[part] = np.arange(m, dtype=np.int32)
    rows = adjacency[linked]
    counts = np.zeros(m, dtype=np.int64)
    counts[position[linked]] = np.diff(rows.indptr)
    # both numberings ascend, so each row keeps its order and its sums round the same way
    links = csr_array((rows.data, position[rows.indices], row_pointers(counts)), shape=(m, m))
    return Subgraph(part, position[nodes], links, adjacency[part].sum(axis=1, dtype=np.float64))


def _mutual_components(A: csr_array) -> npt.NDArray[np.int32]:
    """Number the components of a graph that stores every link in both directions."""
    # these are the strong components, which SciPy finds without the transpose it builds for weak ones
    pattern = csr_array(A.shape)
    pattern.indptr, pattern.indices = (a.astype(np.int32, copy=False) for a in (A.indptr, A.indices))
    # SciPy ignores the weights but requires float64, so broadcast a single number
    pattern.data = np.broadcast_to(np.float64(1.0), len(A.indices))
    _, component = csgraph.connected_components(pattern, directed=True, connection="strong")
    return np.asarray(component)


def rings_around(A: csr_array, nodes: np.ndarray, links_at_once: int = _LINKS) -> Iterator[np.ndarray]:
    """Yield the given nodes, then the new nodes of each further hop, until there are none."""
    seen = np.zeros(A.shape[0], dtype=bool)
    seen[nodes] = True
    ring = np.flatnonzero(seen)
    while len(ring):
        yield ring
        new_nodes = [np.empty(0, np.int64)]
        lengths = A.indptr[ring + 1] - A.indptr[ring]
        ends = np.cumsum(lengths)
        cuts = np.unique(np.searchsorted(ends, np.arange(0, ends[-1] + links_at_once, links_at_once)))
        for start, stop in zip(cuts, [*cuts[1:], len(ring)], strict=True):
            counts = lengths[start:stop]
            # positions of the links of these rows, one row after the other
            offsets = np.repeat(A.indptr[ring[start:stop]] - (np.cumsum(counts) - counts), counts)
            near = A.indices[offsets + np.arange(counts.sum())]
            new = np.unique(near[~seen[near]])
            seen[new] = True
            new_nodes.append(new)
            release_pages(A.indices)
        ring = np.concatenate(new_nodes)
