"""APPNP: predictions by features, spread by personalised PageRank (Gasteiger et al., 2019)."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gssl.methods.inputs import check_number
from gssl.torch._classifier import DeepClassifier
from gssl.torch._graph import Graph
from gssl.torch._layers import Features, Perceptron

Product = Callable[[Tensor], Tensor]


class SpreadingNetwork(torch.nn.Module):
    """A perceptron H(X) whose scores a filter spreads; while training, each product drops entries of Â anew.

    PyG's own layer drops entries of what the last step has left, so that deep filters lose nearly all.
    """

    def __init__(self, perceptron: Perceptron, dropout: float) -> None:
        super().__init__()
        self.perceptron = perceptron
        self.dropout = dropout

    @abstractmethod
    def spread(self, H: Tensor, product: Product) -> Tensor:
        """Filter scores; ``product`` multiplies by Â."""

    def forward(self, X: Features, graph: Graph) -> Tensor:
        """Give the scores of each node."""
        A_hat, rate = graph.A_hat, self.dropout if self.training else 0.0
        return self.spread(self.perceptron(X), lambda U: A_hat.dropped(rate) @ U)


class PageRankNetwork(SpreadingNetwork):
    """The network of APPNP."""

    def __init__(self, perceptron: Perceptron, dropout: float, depth: int, alpha: float) -> None:
        super().__init__(perceptron, dropout)
        self.depth = depth
        self.alpha = alpha

    def spread(self, H: Tensor, product: Product) -> Tensor:
        """Take the steps of personalised PageRank."""
        U = H
        for _ in range(self.depth):
            U = (1.0 - self.alpha) * product(U) + self.alpha * H
        return U


class SpreadingClassifier(DeepClassifier):
    """What classifiers on a :class:`SpreadingNetwork` share: only the first layer has weight decay."""

    def _perceptron(self, n_features: int, n_classes: int) -> Perceptron:
        # without biases, as published: a bias would be spread, too
        return Perceptron(n_features, self.hidden, n_classes, self.dropout, bias=False)

    def _groups(self, network: Any) -> list[dict[str, Any]]:
        first = network.perceptron.first.weight
        others = [p for p in network.parameters() if p is not first]
        return [{"params": [first], "weight_decay": self.weight_decay}, {"params": others}]


class APPNP(SpreadingClassifier):
    r"""Predict by features, then spread the predictions by personalised PageRank (Gasteiger et al., 2019).

    .. math:: U^{(k+1)} = (1 - \alpha) \hat A U^{(k)} + \alpha H, \qquad U^{(0)} = H = \mathrm{MLP}(X)

    Dropout is also on the entries of Â, anew in each step. Needs torch and torch-geometric
    (``pip install gssl[baselines]``); :class:`gssl.PPR` is its filter without the network.

    Parameters
    ----------
    hidden : int, default=64
    depth : int, default=10
        Steps.
    alpha : float in [0, 1], default=0.1
        How much of H each step keeps.
    dropout : float, default=0.5
    learning_rate, weight_decay, epochs, patience, random_state, device
        See :class:`gssl.torch.GCN`, as for the attributes.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = APPNP(epochs=50, random_state=0).fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    def __init__(
        self,
        hidden: int = 64,
        depth: int = 10,
        alpha: float = 0.1,
        dropout: float = 0.5,
        learning_rate: float = 0.01,
        weight_decay: float = 5e-3,
        epochs: int = 200,
        patience: int | None = 100,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        super().__init__(
            hidden, depth, dropout, learning_rate, weight_decay, epochs, patience, random_state, device
        )
        self.alpha = alpha

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "alpha", low=0.0, high=1.0)

    def _network(self, n_features: int, n_classes: int) -> PageRankNetwork:
        return PageRankNetwork(self._perceptron(n_features, n_classes), self.dropout, self.depth, self.alpha)
