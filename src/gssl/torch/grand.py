"""GRAND: predictions that agree on many random views of the features (Feng et al., 2020)."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import nll_loss

from gssl.methods.inputs import check_number
from gssl.torch._classifier import DeepClassifier, Inputs, Targets
from gssl.torch._graph import Graph
from gssl.torch._layers import Features, InputLinear, drop
from gssl.torch._sparse import SparseMatrix

_COLUMNS = 64


class RandomPropagationNetwork(torch.nn.Module):
    r"""The network of GRAND: features of some nodes are dropped, propagated, and read by a perceptron.

    .. math:: \bar X = \frac{1}{K+1} \sum_{k=0}^{K} \hat A^k (\epsilon \odot X), \qquad
        \epsilon_i \sim \mathrm{Bernoulli}(1 - \delta)

    and (1 − δ) X, the mean of what is dropped, takes the place of ε ⊙ X outside of training.
    """

    def __init__(self, widths: tuple[int, int, int], depth: int, batch_norm: bool) -> None:
        super().__init__()
        n_in, hidden, n_out = widths
        self.first = InputLinear(n_in, hidden)
        self.second = InputLinear(hidden, n_out)
        norms = [torch.nn.BatchNorm1d(n_in), torch.nn.BatchNorm1d(hidden)] if batch_norm else []
        self.norms = torch.nn.ModuleList(norms)
        self.depth = depth
        self.drop_node, self.input_dropout, self.dropout = 0.0, 0.0, 0.0

    def kept(self, n_nodes: int, like: Tensor) -> Tensor:
        """Draw which nodes keep their features, or give the chance of it outside of training."""
        share = torch.full((n_nodes, 1), 1.0 - self.drop_node, dtype=like.dtype, device=like.device)
        return torch.bernoulli(share) if self.training else share

    def spread(self, U: Tensor, graph: Graph) -> Tensor:
        """Average the propagated columns over all steps, as many at a time as a cache may hold."""
        return torch.cat(
            [self._spread(part.contiguous(), graph) for part in torch.split(U, _COLUMNS, dim=1)], dim=1
        )

    def _spread(self, U: Tensor, graph: Graph) -> Tensor:
        total = U
        for _ in range(self.depth):
            U = graph.A_hat @ U
            total = total + U
        return total / (self.depth + 1)

    def forward(self, X: Features, graph: Graph) -> Tensor:
        """Give the scores of each node in one random view."""
        weight = self.first.weight
        kept = self.kept(X.shape[0], weight)
        if not self.norms and not (self.training and self.input_dropout):
            # what is linear may change places, and few columns are cheaper to propagate than many
            U = self.spread(kept * (X @ weight.t()), graph) + self.first.bias
        else:
            with torch.no_grad():
                U = self.spread(kept * _dense(X), graph)
            U = self.norms[0](U) if self.norms else U
            U = self.first(drop(U, self.input_dropout, self.training))
        U = torch.relu(U)
        U = self.norms[1](U) if self.norms else U
        return self.second(drop(U, self.dropout, self.training))  # type: ignore[no-any-return]


def consistency(views: list[Tensor], temperature: float) -> Tensor:
    r"""Give how far distributions are from their sharpened mean, on average over nodes and views.

    .. math:: \frac{1}{S n} \sum_{s, i} \|P^{(s)}_i - \bar P'_i\|^2, \qquad
        \bar P'_{ic} = \bar P_{ic}^{1/T} / \sum_j \bar P_{ij}^{1/T}

    The sharpened mean is a goal, and has no gradient.

    Examples
    --------
    >>> views = [torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])]
    >>> float(consistency(views, 0.5))
    0.5
    """
    P = torch.stack(views)
    with torch.no_grad():
        goal = P.mean(dim=0) ** (1.0 / temperature)
        goal /= goal.sum(dim=1, keepdim=True)
    return (P - goal).square().sum(dim=2).mean()


class GRAND(DeepClassifier):
    r"""Train on random views of the features that have to agree (Feng et al., 2020).

    .. math:: Q = \frac1S \sum_s Q_{CE}(P^{(s)}) + \lambda \, Q_{con}(P^{(1)}, \dots, P^{(S)})

    with the views of ``RandomPropagationNetwork`` and the ``consistency`` loss over all nodes. Needs
    torch and torch-geometric (``pip install gssl[baselines]``).

    Parameters
    ----------
    hidden : int, default=32
    depth : int, default=8
        Steps K of the propagation.
    samples : int, default=4
        Views S per epoch.
    drop_node : float in [0, 1), default=0.5
        The chance δ of a node to lose its features.
    input_dropout, dropout : float, default=0.5
        Of the propagated features and of the hidden layer; without the former an epoch is much cheaper.
    temperature : float, default=0.5
        The lower, the sharper the distribution that views should agree on.
    consistency : float, default=1.0
        The weight λ.
    batch_norm : bool, default=False
    learning_rate, weight_decay, epochs, patience, random_state, device
        See :class:`gssl.torch.GCN`, as for the attributes.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = GRAND(epochs=50, random_state=0).fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    def __init__(
        self,
        hidden: int = 32,
        depth: int = 8,
        samples: int = 4,
        drop_node: float = 0.5,
        input_dropout: float = 0.5,
        dropout: float = 0.5,
        temperature: float = 0.5,
        consistency: float = 1.0,
        batch_norm: bool = False,
        learning_rate: float = 0.01,
        weight_decay: float = 5e-4,
        epochs: int = 300,
        patience: int | None = 200,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        super().__init__(
            hidden, depth, dropout, learning_rate, weight_decay, epochs, patience, random_state, device
        )
        self.samples = samples
        self.drop_node = drop_node
        self.input_dropout = input_dropout
        self.temperature = temperature
        self.consistency = consistency
        self.batch_norm = batch_norm

    def _rates(self) -> tuple[str, ...]:
        return (*super()._rates(), "drop_node", "input_dropout")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "samples", low=1, whole=True)
        check_number(self, "temperature", low=1e-3)
        check_number(self, "consistency", low=0.0)

    def _network(self, n_features: int, n_classes: int) -> RandomPropagationNetwork:
        widths = (n_features, self.hidden, n_classes)
        network = RandomPropagationNetwork(widths, self.depth, self.batch_norm)
        network.drop_node, network.dropout = self.drop_node, self.dropout
        network.input_dropout = self.input_dropout
        return network

    def _loss(self, network: Any, inputs: Inputs, targets: Targets) -> Tensor:
        views = [torch.log_softmax(network(inputs.X, inputs.graph), dim=1) for _ in range(self.samples)]
        supervised = sum(nll_loss(view[targets.nodes], targets.codes) for view in views) / len(views)
        return supervised + self.consistency * consistency([view.exp() for view in views], self.temperature)


def _dense(X: Features) -> Tensor:
    return X.dense if isinstance(X, SparseMatrix) else X
