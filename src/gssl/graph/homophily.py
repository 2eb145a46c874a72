"""How often linked nodes share a label."""

from typing import Any

import numpy as np
import numpy.typing as npt

from gssl.graph.cleaning import clean_adjacency


def edge_homophily(adjacency: Any, labels: npt.ArrayLike) -> float:
    """Return the fraction of edges whose two ends carry the same label.

    Parameters
    ----------
    adjacency : sparse matrix or array-like, shape (n, n)
        Weights do not count.
    labels : array-like, shape (n,)
        Edges with an unknown end (−1) are left out.

    Returns
    -------
    float

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
    # each edge is stored in both directions, which leaves the fraction as it is
    counted = known[edges.row] & known[edges.col]
    if not counted.any():
        raise ValueError("no edge has two labelled ends, so homophily is undefined: give more labels.")
    return float(np.mean(classes[edges.row[counted]] == classes[edges.col[counted]]))
