"""Propagation of PyG's layers, with an adjacency that is normalised beforehand.

``SGConv`` and ``SSGConv`` normalise the adjacency on every call (or cache their first output) and end in a
linear map; neither is timed.
"""

import torch
from torch import Tensor
from torch_geometric.nn import SGConv, SSGConv


@torch.no_grad()
def sgc(X: Tensor, A_hat: Tensor, depth: int) -> Tensor:
    """Propagate as ``SGConv`` does."""
    layer = SGConv(1, 1, K=depth)
    for _ in range(depth):
        X = layer.propagate(A_hat, x=X, edge_weight=None)
    return X


@torch.no_grad()
def ssgc(X: Tensor, A_hat: Tensor, depth: int, alpha: float) -> Tensor:
    """Propagate and average as ``SSGConv`` does."""
    layer = SSGConv(1, 1, alpha=alpha, K=depth)
    total = alpha * X
    for _ in range(depth):
        X = layer.propagate(A_hat, x=X, edge_weight=None)
        total = total + (1 - alpha) / depth * X
    return total
