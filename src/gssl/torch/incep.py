"""Incep: branches of convolutions of all depths, side by side (Rong et al., 2020)."""

from typing import Any

import torch
from torch import Tensor

from gssl.torch._graph import Graph
from gssl.torch._layers import Features, GraphConvolution, drop
from gssl.torch.gcn import EdgeDropping


class InceptionNetwork(torch.nn.Module):
    """The network of Incep: a convolution in, branches of 0, 1, … convolutions, a convolution out."""

    def __init__(self, widths: tuple[int, int, int], branches: int, dropout: float) -> None:
        super().__init__()
        n_in, hidden, n_out = widths
        self.entrance = GraphConvolution(n_in, hidden)
        self.branches = torch.nn.ModuleList(
            torch.nn.ModuleList(GraphConvolution(hidden, hidden) for _ in range(length))
            for length in range(1, branches + 1)
        )
        self.exit = GraphConvolution(hidden * (branches + 1), n_out)
        self.dropout = dropout

    def forward(self, X: Features, graph: Graph) -> Tensor:
        """Give the scores of each node."""
        start = torch.relu(self.entrance(drop(X, self.dropout, self.training), graph.A_hat))
        ends = [start]
        for branch in self.branches:
            U = start
            for layer in branch:  # type: ignore[attr-defined]
                U = torch.relu(layer(drop(U, self.dropout, self.training), graph.A_hat))
            ends.append(U)
        together = drop(torch.cat(ends, dim=1), self.dropout, self.training)
        return self.exit(together, graph.A_hat)  # type: ignore[no-any-return]


class Incep(EdgeDropping):
    r"""Branches of convolutions of all depths, side by side: an inception GCN (Rong et al., 2020).

    .. math:: Z = \hat A \left[U \,\|\, f_1(U) \,\|\, \dots \,\|\, f_{K-2}(U)\right] W + b, \qquad
        U = \mathrm{ReLU}(\hat A X W_0 + b_0)

    with :math:`f_j` a branch of j convolutions of its own: a network of K layers has about K²/2 of them.
    Needs torch and torch-geometric (``pip install gssl[baselines]``).

    Parameters
    ----------
    hidden : int, default=32
    depth : int, default=4
        Layers K on the longest way, with the first and the last; at least two.
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
    >>> model = Incep(depth=3, dropout=0.2, epochs=50, random_state=0)
    >>> model = model.fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.8
    True
    """

    def __init__(
        self,
        hidden: int = 32,
        depth: int = 4,
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
        self.drop_edge = drop_edge

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.depth < 2:
            raise ValueError("Incep: depth must be 2 or more: the first and the last layer are two.")

    def _network(self, n_features: int, n_classes: int) -> InceptionNetwork:
        return InceptionNetwork((n_features, self.hidden, n_classes), self.depth - 2, self.dropout)
