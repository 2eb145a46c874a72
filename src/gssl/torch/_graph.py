"""A graph as networks take it: links for layers that look at each, matrices for those that multiply."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import dropout_edge, to_torch_csr_tensor

from gssl.torch._sparse import SparseMatrix, quiet


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph, each link in both directions.

    Parameters
    ----------
    links : int64 Tensor of shape (2, m)
    weights : Tensor of shape (m,)
    n_nodes : int

    Examples
    --------
    >>> graph = Graph.from_scipy(csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> (graph.A_hat @ torch.eye(2)).numpy().round(3).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """

    links: Tensor
    weights: Tensor
    n_nodes: int

    @classmethod
    def from_scipy(cls, A: Any, *, dtype: Any = torch.float32, device: Any = "cpu") -> "Graph":
        """Take over an adjacency of SciPy."""
        A = csr_array(A).tocoo()
        links = torch.stack([torch.as_tensor(A.row.copy()), torch.as_tensor(A.col.copy())])
        weights = torch.as_tensor(A.data.copy(), dtype=dtype, device=device)
        return cls(links.to(torch.int64).to(device), weights, A.shape[0])

    @cached_property
    def A_hat(self) -> SparseMatrix:
        r"""The normalised adjacency with self-loops, :math:`\tilde D^{-1/2} (A + I) \tilde D^{-1/2}`."""
        return self._normalized(loops=True)

    @cached_property
    def A_bare(self) -> SparseMatrix:
        r"""The normalised adjacency without self-loops, :math:`D^{-1/2} A D^{-1/2}`."""
        return self._normalized(loops=False)

    def _normalized(self, *, loops: bool) -> SparseMatrix:
        links, weights = gcn_norm(
            self.links, self.weights, self.n_nodes, add_self_loops=loops, dtype=self.weights.dtype
        )
        with quiet():
            csr = to_torch_csr_tensor(links, weights, (self.n_nodes, self.n_nodes))
        return SparseMatrix(csr, symmetric=True)

    def dropped(self, rate: float) -> "Graph":
        """Give the graph without some of its links, drawn at random (DropEdge; Rong et al., 2020).

        Both directions of a link go together, so that what is left is undirected.
        """
        if not rate:
            return self
        links, kept = dropout_edge(self.links, p=rate, force_undirected=True)
        return Graph(links, self.weights[kept], self.n_nodes)
