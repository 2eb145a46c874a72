"""The deep networks of DropEdge (Rong et al., 2020): a chain of layers, jumping knowledge and inception."""

from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor

from reproduction.networks.graphs import InputLinear, Network, choice, count, drop, drop_links, graph_of, rate


class DeepConvolution(torch.nn.Module):
    r"""A convolution with an optional second weight for the node's own embedding.

    .. math:: \hat A U W + U W' + b

    W′ is used only with ``own_weight``. With ``walk``, :math:`\tilde D^{-1} (A + I)` replaces
    :math:`\hat A`. ``batch_norm`` is applied last. Weights are initialized uniformly within
    :math:`\pm 1 / \sqrt{c}`, where c is the number of columns of W.
    """

    def __init__(
        self, n_in: int, n_out: int, *, own_weight: bool = False, walk: bool = False, batch_norm: bool = False
    ) -> None:
        super().__init__()
        self.walk = walk
        self.lin = InputLinear(n_in, n_out, bias=False)
        self.own = InputLinear(n_in, n_out, bias=False) if own_weight else None
        self.bias = torch.nn.Parameter(torch.empty(n_out))
        bound = n_out**-0.5
        for weight in self.parameters():
            torch.nn.init.uniform_(weight, -bound, bound)
        self.norm = torch.nn.BatchNorm1d(n_out) if batch_norm else torch.nn.Identity()

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        V = self.lin(x)
        graph = graph_of(edge_index, edge_weight, len(V), V.dtype)
        U = graph.loop_mean(V) if self.walk else graph.A_hat @ V
        U = U + self.bias if self.own is None else U + self.own(x) + self.bias
        return self.norm(U)


class DeepGCN(Network):
    r"""A chain of convolutions.

    .. math:: Z = \hat A U^{(K-1)} W_K + b_K, \qquad
        U^{(k)} = \mathrm{ReLU}(\hat A U^{(k-1)} W_k + b_k)

    ``depth`` is K, and ``drop_edge`` the share of links dropped in each epoch: both directions together,
    while the authors' code drops each direction independently. Dropout is applied after each hidden layer,
    not before the first. For ``own_weight``, ``walk`` and ``batch_norm``, see :class:`DeepConvolution`.
    """

    # no early stopping: deep networks can learn nothing in the first hundred epochs
    estimator: ClassVar[dict[str, Any]] = {"epochs": 400, "patience": None}
    # whether the last layer takes the embeddings of all hidden layers, or only of the last
    joins = False

    hidden = count(128)
    depth = count(2)
    dropout = rate(0.5)
    drop_edge = rate(0.0)
    own_weight = choice(False)
    walk = choice(False)
    batch_norm = choice(False)

    def add_layers(self, n_features: int, n_classes: int) -> None:
        self.layer = {"own_weight": self.own_weight, "walk": self.walk, "batch_norm": self.batch_norm}
        if self.depth < 2:
            raise ValueError(f"{type(self).__name__}: depth must be 2 or more: a first and a last layer.")
        self.add_hidden(n_features)
        width = self.hidden * (self.depth - 1 if self.joins else 1)
        self.exit = DeepConvolution(width, n_classes, **self.layer)

    def add_hidden(self, n_features: int) -> None:
        self.convs = self._chain([n_features, *[self.hidden] * (self.depth - 1)])

    def _chain(self, widths: list[int]) -> torch.nn.ModuleList:
        return torch.nn.ModuleList(DeepConvolution(a, b, **self.layer) for a, b in pairwise(widths))

    def _pass(self, convs: Any, x: Tensor, graph: tuple[Any, ...]) -> list[Tensor]:
        """Return the embeddings of each layer of a chain."""
        embeddings = []
        for conv in convs:
            x = drop(torch.relu(conv(x, *graph)), self.dropout, self.training)
            embeddings.append(x)
        return embeddings

    def _embedded(self, x: Tensor, graph: tuple[Any, ...]) -> list[Tensor]:
        """Return the embeddings that the last layer takes."""
        return self._pass(self.convs, x, graph)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        graph = drop_links(edge_index, edge_weight, self.drop_edge, self.training)
        embeddings = self._embedded(x, graph)
        return self.exit(torch.cat(embeddings, dim=1) if self.joins else embeddings[-1], *graph)


class JKNet(DeepGCN):
    r"""Convolutions whose embeddings are all concatenated for the last layer (Xu et al., 2018).

    .. math:: Z = \hat A \left[U^{(1)} \,\|\, \dots \,\|\, U^{(K-1)}\right] W_K + b_K

    with the layers of :class:`DeepGCN`.
    """

    joins = True

    def head(self, k: int) -> Tensor:
        """Return the part of the last layer's weights that applies to the embeddings of layer k."""
        W = self.exit.lin.weight if self.exit.own is None else self.exit.lin.weight + self.exit.own.weight
        return W.T[(k - 1) * self.hidden : k * self.hidden]


class Incep(DeepGCN):
    r"""Parallel branches of convolutions, one of each length.

    .. math:: Z = \hat A \left[U \,\|\, f_1(U) \,\|\, \dots \,\|\, f_{K-2}(U)\right] W + b, \qquad
        U = \mathrm{ReLU}(\hat A X W_0 + b_0)

    where :math:`f_j` is a branch of j convolutions: a network of ``depth`` K has about K²/2 convolutions.
    """

    joins = True

    def add_hidden(self, n_features: int) -> None:
        self.entrance = DeepConvolution(n_features, self.hidden, **self.layer)
        self.branches = torch.nn.ModuleList(
            self._chain([self.hidden] * (length + 1)) for length in range(1, self.depth - 1)
        )

    def _embedded(self, x: Tensor, graph: tuple[Any, ...]) -> list[Tensor]:
        (U,) = self._pass([self.entrance], x, graph)
        return [U, *(self._pass(branch, U, graph)[-1] for branch in self.branches)]
