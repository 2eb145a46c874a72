"""JKNet: the last layer sees the embeddings of all layers before it (Xu et al., 2018)."""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn import JumpingKnowledge

from gssl.torch._graph import Graph
from gssl.torch._layers import Features, GraphConvolution, drop
from gssl.torch.gcn import EdgeDropping

MODES = ("cat", "max")


class JumpingNetwork(torch.nn.Module):
    """The network of JKNet: convolutions, their embeddings brought together, one more convolution."""

    def __init__(self, widths: list[int], n_classes: int, mode: str, dropout: float) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(GraphConvolution(a, b) for a, b in pairwise(widths))
        self.jump = JumpingKnowledge(mode)
        together = sum(widths[1:]) if mode == "cat" else widths[-1]
        self.exit = GraphConvolution(together, n_classes)
        self.dropout = dropout

    def forward(self, X: Features, graph: Graph) -> Tensor:
        """Give the scores of each node."""
        U: Any = X
        embeddings = []
        for layer in self.layers:
            U = torch.relu(layer(drop(U, self.dropout, self.training), graph.A_hat))
            embeddings.append(U)
        together = drop(self.jump(embeddings), self.dropout, self.training)
        return self.exit(together, graph.A_hat)  # type: ignore[no-any-return]


class JKNet(EdgeDropping):
    r"""Convolutions whose embeddings all jump to the last layer (Xu et al., 2018).

    .. math:: Z = \hat A \left[U^{(1)} \,\|\, \dots \,\|\, U^{(K-1)}\right] W_K + b_K, \qquad
        U^{(k)} = \mathrm{ReLU}(\hat A U^{(k-1)} W_k + b_k)

    Needs torch and torch-geometric (``pip install gssl[baselines]``).

    Parameters
    ----------
    hidden : int, default=32
    depth : int, default=4
        Layers K, with the last one; at least two.
    mode : {"cat", "max"}, default="cat"
        How embeddings come together: side by side, or the greatest of each column.
    dropout : float, default=0.5
    drop_edge : float in [0, 1), default=0.0
        The part of the links that each epoch does not see.
    learning_rate, weight_decay, epochs, patience, random_state, device
        See :class:`gssl.torch.GCN`, as for the attributes.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = JKNet(epochs=50, random_state=0).fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    def __init__(
        self,
        hidden: int = 32,
        depth: int = 4,
        mode: str = "cat",
        dropout: float = 0.5,
        drop_edge: float = 0.0,
        learning_rate: float = 0.01,
        weight_decay: float = 5e-4,
        epochs: int = 200,
        patience: int | None = 100,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        super().__init__(
            hidden, depth, dropout, learning_rate, weight_decay, epochs, patience, random_state, device
        )
        self.mode = mode
        self.drop_edge = drop_edge

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.mode not in MODES:
            raise ValueError(f"JKNet: mode must be one of {', '.join(MODES)}, not {self.mode!r}.")
        if self.depth < 2:
            raise ValueError("JKNet: depth must be 2 or more: there is nothing to jump over in one layer.")

    def _network(self, n_features: int, n_classes: int) -> JumpingNetwork:
        widths = [n_features, *[self.hidden] * (self.depth - 1)]
        return JumpingNetwork(widths, n_classes, self.mode, self.dropout)
