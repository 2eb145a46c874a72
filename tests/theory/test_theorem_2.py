"""Theorem 2: IGC's filter is Φ(λ) ≈ (2 − ξ + ξλ)/(ξ + 2), λ the eigenvalues of the negative graph's L_sym."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.problems import ring

from gssl.graph import sample_negatives
from gssl.operators import complement_negatives, normalized_negatives


def filtered(N, xi):
    """Return Q diag(Φ(λ)) Qᵀ with the eigenpairs of L_sym = I − ¬D^-½ ¬A ¬D^-½."""
    root = np.diag(1 / np.sqrt(N.sum(axis=1)))
    eigenvalues, Q = np.linalg.eigh(np.eye(len(N)) - root @ N @ root)
    return Q @ np.diag((2 - xi + xi * eigenvalues) / (xi + 2)) @ Q.T


@pytest.mark.parametrize("reaches", [(1,), (2,), (1, 3), (2, 5, 7)])
def test_on_a_regular_negative_graph_the_filter_is_exact(reaches):
    N = ring(20, *reaches)
    np.testing.assert_allclose(
        normalized_negatives(csr_array(N)).toarray(), filtered(N, 2 * len(reaches)), atol=1e-14
    )


def test_on_the_complement_of_a_regular_graph_the_filter_is_exact():
    A = ring(20, 1, 2)
    N = np.ones((20, 20)) - np.eye(20) - A
    np.testing.assert_allclose(
        complement_negatives(csr_array(A)) @ np.eye(20), filtered(N, 20 - 1 - 4), atol=1e-14
    )


@pytest.mark.parametrize(("kind", "small"), [("uniform", 0.1), ("regular", 0.005)])
def test_on_sampled_negatives_the_error_is_bounded_by_the_spread_of_degrees(kind, small):
    """IGC is 2¬D̃^-1 − EME, E = (¬D/¬D̃)^½, ‖M‖ = ‖¬D^-½ ¬A ¬D^-½‖ = 1; Φ replaces all degrees by ξ."""
    N = sample_negatives(ring(120, 1), 20, random_state=0, kind=kind).toarray()
    D = N.sum(axis=1)
    xi = D.mean()
    error = np.linalg.norm(normalized_negatives(csr_array(N)).toarray() - filtered(N, xi), ord=2)
    E, g = np.sqrt(D / (D + 2)), np.sqrt(xi / (xi + 2))
    bound = np.abs(2 / (D + 2) - 2 / (xi + 2)).max() + np.abs(E - g).max() * (E.max() + g)
    assert error <= bound + 1e-12
    assert error < small
    assert xi == 40
