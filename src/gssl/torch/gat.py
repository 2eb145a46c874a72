"""GAT: convolutions that weigh neighbours by attention (Veličković et al., 2018)."""

from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn import GATConv

from gssl.methods.inputs import check_number
from gssl.torch._classifier import DeepClassifier
from gssl.torch._graph import Graph
from gssl.torch._layers import Features, InputLinear, drop


class Attention(torch.nn.Module):
    """PyG's attention on a linear layer of its own, which also takes sparse features."""

    def __init__(self, n_in: int, n_out: int, heads: int, dropout: float, concat: bool) -> None:
        super().__init__()
        self.linear = InputLinear(n_in, n_out * heads, bias=False, weight_initializer="glorot")
        self.attention = GATConv(n_out * heads, n_out, heads, concat=concat, dropout=dropout)
        # features come to it through the layer above
        self.attention.lin = torch.nn.Identity()

    def forward(self, U: Features, graph: Graph) -> Tensor:
        """Give what each node takes from its neighbours and itself."""
        return self.attention(self.linear(U), graph.links)  # type: ignore[no-any-return]


class AttentionNetwork(torch.nn.Module):
    """The network of GAT: heads side by side, in the last layer their mean."""

    def __init__(self, widths: list[int], heads: tuple[int, int], dropout: float) -> None:
        super().__init__()
        n_in, *hidden, n_out = widths
        layers = []
        for width in hidden:
            layers.append(Attention(n_in, width, heads[0], dropout, concat=True))
            n_in = width * heads[0]
        layers.append(Attention(n_in, n_out, heads[1], dropout, concat=False))
        self.layers = torch.nn.ModuleList(layers)
        self.dropout = dropout

    def forward(self, X: Features, graph: Graph) -> Tensor:
        """Give the scores of each node."""
        U: Any = X
        for k, layer in enumerate(self.layers):
            U = torch.nn.functional.elu(U) if k else U
            U = layer(drop(U, self.dropout, self.training), graph)
        return U  # type: ignore[no-any-return]


class GAT(DeepClassifier):
    r"""Convolutions that weigh neighbours by attention (Veličković et al., 2018).

    .. math:: U'_i = \sum_{j \in N(i) \cup \{i\}} \alpha_{ij} U_j W, \qquad
        \alpha_{ij} \propto \exp \mathrm{LeakyReLU}(a^\top [U_i W \,\|\, U_j W])

    Weights of links are not used. Needs torch and torch-geometric (``pip install gssl[baselines]``).

    Parameters
    ----------
    hidden : int, default=8
        Width of each head.
    depth : int, default=2
        Layers.
    heads : int, default=8
        Of the hidden layers.
    out_heads : int, default=1
        Of the last layer.
    dropout : float, default=0.6
        Of features and of attention.
    learning_rate, weight_decay, epochs, patience, random_state, device
        See :class:`gssl.torch.GCN`, as for the attributes.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = GAT(epochs=50, random_state=0).fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    def __init__(
        self,
        hidden: int = 8,
        depth: int = 2,
        heads: int = 8,
        out_heads: int = 1,
        dropout: float = 0.6,
        learning_rate: float = 0.005,
        weight_decay: float = 5e-4,
        epochs: int = 300,
        patience: int | None = 100,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        super().__init__(
            hidden, depth, dropout, learning_rate, weight_decay, epochs, patience, random_state, device
        )
        self.heads = heads
        self.out_heads = out_heads

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("heads", "out_heads"):
            check_number(self, name, low=1, whole=True)

    def _network(self, n_features: int, n_classes: int) -> AttentionNetwork:
        widths = [n_features, *[self.hidden] * (self.depth - 1), n_classes]
        return AttentionNetwork(widths, (self.heads, self.out_heads), self.dropout)

    def _columns(self, X: Any, A: Any, n_labelled: int, n_classes: int) -> int:
        return int(super()._columns(X, A, n_labelled, n_classes) * self.heads)
