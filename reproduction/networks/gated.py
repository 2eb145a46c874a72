"""Networks with gates on the messages of neighbours: GaAN and Ordered GNN."""

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.nn import Linear
from torch_geometric.utils import scatter, softmax

from reproduction.networks.graphs import InputLinear, Network, count, drop, graph_of, rate


class GatedAttention(torch.nn.Module):
    r"""A layer of GaAN: dot-product attention with a gate for each head.

    .. math:: U'_i = \Big[U_i \,\big\|\, \big\|_k\, g_i^{(k)} \sum_{j \in N(i)} w_{ij}^{(k)}\,
        \phi(U_j W_v^{(k)})\Big] W_o, \qquad
        w_{ij}^{(k)} \propto \exp \langle U_i W_q^{(k)}, U_j W_a^{(k)} \rangle, \qquad
        g_i = \sigma\Big(\Big[U_i \,\big\|\, \max_{j \in N(i)} U_j W_m \,\big\|\,
        \mathrm{mean}_{j \in N(i)} U_j\Big] W_g\Big)

    with LeakyReLU for φ.
    """

    def __init__(self, n_in: int, n_out: int, heads: int, values: int, queries: int, pooled: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = Linear(n_in, heads * queries)
        self.key = Linear(n_in, heads * queries)
        self.value = Linear(n_in, heads * values)
        self.pool = Linear(n_in, pooled)
        self.gate = Linear(2 * n_in + pooled, heads)
        self.out = Linear(n_in + heads * values, n_out)

    def forward(self, U: Tensor, edge_index: Tensor) -> Tensor:
        n, (source, target) = len(U), edge_index
        query, key, value = (part(U).view(n, self.heads, -1) for part in (self.query, self.key, self.value))
        w = softmax((query[target] * key[source]).sum(dim=2), target, num_nodes=n)
        value = torch.nn.functional.leaky_relu(value, 0.1)
        taken = scatter(w.unsqueeze(2) * value[source], target, dim_size=n)
        greatest = scatter(self.pool(U)[source], target, dim_size=n, reduce="max")
        mean = scatter(U[source], target, dim_size=n, reduce="mean")
        g = torch.sigmoid(self.gate(torch.cat([U, greatest, mean], dim=1)))
        return self.out(torch.cat([U, (g.unsqueeze(2) * taken).flatten(1)], dim=1))


class GaAN(Network):
    """Layers of gated attention after a linear layer that reduces the width (Zhang et al., 2018).

    The publication samples 25 and 10 neighbours and has 8 heads of 16 to 32 columns; here all neighbours are
    used, with smaller heads.
    """

    estimator: ClassVar[dict[str, Any]] = {"weight_decay": 0.0}

    hidden = count(64)
    depth = count(2)
    heads = count(4)
    head_width = count(8)
    dropout = rate(0.1)

    def add_layers(self, n_features: int, n_classes: int) -> None:
        self.entrance = InputLinear(n_features, self.hidden)
        self.convs = torch.nn.ModuleList(
            GatedAttention(
                self.hidden, self.hidden, self.heads, self.head_width, self.head_width, self.hidden
            )
            for _ in range(self.depth)
        )
        self.exit = Linear(self.hidden, n_classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        U = self.entrance(drop(x, self.dropout, self.training))
        for conv in self.convs:
            U = torch.nn.functional.leaky_relu(conv(drop(U, self.dropout, self.training), edge_index), 0.1)
        return self.exit(drop(U, self.dropout, self.training))


class OrderedGNN(Network):
    r"""Keep the messages of each hop in separate, ordered columns (Song et al., 2023).

    .. math:: U^{(k)} = \mathrm{norm}\big(g^{(k)} \circ U^{(k-1)} + (1 - g^{(k)}) \circ M^{(k)}\big), \qquad
        M^{(k)} = D^{-1} A U^{(k-1)}, \qquad
        g^{(k)} = g^{(k-1)} + (1 - g^{(k-1)}) \circ \hat g^{(k)}, \qquad
        \hat g^{(k)}_c = \sum_{l \ge c} \mathrm{softmax}([U^{(k-1)} \,\|\, M^{(k)}] W + b)_l

    with :math:`g^{(0)} = 0`, :math:`U^{(0)} = \mathrm{norm}(\mathrm{ReLU}(X W_0 + b_0))` and layer
    normalisation for norm; ``layer_dropout`` is applied to the input of each layer. A gate is shared by
    ``chunk`` columns, and W by all layers. The authors tune whether there is a second input layer and
    whether W is shared; their networks have 256 columns and many more training labels.
    """

    estimator: ClassVar[dict[str, Any]] = {"epochs": 300, "learning_rate": 2e-3, "weight_decay": 5e-3}

    hidden = count(64)
    depth = count(8)
    chunk = count(4)
    dropout = rate(0.5)
    layer_dropout = rate(0.3)

    def add_layers(self, n_features: int, n_classes: int) -> None:
        if self.hidden % self.chunk:
            raise ValueError(
                f"OrderedGNN: hidden must be a multiple of chunk, not {self.hidden} of {self.chunk}."
            )
        self.entrance = InputLinear(n_features, self.hidden)
        self.gate = Linear(2 * self.hidden, self.hidden // self.chunk)
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(self.hidden) for _ in range(self.depth + 1))
        self.exit = Linear(self.hidden, n_classes)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        first, *others = self.norms
        U = first(torch.relu(self.entrance(drop(x, self.dropout, self.training))))
        graph = graph_of(edge_index, edge_weight, len(U), U.dtype)
        g = U.new_zeros(len(U), self.hidden // self.chunk)
        for norm in others:
            U = drop(U, self.layer_dropout, self.training)
            M = graph.mean(U)
            rising = torch.softmax(self.gate(torch.cat([U, M], dim=1)), dim=1).flip(1).cumsum(1).flip(1)
            g = g + (1.0 - g) * rising
            wide = g.repeat_interleave(self.chunk, dim=1)
            U = norm(wide * U + (1.0 - wide) * M)
        return self.exit(drop(U, self.dropout, self.training))
