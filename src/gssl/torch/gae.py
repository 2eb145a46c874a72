"""GAE and VGAE: graph auto-encoders (Kipf and Welling, 2016)."""

from typing import Any

import torch
import torch_geometric.nn as pyg
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import logsigmoid

from gssl.graph import sample_negatives
from gssl.methods.inputs import check_number
from gssl.torch._graph import Graph
from gssl.torch._layers import Features, GraphConvolution
from gssl.torch._sparse import SparseMatrix
from gssl.torch._unsupervised import EncoderEmbedder, Loss


class GAE(EncoderEmbedder):
    r"""Embed nodes so that products of their embeddings tell which of them are linked.

    .. math:: U = \hat A\,\mathrm{ReLU}(\hat A X W_0 + b_0) W_1 + b_1, \qquad
              \min -\frac1{|E|} \sum_{(i, j) \in E} \log \sigma(U_i^\top U_j)
              - \frac1{|N|} \sum_{(i, j) \in N} \log\big(1 - \sigma(U_i^\top U_j)\big)

    The publication takes all pairs that are not linked for N, and weighs links up to balance them. Here N is
    drawn in each epoch, as large as E: the same in expectation, without a matrix of all pairs. The encoder
    embeds other graphs with the same features, too. Needs torch-geometric (``pip install gssl[baselines]``).

    Parameters
    ----------
    dimensions : int, default=16
        Numbers per node.
    hidden : int, default=32
        Width of the layer between.
    epochs : int, default=200
        The most epochs.
    learning_rate : float, default=0.01
        Of Adam.
    patience : int or None, default=None
        Epochs without a lower loss after which training stops, with the weights of the lowest; None: never,
        for the loss of pairs that are drawn goes up and down.
    device : str, torch.device or None, default=None
        Where to train; the CPU if None.
    random_state : int, Generator, RandomState or None, default=None

    Attributes
    ----------
    embedding_ : float32 ndarray of shape (n, dimensions)
    encoder_ : torch.torch.nn.Module
    losses_ : ndarray of shape (n_epochs,)
        The loss of each epoch.
    n_iter_ : int
        The epochs that it took.
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> model = GAE(dimensions=8, epochs=50, random_state=0).fit(data.features, adjacency=data.adjacency)
    >>> model.embedding_.shape, bool(model.losses_[-1] < model.losses_[0])
    ((34, 8), True)
    """

    def __init__(
        self,
        dimensions: int = 16,
        hidden: int = 32,
        epochs: int = 200,
        learning_rate: float = 0.01,
        patience: int | None = None,
        device: Any = None,
        random_state: Any = None,
    ) -> None:
        self.dimensions = dimensions
        self.hidden = hidden
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.patience = patience
        self.device = device
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "hidden", low=1, whole=True)

    def _network(self, n_features: int) -> Any:
        return pyg.GAE(_Encoder(n_features, self.hidden, self.dimensions))

    def _loss(self, network: Any, X: Features, A: csr_array) -> Loss:
        device = next(network.parameters()).device
        graph = Graph.from_scipy(A, device=device)

        def loss() -> Tensor:
            U = network.encode(X, graph.A_hat)
            # by this house's own draw, for PyG's takes Python's random numbers, which are the user's
            unlinked = sample_negatives(A, 1.0, int(torch.randint(2**31, ())))
            pairs = Graph.from_scipy(unlinked, device=device).links
            return self._total(network, reconstruction_loss(network.decoder, U, graph.links, pairs))

        return loss

    def _total(self, network: Any, reconstruction: Tensor) -> Tensor:
        return reconstruction


class VGAE(GAE):
    r"""Embed nodes as clouds, whose means are the embeddings: the variational form of :class:`GAE`.

    .. math:: Z = U + \epsilon \odot \exp(S), \qquad \epsilon \sim \mathcal N(0, 1), \qquad
              \min \text{the loss of GAE at } Z
              - \frac1{2 n^2} \sum_{i, k} \big(1 + 2 S_{ik} - U_{ik}^2 - \exp(2 S_{ik})\big)

    U and S share their first layer. Parameters and attributes are those of :class:`GAE`; what is embedded is
    U.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> model = VGAE(dimensions=8, epochs=50, random_state=0).fit(data.features, adjacency=data.adjacency)
    >>> model.embedding_.shape, bool(model.losses_[-1] < model.losses_[0])
    ((34, 8), True)
    """

    def _network(self, n_features: int) -> Any:
        return pyg.VGAE(_Clouds(n_features, self.hidden, self.dimensions))

    def _total(self, network: Any, reconstruction: Tensor) -> Tensor:
        # PyG averages over nodes; the publication's bound has it once more over n, beside the mean over pairs
        total: Tensor = reconstruction + network.kl_loss() / len(network.__mu__)
        return total


def reconstruction_loss(decoder: Any, U: Tensor, links: Tensor, unlinked: Tensor) -> Tensor:
    r"""Weigh how well products tell links from other pairs.

    .. math:: -\frac1{|E|} \sum_{(i, j) \in E} \log \sigma(U_i^\top U_j)
              - \frac1{|N|} \sum_{(i, j) \in N} \log\big(1 - \sigma(U_i^\top U_j)\big)

    As PyG has it, but a graph may have no links, or no other pairs, and a chance near zero loses no digits.

    Parameters
    ----------
    decoder : InnerProductDecoder
    U : Tensor of shape (n, d)
    links, unlinked : int64 Tensor of shape (2, m)

    Examples
    --------
    >>> pair = torch.tensor([[0], [1]])
    >>> reconstruction_loss(pyg.InnerProductDecoder(), torch.zeros(2, 1), pair, pair[:, :0])
    tensor(0.6931)
    """
    near, far = (decoder(U, pairs, sigmoid=False) for pairs in (links, unlinked))
    return -(logsigmoid(near).sum() / max(1, len(near)) + logsigmoid(-far).sum() / max(1, len(far)))


class _Encoder(torch.nn.Module):
    """Two graph convolutions."""

    def __init__(self, n_features: int, hidden: int, dimensions: int) -> None:
        super().__init__()
        self.first = GraphConvolution(n_features, hidden)
        self.second = GraphConvolution(hidden, dimensions)

    def forward(self, X: Features, A_hat: SparseMatrix) -> Any:
        return self.second(self.first(X, A_hat).relu(), A_hat)


class _Clouds(_Encoder):
    """Means, and in training logarithms of deviations, too."""

    def __init__(self, n_features: int, hidden: int, dimensions: int) -> None:
        super().__init__(n_features, hidden, dimensions)
        self.deviation = GraphConvolution(hidden, dimensions)

    def forward(self, X: Features, A_hat: SparseMatrix) -> Any:
        H = self.first(X, A_hat).relu()
        U = self.second(H, A_hat)
        return (U, self.deviation(H, A_hat)) if self.training else U
