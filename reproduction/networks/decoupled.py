"""Networks that separate prediction from propagation: APPNP, GNN-LF, GNN-HF, ChebNetII, GRAND; and MLP."""

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import nll_loss

from reproduction.networks.graphs import (
    DroppedPropagation,
    InputLinear,
    Network,
    Perceptron,
    choice,
    count,
    drop,
    graph_of,
    is_sparse,
    number,
    rate,
    times,
)

# columns propagated at a time, few enough for the CPU cache
_COLUMNS = 64


class _Decoupled(Network):
    """A perceptron without biases, of which only the first layer has weight decay, and ``depth`` steps.

    ``recurrence`` returns U, c, d and V of the steps U ← c ÂU + d V for the perceptron's output H.
    """

    estimator: ClassVar[dict[str, Any]] = {"weight_decay": 5e-3}

    hidden = count(64)
    depth = count(10)
    dropout = rate(0.5)

    def add_layers(self, n_features: int, n_classes: int) -> None:
        self.perceptron = Perceptron(n_features, self.hidden, n_classes, self.dropout, bias=False)
        self.convs = torch.nn.ModuleList(DroppedPropagation(self.dropout) for _ in range(self.depth))

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        U, c, d, V = self.recurrence(self.perceptron(x), edge_index, edge_weight)
        for conv in self.convs:
            U = c * conv(U, edge_index, edge_weight) + d * V
        return U

    def parameter_groups(self, weight_decay: float) -> list[dict[str, Any]]:
        return self.groups([self.perceptron.first.weight], weight_decay)


class APPNP(_Decoupled):
    r"""Predict from features, then propagate predictions by personalised PageRank (Gasteiger et al., 2019).

    .. math:: U^{(k+1)} = (1 - \alpha) \hat A U^{(k)} + \alpha H, \qquad U^{(0)} = H = \mathrm{MLP}(X)

    Dropout is also applied to the entries of Â, independently in each step. PyG's layer drops entries from
    what the previous step left, so deep filters lose nearly all of them.
    """

    alpha = number(0.1, high=1.0)

    def recurrence(self, H: Tensor, *graph: Any) -> tuple[Tensor, float, float, Tensor]:
        return H, 1.0 - self.alpha, self.alpha, H

    def head(self, k: int) -> Tensor:
        """Return the identity, because class scores are propagated."""
        weight = self.perceptron.second.weight
        return torch.eye(weight.shape[0], dtype=weight.dtype, device=weight.device)


class GNNLF(_Decoupled):
    r"""Propagate predictions with a low-pass filter in the fitting term (Zhu et al., 2021).

    .. math:: U = \left[(\mu + 1/\alpha - 1) I + (2 - \mu - 1/\alpha) \hat A\right]^{-1}
        \left[\mu I + (1 - \mu) \hat A\right] H, \qquad H = \mathrm{MLP}(X)

    approximated in ``depth`` steps, with 0 < α < 2/3 and ½ ≤ μ < 1.
    """

    alpha = number(0.1, low=1e-9, high=2 / 3)
    mu = number(0.9, low=0.5, high=1.0)

    def recurrence(self, H: Tensor, *graph: Any) -> tuple[Tensor, float, float, Tensor]:
        alpha, mu, low = self.alpha, self.mu, self.convs[0](H, *graph)
        total = 1.0 + alpha * mu - alpha
        kept = (alpha * mu * H + alpha * (1.0 - mu) * low) / total
        return (mu * H + (1.0 - mu) * low) / total, (1.0 + alpha * mu - 2.0 * alpha) / total, 1.0, kept


class GNNHF(_Decoupled):
    r"""Propagate predictions with a high-pass filter in the fitting term (Zhu et al., 2021).

    .. math:: U = \left[(\beta + 1/\alpha) I + (1 - \beta - 1/\alpha) \hat A\right]^{-1}
        \left[I + \beta (I - \hat A)\right] H, \qquad H = \mathrm{MLP}(X)

    approximated in ``depth`` steps, with 0 < α ≤ 1 and β ≥ 0.
    """

    alpha = number(0.1, high=1.0)
    beta = number(0.9)

    def recurrence(self, H: Tensor, *graph: Any) -> tuple[Tensor, float, float, Tensor]:
        alpha, beta = self.alpha, self.beta
        total = alpha * beta + 1.0
        boosted = H + beta * (H - self.convs[0](H, *graph))
        return boosted / total, (alpha * beta - alpha + 1.0) / total, alpha / total, boosted


class MLP(Network):
    r"""A perceptron with one hidden layer, for features smoothed over the graph beforehand.

    .. math:: Z = \mathrm{ReLU}(X W_1 + b_1) W_2 + b_2
    """

    hidden = count(64)
    dropout = rate(0.5)

    def add_layers(self, n_features: int, n_classes: int) -> None:
        self.layers = Perceptron(n_features, self.hidden, n_classes, self.dropout)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.layers(x)


class ChebyshevFilter(torch.nn.Module):
    r"""A polynomial of degree K, given by its values :math:`\gamma_j` at the Chebyshev nodes :math:`x_j`.

    .. math:: f(\hat L) = \frac{2}{K+1} \sum_{k=0}^{K}{}^{'} \sum_{j=0}^{K} \gamma_j T_k(x_j) T_k(\hat L),
        \qquad x_j = \cos\frac{(j + 1/2) \pi}{K + 1}

    where the term k = 0 is halved and :math:`\hat L = L - I = -D^{-1/2} A D^{-1/2}`. Values are non-negative
    and initialized to one, which makes f the identity.
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
        """Return the weight of each T_k."""
        return self.T @ torch.relu(self.gamma)

    def forward(self, H: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        A = graph_of(edge_index, edge_weight, H.shape[0], H.dtype).A_bare
        weights = self.coefficients()
        before, now = H, -(A @ H)
        Z = weights[0] * before + weights[1] * now
        for weight in weights[2:]:
            before, now = now, -2.0 * (A @ now) - before
            Z = Z + weight * now
        return Z


class ChebNetII(Network):
    r"""Filter predictions by a polynomial, learnt as its values at Chebyshev nodes (He et al., 2022).

    .. math:: Z = f(\hat L) \, \mathrm{MLP}(X)

    with f of degree ``depth``, which has its own learning rate and weight decay.
    """

    estimator: ClassVar[dict[str, Any]] = {"epochs": 500, "patience": 200}

    hidden = count(64)
    depth = count(10)
    dropout = rate(0.5)
    filter_dropout = rate(0.8)
    filter_learning_rate = number(0.001)
    filter_weight_decay = number(0.05)

    def add_layers(self, n_features: int, n_classes: int) -> None:
        self.perceptron = Perceptron(n_features, self.hidden, n_classes, self.dropout)
        self.filter = ChebyshevFilter(self.depth)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        H = drop(self.perceptron(x), self.filter_dropout, self.training)
        return self.filter(H, edge_index, edge_weight)

    def parameter_groups(self, weight_decay: float) -> list[dict[str, Any]]:
        learnt = {"lr": self.filter_learning_rate, "weight_decay": self.filter_weight_decay}
        return self.groups(self.perceptron.parameters(), weight_decay, learnt)


class GRAND(Network):
    r"""Train on random views of the features with a consistency loss (Feng et al., 2020).

    .. math:: Q = \frac1S \sum_s Q_{CE}(P^{(s)}) + \lambda \, Q_{con}(P^{(1)}, \dots, P^{(S)}), \qquad
        \bar X = \frac{1}{K+1} \sum_{k=0}^{K} \hat A^k (\epsilon \odot X), \qquad
        \epsilon_i \sim \mathrm{Bernoulli}(1 - \delta)

    A view P is a perceptron's prediction from :math:`\bar X`; outside of training (1 − δ) X replaces ε ⊙ X.
    ``depth`` is K, ``samples`` S, ``drop_node`` δ and ``consistency`` λ. ``input_dropout`` applies to the
    propagated features; without it an epoch is much cheaper.
    """

    estimator: ClassVar[dict[str, Any]] = {"epochs": 300, "patience": 200}

    hidden = count(32)
    depth = count(8)
    samples = count(4)
    drop_node = rate(0.5)
    input_dropout = rate(0.5)
    dropout = rate(0.5)
    temperature = number(0.5, low=1e-3)
    consistency = number(1.0)
    batch_norm = choice(False)

    def add_layers(self, n_features: int, n_classes: int) -> None:
        self.first = InputLinear(n_features, self.hidden)
        self.second = InputLinear(self.hidden, n_classes)
        norms = (
            [torch.nn.BatchNorm1d(n_features), torch.nn.BatchNorm1d(self.hidden)] if self.batch_norm else []
        )
        self.norms = torch.nn.ModuleList(norms)

    def kept(self, n_nodes: int, like: Tensor) -> Tensor:
        """Draw which nodes keep their features; outside of training return the probability instead."""
        share = torch.full((n_nodes, 1), 1.0 - self.drop_node, dtype=like.dtype, device=like.device)
        return torch.bernoulli(share) if self.training else share

    def propagated(self, U: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Average U over all propagation steps, a block of columns at a time."""
        A_hat = graph_of(edge_index, edge_weight, U.shape[0], U.dtype).A_hat
        parts = []
        for part in torch.split(U, _COLUMNS, dim=1):
            V = total = part.contiguous()
            for _ in range(self.depth):
                V = A_hat @ V
                total = total + V
            parts.append(total / (self.depth + 1))
        return torch.cat(parts, dim=1)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        weight = self.first.weight
        kept = self.kept(x.shape[0], weight)
        if not self.norms and not (self.training and self.input_dropout):
            # linear maps commute with propagation, and fewer columns are cheaper to propagate
            U = self.propagated(kept * times(x, weight.t()), edge_index, edge_weight) + self.first.bias
        else:
            with torch.no_grad():
                dense = x.to_dense() if is_sparse(x) else x
                U = self.propagated(kept * dense, edge_index, edge_weight)
            U = self.norms[0](U) if self.norms else U
            U = self.first(drop(U, self.input_dropout, self.training))
        U = torch.relu(U)
        U = self.norms[1](U) if self.norms else U
        return self.second(drop(U, self.dropout, self.training))

    def loss(
        self, x: Tensor, edge_index: Tensor, nodes: Tensor, codes: Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        views = [torch.log_softmax(self(x, edge_index, edge_weight), dim=1) for _ in range(self.samples)]
        supervised = sum(nll_loss(view[nodes], codes) for view in views) / len(views)
        return supervised + self.consistency * disagreement([view.exp() for view in views], self.temperature)


def disagreement(views: list[Tensor], temperature: float) -> Tensor:
    r"""Compute the mean squared distance of distributions from their sharpened mean, a fixed target.

    .. math:: \frac{1}{S n} \sum_{s, i} \|P^{(s)}_i - \bar P'_i\|^2, \qquad
        \bar P'_{ic} = \bar P_{ic}^{1/T} / \sum_j \bar P_{ij}^{1/T}
    """
    P = torch.stack(views)
    with torch.no_grad():
        goal = P.mean(dim=0) ** (1.0 / temperature)
        goal /= goal.sum(dim=1, keepdim=True)
    return (P - goal).square().sum(dim=2).mean()
