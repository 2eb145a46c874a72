"""GraphSAGE: a node's own weights and those of its neighbours' mean (Hamilton et al., 2017)."""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from gssl.torch._classifier import DeepClassifier
from gssl.torch._graph import Graph
from gssl.torch._layers import Features, InputLinear, drop

AGGREGATORS = ("mean", "gcn")


class Aggregation(torch.nn.Module):
    """A layer of GraphSAGE; what PyG's SAGEConv gives, but weights come first, for they make columns few."""

    def __init__(self, n_in: int, n_out: int, aggregator: str) -> None:
        super().__init__()
        self.neighbours = InputLinear(n_in, n_out)
        self.own = InputLinear(n_in, n_out, bias=False) if aggregator == "mean" else None

    def forward(self, U: Features, graph: Graph) -> Tensor:
        """Give what each node takes from its neighbours and itself."""
        V = U @ self.neighbours.weight.t()
        Z = graph.mean_with_loops @ V if self.own is None else graph.mean @ V + self.own(U)
        return Z + self.neighbours.bias  # type: ignore[no-any-return]


class AggregationNetwork(torch.nn.Module):
    """The network of GraphSAGE."""

    def __init__(self, widths: list[int], aggregator: str, dropout: float) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(Aggregation(a, b, aggregator) for a, b in pairwise(widths))
        self.dropout = dropout

    def forward(self, X: Features, graph: Graph) -> Tensor:
        """Give the scores of each node."""
        U: Any = X
        for k, layer in enumerate(self.layers):
            U = torch.relu(U) if k else U
            U = layer(drop(U, self.dropout, self.training), graph)
        return U  # type: ignore[no-any-return]


class GraphSAGE(DeepClassifier):
    r"""Mix a node's own features with the mean of its neighbours' (Hamilton et al., 2017).

    .. math:: U' = D^{-1} A \, U W_1 + U W_2 + b \ \text{("mean")}, \qquad
        U' = (D + I)^{-1} (A + I) \, U W_1 + b \ \text{("gcn")}

    with ReLU between layers. All neighbours are read, none are sampled. Needs torch and torch-geometric
    (``pip install gssl[baselines]``).

    Parameters
    ----------
    hidden : int, default=64
    depth : int, default=2
        Layers.
    aggregator : {"mean", "gcn"}, default="mean"
    dropout : float, default=0.5
    learning_rate, weight_decay, epochs, patience, random_state, device
        See :class:`gssl.torch.GCN`, as for the attributes.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = GraphSAGE(aggregator="gcn", epochs=50, random_state=0)
    >>> model = model.fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    def __init__(
        self,
        hidden: int = 64,
        depth: int = 2,
        aggregator: str = "mean",
        dropout: float = 0.5,
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
        self.aggregator = aggregator

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.aggregator not in AGGREGATORS:
            raise ValueError(
                f"GraphSAGE: aggregator must be one of {', '.join(AGGREGATORS)}, not {self.aggregator!r}."
            )

    def _network(self, n_features: int, n_classes: int) -> AggregationNetwork:
        widths = [n_features, *[self.hidden] * (self.depth - 1), n_classes]
        return AggregationNetwork(widths, self.aggregator, self.dropout)
