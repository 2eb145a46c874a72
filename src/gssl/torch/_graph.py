"""A graph as networks take it: links for layers that look at each, matrices for those that multiply."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, diags_array, eye_array
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

    @cached_property
    def mean(self) -> SparseMatrix:
        r"""The matrix that gives each node the mean of its neighbours, :math:`D^{-1} A`."""
        return self._rows_divided(csr_array((self.n_nodes, self.n_nodes)))

    @cached_property
    def mean_with_loops(self) -> SparseMatrix:
        r"""The matrix that gives the mean of neighbours and node, :math:`(D + I)^{-1} (A + I)`."""
        return self._rows_divided(eye_array(self.n_nodes, format="csr"))

    def _rows_divided(self, loops: csr_array) -> SparseMatrix:
        weights, (rows, columns) = self.weights.cpu().numpy(), self.links.cpu().numpy()
        A = csr_array((weights, (rows, columns)), shape=loops.shape) + loops
        degrees = np.asarray(A.sum(axis=1))
        # a node without neighbours has no mean, and takes nothing
        scale = np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0)
        parts = csr_array(diags_array(scale) @ A)
        return SparseMatrix.from_scipy(parts, dtype=self.weights.dtype, device=self.weights.device)

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
