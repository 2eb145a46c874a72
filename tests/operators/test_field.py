"""The mean of a Gaussian field equals dense algebra, for several fields at once."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.operators.field import field_mean, field_operator

KNOWN = np.zeros((9, 4), dtype=bool)
KNOWN[[0, 4], 0] = KNOWN[[1, 3, 5, 6], 1] = KNOWN[8, 2] = KNOWN[:, 3] = True
OMEGA = np.array([0.1, 1.0, 30.0, 999.0])


def dense_operator(A):
    """S = D^-½ A D^-½."""
    degrees = A.astype(np.float64).sum(axis=1)
    roots = np.divide(1.0, np.sqrt(degrees), out=np.zeros(len(A)), where=degrees > 0)
    return roots[:, None] * A * roots


def dense_mean(A, e, L, omega):
    """r_U = −G_UU^-1 G_UL e_L, G = I/ω + I − S."""
    eye = np.eye(len(A))
    G, U, r = eye / omega + eye - dense_operator(A), ~L, np.array(e, dtype=np.float64)
    r[U] = -np.linalg.solve(G[np.ix_(U, U)], G[np.ix_(U, L)] @ r[L])
    return r


@pytest.fixture
def S(A):
    return field_operator(csr_array(A))


def test_the_operator_is_the_normalised_graph(A, S):
    np.testing.assert_allclose(S.toarray(), dense_operator(A), rtol=1e-6)
    assert not S.toarray()[[3, 8]].any()
    np.testing.assert_allclose(S.toarray(), S.toarray().T, rtol=1e-12)


@pytest.mark.parametrize("omega", [0.01, 1.0, 99.0, 999.0])
def test_a_field_is_that_of_dense_algebra(A, S, U, omega):
    L = np.arange(9) % 3 == 1
    found = field_mean(S, U[:, :1], L[:, None], omega)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found[:, 0], dense_mean(A, U[:, 0], L, omega), rtol=2e-6, atol=2e-6)


def test_several_fields_have_their_own_known_nodes_and_reach(A, S, U):
    found = field_mean(S, U, KNOWN, OMEGA)
    for k, omega in enumerate(OMEGA):
        np.testing.assert_allclose(
            found[:, k], dense_mean(A, U[:, k], KNOWN[:, k], omega), rtol=2e-6, atol=2e-6
        )
        alone = field_mean(S, U[:, [k]], KNOWN[:, [k]], omega)
        np.testing.assert_allclose(found[:, [k]], alone, rtol=1e-6, atol=1e-9)


def test_known_values_are_kept_and_nodes_that_none_reaches_get_zero(S, U):
    found = field_mean(S, U, KNOWN, OMEGA)
    np.testing.assert_array_equal(found[KNOWN], U[KNOWN])
    assert found[3, 0] == found[8, 0] == found[8, 1] == 0.0
    # only the isolated node 8 is known
    assert not found[:8, 2].any()
    assert not field_mean(S, U, np.zeros((9, 4), dtype=bool), 1.0).any()
    # values of unknown nodes do not matter
    np.testing.assert_array_equal(field_mean(S, np.where(KNOWN, U, np.nan), KNOWN, OMEGA), found)


def test_a_longer_reach_comes_nearer_to_a_value_that_all_known_nodes_share():
    """Values of a ring are harmonic as ω grows; as ω shrinks, nothing is spread."""
    ring = np.roll(np.eye(12), 1, axis=1)
    S = field_operator(csr_array(ring + ring.T))
    known = np.zeros((12, 3), dtype=bool)
    known[[0, 6]] = True
    found = field_mean(S, np.ones((12, 3)), known, np.array([1e-3, 1.0, 1e6]))
    assert np.abs(found[3, 0]) < 1e-6
    assert found[3, 2] == pytest.approx(1.0, abs=1e-4)
    # cosh((k − 3)θ) / cosh(3θ) with cosh θ = 1 + 1/ω
    theta = np.arccosh(2.0)
    wanted = np.cosh((np.arange(7) - 3) * theta) / np.cosh(3 * theta)
    np.testing.assert_allclose(found[:7, 1], wanted, atol=1e-8)
