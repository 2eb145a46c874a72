import numpy as np
import pytest
from scipy.sparse import csr_array

pytest.importorskip("torch", reason="needs gssl[baselines]")
pytest.importorskip("torch_geometric", reason="needs gssl[baselines]")


@pytest.fixture(scope="session")
def blocks():
    """Two blocks of 30 nodes with noisy features: X, A, all labels, and labels of five nodes of each."""
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


@pytest.fixture(scope="session")
def small():
    """A weighted graph of five nodes, one of them alone, as a dense array, and its Â."""
    A = np.zeros((5, 5))
    for i, j, weight in [(0, 1, 1.0), (1, 2, 2.0), (0, 2, 0.5), (2, 3, 1.0)]:
        A[i, j] = A[j, i] = weight
    degrees = A.sum(axis=1) + 1.0
    A_hat = (A + np.eye(5)) / np.sqrt(np.outer(degrees, degrees))
    return A, A_hat
