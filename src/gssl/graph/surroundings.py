"""What lies around a few nodes: all that a filter of a few hops can see from them."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from gssl.graph.structure import row_pointers


@dataclass(frozen=True)
class Surroundings:
    """The part of a graph within some hops of some nodes.

    Attributes
    ----------
    nodes : int ndarray of shape (m,)
        The nodes of the part, sorted.
    places : int ndarray of shape (k,)
        Where among them the nodes are that they surround.
    links : csr_array of shape (m, m)
        Their links, in the order of ``nodes``. The rows of the farthest nodes are empty: what those receive
        comes too late to be passed on.
    degrees : float64 ndarray of shape (m,)
        The sums of their rows in the whole graph.
    """

    nodes: np.ndarray
    places: np.ndarray
    links: csr_array
    degrees: np.ndarray


def surroundings(
    adjacency: csr_array, nodes: np.ndarray, hops: int, max_links: int | None = None
) -> Surroundings | None:
    r"""Cut out what a filter of some hops sees from some nodes.

    Row i of :math:`\hat A^K U` reads rows of U within K hops of i and the links of nodes within K − 1, so on
    the part, with the degrees of the whole, it comes out the same.

    Parameters
    ----------
    adjacency : csr_array of shape (n, n)
        Symmetric, sorted, without duplicates (see :func:`gssl.graph.check_adjacency`).
    nodes : int ndarray of shape (k,)
        In any order, repetitions allowed.
    hops : int
    max_links : int, optional
        Give up beyond so many links, when the whole graph would be as cheap.

    Returns
    -------
    Surroundings or None
        None where there would be more than ``max_links``.

    Examples
    --------
    >>> path = csr_array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    >>> part = surroundings(path, np.array([0]), hops=1)
    >>> part.nodes, part.degrees
    (array([0, 1]), array([1., 2.]))
    >>> part.links.toarray()
    array([[0, 1],
           [0, 0]])
    """
    within = _rings(adjacency, nodes, hops, max_links)
    if within is None:
        return None
    inner, near = within
    m = len(near)
    place = np.empty(adjacency.shape[0], dtype=np.int32)
    place[near] = np.arange(m, dtype=np.int32)
    rows = adjacency[inner]
    counts = np.zeros(m, dtype=np.int64)
    counts[place[inner]] = np.diff(rows.indptr)
    # both numberings ascend, so every row keeps its order and sums their rounding
    links = csr_array((rows.data, place[rows.indices], row_pointers(counts)), shape=(m, m))
    degrees = adjacency[near].sum(axis=1, dtype=np.float64)
    return Surroundings(near, place[nodes], links, degrees)


def ball(adjacency: csr_array, nodes: np.ndarray, hops: int) -> np.ndarray:
    """Give the nodes within some hops of some nodes, sorted.

    Parameters
    ----------
    adjacency : csr_array of shape (n, n)
    nodes : int ndarray of shape (k,)
    hops : int

    Returns
    -------
    int ndarray of shape (m,)

    Examples
    --------
    >>> path = csr_array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    >>> ball(path, np.array([0]), hops=2)
    array([0, 1, 2])
    """
    within = _rings(adjacency, nodes, hops, None)
    assert within is not None  # nothing is too many
    return within[1]


def _rings(
    adjacency: csr_array, nodes: np.ndarray, hops: int, max_links: int | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Give the nodes within ``hops`` − 1 and within ``hops``, ring by ring; None for too many links."""
    seen = np.zeros(adjacency.shape[0], dtype=bool)
    seen[nodes] = True
    ring = np.flatnonzero(seen)
    inner: list[np.ndarray] = []
    n_links = 0
    for _ in range(hops):
        rows = adjacency[ring]
        n_links += rows.nnz
        if max_links is not None and n_links > max_links:
            return None
        inner.append(ring)
        ring = np.unique(rows.indices[~seen[rows.indices]])
        seen[ring] = True
        if not len(ring):
            break
    none = np.empty(0, dtype=np.int64)
    return np.sort(np.concatenate([none, *inner])), np.flatnonzero(seen)
