"""The heat kernel is the matrix exponential, up to its truncation."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.sparse import csr_array

import gssl
from gssl.operators import normalized_adjacency


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(0)
    A = np.triu((rng.random((40, 40)) < 0.15).astype(float), k=1)
    return rng.normal(size=(40, 5)), A + A.T


@pytest.mark.parametrize("time", [0.5, 2.0, 8.0])
def test_it_is_the_matrix_exponential(graph, time):
    X, A = graph
    A_hat = normalized_adjacency(csr_array(A), np.float64).toarray()
    U = gssl.HeatKernel(depth=40, time=time).fit_transform(X, adjacency=A)
    np.testing.assert_allclose(U, expm(-time * (np.eye(40) - A_hat)) @ X, atol=1e-12)


def test_no_time_changes_nothing(graph):
    X, A = graph
    np.testing.assert_array_equal(gssl.HeatKernel(time=0.0).fit_transform(X, adjacency=A), X)


def test_a_truncated_kernel_keeps_the_sum_of_its_weights(graph):
    powers = gssl.HeatKernel(depth=3, time=50.0).program().powers()
    assert powers.sum() == pytest.approx(1.0)


def test_a_negative_time_is_refused(graph):
    X, A = graph
    with pytest.raises(ValueError, match="time"):
        gssl.HeatKernel(time=-1.0).fit(X, adjacency=A)
