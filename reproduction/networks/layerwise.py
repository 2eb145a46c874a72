"""Networks with separate convolutions: N-GCN by powers, L²-GCN by layers, ACMP by time steps."""

from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch_geometric.nn import Linear

from gssl.torch.links import row_numbers
from reproduction.networks.graphs import (
    GraphConvolution,
    InputLinear,
    Network,
    count,
    drop,
    graph_of,
    is_sparse,
    number,
    rate,
    with_values,
)


class NGCN(Network):
    r"""Parallel GCNs on powers of the graph (Abu-El-Haija et al., 2020).

    .. math:: Z = \big\|_{k=0}^{K-1} \mathrm{softmax}\big(\hat A^k\, \mathrm{ReLU}(\hat A^k X W_k)\, V_k\big)
        \, W + b

    ``depth`` is K. The publication trains several replicas of each GCN and adds their losses to that of Z.
    """

    estimator: ClassVar[dict[str, Any]] = {"weight_decay": 1e-3, "epochs": 300}

    hidden = count(16)
    depth = count(6)
    dropout = rate(0.5)

    def add_layers(self, n_features: int, n_classes: int) -> None:
        self.first = torch.nn.ModuleList(InputLinear(n_features, self.hidden) for _ in range(self.depth))
        self.second = torch.nn.ModuleList(Linear(self.hidden, n_classes) for _ in range(self.depth))
        self.exit = Linear(self.depth * n_classes, n_classes)

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


class L2GCN(Network):
    r"""A GCN whose layers are trained separately, each with its own classifier (You et al., 2020).

    .. math:: U^{(k)} = \mathrm{ReLU}(\hat A U^{(k-1)} W_k), \qquad
        \min_{W_k, V_k} \ell(U^{(k)} V_k, Y) \text{ with } U^{(k-1)} \text{ held}

    No gradient passes from a layer to the one before. The publication trains each layer to convergence before
    the next; here all layers are trained in parallel. The last classifier makes the predictions.
    """

    hidden = count(16)
    depth = count(2)
    dropout = rate(0.5)

    def add_layers(self, n_features: int, n_classes: int) -> None:
        widths = [n_features, *[self.hidden] * self.depth]
        self.convs = torch.nn.ModuleList(GraphConvolution(a, b) for a, b in pairwise(widths))
        self.heads = torch.nn.ModuleList(Linear(self.hidden, n_classes) for _ in range(self.depth))

    def scores(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> list[Tensor]:
        """Return the class scores of each layer's classifier."""
        scores = []
        for conv, head in zip(self.convs, self.heads, strict=True):
            x = torch.relu(conv(drop(x, self.dropout, self.training), edge_index, edge_weight))
            scores.append(head(x))
            x = x.detach()
        return scores

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return self.scores(x, edge_index, edge_weight)[-1]

    def loss(
        self, x: Tensor, edge_index: Tensor, nodes: Tensor, codes: Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        losses = [cross_entropy(Z[nodes], codes) for Z in self.scores(x, edge_index, edge_weight)]
        return torch.stack(losses).sum()


class ACMP(Network):
    r"""Particles that attract and repel each other in a double well (Wang et al., 2023).

    .. math:: \frac{\partial U_i}{\partial t} = \alpha \circ \Big(\sum_j a_{ij} (U_j - U_i)
        - \beta \sum_j A_{ij} (U_j - U_i)\Big) + \delta \circ U_i \circ (1 - U_i \circ U_i), \qquad
        a = \tilde D^{-1} (A + I)

    between two linear layers, with α and δ in (0, 1) learnt for each column. Each of ``depth`` steps of
    length ``step`` is an Euler step for the first term, then the exact solution for the second, so that steps
    do not diverge. The authors use Runge–Kutta steps of length 0.1 up to time 12.8. They do not normalize
    features, so each row of x is divided by its largest entry, which restores the 0/1 features of Cora and
    Citeseer and comes close to those of Pubmed. With β = 0, the default of their script, there is no
    repulsion.
    """

    estimator: ClassVar[dict[str, Any]] = {"epochs": 300, "learning_rate": 0.02, "weight_decay": 1e-2}

    hidden = count(64)
    depth = count(8)
    beta = number(0.0)
    step = number(1.0)
    dropout = rate(0.7)

    def add_layers(self, n_features: int, n_classes: int) -> None:
        self.entrance = InputLinear(n_features, self.hidden)
        self.attraction = torch.nn.Parameter(torch.zeros(self.hidden))
        # the double well has almost no effect at first
        self.well = torch.nn.Parameter(torch.full((self.hidden,), -10.0))
        self.exit = Linear(self.hidden, n_classes)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        U = self.entrance(drop(_peaks_at_one(x), self.dropout, self.training))
        graph = graph_of(edge_index, edge_weight, len(U), U.dtype)
        alpha, delta = torch.sigmoid(self.attraction), torch.sigmoid(self.well)
        growth = torch.exp(self.step * delta)
        for _ in range(self.depth):
            force = graph.A @ U - graph.degrees * U
            U = U + self.step * alpha * (force / (graph.degrees + 1.0) - self.beta * force)
            U = growth * U / torch.sqrt(1.0 + (growth * growth - 1.0) * U * U)
        return self.exit(drop(torch.relu(U), self.dropout, self.training))


def _peaks_at_one(x: Tensor) -> Tensor:
    """Divide each row by its largest absolute entry."""
    if not is_sparse(x):
        return x / x.abs().amax(dim=1, keepdim=True).clamp(min=1e-30)
    values, rows = x.values(), row_numbers(x)
    peaks = values.new_zeros(x.shape[0]).scatter_reduce(0, rows, values.abs(), "amax")
    return with_values(x, values / peaks[rows].clamp(min=1e-30))
