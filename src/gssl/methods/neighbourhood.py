"""What the prediction of a node depends on: the features of its component, and the links within some hops."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.graph import k_hop_subgraph, reached_nodes
from gssl.graph.mapped import nonzero_rows
from gssl.operators import NormalizedAdjacency, normalized_adjacency

# the nodes of a prediction: indices, or all of them
Nodes = np.ndarray | slice
EVERY = slice(None)


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """A graph, or the part of it that the predictions of some nodes depend on."""

    # features of the part, and its normalised adjacency, with the degrees of the whole graph
    X: Any
    A_hat: NormalizedAdjacency
    # the nodes of the part in the whole graph, and the positions of the predicted ones among them
    nodes: np.ndarray
    positions: Nodes
    # whether a feature is in the component of each predicted node
    informed: np.ndarray


def neighbourhood(X: Any, A: csr_array, nodes: Nodes, hops: int | None) -> Neighbourhood:
    """Cut out the subgraph within some hops of the nodes, if it has less than half of the links.

    ``hops`` is None if predictions may depend on any node.
    """
    part = None
    if hops is not None and not isinstance(nodes, slice) and len(nodes):
        part = k_hop_subgraph(A, nodes, hops, max_links=A.nnz // 2)
    if part is None:
        A_hat = normalized_adjacency(A, X.dtype)
        return Neighbourhood(X, A_hat, np.arange(X.shape[0]), nodes, featured_nodes(A, X)[nodes])
    rows = X[part.nodes]
    # not symmetric: links from the outermost nodes of the subgraph are missing
    informed = featured_nodes(part.links, rows, checked=False)[part.positions]
    if not informed.all():
        # the component may have features outside the subgraph
        informed = featured_nodes(A, X)[nodes]
    A_hat = normalized_adjacency(part.links, X.dtype, part.degrees)
    return Neighbourhood(rows, A_hat, part.nodes, part.positions, informed)


def featured_nodes(A: csr_array, X: Any, *, checked: bool = True) -> np.ndarray:
    """Return a mask of the nodes whose component has a nonzero feature.

    ``checked`` says that A stores every link in both directions: see :func:`gssl.graph.reached_nodes`.
    """
    nonzero = nonzero_rows(X)
    return nonzero if nonzero.all() else reached_nodes(A, nonzero, checked=checked)
