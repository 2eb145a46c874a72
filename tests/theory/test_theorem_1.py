"""Theorem 1: at convergence of SGC, U_i = sqrt((D_ii+1)/(D_jj+1)) U_j in every connected component."""

import numpy as np
import pytest
from scipy.linalg import block_diag

import gssl


def limit(A, X):
    """Return sqrt(D̃_ii) τ, the projection of X onto the first eigenvector of Â."""
    v = np.sqrt(A.sum(axis=1) + 1)
    return np.outer(v, v @ X) / (v @ v)


def decay_per_step(A):
    """Return the second largest |eigenvalue| of Â, by which the distance to the limit shrinks per step."""
    v = np.sqrt(A.sum(axis=1) + 1)
    return np.sort(np.abs(np.linalg.eigvalsh((A + np.eye(len(A))) / np.outer(v, v))))[-2]


@pytest.fixture
def A():
    return gssl.datasets.load("karate").adjacency.toarray()


@pytest.fixture
def X():
    return np.random.default_rng(0).random((34, 2))


@pytest.mark.parametrize("k", [64, 1024])
def test_converged_embeddings_are_proportional_to_roots_of_degrees(A, X, k):
    """The distance to the limit is at most (second eigenvalue)^k ‖X‖ plus rounding errors."""
    U = gssl.SGC(depth=k).fit_transform(X, adjacency=A)
    bound = decay_per_step(A) ** k * np.linalg.norm(X) + 1e-12
    assert bound < 0.02
    assert np.linalg.norm(U - limit(A, X)) <= bound
    v = np.sqrt(A.sum(axis=1) + 1)
    ratios = U[:, None, :] / U[None, :, :]
    slack = 3 * bound * v.max() / (v.min() * np.abs(U).min())
    np.testing.assert_allclose(ratios, (v[:, None] / v[None, :])[..., None].repeat(2, axis=2), atol=slack)


def test_convergence_is_as_slow_as_the_spectrum_says(A, X):
    """At k = 8 the limit is still far away, so the test above is not trivial."""
    U = gssl.SGC(depth=8).fit_transform(X, adjacency=A)
    assert np.linalg.norm(U - limit(A, X)) > 10 * decay_per_step(A) ** 64 * np.linalg.norm(X)


def test_every_component_has_a_limit_of_its_own(A, X):
    """An isolated node is a component too, and keeps its features."""
    U = gssl.SGC(depth=1024).fit_transform(
        np.vstack([X, 2 * X[::-1], [[5.0, 7.0]]]), adjacency=block_diag(A, A, [[0.0]])
    )
    np.testing.assert_allclose(U[:34], limit(A, X), rtol=1e-10)
    np.testing.assert_allclose(U[34:68], limit(A, 2 * X[::-1]), rtol=1e-10)
    np.testing.assert_array_equal(U[68], [5.0, 7.0])
