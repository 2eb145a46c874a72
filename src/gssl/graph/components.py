"""Which nodes hang together, and which a label can reach."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csgraph

from gssl.graph.cleaning import simplify


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


def reached_nodes(adjacency: Any, labelled: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Tell for each node whether its component holds a labelled node.

    Parameters
    ----------
    adjacency : sparse matrix or array-like, shape (n, n)
    labelled : array-like of bool, shape (n,), or of int
        A mask over the nodes, or the labelled nodes' indices.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> reached_nodes([[0, 0, 1], [0, 0, 0], [1, 0, 0]], labelled=[2])
    array([ True, False,  True])
    """
    component = connected_components(adjacency)
    n = component.size
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
    has_label = np.zeros(n, dtype=bool)
    has_label[component[nodes]] = True
    return has_label[component]
