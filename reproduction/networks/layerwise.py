"""Networks made of convolutions that are kept apart: N-GCN by powers, L²-GCN by layers, ACMP by time."""

from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch_geometric.nn import Linear

from gssl.methods.inputs import check_number
from reproduction.networks.graphs import (
    GraphConvolution,
    InputLinear,
    check_counts,
    check_rates,
    drop,
    graph_of,
)


class NGCN(torch.nn.Module):
    r"""GCNs on powers of the graph, side by side (Abu-El-Haija et al., 2020).

    .. math:: Z = \big\|_{k=0}^{K-1} \mathrm{softmax}\big(\hat A^k\, \mathrm{ReLU}(\hat A^k X W_k)\, V_k\big)
        \, W + b

    ``depth`` is K. The publication trains some replicas of each, and adds the loss of each to that of Z.
    """

    accepts_sparse = True
    estimator: ClassVar[dict[str, Any]] = {"weight_decay": 1e-3, "epochs": 300}

    def __init__(
        self, n_features: int, n_classes: int, *, hidden: int = 16, depth: int = 6, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.hidden, self.depth, self.dropout = hidden, depth, dropout
        check_counts(self, "hidden", "depth")
        check_rates(self, "dropout")
        self.first = torch.nn.ModuleList(InputLinear(n_features, hidden) for _ in range(depth))
        self.second = torch.nn.ModuleList(Linear(hidden, n_classes) for _ in range(depth))
        self.exit = Linear(depth * n_classes, n_classes)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        x = drop(x, self.dropout, self.training)
        A_hat = graph_of(edge_index, edge_weight, x.shape[0], self.exit.weight.dtype).A_hat
        parts = []
        for k, (first, second) in enumerate(zip(self.first, self.second, strict=True)):
            H = first(x)
            for _ in range(k):
                H = A_hat @ H
            Z = second(drop(torch.relu(H), self.dropout, self.training))
            for _ in range(k):
                Z = A_hat @ Z
            parts.append(torch.softmax(Z, dim=1))
        return self.exit(torch.cat(parts, dim=1))


class L2GCN(torch.nn.Module):
    r"""A GCN whose layers are trained one by one, each with a classifier of its own (You et al., 2020).

    .. math:: U^{(k)} = \mathrm{ReLU}(\hat A U^{(k-1)} W_k), \qquad
        \min_{W_k, V_k} \ell(U^{(k)} V_k, Y) \text{ with } U^{(k-1)} \text{ held}

    No gradient goes from a layer to the one before. The publication trains a layer to its end before the
    next; here all layers take their own steps together. Predictions are by the last classifier.
    """

    accepts_sparse = True
    estimator: ClassVar[dict[str, Any]] = {}

    def __init__(
        self, n_features: int, n_classes: int, *, hidden: int = 16, depth: int = 2, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.hidden, self.depth, self.dropout = hidden, depth, dropout
        check_counts(self, "hidden", "depth")
        check_rates(self, "dropout")
        widths = [n_features, *[hidden] * depth]
        self.convs = torch.nn.ModuleList(GraphConvolution(a, b) for a, b in pairwise(widths))
        self.heads = torch.nn.ModuleList(Linear(hidden, n_classes) for _ in range(depth))

    def scores(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> list[Tensor]:
        """Return what the classifier of each layer says."""
        found = []
        for conv, head in zip(self.convs, self.heads, strict=True):
            x = torch.relu(conv(drop(x, self.dropout, self.training), edge_index, edge_weight))
            found.append(head(x))
            x = x.detach()
        return found

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return self.scores(x, edge_index, edge_weight)[-1]

    def loss(
        self,
        x: Tensor,
        edge_index: Tensor,
        nodes: Tensor,
        codes: Tensor,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        losses = [cross_entropy(Z[nodes], codes) for Z in self.scores(x, edge_index, edge_weight)]
        return torch.stack(losses).sum()


class ACMP(torch.nn.Module):
    r"""Particles that attract and repel each other in a double well (Wang et al., 2023).

    .. math:: \frac{\partial U_i}{\partial t} = \alpha \circ \sum_{j \in N(i)} (a_{ij} - \beta)
        (U_j - U_i) + \delta \circ U_i \circ (1 - U_i \circ U_i), \qquad a = D^{-1} A

    between two linear layers, with α and δ learnt for each column, in ``depth`` steps of Euler of length
    ``step``. The publication has attention for a, solves the equation by Dormand–Prince up to a time that it
    tunes, and tunes β, too. Steps of Euler could leave the wells: so U starts from a tanh, and stays within
    [−2, 2].
    """

    accepts_sparse = True
    estimator: ClassVar[dict[str, Any]] = {"epochs": 300, "weight_decay": 5e-3}

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        hidden: int = 64,
        depth: int = 8,
        beta: float = 0.001,
        step: float = 1.0,
        dropout: float = 0.6,
    ) -> None:
        super().__init__()
        self.hidden, self.depth, self.beta, self.step, self.dropout = hidden, depth, beta, step, dropout
        check_counts(self, "hidden", "depth")
        check_rates(self, "dropout")
        for name in ("beta", "step"):
            check_number(self, name, low=0.0)
        self.entrance = InputLinear(n_features, hidden)
        self.attraction = torch.nn.Parameter(torch.full((hidden,), 2.0))
        self.well = torch.nn.Parameter(torch.zeros(hidden))
        self.exit = Linear(hidden, n_classes)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        U = torch.tanh(self.entrance(drop(x, self.dropout, self.training)))
        graph = graph_of(edge_index, edge_weight, len(U), U.dtype)
        degrees = graph.degrees.clamp(min=1e-30)
        strength = (graph.degrees > 0).to(U.dtype) - self.beta * graph.degrees
        alpha, delta = torch.sigmoid(self.attraction), torch.tanh(self.well)
        for _ in range(self.depth):
            near = graph.A @ U
            pull = near / degrees - self.beta * near - strength * U
            U = (U + self.step * (alpha * pull + delta * U * (1.0 - U * U))).clamp(-2.0, 2.0)
        return self.exit(drop(torch.relu(U), self.dropout, self.training))
