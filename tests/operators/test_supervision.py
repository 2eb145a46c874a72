"""SEB and the predictor's step agree with the paper's n×n diagonal S, which the code never builds."""

import numpy as np
import pytest

from gssl.operators import linear_step, residual, soft_labels, supervised_embedding

LABELLED = np.array([0, 3, 4, 8])


@pytest.fixture(params=["squared", "cross_entropy"])
def loss(request):
    return request.param


@pytest.fixture
def W(dtype):
    return np.random.default_rng(2).standard_normal((4, 3)).astype(dtype)


@pytest.fixture
def Y(dtype):
    """One-hot rows of labelled nodes, zeros elsewhere."""
    Y = np.zeros((9, 3), dtype=dtype)
    Y[LABELLED, [0, 1, 2, 1]] = 1
    return Y


@pytest.fixture
def S():
    return np.diag(np.isin(np.arange(9), LABELLED).astype(float))


def dense_Z(U, W, loss):
    Z = U.astype(np.float64) @ W
    return Z if loss == "squared" else np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)


def test_soft_labels(U, W, loss, assert_close):
    assert_close(soft_labels(U @ W, loss), dense_Z(U, W, loss))


def test_softmax_of_huge_scores_is_a_distribution():
    Z = soft_labels(np.array([[1e4, -1e4]]), "cross_entropy")
    np.testing.assert_array_equal(Z, [[1.0, 0.0]])


def test_residual(U, W, Y, loss, assert_close):
    assert_close(residual(U @ W, Y, loss), dense_Z(U, W, loss) - Y)


def test_supervised_embedding(U, W, Y, S, loss, assert_close):
    expected = -0.3 * S @ (dense_Z(U, W, loss) - Y) @ W.T.astype(np.float64)
    pull = supervised_embedding(residual(U[LABELLED] @ W, Y[LABELLED], loss), W, 0.3)
    assert_close(np.asarray(pull), expected[LABELLED])
    assert not np.delete(expected, LABELLED, axis=0).any()


def test_linear_step(U, W, Y, S, loss, assert_close):
    expected = W - 0.3 * U.T.astype(np.float64) @ S @ (dense_Z(U, W, loss) - Y)
    before = W.copy()
    assert_close(linear_step(U[LABELLED], W, residual(U[LABELLED] @ W, Y[LABELLED], loss), 0.3), expected)
    np.testing.assert_array_equal(W, before)


def test_squared_loss_is_the_default(U, W, Y):
    rows, targets = U[LABELLED], Y[LABELLED]
    np.testing.assert_array_equal(soft_labels(rows @ W), soft_labels(rows @ W, "squared"))
    np.testing.assert_array_equal(residual(rows @ W, targets), residual(rows @ W, targets, "squared"))
