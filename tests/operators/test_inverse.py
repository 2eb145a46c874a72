"""Inverse graph convolution agrees with a dense ¬D̃^-½ (2I − ¬A) ¬D̃^-½."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.graph import sample_negatives
from gssl.operators import (
    complement_negatives,
    inverse_convolution,
    laplacian_sharpening,
    normalized_negatives,
    sharpening_loss,
)


def dense_N_hat(N):
    n = len(N)
    A_tilde = 2 * np.eye(n) - N
    D_tilde = 2 * np.eye(n) + np.diag(N.sum(axis=1, dtype=np.float64))
    root = np.linalg.inv(np.sqrt(D_tilde))
    return root @ A_tilde @ root


def dense_complement(A):
    n = len(A)
    return np.ones((n, n)) - np.eye(n) - (A > 0)


@pytest.fixture
def N(A, dtype):
    """Sampled negatives, as many pairs as edges."""
    return sample_negatives(A, 1, random_state=0).astype(dtype)


def test_normalized_negatives(A, assert_close):
    """Any graph with isolated nodes and weights can be a negative graph."""
    assert_close(normalized_negatives(csr_array(A)).toarray(), dense_N_hat(A))


@pytest.mark.parametrize("kind", [np.int64, np.bool_])
def test_whole_and_true_weights_are_weights_too(kind):
    star = np.array([[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]], dtype=kind)
    expected = dense_N_hat(star.astype(float))
    np.testing.assert_allclose(normalized_negatives(csr_array(star)).toarray(), expected, atol=1e-14)


def test_complement_is_the_dense_complement(A, U, assert_close):
    expected = dense_N_hat(dense_complement(A))
    assert_close(complement_negatives(csr_array(A)) @ U, expected @ U.astype(np.float64))
    assert_close(complement_negatives(csr_array(A)) @ np.eye(9, dtype=U.dtype), expected)


def test_complement_of_a_complete_graph_changes_nothing(U, dtype, assert_close):
    complete = csr_array(np.ones((9, 9), dtype=dtype) - np.eye(9, dtype=dtype))
    assert_close(complement_negatives(complete) @ U, U)


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_lazy_inverse_convolution(A, N, U, assert_close, beta):
    I = np.eye(9)  # noqa: E741
    sampled = (beta * dense_N_hat(N.toarray()) + (1 - beta) * I) @ U.astype(np.float64)
    assert_close(inverse_convolution(normalized_negatives(N), U, beta), sampled)
    exact = (beta * dense_N_hat(dense_complement(A)) + (1 - beta) * I) @ U.astype(np.float64)
    assert_close(inverse_convolution(complement_negatives(csr_array(A)), U, beta), exact)


def test_nothing_given_is_modified(A, U):
    sparse, before = csr_array(A), U.copy()
    inverse_convolution(complement_negatives(sparse), U, 0.5)
    normalized_negatives(sparse)
    np.testing.assert_array_equal(sparse.toarray(), A)
    np.testing.assert_array_equal(U, before)


def test_unnormalised_igc_is_gradient_ascent_on_the_sharpening_loss(N, U, assert_close):
    dense = N.toarray().astype(np.float64)
    degree = dense.sum(axis=1)
    root = np.diag(np.where(degree > 0, 1 / np.sqrt(np.maximum(degree, 1e-9)), 0.0))
    L = root @ (np.diag(degree) - dense) @ root
    assert_close(laplacian_sharpening(N, U, 0.3), (np.eye(9) + 0.6 * L) @ U)
    paired = degree > 0
    nine = 2 * np.eye(9) - root @ dense @ root
    assert_close(laplacian_sharpening(N, U)[paired], (nine @ U)[paired])
    np.testing.assert_array_equal(laplacian_sharpening(N, U)[~paired], U[~paired])
    assert sharpening_loss(N, laplacian_sharpening(N, U)) > sharpening_loss(N, U)


def test_unnormalised_igc_grows_where_igc_does_not(N, U):
    stable, plain = U, U
    for _ in range(20):
        stable = inverse_convolution(normalized_negatives(N), stable)
        plain = laplacian_sharpening(N, plain)
    assert np.linalg.norm(stable) <= np.linalg.norm(U)
    assert np.linalg.norm(plain) > 1e6 * np.linalg.norm(U)
