"""A network that does not look at the graph."""

from typing import Any, ClassVar

import torch
from torch import Tensor

from reproduction.networks.graphs import Perceptron, check_counts, check_rates


class MLP(torch.nn.Module):
    r"""A perceptron with one hidden layer, for features that the graph has smoothed before.

    .. math:: Z = \mathrm{ReLU}(X W_1 + b_1) W_2 + b_2
    """

    accepts_sparse = True
    estimator: ClassVar[dict[str, Any]] = {}

    def __init__(self, n_features: int, n_classes: int, *, hidden: int = 64, dropout: float = 0.5) -> None:
        super().__init__()
        self.hidden, self.dropout = hidden, dropout
        check_counts(self, "hidden")
        check_rates(self, "dropout")
        self.layers = Perceptron(n_features, hidden, n_classes, dropout)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        Z: Tensor = self.layers(x)
        return Z
