"""BGRL: bootstrapped representation learning on graphs (Thakoor et al., 2022)."""

from copy import deepcopy
from itertools import pairwise
from math import cos, pi
from typing import Any

import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import cosine_similarity

from gssl.torch._graph import Graph
from gssl.torch._layers import Features, GraphConvolution
from gssl.torch._sparse import SparseMatrix
from gssl.torch._unsupervised import EncoderEmbedder, Loss

# the target's share of its own past at first (it grows to one), and Adam's decay: the publication's
_MOMENTUM, _WEIGHT_DECAY = 0.99, 1e-5
# batches do not differ, for each is the whole graph: statistics of the last ones are the best
_NORM_MOMENTUM = 0.99


class BGRL(EncoderEmbedder):
    r"""Predict, from one thinned-out view of a graph, what an older self says of another view.

    .. math:: \min 2 - \frac1n \sum_i \Big[\cos\big(p(U^1_i), \bar U^2_i\big)
              + \cos\big(p(U^2_i), \bar U^1_i\big)\Big], \qquad
              \bar\theta \leftarrow \tau_t \bar\theta + (1 - \tau_t) \theta, \qquad
              \tau_t = 1 - \frac{1 - \tau}2 \Big(1 + \cos\frac{\pi t}T\Big)

    :math:`U^1, U^2` embed two views that lack random links and feature columns; :math:`\bar U^1, \bar U^2`
    are by a copy of the encoder whose weights :math:`\bar\theta` follow slowly and have no gradient; p is a
    small network. The encoder is two graph convolutions, each with batch normalisation and PReLU. There are
    no negatives. It embeds other graphs with the same features, too. Needs torch-geometric
    (``pip install gssl[baselines]``).

    Parameters
    ----------
    dimensions : int, default=256
        Numbers per node; the layers between are twice as wide.
    drop_edges : (float, float), default=(0.3, 0.4)
        The part of the links that each view lacks.
    drop_features : (float, float), default=(0.3, 0.3)
        The part of the feature columns that each view lacks.
    epochs : int, default=100
        The publication has thousands, at a smaller rate.
    learning_rate : float, default=0.001
        Of AdamW, after the first tenth of the epochs; it falls to zero along a cosine.
    device : str, torch.device or None, default=None
        Where to train; the CPU if None.
    random_state : int, Generator, RandomState or None, default=None

    Attributes
    ----------
    embedding_ : float32 ndarray of shape (n, dimensions)
    encoder_ : torch.nn.Module
    losses_ : ndarray of shape (n_epochs,)
        The loss of each epoch. A low one means nothing by itself, for the target moves: so training never
        stops early.
    n_iter_ : int
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> model = BGRL(dimensions=8, epochs=20, random_state=0).fit(data.features, adjacency=data.adjacency)
    >>> model.embedding_.shape, bool(model.losses_[-1] < model.losses_[0])
    ((34, 8), True)
    """

    patience = None

    def __init__(
        self,
        dimensions: int = 256,
        drop_edges: tuple[float, float] = (0.3, 0.4),
        drop_features: tuple[float, float] = (0.3, 0.3),
        epochs: int = 100,
        learning_rate: float = 0.001,
        device: Any = None,
        random_state: Any = None,
    ) -> None:
        self.dimensions = dimensions
        self.drop_edges = drop_edges
        self.drop_features = drop_features
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.device = device
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("drop_edges", "drop_features"):
            rates = getattr(self, name)
            if not (isinstance(rates, tuple | list) and len(rates) == 2 and all(0 <= r < 1 for r in rates)):
                raise ValueError(f"BGRL: {name} must be two numbers from 0 to below 1, not {rates!r}.")

    def _network(self, n_features: int) -> Any:
        return Bootstrap(n_features, self.dimensions)

    def _optimizer(self, network: Any) -> torch.optim.Optimizer:
        learners = [*network.encoder.parameters(), *network.predictor.parameters()]
        optimizer = torch.optim.AdamW(learners, lr=self.learning_rate, weight_decay=_WEIGHT_DECAY)
        epoch = 0

        def follow(*_: Any) -> None:
            nonlocal epoch
            epoch += 1
            network.follow(target_momentum(epoch, self.epochs))
            for group in optimizer.param_groups:
                group["lr"] = self.learning_rate * warm_cosine(epoch, self.epochs)

        optimizer.param_groups[0]["lr"] = self.learning_rate * warm_cosine(0, self.epochs)
        optimizer.register_step_post_hook(follow)
        return optimizer

    def _loss(self, network: Any, X: Features, A: csr_array) -> Loss:
        if A.shape[0] < 2:
            raise ValueError("BGRL normalises over nodes, and there is only 1 sample: give more nodes.")
        graph = Graph.from_scipy(A, device=next(network.parameters()).device)
        rates = tuple(zip(self.drop_features, self.drop_edges, strict=True))

        def loss() -> Tensor:
            first, second = ((without_columns(X, f), graph.dropped(e).A_hat) for f, e in rates)
            return network.loss(first, second)  # type: ignore[no-any-return]

        return loss


class Bootstrap(torch.nn.Module):
    """An encoder, a predictor of what its older self says, and that older self."""

    def __init__(self, n_features: int, dimensions: int) -> None:
        super().__init__()
        self.encoder = _Encoder([n_features, 2 * dimensions, dimensions])
        self.target = deepcopy(self.encoder).requires_grad_(False)
        self.predictor = torch.nn.Sequential(
            torch.nn.Linear(dimensions, 2 * dimensions),
            torch.nn.PReLU(),
            torch.nn.Linear(2 * dimensions, dimensions),
        )

    def loss(self, *views: tuple[Features, SparseMatrix]) -> Tensor:
        """Compare what is predicted from each view with what the target says of the other."""
        predicted = [self.predictor(self.encoder(*view)) for view in views]
        with torch.no_grad():
            said = [self.target(*view) for view in views]
        agreement = [cosine_similarity(p, s).mean() for p, s in zip(predicted, said[::-1], strict=True)]
        return 2.0 - agreement[0] - agreement[1]

    @torch.no_grad()
    def follow(self, momentum: float) -> None:
        """Move the target's weights a little towards the encoder's."""
        for old, new in zip(self.target.parameters(), self.encoder.parameters(), strict=True):
            old.lerp_(new, 1.0 - momentum)


class _Encoder(torch.nn.Module):
    """Graph convolutions, each with batch normalisation and PReLU."""

    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        self.convolutions = torch.nn.ModuleList(GraphConvolution(a, b) for a, b in pairwise(widths))
        self.norms = torch.nn.ModuleList(
            torch.nn.BatchNorm1d(width, momentum=_NORM_MOMENTUM) for width in widths[1:]
        )
        self.activations = torch.nn.ModuleList(torch.nn.PReLU() for _ in widths[1:])

    def forward(self, X: Features, A_hat: SparseMatrix) -> Tensor:
        U: Any = X
        for convolve, norm, activate in zip(self.convolutions, self.norms, self.activations, strict=True):
            U = activate(norm(convolve(U, A_hat)))
        return U  # type: ignore[no-any-return]


def target_momentum(epoch: int, epochs: int) -> float:
    r"""Give the target's share of its own past: :math:`1 - \frac{1 - \tau}2 (1 + \cos(\pi t / T))`.

    Examples
    --------
    >>> target_momentum(0, 10), target_momentum(10, 10)
    (0.99, 1.0)
    """
    return 1.0 - (1.0 - _MOMENTUM) * (1.0 + cos(pi * epoch / epochs)) / 2.0


def warm_cosine(epoch: int, epochs: int) -> float:
    """Give the share of the learning rate: up in a straight line for a tenth of the epochs, then a cosine.

    Examples
    --------
    >>> [round(warm_cosine(epoch, 20), 3) for epoch in (0, 1, 2, 11, 20)]
    [0.5, 1.0, 1.0, 0.5, 0.0]
    """
    warm = max(1, epochs // 10)
    if epoch < warm:
        return (epoch + 1) / warm
    return (1.0 + cos(pi * (epoch - warm) / max(1, epochs - warm))) / 2.0


def without_columns(X: Features, rate: float) -> Features:
    """Give features with some columns set to zero, drawn at random; PyG's own takes dense ones only.

    Examples
    --------
    >>> without_columns(torch.ones(1, 2), 0.0).tolist()
    [[1.0, 1.0]]
    """
    if not rate:
        return X
    values = X.values if isinstance(X, SparseMatrix) else X
    kept = (torch.rand(X.shape[1], device=values.device) >= rate).to(values.dtype)
    return X.with_values(values * kept[X.csr.col_indices()]) if isinstance(X, SparseMatrix) else X * kept
