"""ChebNetII: a filter that is learnt by its values at Chebyshev nodes (He et al., 2022)."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gssl.methods.inputs import check_number
from gssl.torch._classifier import DeepClassifier
from gssl.torch._graph import Graph
from gssl.torch._layers import Features, Perceptron, drop


class ChebyshevFilter(torch.nn.Module):
    r"""A polynomial of degree K by its values :math:`\gamma_j` at the Chebyshev nodes :math:`x_j`.

    .. math:: f(\hat L) = \frac{2}{K+1} \sum_{k=0}^{K}{}^{'} \sum_{j=0}^{K} \gamma_j T_k(x_j) T_k(\hat L),
        \qquad x_j = \cos\frac{(j + 1/2) \pi}{K + 1}

    with half of the term k = 0. Values are not negative, and start at one: f is the identity then.

    Examples
    --------
    >>> ChebyshevFilter(2).coefficients().detach().numpy().round(6) + 0.0
    array([1., 0., 0.], dtype=float32)
    """

    def __init__(self, degree: int) -> None:
        super().__init__()
        self.gamma = torch.nn.Parameter(torch.ones(degree + 1))
        angles = (np.arange(degree + 1) + 0.5) * np.pi / (degree + 1)
        # T_k(cos a) = cos(k a)
        T = np.cos(np.arange(degree + 1)[:, None] * angles) * (2.0 / (degree + 1))
        T[0] /= 2.0
        self.T: Tensor
        self.register_buffer("T", torch.tensor(T, dtype=self.gamma.dtype))

    def coefficients(self) -> Tensor:
        """Give the weight of each T_k."""
        return self.T @ torch.relu(self.gamma)

    def forward(self, H: Tensor, graph: Graph) -> Tensor:
        r"""Filter H, with :math:`\hat L = L - I = -D^{-1/2} A D^{-1/2}`."""
        A = graph.A_bare
        weights = self.coefficients()
        before, now = H, -(A @ H)
        Z = weights[0] * before + weights[1] * now
        for weight in weights[2:]:
            before, now = now, -2.0 * (A @ now) - before
            Z = Z + weight * now
        return Z


class ChebyshevNetwork(torch.nn.Module):
    """The network of ChebNetII: a perceptron and a filter."""

    def __init__(self, perceptron: Perceptron, degree: int, filter_dropout: float) -> None:
        super().__init__()
        self.perceptron = perceptron
        self.filter = ChebyshevFilter(degree)
        self.filter_dropout = filter_dropout

    def forward(self, X: Features, graph: Graph) -> Tensor:
        """Give the scores of each node."""
        H = drop(self.perceptron(X), self.filter_dropout, self.training)
        return self.filter(H, graph)  # type: ignore[no-any-return]


class ChebNetII(DeepClassifier):
    r"""Filter predictions by a polynomial that is learnt by its values at Chebyshev nodes (He et al., 2022).

    .. math:: Z = f(\hat L) \, \mathrm{MLP}(X)

    with the f of ``ChebyshevFilter``. Needs torch and torch-geometric (``pip install gssl[baselines]``).

    Parameters
    ----------
    hidden : int, default=64
    depth : int, default=10
        The degree K of the filter.
    dropout : float, default=0.5
    filter_dropout : float, default=0.8
        Before the filter.
    filter_learning_rate, filter_weight_decay : float, default=0.001 and 0.05
        Of the filter's values.
    learning_rate, weight_decay, epochs, patience, random_state, device
        See :class:`gssl.torch.GCN`, as for the attributes.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = ChebNetII(epochs=20, random_state=0).fit(data.features, y, adjacency=data.adjacency)
    >>> float(model.label_distributions_.sum().round(6)), len(model.loss_curve_)
    (34.0, 20)
    """

    def __init__(
        self,
        hidden: int = 64,
        depth: int = 10,
        dropout: float = 0.5,
        filter_dropout: float = 0.8,
        learning_rate: float = 0.01,
        filter_learning_rate: float = 0.001,
        weight_decay: float = 5e-4,
        filter_weight_decay: float = 0.05,
        epochs: int = 500,
        patience: int | None = 200,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        super().__init__(
            hidden, depth, dropout, learning_rate, weight_decay, epochs, patience, random_state, device
        )
        self.filter_dropout = filter_dropout
        self.filter_learning_rate = filter_learning_rate
        self.filter_weight_decay = filter_weight_decay

    def _rates(self) -> tuple[str, ...]:
        return (*super()._rates(), "filter_dropout")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("filter_learning_rate", "filter_weight_decay"):
            check_number(self, name, low=0.0)

    def _network(self, n_features: int, n_classes: int) -> ChebyshevNetwork:
        perceptron = Perceptron(n_features, self.hidden, n_classes, self.dropout)
        return ChebyshevNetwork(perceptron, self.depth, self.filter_dropout)

    def _groups(self, network: Any) -> list[dict[str, Any]]:
        learnt = {"lr": self.filter_learning_rate, "weight_decay": self.filter_weight_decay}
        return [
            {"params": list(network.perceptron.parameters()), "weight_decay": self.weight_decay},
            {"params": list(network.filter.parameters()), **learnt},
        ]
