"""Propagation of PyG's layers, with an adjacency that is normalised beforehand.

``SGConv`` and ``SSGConv`` normalise the adjacency on every call (or cache their first output) and end in a
linear map; neither is timed.
"""

import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch_geometric.nn import LabelPropagation, SGConv, SSGConv

from benchmarks.rivals.torch_matrices import csr_tensor, normalized_csr


def cached_adjacency(A: csr_array) -> Tensor:
    """Return Â, which is symmetric, as the CSR tensor that PyG multiplies with."""
    return csr_tensor(normalized_csr(A))


@torch.no_grad()
def sgc(X: Tensor, adjacency: Tensor, depth: int) -> Tensor:
    """Propagate as ``SGConv`` does."""
    layer = SGConv(1, 1, K=depth)
    for _ in range(depth):
        X = layer.propagate(adjacency, x=X, edge_weight=None)
    return X


@torch.no_grad()
def ssgc(X: Tensor, adjacency: Tensor, depth: int, alpha: float) -> Tensor:
    """Propagate and average as ``SSGConv`` does."""
    layer = SSGConv(1, 1, alpha=alpha, K=depth)
    total = alpha * X
    for _ in range(depth):
        X = layer.propagate(adjacency, x=X, edge_weight=None)
        total = total + (1 - alpha) / depth * X
    return total


def spread_labels(
    edge_index: Tensor, labels: Tensor, labelled: Tensor, alpha: float, n_layers: int
) -> Tensor:
    """Run PyG's ``LabelPropagation``, which is label spreading, and return classes."""
    return LabelPropagation(n_layers, alpha)(labels, edge_index, mask=labelled).argmax(dim=1)
