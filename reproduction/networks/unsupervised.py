"""Node embeddings trained without labels: DGI, BGRL, GAE and VGAE.

Each has ``embed(x, edge_index)`` and ``loss(x, edge_index)``.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from itertools import pairwise
from math import cos, pi
from typing import Any, ClassVar

import numpy as np
import torch
import torch_geometric.nn as pyg
from torch import Tensor
from torch.nn.functional import cosine_similarity, logsigmoid

from gssl.graph import sample_negatives
from reproduction.networks.graphs import (
    GraphConvolution,
    Network,
    choice,
    count,
    drop_links,
    graph_of,
    is_sparse,
    take_rows,
    with_values,
)

# of BGRL's publication: the target's initial momentum (it increases to one), AdamW's weight decay, and the
# width of the predictor's hidden layer
_MOMENTUM, _WEIGHT_DECAY, _PREDICTOR = 0.99, 1e-5, 512


class DGI(Network):
    r"""Learn to distinguish a graph's nodes from those with shuffled features (Veličković et al., 2019).

    .. math:: U = \mathrm{PReLU}(\hat A X W + b), \qquad s = \sigma\Big(\frac1n \sum_i U_i\Big), \qquad
              \min -\frac1n \sum_i \Big[\log \sigma(U_i^\top M s)
              + \log\big(1 - \sigma(\bar U_i^\top M s)\big)\Big]

    where :math:`\bar U` is the embedding of the same graph with the rows of X permuted at random in each
    epoch. With ``epochs=0`` the encoder stays random, which is the baseline "DGI Random-Init".
    """

    estimator: ClassVar[dict[str, Any]] = {"epochs": 500, "learning_rate": 0.001, "patience": 20}

    dimensions = count(512)

    def add_layers(self, n_features: int) -> None:
        encoder = _Encoder([n_features, self.dimensions], norm=torch.nn.Identity)
        self.infomax = pyg.DeepGraphInfomax(self.dimensions, encoder, _summary, _corruption)

    def embed(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return self.infomax.encoder(x, edge_index, edge_weight)

    def loss(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return self.infomax.loss(*self.infomax(x, edge_index, edge_weight))


def _summary(U: Tensor, *graph: Any) -> Tensor:
    return torch.sigmoid(U.mean(dim=0))


def _corruption(x: Tensor, *graph: Any) -> tuple[Any, ...]:
    return take_rows(x, torch.randperm(x.shape[0], device=x.device)), *graph


class BGRL(Network):
    r"""Predict from one view of a graph the target network's embedding of another (Thakoor et al., 2022).

    .. math:: \min 2 - \frac1n \sum_i \Big[\cos\big(p(U^1_i), \bar U^2_i\big)
              + \cos\big(p(U^2_i), \bar U^1_i\big)\Big], \qquad
              \bar\theta \leftarrow \tau_t \bar\theta + (1 - \tau_t) \theta, \qquad
              \tau_t = 1 - \frac{1 - \tau}2 \Big(1 + \cos\frac{\pi t}T\Big)

    :math:`U^1, U^2` embed two views without random links (``drop_edges``) and feature columns
    (``drop_features``); :math:`\bar U^1, \bar U^2` come from the target, a copy of the encoder whose weights
    :math:`\bar\theta` are a moving average without gradient; p is a network with one hidden layer of width
    512. A low loss alone means nothing, because the target moves, so training never stops early.

    The publication does not use Cora, Citeseer or Pubmed, and trains for thousands of epochs at a smaller
    rate. On citation graphs, GraphMAE's authors use few epochs and much wider encoders (``hidden``, then
    ``dimensions``): narrow ones lose accuracy on Citeseer.
    """

    estimator: ClassVar[dict[str, Any]] = {"epochs": 30, "learning_rate": 0.0005, "patience": None}

    dimensions = count(1024)
    hidden = count(2048)
    drop_edges = choice((0.4, 0.4))
    drop_features = choice((0.4, 0.1))

    def add_layers(self, n_features: int) -> None:
        for name, rates in (("drop_edges", self.drop_edges), ("drop_features", self.drop_features)):
            if not (isinstance(rates, tuple | list) and len(rates) == 2 and all(0 <= r < 1 for r in rates)):
                raise ValueError(f"BGRL: {name} must be two numbers from 0 to below 1, not {rates!r}.")
        # every batch is the whole graph, so the most recent statistics are the best
        norm = partial(torch.nn.BatchNorm1d, momentum=0.99)
        self.encoder = _Encoder([n_features, self.hidden, self.dimensions], norm)
        for conv in self.encoder.convs:
            # batch norm cancels a bias, whose gradient would be rounding error
            conv.register_parameter("bias", None)
        self.target = deepcopy(self.encoder).requires_grad_(False)
        self.predictor = torch.nn.Sequential(
            torch.nn.Linear(self.dimensions, _PREDICTOR),
            torch.nn.PReLU(),
            torch.nn.Linear(_PREDICTOR, self.dimensions),
        )

    def embed(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return self.encoder(x, edge_index, edge_weight)

    def loss(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        if x.shape[0] < 2:
            raise ValueError("BGRL normalises over nodes, and there is only 1 sample: give more nodes.")
        views = [
            (without_columns(x, columns), *drop_links(edge_index, edge_weight, links, training=True))
            for columns, links in zip(self.drop_features, self.drop_edges, strict=True)
        ]
        predicted = [self.predictor(self.encoder(*view)) for view in views]
        with torch.no_grad():
            targets = [self.target(*view) for view in views]
        agreement = [cosine_similarity(p, s).mean() for p, s in zip(predicted, targets[::-1], strict=True)]
        return 2.0 - agreement[0] - agreement[1]

    @torch.no_grad()
    def follow(self, momentum: float) -> None:
        """Update the target's weights as a moving average of the encoder's."""
        for old, new in zip(self.target.parameters(), self.encoder.parameters(), strict=True):
            old.lerp_(new, 1.0 - momentum)

    def optimizer(self, learning_rate: float, epochs: int) -> torch.optim.Optimizer:
        """Return AdamW with the schedule of :func:`warm_cosine`; each step also updates the target."""
        learners = [*self.encoder.parameters(), *self.predictor.parameters()]
        optimizer = torch.optim.AdamW(learners, lr=learning_rate, weight_decay=_WEIGHT_DECAY)
        rate = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: warm_cosine(epoch, epochs))
        epoch = 0

        def after_step(*_: Any) -> None:
            nonlocal epoch
            epoch += 1
            self.follow(target_momentum(epoch, epochs))
            rate.step()

        optimizer.register_step_post_hook(after_step)
        return optimizer


class _Encoder(torch.nn.Module):
    """Graph convolutions, each followed by a normalisation and PReLU."""

    def __init__(self, widths: list[int], norm: Callable[[int], torch.nn.Module]) -> None:
        super().__init__()
        self.convs = torch.nn.ModuleList(GraphConvolution(a, b) for a, b in pairwise(widths))
        self.norms = torch.nn.ModuleList(norm(width) for width in widths[1:])
        self.activations = torch.nn.ModuleList(torch.nn.PReLU() for _ in widths[1:])

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        for conv, norm, activate in zip(self.convs, self.norms, self.activations, strict=True):
            x = activate(norm(conv(x, edge_index, edge_weight)))
        return x


def target_momentum(epoch: int, epochs: int) -> float:
    r"""Return the target's momentum :math:`1 - \frac{1 - \tau}2 (1 + \cos(\pi t / T))`."""
    return 1.0 - (1.0 - _MOMENTUM) * (1.0 + cos(pi * epoch / epochs)) / 2.0


def warm_cosine(epoch: int, epochs: int) -> float:
    """Return the learning rate factor: linear warm-up for a tenth of the epochs, then cosine decay."""
    warm = max(1, epochs // 10)
    if epoch < warm:
        return (epoch + 1) / warm
    return (1.0 + cos(pi * (epoch - warm) / max(1, epochs - warm))) / 2.0


def without_columns(x: Tensor, rate: float) -> Tensor:
    """Set random columns of features to zero."""
    if not rate:
        return x
    kept = (torch.rand(x.shape[1], device=x.device) >= rate).to(x.dtype)
    return with_values(x, x.values() * kept[x.col_indices()]) if is_sparse(x) else x * kept


class GAE(Network):
    r"""Embed nodes so that inner products of embeddings predict links (Kipf and Welling, 2016).

    .. math:: U = \hat A\,\mathrm{ReLU}(\hat A X W_0 + b_0) W_1 + b_1, \qquad
              \min -\frac1{|E|} \sum_{(i, j) \in E} \log \sigma(U_i^\top U_j)
              - \frac1{|N|} \sum_{(i, j) \in N} \log\big(1 - \sigma(U_i^\top U_j)\big)

    In the publication, N has all unlinked pairs, and links are weighted to balance them. Here N is a sample
    as large as E, drawn in each epoch: the same in expectation, without a matrix of all pairs. The loss is
    noisy, so there is no early stopping.
    """

    estimator: ClassVar[dict[str, Any]] = {"epochs": 200, "learning_rate": 0.01, "patience": None}

    dimensions = count(16)
    hidden = count(32)

    def add_layers(self, n_features: int) -> None:
        self.first = GraphConvolution(n_features, self.hidden)
        self.second = GraphConvolution(self.hidden, self.dimensions)

    def embed(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        H = self.first(x, edge_index, edge_weight).relu()
        return self.second(H, edge_index, edge_weight)

    def loss(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        U = self.embed(x, edge_index, edge_weight)
        return reconstruction_loss(U, edge_index, self._unlinked(U, edge_index, edge_weight))

    def _unlinked(self, U: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        # not PyG's function, which uses Python's global random state
        A = graph_of(edge_index, edge_weight, U.shape[0], U.dtype).scipy
        pairs = sample_negatives(A, 1.0, int(torch.randint(2**31, ()))).tocoo()
        return torch.tensor(np.vstack([pairs.row, pairs.col]), dtype=torch.long, device=U.device)


class VGAE(GAE):
    r"""Embed nodes as normal distributions, whose means are the embeddings: a variational :class:`GAE`.

    .. math:: Z = U + \epsilon \odot \exp(S), \qquad \epsilon \sim \mathcal N(0, 1), \qquad
              \min \text{the loss of GAE at } Z
              - \frac1{2 n^2} \sum_{i, k} \big(1 + 2 S_{ik} - U_{ik}^2 - \exp(2 S_{ik})\big)

    U and S share their first layer.
    """

    def add_layers(self, n_features: int) -> None:
        super().add_layers(n_features)
        self.deviation = GraphConvolution(self.hidden, self.dimensions)

    def loss(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        graph = (edge_index, edge_weight)
        H = self.first(x, *graph).relu()
        # clamp log standard deviations, as PyG does
        U, S = self.second(H, *graph), self.deviation(H, *graph).clamp(max=pyg.models.autoencoder.MAX_LOGSTD)
        Z = U + torch.randn_like(S) * torch.exp(S)
        # the publication's bound divided by n²: a mean over pairs, and this term
        bound = -0.5 * (1 + 2 * S - U**2 - torch.exp(2 * S)).sum() / len(U) ** 2
        return reconstruction_loss(Z, edge_index, self._unlinked(U, *graph)) + bound


def reconstruction_loss(U: Tensor, links: Tensor, unlinked: Tensor) -> Tensor:
    """Compute the cross-entropy of links and unlinked pairs, either of which may be empty.

    Unlike PyG's version it is computed from logits, to keep precision for probabilities near zero.
    """
    decoder = pyg.InnerProductDecoder()
    near, far = (decoder(U, pairs, sigmoid=False) for pairs in (links, unlinked))
    return -(logsigmoid(near).sum() / max(1, len(near)) + logsigmoid(-far).sum() / max(1, len(far)))
