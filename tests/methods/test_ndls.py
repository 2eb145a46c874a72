"""NDLS and its local depths agree with dense algebra."""

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.sparse import csr_array
from tests.methods.dense import assert_depths, dense_A_hat

import gssl
from gssl.methods import ndls
from gssl.methods.ndls import local_depths
from gssl.operators import normalized_adjacency


def dense_local_depths(A, epsilon, limit):
    """Compute local depths by definition: distances of rows of powers from rows of the limit."""
    degrees, A_hat = A.sum(axis=1) + 1, dense_A_hat(A)
    same = np.linalg.matrix_power(np.eye(len(A)) + A, len(A)) > 0
    limits = np.sqrt(np.outer(degrees, degrees)) / (same @ degrees)[:, None] * same
    np.testing.assert_allclose(np.linalg.matrix_power(A_hat, 5000), limits, atol=1e-8)
    near = [np.linalg.norm(np.linalg.matrix_power(A_hat, k) - limits, axis=1) < epsilon for k in range(limit)]
    return np.array([next((k for k in range(limit) if near[k][i]), limit) for i in range(len(A))])


@pytest.fixture
def scattered(random_problem):
    """Four copies of a graph, a path, and two isolated nodes: more nodes than a block."""
    path = np.eye(9, k=1) + np.eye(9, k=-1)
    return block_diag(*[random_problem.A] * 4, path, [[0.0]], [[0.0]])


@pytest.mark.parametrize(("epsilon", "limit"), [(0.3, 40), (0.05, 40), (0.05, 6), (1e-3, 300), (2.0, 40)])
def test_local_depths_follow_their_definition(scattered, epsilon, limit):
    found = local_depths(normalized_adjacency(csr_array(scattered)), epsilon, limit)
    np.testing.assert_array_equal(found, dense_local_depths(scattered, epsilon, limit))
    assert found[-2:].tolist() == [0, 0]
    assert len(set(found)) > 1 or epsilon == 2.0


def test_local_depths_are_computed_once_for_a_graph(scattered, monkeypatch):
    asked = []

    def noting(A_hat, epsilon, limit):
        asked.append((epsilon, limit))
        return local_depths(A_hat, epsilon, limit)

    monkeypatch.setattr(ndls, "local_depths", noting)
    X = np.random.default_rng(0).random((len(scattered), 3))
    for alpha in (0.05, 0.15):
        gssl.NDLS(depth=6, epsilon=0.2, alpha=alpha).fit(X, adjacency=csr_array(scattered))
    assert asked == [(0.2, 6)]
    gssl.NDLS(depth=6, epsilon=0.3).fit(X, adjacency=csr_array(scattered))
    gssl.NDLS(depth=5, epsilon=0.3).fit(X, adjacency=csr_array(scattered))
    # other weights make another graph
    gssl.NDLS(depth=5, epsilon=0.3).fit(X, adjacency=csr_array(2 * scattered))
    assert asked[1:] == [(0.3, 6), (0.3, 5), (0.3, 5)]
    # the last four are kept
    for epsilon in (0.4, 0.5, 0.6, 0.7, 0.4, 0.3):
        gssl.NDLS(depth=5, epsilon=epsilon).fit(X, adjacency=csr_array(scattered))
    assert [epsilon for epsilon, _ in asked[4:]] == [0.4, 0.5, 0.6, 0.7, 0.3]


@pytest.mark.parametrize("epsilon", [0.2, 0.6, 2.0])
def test_ndls(scattered, epsilon):
    rng = np.random.default_rng(0)
    X = rng.random((len(scattered), 5)) * (rng.random((len(scattered), 5)) > 0.4)
    own = dense_local_depths(scattered, epsilon, 6)
    powers = np.array([np.linalg.matrix_power(dense_A_hat(scattered), k) @ X for k in range(7)])
    expected = [
        0.2 * X + 0.8 * np.array([powers[: min(own[i], k) + 1, i].mean(axis=0) for i in range(len(X))])
        for k in range(7)
    ]
    assert_depths(gssl.NDLS(depth=6, epsilon=epsilon, alpha=0.2), X, scattered, expected)
    assert_depths(gssl.NDLS(depth=6, epsilon=epsilon, alpha=0.2), csr_array(X), scattered, expected)
