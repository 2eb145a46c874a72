"""GCNII: deep convolutions with an initial residual and an identity in their weights (Chen et al., 2020)."""

from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn import Linear

from gssl.methods.inputs import check_number
from gssl.torch._classifier import DeepClassifier
from gssl.torch._graph import Graph
from gssl.torch._layers import Features, InitialResidualConvolution, InputLinear, drop


class ResidualNetwork(torch.nn.Module):
    """The network of GCNII: a layer in, convolutions, a layer out."""

    def __init__(self, widths: tuple[int, int, int], depth: int, alpha: float, theta: float) -> None:
        super().__init__()
        n_in, hidden, n_out = widths
        self.entrance = InputLinear(n_in, hidden)
        self.layers = torch.nn.ModuleList(
            InitialResidualConvolution(hidden, alpha, theta, layer) for layer in range(1, depth + 1)
        )
        self.exit = Linear(hidden, n_out)
        self.dropout = 0.0

    def forward(self, X: Features, graph: Graph) -> Tensor:
        """Give the scores of each node."""
        U_0 = torch.relu(self.entrance(drop(X, self.dropout, self.training)))
        U = U_0
        for layer in self.layers:
            U = torch.relu(layer(drop(U, self.dropout, self.training), U_0, graph.A_hat))
        return self.exit(drop(U, self.dropout, self.training))  # type: ignore[no-any-return]


class GCNII(DeepClassifier):
    r"""Deep convolutions with an initial residual and an identity in their weights (Chen et al., 2020).

    .. math:: U^{(l)} = \mathrm{ReLU}\left(\left[(1 - \alpha) \hat A U^{(l-1)} + \alpha U^{(0)}\right]
        \left[(1 - \beta_l) I + \beta_l W_l\right]\right), \qquad \beta_l = \log(\theta / l + 1)

    Needs torch and torch-geometric (``pip install gssl[baselines]``).

    Parameters
    ----------
    hidden : int, default=64
    depth : int, default=16
        Convolutions; 64 are published for Cora.
    alpha : float in [0, 1], default=0.1
        How much each layer keeps of the first embeddings.
    theta : float, default=0.5
        How far weights are from the identity.
    dropout : float, default=0.6
    weight_decay : float, default=0.01
        Of the convolutions.
    dense_weight_decay : float, default=5e-4
        Of the first and the last layer.
    learning_rate, epochs, patience, random_state, device
        See :class:`gssl.torch.GCN`, as for the attributes.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = GCNII(depth=4, epochs=50, random_state=0).fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    def __init__(
        self,
        hidden: int = 64,
        depth: int = 16,
        alpha: float = 0.1,
        theta: float = 0.5,
        dropout: float = 0.6,
        learning_rate: float = 0.01,
        weight_decay: float = 0.01,
        dense_weight_decay: float = 5e-4,
        epochs: int = 300,
        patience: int | None = 100,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        super().__init__(
            hidden, depth, dropout, learning_rate, weight_decay, epochs, patience, random_state, device
        )
        self.alpha = alpha
        self.theta = theta
        self.dense_weight_decay = dense_weight_decay

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "alpha", low=0.0, high=1.0)
        for name in ("theta", "dense_weight_decay"):
            check_number(self, name, low=0.0)

    def _network(self, n_features: int, n_classes: int) -> ResidualNetwork:
        widths = (n_features, self.hidden, n_classes)
        network = ResidualNetwork(widths, self.depth, self.alpha, self.theta)
        network.dropout = self.dropout
        return network

    def _groups(self, network: Any) -> list[dict[str, Any]]:
        dense = [*network.entrance.parameters(), *network.exit.parameters()]
        return [
            {"params": list(network.layers.parameters()), "weight_decay": self.weight_decay},
            {"params": dense, "weight_decay": self.dense_weight_decay},
        ]
