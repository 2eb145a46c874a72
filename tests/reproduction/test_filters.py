"""Filters measured on real spectra agree with the curves of Fig. 1 and Theorem 2."""

import numpy as np
import pytest
from scipy.linalg import circulant
from scipy.sparse import csr_array

import gssl
from gssl.operators import complement_negatives, inverse_convolution, lazy_convolution, normalized_adjacency
from reproduction.filters import convolution_curve, filter_response, inverse_convolution_curve


@pytest.fixture
def karate():
    return gssl.datasets.load("karate").adjacency


@pytest.fixture
def ring():
    first = np.zeros(30)
    first[[1, 2, -1, -2]] = 1.0
    return csr_array(circulant(first))


@pytest.mark.parametrize("depth", [1, 2, 5, 16])
def test_sgc_on_karate_follows_its_curve(karate, depth):
    eigenvalues, responses = filter_response(gssl.SGC(depth), karate)
    assert eigenvalues[0] == pytest.approx(0.0, abs=1e-12)
    assert np.all(np.diff(eigenvalues) >= 0)
    assert 1.0 < eigenvalues[-1] < 2.0
    np.testing.assert_allclose(responses, (1 - eigenvalues) ** depth, atol=1e-12)
    np.testing.assert_allclose(convolution_curve(eigenvalues, depth=depth), responses, atol=1e-12)


@pytest.mark.parametrize("beta", [0.1, 0.5])
def test_lazy_convolution_follows_its_curve(karate, beta):
    A_hat = normalized_adjacency(karate)
    eigenvalues, responses = filter_response(lambda U: lazy_convolution(A_hat, U, beta), karate)
    np.testing.assert_allclose(responses, convolution_curve(eigenvalues, beta), atol=1e-12)
    assert responses[-1] < responses[0]


@pytest.mark.parametrize("beta", [1.0, 0.3])
def test_igc_on_a_regular_graph_is_theorem_2_exactly(ring, beta):
    N = np.ones((30, 30)) - np.eye(30) - ring.toarray()
    N_hat = complement_negatives(ring)
    eigenvalues, responses = filter_response(
        lambda U: inverse_convolution(N_hat, U, beta), N, self_loops=False
    )
    np.testing.assert_allclose(responses, inverse_convolution_curve(eigenvalues, 25, beta), atol=1e-12)
    np.testing.assert_allclose(responses, beta * (2 - 25 + 25 * eigenvalues) / 27 + 1 - beta, atol=1e-12)
    assert np.argmin(responses) == 0  # high-pass


def test_igc_on_karate_is_theorem_2_approximately(karate):
    N = np.ones((34, 34)) - np.eye(34) - karate.toarray()
    N_hat = complement_negatives(karate)
    eigenvalues, responses = filter_response(lambda U: N_hat @ U, N, self_loops=False)
    gap = np.abs(responses - inverse_convolution_curve(eigenvalues, N.sum() / 34))
    assert 1e-4 < gap.max() < 0.03  # not exact, because degrees differ
    assert np.abs(responses).max() < 1


def test_a_graph_too_large_for_its_eigenvectors_is_refused():
    A = csr_array(([1.0, 1.0], ([0, 1], [1, 0])), shape=(5001, 5001))
    with pytest.raises(ValueError, match="the graph has 5001 nodes, too many for all eigenvectors"):
        filter_response(gssl.SGC(1), A)
