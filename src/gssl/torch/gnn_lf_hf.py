"""GNN-LF and GNN-HF: propagation that also fits low or high frequencies (Zhu et al., 2021)."""

from typing import Any

from torch import Tensor

from gssl.methods.inputs import check_number
from gssl.torch._layers import Perceptron
from gssl.torch.appnp import Product, SpreadingClassifier, SpreadingNetwork


class LowPassNetwork(SpreadingNetwork):
    """The network of GNN-LF."""

    def __init__(
        self, perceptron: Perceptron, dropout: float, depth: int, weights: tuple[float, float]
    ) -> None:
        super().__init__(perceptron, dropout)
        self.depth = depth
        self.alpha, self.mu = weights

    def spread(self, H: Tensor, product: Product) -> Tensor:
        """Take the steps of GNN-LF."""
        alpha, mu = self.alpha, self.mu
        total = 1.0 + alpha * mu - alpha
        low = product(H)
        U = (mu * H + (1.0 - mu) * low) / total
        kept = (alpha * mu * H + alpha * (1.0 - mu) * low) / total
        for _ in range(self.depth):
            U = (1.0 + alpha * mu - 2.0 * alpha) / total * product(U) + kept
        return U


class HighPassNetwork(SpreadingNetwork):
    """The network of GNN-HF."""

    def __init__(
        self, perceptron: Perceptron, dropout: float, depth: int, weights: tuple[float, float]
    ) -> None:
        super().__init__(perceptron, dropout)
        self.depth = depth
        self.alpha, self.beta = weights

    def spread(self, H: Tensor, product: Product) -> Tensor:
        """Take the steps of GNN-HF."""
        alpha, beta = self.alpha, self.beta
        total = alpha * beta + 1.0
        boosted = H + beta * (H - product(H))
        U = boosted / total
        for _ in range(self.depth):
            U = (alpha * beta - alpha + 1.0) / total * product(U) + alpha / total * boosted
        return U


class GNNLF(SpreadingClassifier):
    r"""Spread predictions that are held to the low frequencies of themselves (Zhu et al., 2021).

    .. math:: U = \left[(\mu + 1/\alpha - 1) I + (2 - \mu - 1/\alpha) \hat A\right]^{-1}
        \left[\mu I + (1 - \mu) \hat A\right] H, \qquad H = \mathrm{MLP}(X)

    approached in ``depth`` steps. Needs torch and torch-geometric (``pip install gssl[baselines]``).

    Parameters
    ----------
    hidden : int, default=64
    depth : int, default=10
        Steps.
    alpha : float in (0, 2/3), default=0.1
    mu : float in [1/2, 1), default=0.9
        How much H itself counts beside its smooth part.
    dropout : float, default=0.5
    learning_rate, weight_decay, epochs, patience, random_state, device
        See :class:`gssl.torch.GCN`, as for the attributes.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = GNNLF(epochs=50, random_state=0).fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    def __init__(
        self,
        hidden: int = 64,
        depth: int = 10,
        alpha: float = 0.1,
        mu: float = 0.9,
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
        self.mu = mu

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "alpha", low=0.0, high=2 / 3, open_ends=True)
        check_number(self, "mu", low=0.5, high=1.0)

    def _network(self, n_features: int, n_classes: int) -> LowPassNetwork:
        perceptron = self._perceptron(n_features, n_classes)
        return LowPassNetwork(perceptron, self.dropout, self.depth, (self.alpha, self.mu))


class GNNHF(SpreadingClassifier):
    r"""Spread predictions of which high frequencies are kept (Zhu et al., 2021).

    .. math:: U = \left[(\beta + 1/\alpha) I + (1 - \beta - 1/\alpha) \hat A\right]^{-1}
        \left[I + \beta (I - \hat A)\right] H, \qquad H = \mathrm{MLP}(X)

    approached in ``depth`` steps. Needs torch and torch-geometric (``pip install gssl[baselines]``).

    Parameters
    ----------
    hidden : int, default=64
    depth : int, default=10
        Steps.
    alpha : float in (0, 1], default=0.1
    beta : float from 0 on, default=0.9
        How much the differences between neighbours count.
    dropout : float, default=0.5
    learning_rate, weight_decay, epochs, patience, random_state, device
        See :class:`gssl.torch.GCN`, as for the attributes.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = GNNHF(epochs=50, random_state=0).fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    def __init__(
        self,
        hidden: int = 64,
        depth: int = 10,
        alpha: float = 0.1,
        beta: float = 0.9,
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
        self.beta = beta

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "alpha", low=0.0, high=1.0)
        check_number(self, "beta", low=0.0)

    def _network(self, n_features: int, n_classes: int) -> HighPassNetwork:
        perceptron = self._perceptron(n_features, n_classes)
        return HighPassNetwork(perceptron, self.dropout, self.depth, (self.alpha, self.beta))
