"""Sparse matrices of features and graphs for the networks, cached for each tensor.

A network takes PyG's ``(x, edge_index)``, with every link in both directions. On a CPU, sparse products are
several times as fast as gathering a row for each link, and dropout on dense features would spend most of an
epoch on zeros. So both are sparse matrices here, cached as long as their tensor lives.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary
from torch_geometric.nn import GCN2Conv, GCNConv, Linear
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import dropout_edge

from gssl.methods.inputs import check_number
from gssl.torch.links import SparseMatrix, row_pointers, sparse_csr

_GRAPHS: Any = WeakTensorKeyDictionary()
_MATRICES: Any = WeakTensorKeyDictionary()
_BELOW_ONE = float(np.nextafter(1.0, 0.0))


@dataclass(frozen=True)
class Parameter:
    """A parameter of a network: its default, and the bounds that are checked; any value if there are none."""

    default: Any
    bounds: dict[str, Any] | None = None


def count(default: int) -> Any:
    """Declare a parameter that is a positive integer."""
    return Parameter(default, {"low": 1, "whole": True})


def rate(default: float) -> Any:
    """Declare a parameter in [0, 1)."""
    return Parameter(default, {"low": 0.0, "high": _BELOW_ONE})


def number(default: float, low: float = 0.0, high: float = np.inf) -> Any:
    """Declare a parameter between two bounds."""
    return Parameter(default, {"low": low, "high": high})


def choice(default: Any) -> Any:
    """Declare a parameter that the network itself checks, if at all."""
    return Parameter(default)


class Network(torch.nn.Module):
    """A network with PyG's ``forward(x, edge_index)`` for dense or sparse features, and checked parameters.

    A subclass declares its parameters as class attributes, and makes its layers in ``add_layers``, which
    takes the number of features and, if it is supervised, of classes.
    ``estimator`` has the parameters of its training that differ from the defaults.
    """

    accepts_sparse = True
    estimator: ClassVar[dict[str, Any]] = {}
    declared: ClassVar[dict[str, Parameter]] = {}

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls) -> None:
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Parameter)}
        cls.declared = cls.declared | own

    def __init__(self, *widths: int, **params: Any) -> None:
        super().__init__()
        for name in params:
            if name not in self.declared:
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}.")
        for name, parameter in self.declared.items():
            setattr(self, name, params.get(name, parameter.default))
            if parameter.bounds is not None:
                check_number(self, name, **parameter.bounds)
        self.add_layers(*widths)

    def groups(
        self, decayed: Iterable[Tensor], weight_decay: float, rest: Mapping[str, float] = MappingProxyType({})
    ) -> list[dict[str, Any]]:
        """Return groups for an optimizer: weights with weight decay, and all others with other settings."""
        first = list(decayed)
        others = [weight for weight in self.parameters() if not any(weight is one for one in first)]
        return [{"params": first, "weight_decay": weight_decay}, {"params": others, **rest}]


class Graph:
    """The matrices of one edge index."""

    def __init__(self, edge_index: Tensor, edge_weight: Tensor | None, n_nodes: int, dtype: Any) -> None:
        # a detached tensor is a new object: a value that refers to its own key would never be collected
        self.edge_index = edge_index.detach()
        self.edge_weight = edge_weight
        self.shape = (n_nodes, n_nodes)
        self.dtype = dtype

    @cached_property
    def weights(self) -> Tensor:
        """The weights of links; ones if none are given."""
        if self.edge_weight is None:
            return torch.ones(self.edge_index.shape[1], dtype=self.dtype, device=self.edge_index.device)
        return self.edge_weight.to(self.dtype)

    @cached_property
    def A(self) -> SparseMatrix:
        """The adjacency."""
        return self._matrix(self.edge_index, self.weights)

    @cached_property
    def A_hat(self) -> SparseMatrix:
        """The normalised adjacency D̃^-½ (A + I) D̃^-½."""
        return self._normalized(loops=True)

    @cached_property
    def A_bare(self) -> SparseMatrix:
        """The normalised adjacency without self-loops, D^-½ A D^-½."""
        return self._normalized(loops=False)

    @cached_property
    def degrees(self) -> Tensor:
        """The sum of the weights of each node's links, as a column."""
        sums = self.weights.new_zeros(self.shape[0])
        return sums.index_add(0, self.edge_index[1], self.weights).unsqueeze(1)

    def mean(self, U: Tensor) -> Tensor:
        """Average U over the neighbours of each node; zeros if it has none."""
        return (self.A @ U) / self.degrees.clamp(min=1e-30)

    def loop_mean(self, U: Tensor) -> Tensor:
        """Average U over each node and its neighbours."""
        return (self.A @ U + U) / (self.degrees + 1.0)

    @cached_property
    def scipy(self) -> csr_array:
        """The adjacency as a SciPy array."""
        ends = self.edge_index.cpu().numpy()
        return csr_array((self.weights.cpu().numpy(), (ends[0], ends[1])), shape=self.shape)

    @cached_property
    def fingerprint(self) -> bytes:
        """A digest that identifies the graph."""
        digest = blake2b(str(self.shape).encode(), digest_size=8)
        for part in (self.edge_index, self.weights):
            digest.update(part.cpu().numpy().tobytes())
        return digest.digest()

    def _normalized(self, *, loops: bool) -> SparseMatrix:
        normed = gcn_norm(
            self.edge_index, self.weights, self.shape[0], add_self_loops=loops, dtype=self.dtype
        )
        return self._matrix(*normed)

    def _matrix(self, edge_index: Tensor, weights: Tensor) -> SparseMatrix:
        n = self.shape[0]
        codes, order = torch.sort(edge_index[0] * n + edge_index[1])
        csr = sparse_csr(row_pointers(codes // n, n), codes % n, weights[order], self.shape)
        return SparseMatrix(csr, symmetric=True)


def graph_of(edge_index: Tensor, edge_weight: Tensor | None, n_nodes: int, dtype: Any) -> Graph:
    """Return the matrices of an edge index, cached while its tensor lives."""
    graph: Graph | None = _GRAPHS.get(edge_index)
    known = graph is not None and graph.edge_weight is edge_weight
    if graph is None or not known or graph.shape[0] != n_nodes or graph.dtype != dtype:
        graph = Graph(edge_index, edge_weight, n_nodes, dtype)
        _GRAPHS[edge_index] = graph
    return graph


def normalized(U: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> SparseMatrix:
    """Return Â for products with U."""
    return graph_of(edge_index, edge_weight, U.shape[0], U.dtype).A_hat


def matrix_of(x: Tensor) -> SparseMatrix:
    """Return sparse features as a matrix, cached with its transpose while their tensor lives."""
    matrix: SparseMatrix | None = _MATRICES.get(x)
    if matrix is None:
        matrix = _MATRICES[x] = SparseMatrix(x.detach())
    return matrix


def with_values(x: Tensor, values: Tensor) -> Tensor:
    """Return sparse features with the same pattern and other values."""
    like = matrix_of(x)
    other = like.with_values(values).csr
    _MATRICES[other] = SparseMatrix(other.detach(), like=like)
    return other


def scipy_of(x: Tensor) -> csr_array:
    """Return a CSR tensor as a SciPy array."""
    parts = (x.values(), x.col_indices(), x.crow_indices())
    return csr_array(tuple(part.cpu().numpy() for part in parts), shape=tuple(x.shape))


def is_sparse(x: Tensor) -> bool:
    """Return whether features are a CSR tensor."""
    return x.layout == torch.sparse_csr


def times(x: Tensor, W: Tensor) -> Tensor:
    """Compute xW for dense or sparse x."""
    return matrix_of(x) @ W if is_sparse(x) else x @ W


def take_rows(x: Tensor, rows: Tensor) -> Tensor:
    """Return some rows of dense or sparse x, in any order and possibly repeated."""
    if not is_sparse(x):
        return x[rows]
    pointers = x.crow_indices()
    sizes = pointers.diff()[rows]
    ends = sizes.cumsum(0)
    shifts = pointers[:-1][rows] - (ends - sizes)
    positions = torch.arange(int(sizes.sum()), device=x.device) + shifts.repeat_interleave(sizes)
    pointers = torch.cat([ends.new_zeros(1), ends])
    return sparse_csr(pointers, x.col_indices()[positions], x.values()[positions], (len(rows), x.shape[1]))


def drop_entries(values: Tensor, rate: float) -> Tensor:
    """Set each entry to zero with probability ``rate`` and divide the others by 1 − ``rate``.

    Each 64-bit draw provides four 16-bit random numbers, because drawing is most of the cost on a CPU.
    """
    if not rate:
        return values
    draws = torch.empty((values.numel() + 3) // 4, dtype=torch.int64, device=values.device)
    chances = draws.random_(-(2**63), None).view(torch.int16)[: values.numel()].view(values.shape)
    threshold = round(rate * 2**16) - 2**15
    return values * (chances >= threshold).to(values.dtype).mul_(1.0 / (1.0 - rate))


def drop(x: Tensor, rate: float, training: bool) -> Tensor:
    """Apply dropout to features or embeddings while training; of sparse ones only to stored entries."""
    if not training or not rate:
        return x
    return with_values(x, drop_entries(x.values(), rate)) if is_sparse(x) else drop_entries(x, rate)


def drop_links(
    edge_index: Tensor, edge_weight: Tensor | None, rate: float, training: bool
) -> tuple[Tensor, Tensor | None]:
    """Drop random links while training (DropEdge), both directions together."""
    if not training or not rate:
        return edge_index, edge_weight
    left, kept = dropout_edge(edge_index, p=rate, force_undirected=True)
    return left, None if edge_weight is None else edge_weight[kept]


class InputLinear(Linear):
    """PyG's linear layer, extended to sparse features."""

    def forward(self, x: Tensor) -> Tensor:
        if not is_sparse(x):
            return super().forward(x)
        Z = matrix_of(x) @ self.weight.t()
        return Z if self.bias is None else Z + self.bias


class GraphConvolution(GCNConv):
    """PyG's layer ÂUW + b by sparse products, extended to sparse features."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__(n_in, n_out, normalize=False, add_self_loops=False)
        self.lin = InputLinear(n_in, n_out, bias=False, weight_initializer="glorot")

    def propagate(self, edge_index: Tensor, x: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return normalized(x, edge_index, edge_weight) @ x


class InitialResidualConvolution(GCN2Conv):
    """PyG's layer of GCNII by sparse products, called like other layers: ``(x, edge_index, x_0=…)``."""

    def __init__(self, width: int, alpha: float, theta: float, layer: int) -> None:
        super().__init__(width, alpha, theta, layer, normalize=False, add_self_loops=False)

    def propagate(self, edge_index: Tensor, x: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return normalized(x, edge_index, edge_weight) @ x

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None, *, x_0: Tensor
    ) -> Tensor:
        return super().forward(x, x_0, edge_index, edge_weight)


class DroppedPropagation(torch.nn.Module):
    """ÂU, with dropout on the entries of Â in each call while training."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        A_hat = normalized(x, edge_index, edge_weight)
        if self.training and self.dropout:
            A_hat = A_hat.with_values(drop_entries(A_hat.values, self.dropout))
        return A_hat @ x


class Perceptron(torch.nn.Module):
    """ReLU(X W_1 + b_1) W_2 + b_2, with dropout before each layer."""

    def __init__(self, n_in: int, hidden: int, n_out: int, dropout: float, bias: bool = True) -> None:
        super().__init__()
        self.first = InputLinear(n_in, hidden, bias=bias, weight_initializer="glorot")
        self.second = Linear(hidden, n_out, bias=bias, weight_initializer="glorot")
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        U = torch.relu(self.first(drop(x, self.dropout, self.training)))
        return self.second(drop(U, self.dropout, self.training))
