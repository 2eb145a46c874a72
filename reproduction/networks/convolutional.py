"""Networks of graph convolutions: GCN, Eigen-GCN, FastGCN and GCNII."""

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array, hstack
from scipy.sparse.linalg import eigsh
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch_geometric.nn import Linear

from gssl.operators import normalized_adjacency
from gssl.torch.links import SparseMatrix, sparse_csr_of
from reproduction.networks.graphs import (
    GraphConvolution,
    InitialResidualConvolution,
    InputLinear,
    Network,
    count,
    drop,
    graph_of,
    is_sparse,
    number,
    rate,
    scipy_of,
    take_rows,
)


class GCN(Network):
    r"""Graph convolutions with a non-linearity between layers (Kipf and Welling, 2017).

    .. math:: Z = \hat A \, \mathrm{ReLU}(\hat A X W_0 + b_0) \, W_1 + b_1

    Weight decay applies to the first layer only, as published.
    """

    hidden = count(16)
    depth = count(2)
    dropout = rate(0.5)

    def add_layers(self, n_features: int, n_classes: int) -> None:
        widths = [n_features, *[self.hidden] * (self.depth - 1)]
        self.convs = torch.nn.ModuleList(GraphConvolution(a, b) for a, b in pairwise(widths))
        self.exit = GraphConvolution(widths[-1], n_classes)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        for conv in self.convs:
            x = torch.relu(conv(drop(x, self.dropout, self.training), edge_index, edge_weight))
        return self.exit(drop(x, self.dropout, self.training), edge_index, edge_weight)

    def parameter_groups(self, weight_decay: float) -> list[dict[str, Any]]:
        return self.groups([*self.convs, self.exit][0].parameters(), weight_decay)

    def head(self, k: int) -> Tensor:
        """Return the W that maps embeddings of layer k to class scores."""
        return self.exit.lin.weight.T


class EigenGCN(GCN):
    r"""A GCN with the leading eigenvectors of the graph as additional features (Zhang et al., 2021).

    .. math:: Z = \mathrm{GCN}([X \,\|\, Q], A), \qquad \hat A Q = Q \Lambda

    Eigenvectors belong to one graph, so other graphs cannot be predicted. If a graph has many components, the
    leading eigenvalue is repeated and only some of its eigenvectors are used. Missing eigenvectors of small
    graphs are zeros.
    """

    eigenvectors = count(32)

    def add_layers(self, n_features: int, n_classes: int) -> None:
        super().add_layers(n_features + self.eigenvectors, n_classes)
        self._known: bytes | None = None
        self._joined: tuple[Tensor, Tensor, Tensor] | None = None

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return super().forward(self._beside(x, edge_index, edge_weight), edge_index, edge_weight)

    def _beside(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        if self._joined is not None and self._joined[0] is x and self._joined[1] is edge_index:
            return self._joined[2]
        dtype = self.exit.bias.dtype
        graph = graph_of(edge_index, edge_weight, x.shape[0], dtype)
        if self._known not in (None, graph.fingerprint):
            raise ValueError(
                "EigenGCN predicts only the graph of its fit, because eigenvectors belong to it: fit "
                "EigenGCN again on the whole new graph."
            )
        self._known = graph.fingerprint
        Q = leading_eigenvectors(graph.scipy, self.eigenvectors)
        if is_sparse(x):
            joined = sparse_csr_of(csr_array(hstack([scipy_of(x), csr_array(Q)])), dtype, x.device)
        else:
            joined = torch.cat([x, torch.tensor(Q, dtype=dtype, device=x.device)], dim=1)
        self._joined = (x, edge_index, joined)
        return joined

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_joined": None}


def leading_eigenvectors(A: csr_array, count: int) -> np.ndarray:
    """Return the unit eigenvectors of Â with the greatest eigenvalues, and zeros beyond n − 2.

    The entry of greatest magnitude of each is positive.
    """
    n = A.shape[0]
    A_hat = normalized_adjacency(A, np.float64)
    start = np.random.default_rng(0).uniform(0.5, 1.0, n)
    _, Q = eigsh(A_hat.tocsr(), k=min(count, n - 2) if n > 2 else 1, which="LA", v0=start)
    Q = Q[:, ::-1]
    largest = np.abs(Q).argmax(axis=0)
    Q = Q * np.sign(Q[largest, np.arange(Q.shape[1])])
    return np.pad(Q, ((0, 0), (0, count - Q.shape[1])))


class FastGCN(GCN):
    r"""Graph convolutions trained with importance sampling of nodes in each layer (Chen et al., 2018).

    .. math:: (\hat A U)_v \approx \frac1t \sum_{s=1}^{t} \frac{\hat A_{v u_s}}{q(u_s)} U_{u_s}, \qquad
        q(u) \propto \|\hat A_{:u}\|^2

    ``samples`` is t. Predictions use all nodes, and weight decay applies to all layers.
    """

    samples = count(400)
    dropout = rate(0.0)

    def loss(
        self, x: Tensor, edge_index: Tensor, nodes: Tensor, codes: Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        bias = self.exit.bias
        A_hat = scipy_of(graph_of(edge_index, edge_weight, x.shape[0], bias.dtype).A_hat.csr)
        layers: list[Any] = [*self.convs, self.exit]
        rows, hops = nodes.cpu().numpy(), []
        for _ in layers:  # from the last layer to the first
            hop, rows = sampled_rows(A_hat, rows, self.samples)
            hops.append(SparseMatrix(sparse_csr_of(hop, bias.dtype, bias.device)))
        U = take_rows(x, torch.as_tensor(rows, device=x.device))
        for k, (layer, hop) in enumerate(zip(layers, reversed(hops), strict=True)):
            U = torch.relu(U) if k else U
            U = hop @ layer.lin(drop(U, self.dropout, self.training)) + layer.bias
        return cross_entropy(U, codes)

    def parameter_groups(self, weight_decay: float) -> list[dict[str, Any]]:
        return [{"params": list(self.parameters()), "weight_decay": weight_decay}]


def sampled_rows(A_hat: csr_array, rows: np.ndarray, samples: int) -> tuple[csr_array, np.ndarray]:
    """Draw columns of some rows of Â by q and divide them by t q, so that products are unbiased."""
    part = csr_array(A_hat[rows])
    # columns with zeros in these rows have probability 0
    q = np.asarray(part.power(2).sum(axis=0)).ravel().astype(np.float64)
    q /= q.sum()
    # drawn with torch, whose random state is seeded and restored by the caller
    drawn = torch.multinomial(torch.as_tensor(q), samples, replacement=True).numpy()
    hop = csr_array(part[:, drawn]).multiply(1.0 / (samples * q[drawn]))
    return csr_array(hop), drawn


class GCNII(Network):
    r"""Deep convolutions with initial residual and identity mapping (Chen et al., 2020).

    .. math:: U^{(l)} = \mathrm{ReLU}\left(\left[(1 - \alpha) \hat A U^{(l-1)} + \alpha U^{(0)}\right]
        \left[(1 - \beta_l) I + \beta_l W_l\right]\right), \qquad \beta_l = \log(\theta / l + 1)

    The first and last layers have their own weight decay, ``dense_weight_decay``.
    """

    estimator: ClassVar[dict[str, Any]] = {"weight_decay": 0.01, "epochs": 300}

    hidden = count(64)
    depth = count(16)
    alpha = number(0.1, high=1.0)
    theta = number(0.5)
    dropout = rate(0.6)
    dense_weight_decay = number(5e-4)

    def add_layers(self, n_features: int, n_classes: int) -> None:
        self.entrance = InputLinear(n_features, self.hidden)
        self.convs = torch.nn.ModuleList(
            InitialResidualConvolution(self.hidden, self.alpha, self.theta, layer)
            for layer in range(1, self.depth + 1)
        )
        self.exit = Linear(self.hidden, n_classes)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        U_0 = torch.relu(self.entrance(drop(x, self.dropout, self.training)))
        U = U_0
        for conv in self.convs:
            U = torch.relu(conv(drop(U, self.dropout, self.training), edge_index, edge_weight, x_0=U_0))
        return self.exit(drop(U, self.dropout, self.training))

    def parameter_groups(self, weight_decay: float) -> list[dict[str, Any]]:
        return self.groups(self.convs.parameters(), weight_decay, {"weight_decay": self.dense_weight_decay})

    def head(self, k: int) -> Tensor:
        """Return the W that maps embeddings of layer k to class scores."""
        return self.exit.weight.T
