"""Facts about a graph and its labels: edge homophily."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gssl.graph.simplify import clean_adjacency


def edge_homophily(adjacency: Any, labels: npt.ArrayLike) -> float:
    """Return the fraction of edges whose two ends carry the same label.

    Parameters
    ----------
    adjacency : sparse matrix or array-like, shape (n, n)
        Weights are ignored.
    labels : array-like, shape (n,)
        Edges with an unlabelled end (−1) are ignored.

    Examples
    --------
    >>> edge_homophily([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]], [7, 7, 8, -1])
    0.5
    """
    edges = clean_adjacency(adjacency)[0].tocoo()
    classes = np.asarray(labels)
    n = edges.shape[0]
    if classes.shape != (n,):
        raise ValueError(f"labels have shape {classes.shape}, not ({n},): one label per node.")
    known = classes != -1
    # each edge is counted in both directions, which does not change the fraction
    counted = known[edges.row] & known[edges.col]
    if not counted.any():
        raise ValueError("no edge has two labelled ends, so homophily is undefined: give more labels.")
    return float(np.mean(classes[edges.row[counted]] == classes[edges.col[counted]]))


def closure(adjacency: csr_array, nodes: np.ndarray) -> float:
    r"""Return how often neighbours of a node are linked, relative to a random graph with the same degrees.

    .. math:: \frac{\sum_u (A^2 \circ A)_{u \cdot} 1}{\sum_u k_u (k_u - 1)}
              \Big/ \frac{(\overline{k^2} - \bar k)^2}{n \bar k^3}

    About 1 in a graph without structure, more in one of communities, less in one of hubs.

    Parameters
    ----------
    adjacency : csr_array, shape (n, n)
        Symmetric, without self-loops; weights are ignored.
    nodes : int ndarray
        The nodes u, a sample of all.

    Examples
    --------
    >>> triangle_and_tail = csr_array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]])
    >>> round(closure(triangle_and_tail, np.arange(4)), 2)
    3.07
    """
    links = csr_array((np.ones(adjacency.nnz), adjacency.indices, adjacency.indptr), shape=adjacency.shape)
    rows = links[nodes]
    degrees = np.diff(rows.indptr).astype(np.float64)
    pairs = float(degrees @ (degrees - 1.0))
    every = np.diff(adjacency.indptr).astype(np.float64)
    mean = every.mean()
    random = (np.square(every).mean() - mean) ** 2 / (len(every) * mean**3) if mean else 0.0
    if not pairs or not random:
        return 0.0
    return float((rows @ links).multiply(rows).sum() / (pairs * random))
