"""Networks that weigh neighbours by attention or separate weights: GAT and GraphSAGE."""

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch_geometric.nn import GATConv

from reproduction.networks.graphs import (
    Graph,
    InputLinear,
    Network,
    choice,
    count,
    drop,
    graph_of,
    rate,
    times,
)

AGGREGATORS = ("mean", "gcn", "lstm")
# neighbours that an LSTM reads; the publication uses 25 and 10
_READ = 10


class Attention(GATConv):
    """PyG's attention, extended to sparse features."""

    def __init__(self, n_in: int, n_out: int, heads: int, dropout: float, concat: bool) -> None:
        super().__init__(n_in, n_out, heads, concat=concat, dropout=dropout)
        self.lin = InputLinear(n_in, n_out * heads, bias=False, weight_initializer="glorot")


class GAT(Network):
    r"""Convolutions that weigh neighbours by attention (Veličković et al., 2018).

    .. math:: U'_i = \sum_{j \in N(i) \cup \{i\}} \alpha_{ij} U_j W, \qquad
        \alpha_{ij} \propto \exp \mathrm{LeakyReLU}(a^\top [U_i W \,\|\, U_j W])

    ``hidden`` is the width of each of the ``heads``, which are concatenated; the last layer averages
    ``out_heads``. Dropout applies to features and to attention. Weights of links are not used.
    """

    estimator: ClassVar[dict[str, Any]] = {"learning_rate": 0.005, "epochs": 300}

    hidden = count(8)
    depth = count(2)
    heads = count(8)
    out_heads = count(1)
    dropout = rate(0.6)

    def add_layers(self, n_features: int, n_classes: int) -> None:
        widths = [n_features, *[self.hidden * self.heads] * (self.depth - 1)]
        convs = [
            Attention(width, self.hidden, self.heads, self.dropout, concat=True) for width in widths[:-1]
        ]
        self.convs = torch.nn.ModuleList(
            [*convs, Attention(widths[-1], n_classes, self.out_heads, self.dropout, concat=False)]
        )

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for k, conv in enumerate(self.convs):
            x = torch.nn.functional.elu(x) if k else x
            x = conv(drop(x, self.dropout, self.training), edge_index)
        return x


class Aggregation(torch.nn.Module):
    """A layer of GraphSAGE: PyG's SAGEConv, but weights are applied first, to aggregate fewer columns."""

    def __init__(self, n_in: int, n_out: int, aggregator: str) -> None:
        super().__init__()
        self.neighbours = InputLinear(n_in, n_out)
        self.own = InputLinear(n_in, n_out, bias=False) if aggregator != "gcn" else None
        self.reader = torch.nn.LSTM(n_out, n_out, batch_first=True) if aggregator == "lstm" else None

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        V = times(x, self.neighbours.weight.t())
        graph = graph_of(edge_index, edge_weight, V.shape[0], V.dtype)
        if self.own is None:
            Z = graph.loop_mean(V)
        else:
            mean = graph.mean(V) if self.reader is None else self._read(V, graph)
            # nodes without neighbours aggregate nothing
            Z = torch.where(graph.degrees > 0, mean, 0.0) + self.own(x)
        return Z + self.neighbours.bias

    def _read(self, V: Tensor, graph: Graph) -> Tensor:
        """Return the last state of an LSTM over sampled neighbours, which are fixed in eval mode."""
        source = None if self.training else torch.Generator().manual_seed(0)
        assert self.reader is not None
        _, (last, _) = self.reader(V[sampled_neighbours(graph.scipy, _READ, source).to(V.device)])
        return last[0]


def sampled_neighbours(A: csr_array, count: int, source: torch.Generator | None) -> Tensor:
    """Draw neighbours of every node with replacement; a node without any gets arbitrary nodes."""
    pointers, indices = (torch.as_tensor(part.astype(np.int64)) for part in (A.indptr, A.indices))
    sizes = pointers.diff().unsqueeze(1)
    positions = (torch.rand(len(sizes), count, generator=source) * sizes).long() + pointers[:-1].unsqueeze(1)
    return indices[positions.clamp(max=len(indices) - 1)]


class GraphSAGE(Network):
    r"""Mix a node's own features with the mean of its neighbours' (Hamilton et al., 2017).

    .. math:: U' = D^{-1} A \, U W_1 + U W_2 + b \ \text{("mean")}, \qquad
        U' = (D + I)^{-1} (A + I) \, U W_1 + b \ \text{("gcn")}

    with ReLU between layers. These use all neighbours; "lstm" replaces the mean by an LSTM over ten sampled
    neighbours of each node in random order.
    """

    hidden = count(64)
    depth = count(2)
    aggregator = choice("mean")
    dropout = rate(0.5)

    def add_layers(self, n_features: int, n_classes: int) -> None:
        if self.aggregator not in AGGREGATORS:
            raise ValueError(
                f"GraphSAGE: aggregator must be one of {', '.join(AGGREGATORS)}, not {self.aggregator!r}."
            )
        widths = [n_features, *[self.hidden] * (self.depth - 1), n_classes]
        self.convs = torch.nn.ModuleList(Aggregation(a, b, self.aggregator) for a, b in pairwise(widths))

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        for k, conv in enumerate(self.convs):
            x = torch.relu(x) if k else x
            x = conv(drop(x, self.dropout, self.training), edge_index, edge_weight)
        return x
