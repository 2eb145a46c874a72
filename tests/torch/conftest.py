"""A small graph with irregularities, in the formats of gssl.operators and torch."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

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
    rng = np.random.default_rng(0)
    n = 12
    A = np.triu(rng.random((n, n)) < 0.3, 1) * (
        rng.random((n, n)) + 0.5 if request.param == "weighted" else 1.0
    )
    A[:, 5] = A[5, :] = 0.0  # an isolated node
    A = (A + A.T).astype(dtype)
    looped = A + np.diag(np.where(np.arange(n) % 4 == 0, 2.0, 0.0)).astype(dtype)
    targets, sources = np.nonzero(looped)
    U = rng.normal(size=(n, 3)).astype(dtype)
    edge_index = torch.tensor(np.vstack([sources, targets]))
    weight = torch.tensor(looped[targets, sources])
    return Graph(csr_array(A), U, torch.tensor(U), edge_index, weight)


@pytest.fixture
def close(dtype):
    """Return a function that compares arrays with a tolerance for their precision."""
    tolerance = 1e-12 if dtype == "float64" else 2e-6

    def compare(ours, theirs):
        assert ours.dtype == getattr(torch, dtype)
        np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=tolerance, atol=tolerance)

    return compare


@pytest.fixture(scope="session")
def blocks():
    """Two blocks of 30 nodes with noisy features: X, A, all labels, and five given labels of each."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 30)
    chance = np.where(truth[:, None] == truth, 0.3, 0.02)
    upper = np.triu(rng.random((60, 60)) < chance, 1)
    A = csr_array((upper | upper.T).astype(np.float64))
    X = rng.normal(size=(60, 6)) + 0.8 * np.eye(2, 6)[truth]
    y = np.full(60, -1)
    known = np.concatenate([np.arange(5), np.arange(30, 35)])
    y[known] = truth[known]
    return X, A, truth, y
