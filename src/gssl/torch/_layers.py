"""Layers of PyG on the matrices of this room, and what they share."""

from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn import GCN2Conv, GCNConv, Linear

from gssl.torch._sparse import SparseMatrix, drop_entries

Features = Tensor | SparseMatrix


class InputLinear(Linear):
    """PyG's linear layer, which also takes sparse features.

    Examples
    --------
    >>> layer = InputLinear(2, 1, bias=False)
    >>> X = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    >>> from scipy.sparse import csr_array
    >>> bool(torch.allclose(layer(SparseMatrix.from_scipy(csr_array(X.numpy()))), layer(X)))
    True
    """

    def forward(self, X: Features) -> Tensor:
        """Give X W + b."""
        if not isinstance(X, SparseMatrix):
            return super().forward(X)  # type: ignore[no-any-return]
        Z = X @ self.weight.t()
        return Z if self.bias is None else Z + self.bias  # type: ignore[no-any-return]


class _Fused:
    """Aggregation as one product with a matrix that is its own transpose."""

    def message_and_aggregate(self, adj_t: Any, x: Tensor) -> Tensor:
        return SparseMatrix(adj_t, symmetric=True) @ x


class GraphConvolution(_Fused, GCNConv):
    r"""PyG's graph convolution on a matrix that is normalised already.

    .. math:: U' = \hat A U W + b

    Examples
    --------
    >>> layer = GraphConvolution(3, 2)
    >>> layer.weight_shape
    (3, 2)
    """

    def __init__(self, n_in: int, n_out: int, bias: bool = True) -> None:
        super().__init__(n_in, n_out, bias=bias, normalize=False, add_self_loops=False)
        # PyG's own refuses sparse features
        self.lin = InputLinear(n_in, n_out, bias=False, weight_initializer="glorot")

    @property
    def weight_shape(self) -> tuple[int, int]:
        """Columns in and out."""
        return int(self.in_channels), int(self.out_channels)

    def forward(self, U: Features, A_hat: SparseMatrix) -> Tensor:
        """Convolve."""
        return super().forward(U, A_hat.csr)  # type: ignore[no-any-return]


class InitialResidualConvolution(_Fused, GCN2Conv):
    """PyG's layer of GCNII on a matrix that is normalised already."""

    def __init__(self, width: int, alpha: float, theta: float, layer: int) -> None:
        super().__init__(width, alpha, theta, layer, normalize=False, add_self_loops=False)

    def forward(self, U: Tensor, U_0: Tensor, A_hat: SparseMatrix) -> Tensor:
        """Convolve, with the first embeddings as a residual."""
        return super().forward(U, U_0, A_hat.csr)  # type: ignore[no-any-return]


def drop(U: Any, rate: float, training: bool) -> Any:
    """Drop entries of features or embeddings while training; of sparse ones only what is stored.

    Examples
    --------
    >>> drop(torch.ones(2), 0.5, training=False).tolist()
    [1.0, 1.0]
    """
    if not training or not rate:
        return U
    return U.dropped(rate) if isinstance(U, SparseMatrix) else drop_entries(U, rate)


class Perceptron(torch.nn.Module):
    r"""Two layers: :math:`\mathrm{ReLU}(X W_1 + b_1) W_2 + b_2`, with dropout before each.

    Examples
    --------
    >>> Perceptron(3, 4, 2, dropout=0.5)(torch.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    def __init__(self, n_in: int, hidden: int, n_out: int, dropout: float, bias: bool = True) -> None:
        super().__init__()
        self.first = InputLinear(n_in, hidden, bias=bias, weight_initializer="glorot")
        self.second = Linear(hidden, n_out, bias=bias, weight_initializer="glorot")
        self.dropout = dropout

    def forward(self, X: Features) -> Tensor:
        """Give the scores of each row."""
        U = torch.relu(self.first(drop(X, self.dropout, self.training)))
        return self.second(drop(U, self.dropout, self.training))  # type: ignore[no-any-return]
