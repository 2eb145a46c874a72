"""Graph convolution agrees with a dense D̃^-½ (A+I) D̃^-½."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.operators import lazy_convolution, normalized_adjacency


def dense_A_hat(A):
    A_tilde = A.astype(np.float64) + np.eye(len(A))
    D_tilde = np.diag(A_tilde.sum(axis=1))
    root = np.linalg.inv(np.sqrt(D_tilde))
    return root @ A_tilde @ root


def test_normalized_adjacency(A, assert_close):
    assert_close(normalized_adjacency(csr_array(A)).toarray(), dense_A_hat(A))


def test_isolated_nodes_keep_themselves(A, U):
    A_hat = normalized_adjacency(csr_array(A))
    np.testing.assert_array_equal(A_hat.toarray()[[3, 8]], np.eye(9)[[3, 8]])
    np.testing.assert_array_equal((A_hat @ U)[[3, 8]], U[[3, 8]])


def test_the_adjacency_given_is_not_modified(A):
    sparse = csr_array(A)
    normalized_adjacency(sparse)
    np.testing.assert_array_equal(sparse.toarray(), A)


@pytest.mark.parametrize("kind", [np.int64, np.bool_])
def test_whole_and_true_weights_are_weights_too(kind):
    star = np.array([[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]], dtype=kind)
    result = normalized_adjacency(csr_array(star)).toarray()
    np.testing.assert_allclose(result, dense_A_hat(star), atol=1e-14)


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_lazy_convolution(A, U, assert_close, beta):
    expected = (beta * dense_A_hat(A) + (1 - beta) * np.eye(9)) @ U.astype(np.float64)
    A_hat = normalized_adjacency(csr_array(A))
    assert_close(lazy_convolution(A_hat, U, beta), expected)
    assert_close(lazy_convolution(A_hat, csr_array(U), beta), expected)


def test_lazy_convolution_is_plain_by_default_and_leaves_U_alone(A, U, assert_close):
    before = U.copy()
    assert_close(
        lazy_convolution(normalized_adjacency(csr_array(A)), U), dense_A_hat(A) @ U.astype(np.float64)
    )
    np.testing.assert_array_equal(U, before)
