"""Theorem 3: the largest eigenvalue of I − IGC is at most 2 − 4/(2 + max ¬D_ii) < 2, so IGC is stable."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.problems import random_graph

from gssl.operators import complement_negatives, normalized_negatives


def assert_bounded(igc, N):
    eigenvalues = np.linalg.eigvalsh(igc)
    bound = 2 - 4 / (2 + N.sum(axis=1).max())
    assert 1 - eigenvalues.min() <= bound + 1e-12
    assert bound < 2
    assert np.abs(eigenvalues).max() <= 1 + 1e-12


@pytest.mark.parametrize("density", [0.02, 0.1, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("n", [2, 7, 40])
def test_bound_and_spectral_radius(n, density):
    for seed in range(20):
        N = random_graph(n, density, seed)
        assert_bounded(normalized_negatives(csr_array(N)).toarray(), N)
        complement = np.ones((n, n)) - np.eye(n) - N
        assert_bounded(complement_negatives(csr_array(N)) @ np.eye(n), complement)


def test_the_bound_is_reached_on_a_regular_graph():
    N = np.ones((6, 6)) - np.eye(6)
    eigenvalues = np.linalg.eigvalsh(normalized_negatives(csr_array(N)).toarray())
    assert 1 - eigenvalues.min() == pytest.approx(2 - 4 / (2 + 5))


def test_the_spectral_radius_reaches_one():
    """It is one for an unlinked pair, which moves apart, and for a node in no pair, which stays."""
    N = np.zeros((3, 3))
    N[0, 1] = N[1, 0] = 1
    eigenvalues = np.linalg.eigvalsh(normalized_negatives(csr_array(N)).toarray())
    np.testing.assert_allclose(eigenvalues, [1 / 3, 1.0, 1.0], atol=1e-14)
