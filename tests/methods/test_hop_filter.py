"""Hops without self-loops, and differences to neighbours, agree with dense algebra."""

import numpy as np
import pytest

import gssl


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(0)
    A = np.triu((rng.random((40, 40)) < 0.1).astype(float), k=1)
    A[:, 7] = A[7] = 0.0  # an isolated node
    return rng.normal(size=(40, 5)), A + A.T


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
@pytest.mark.parametrize("operator", ["hop", "high"])
def test_it_is_a_power_of_its_operator(graph, depth, operator):
    X, A = graph
    degree = A.sum(axis=1)
    if operator == "hop":
        s = np.divide(1.0, np.sqrt(degree), out=np.zeros(40), where=degree > 0)
        T = s[:, None] * A * s
    else:
        t = 1.0 / np.sqrt(2.0 + degree)
        T = t[:, None] * (2.0 * np.eye(40) - A) * t
    U = gssl.HopFilter(depth, operator).fit_transform(X, adjacency=A)
    np.testing.assert_allclose(U, np.linalg.matrix_power(T, depth) @ X, atol=1e-12)


def test_another_operator_is_refused(graph):
    X, A = graph
    with pytest.raises(ValueError, match=r"operator must be one of .*, not \'low\'\.$"):
        gssl.HopFilter(operator="low").fit(X, adjacency=A)
