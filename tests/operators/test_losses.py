"""Losses agree with their definitions as traces and sums."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.operators import (
    classification_loss,
    complement_negatives,
    normalized_adjacency,
    normalized_negatives,
    sharpening_loss,
    smoothing_loss,
)


@pytest.fixture
def rtol(dtype):
    return 2e-6 if dtype == np.float32 else 1e-13


def test_smoothing_loss_is_the_trace_of_the_normalized_laplacian(A, U, rtol):
    A_tilde = A.astype(np.float64) + np.eye(9)
    D_tilde = np.diag(A_tilde.sum(axis=1))
    root = np.linalg.inv(np.sqrt(D_tilde))
    V = U.astype(np.float64)
    expected = np.trace(V.T @ root @ (D_tilde - A_tilde) @ root @ V)
    assert smoothing_loss(normalized_adjacency(csr_array(A)), U) == pytest.approx(expected, rel=rtol)


def test_smoothing_loss_of_negatives_is_the_trace_of_theorem_4(A, U, rtol):
    N = np.ones((9, 9)) - np.eye(9) - (A > 0)
    D_tilde = 2 * np.eye(9) + np.diag(N.sum(axis=1))
    root = np.linalg.inv(np.sqrt(D_tilde))
    V = U.astype(np.float64)
    expected = np.trace(V.T @ root @ (D_tilde - (2 * np.eye(9) - N)) @ root @ V)
    assert smoothing_loss(complement_negatives(csr_array(A)), U) == pytest.approx(expected, rel=rtol)
    sampled = normalized_negatives(csr_array(N.astype(U.dtype)))
    assert smoothing_loss(sampled, U) == pytest.approx(expected, rel=rtol)


def test_sharpening_loss_is_half_a_sum_over_pairs(A, U, rtol):
    """A is used as ¬A: its isolated nodes are in no pair and add nothing."""
    D, V, expected = A.sum(axis=1, dtype=np.float64), U.astype(np.float64), 0.0
    for i, j in zip(*np.nonzero(A), strict=True):
        expected += 0.5 * A[i, j] * np.sum((V[i] / np.sqrt(D[i]) - V[j] / np.sqrt(D[j])) ** 2)
    assert sharpening_loss(csr_array(A), U) == pytest.approx(expected, rel=rtol)


def test_sharpening_loss_takes_whole_numbers():
    assert sharpening_loss(csr_array(np.array([[0, 1], [1, 0]])), np.array([[1.0], [-1.0]])) == 4.0


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_classification_loss(U, dtype, rtol, loss):
    rng = np.random.default_rng(2)
    W = rng.standard_normal((4, 3)).astype(dtype)
    labels = rng.integers(3, size=9)
    expected = 0.0
    for u, label in zip(U.astype(np.float64), labels, strict=True):
        z = u @ W
        if loss == "squared":
            expected += 0.5 * np.sum((z - np.eye(3)[label]) ** 2)
        else:
            expected -= np.log(np.exp(z[label]) / np.exp(z).sum())
    Y = np.eye(3, dtype=dtype)[labels]
    assert classification_loss(U @ W, Y, loss) == pytest.approx(expected, rel=rtol)


def test_cross_entropy_of_huge_scores_is_finite():
    U, W, Y = np.array([[1000.0]]), np.array([[1.0, -1.0]]), np.array([[0.0, 1.0]])
    assert classification_loss(U @ W, Y, "cross_entropy") == pytest.approx(2000.0)
