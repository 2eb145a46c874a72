"""GCN: graph convolutions with a non-linearity between them (Kipf and Welling, 2017)."""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from gssl.torch._classifier import DeepClassifier, Inputs, Targets
from gssl.torch._graph import Graph
from gssl.torch._layers import Features, GraphConvolution, drop


class ConvolutionNetwork(torch.nn.Module):
    r"""Convolutions in a row, with a non-linearity between them.

    .. math:: U^{(k+1)} = \hat A \, \mathrm{ReLU}(U^{(k)}) W_k + b_k, \qquad U^{(1)} = \hat A X W_0 + b_0

    Parameters
    ----------
    widths : sequence of int
        Columns before, between and after the layers.
    dropout : float
        Before each layer.

    Examples
    --------
    >>> [layer.weight_shape for layer in ConvolutionNetwork([5, 4, 2], 0.5).layers]
    [(5, 4), (4, 2)]
    """

    def __init__(self, widths: list[int], dropout: float) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(GraphConvolution(a, b) for a, b in pairwise(widths))
        self.dropout = dropout

    def forward(self, X: Features, graph: Graph) -> Tensor:
        """Give the scores of each node."""
        U: Any = X
        for k, layer in enumerate(self.layers):
            U = torch.relu(U) if k else U
            U = layer(drop(U, self.dropout, self.training), graph.A_hat)
        return U  # type: ignore[no-any-return]


class EdgeDropping(DeepClassifier):
    """A network that may see another random part of the links in each epoch (DropEdge; Rong et al., 2020)."""

    drop_edge: float

    def _rates(self) -> tuple[str, ...]:
        return (*super()._rates(), "drop_edge")

    def _loss(self, network: Any, inputs: Inputs, targets: Targets) -> Tensor:
        return super()._loss(network, Inputs(inputs.X, inputs.graph.dropped(self.drop_edge)), targets)


class GCN(EdgeDropping):
    r"""Graph convolutions with a non-linearity between them (Kipf and Welling, 2017).

    .. math:: Z = \hat A \, \mathrm{ReLU}(\hat A X W_0 + b_0) \, W_1 + b_1

    Weight decay is on the first layer only, as published. Needs torch and torch-geometric
    (``pip install gssl[baselines]``).

    Parameters
    ----------
    hidden : int, default=16
    depth : int, default=2
        Layers.
    dropout : float, default=0.5
    drop_edge : float in [0, 1), default=0.0
        The part of the links that each epoch does not see.
    learning_rate : float, default=0.01
        Of Adam.
    weight_decay : float, default=5e-4
        What is added to gradients, times the weights.
    epochs : int, default=200
        At most; exactly so many without validation nodes.
    patience : int or None, default=100
        Stop after so many epochs in which the loss on validation nodes has not fallen. None: never.
    random_state : int, Generator, RandomState or None, default=None
    device : str or torch.device, optional
        Where to compute: the CPU if None.

    Attributes
    ----------
    transduction_, label_distributions_, reached_, classes_
        As of every classifier of gssl.
    network_ : torch.nn.Module
    best_epoch_, n_iter_ : int
        The epoch that stays, and how many there were.
    loss_curve_, validation_curve_ : ndarray
        By epoch.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = GCN(epochs=50, random_state=0).fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    def __init__(
        self,
        hidden: int = 16,
        depth: int = 2,
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

    def _network(self, n_features: int, n_classes: int) -> ConvolutionNetwork:
        widths = [n_features, *[self.hidden] * (self.depth - 1), n_classes]
        return ConvolutionNetwork(widths, self.dropout)

    def _groups(self, network: Any) -> list[dict[str, Any]]:
        first, *others = network.layers
        return [
            {"params": list(first.parameters()), "weight_decay": self.weight_decay},
            {"params": [p for layer in others for p in layer.parameters()]},
        ]
