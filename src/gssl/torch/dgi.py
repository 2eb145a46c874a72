"""DGI: deep graph infomax (Veličković et al., 2019)."""

from typing import Any

import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch_geometric.nn import DeepGraphInfomax

from gssl.torch._graph import Graph
from gssl.torch._layers import Features, GraphConvolution
from gssl.torch._sparse import SparseMatrix, quiet
from gssl.torch._unsupervised import EncoderEmbedder, Loss


class DGI(EncoderEmbedder):
    r"""Learn to tell the nodes of a graph from those of one whose features were shuffled.

    .. math:: U = \mathrm{PReLU}(\hat A X W + b), \qquad s = \sigma\Big(\frac1n \sum_i U_i\Big), \qquad
              \min -\frac1n \sum_i \Big[\log \sigma(U_i^\top M s)
              + \log\big(1 - \sigma(\bar U_i^\top M s)\big)\Big]

    where :math:`\bar U` is the embedding of the same graph with the rows of X in another order, drawn in each
    epoch. What is good for that is what a node's surroundings have in common with the whole graph. The
    encoder embeds other graphs with the same features, too. With ``epochs=0`` it stays random, which is the
    baseline "DGI Random-Init". Needs torch-geometric (``pip install gssl[baselines]``).

    Parameters
    ----------
    dimensions : int, default=512
        Numbers per node.
    epochs : int, default=500
        The most epochs.
    learning_rate : float, default=0.001
        Of Adam.
    patience : int or None, default=20
        Epochs without a lower loss after which training stops; the weights of the lowest loss are taken.
    device : str, torch.device or None, default=None
        Where to train; the CPU if None.
    random_state : int, Generator, RandomState or None, default=None

    Attributes
    ----------
    embedding_ : float32 ndarray of shape (n, dimensions)
    encoder_ : torch.nn.Module
    losses_ : ndarray of shape (n_epochs,)
        The loss of each epoch.
    n_iter_ : int
        The epochs that it took.
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> model = DGI(dimensions=8, epochs=20, random_state=0).fit(data.features, adjacency=data.adjacency)
    >>> model.embedding_.shape, bool(model.losses_[-1] < model.losses_[0])
    ((34, 8), True)
    """

    def __init__(
        self,
        dimensions: int = 512,
        epochs: int = 500,
        learning_rate: float = 0.001,
        patience: int | None = 20,
        device: Any = None,
        random_state: Any = None,
    ) -> None:
        self.dimensions = dimensions
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.patience = patience
        self.device = device
        self.random_state = random_state

    def _network(self, n_features: int) -> Any:
        encoder = _Encoder(n_features, self.dimensions)
        return DeepGraphInfomax(self.dimensions, encoder, summary=_summary, corruption=_corruption)

    def _loss(self, network: Any, X: Features, A: csr_array) -> Loss:
        A_hat = Graph.from_scipy(A, device=network.weight.device).A_hat
        return lambda: network.loss(*network(X, A_hat))


class _Encoder(torch.nn.Module):
    """One graph convolution."""

    def __init__(self, n_features: int, dimensions: int) -> None:
        super().__init__()
        self.convolution = GraphConvolution(n_features, dimensions)
        self.activation = torch.nn.PReLU()

    def forward(self, X: Features, A_hat: SparseMatrix) -> Tensor:
        U: Tensor = self.activation(self.convolution(X, A_hat))
        return U


def _summary(U: Tensor, X: Features, A_hat: SparseMatrix) -> Tensor:
    return torch.sigmoid(U.mean(dim=0))


def _corruption(X: Features, A_hat: SparseMatrix) -> tuple[Features, SparseMatrix]:
    return reordered(X, torch.randperm(X.shape[0], device=A_hat.csr.device)), A_hat


def reordered(X: Features, order: Tensor) -> Features:
    """Give the rows of features in another order; PyG shuffles dense ones only.

    Parameters
    ----------
    X : Tensor or SparseMatrix of shape (n, d)
    order : Tensor of shape (n,)

    Examples
    --------
    >>> X = SparseMatrix(torch.eye(3).to_sparse_csr())
    >>> reordered(X, torch.tensor([2, 0, 1])).csr.to_dense()
    tensor([[0., 0., 1.],
            [1., 0., 0.],
            [0., 1., 0.]])
    """
    if isinstance(X, Tensor):
        return X[order]
    pointers = X.csr.crow_indices()
    sizes = pointers.diff()[order]
    ends = sizes.cumsum(0)
    shifts = pointers[:-1][order] - (ends - sizes)
    places = torch.arange(len(X.values), device=order.device) + shifts.repeat_interleave(sizes)
    pointers = torch.cat([ends.new_zeros(1), ends])
    with quiet():
        return SparseMatrix(
            torch.sparse_csr_tensor(pointers, X.csr.col_indices()[places], X.values[places], X.shape)
        )
