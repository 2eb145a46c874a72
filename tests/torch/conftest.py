"""A small graph with irregularities, in the formats of gssl.operators and torch."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.problems import block_graph, random_graph

torch = pytest.importorskip("torch", reason="torch is not installed")


class Graph(NamedTuple):
    """A without self-loops for gssl.operators; the same links with some self-loops for torch."""

    A: csr_array
    U: np.ndarray
    x: Any
    edge_index: Any
    edge_weight: Any

    def sparse(self, layout):
        matrix = torch.sparse_coo_tensor(
            self.edge_index.flip(0), self.edge_weight, (len(self.U),) * 2, check_invariants=True
        )
        matrix = matrix.coalesce()
        return matrix.to_sparse_csr() if layout == "csr" else matrix


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.fixture(params=["plain", "weighted"])
def graph(request, dtype):
    n = 12
    A = random_graph(n, 0.3, weighted=request.param == "weighted").astype(dtype)
    A[:, 5] = A[5, :] = 0.0  # an isolated node
    looped = A + np.diag(np.where(np.arange(n) % 4 == 0, 2.0, 0.0)).astype(dtype)
    targets, sources = np.nonzero(looped)
    U = np.random.default_rng(0).normal(size=(n, 3)).astype(dtype)
    edge_index = torch.tensor(np.vstack([sources, targets]))
    weight = torch.tensor(looped[targets, sources])
    return Graph(csr_array(A), U, torch.tensor(U), edge_index, weight)


@pytest.fixture
def assert_close(dtype):
    """Return a function that compares arrays with a tolerance for their precision."""
    tolerance = 1e-12 if dtype == "float64" else 2e-6

    def compare(ours, theirs):
        assert ours.dtype == getattr(torch, dtype)
        np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=tolerance, atol=tolerance)

    return compare


@pytest.fixture(scope="session")
def blocks():
    """Two blocks of 30 nodes with noisy features: X, A, all labels, and five given labels of each."""
    given = block_graph(60, classes=2, p_in=0.3, p_out=0.02, signal=0.8, labels=5, width=3)
    order = np.argsort(given.truth, kind="stable")
    return given.X[order], csr_array(given.A[order][:, order]), given.truth[order], given.y[order]
