"""Three-term recurrences agree with dense algebra, in the number of steps predicted by theory."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.methods.recurrences import (
    chebyshev_steps,
    conjugate_gradients,
    conjugate_steps,
    run_steps,
    symmetric_filters,
)
from gssl.scale.execution import IN_MEMORY, Checkpoint


@pytest.fixture
def graph():
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((60, 60)) < 0.1, k=1) * rng.random((60, 60))
    return csr_array(A + A.T)


def dense_S(A):
    A = A.toarray()
    D = A.sum(axis=1)
    root = np.divide(1, np.sqrt(D), out=np.zeros_like(D), where=D > 0)
    return root[:, None] * A * root


def run(filters, B, steps):
    return run_steps(filters, csr_array(B), steps, IN_MEMORY, Checkpoint())


@pytest.mark.parametrize("alpha", [0.3, 0.9, 0.99])
def test_chebyshev_steps_keep_to_their_bound(graph, alpha):
    S, B = dense_S(graph), np.random.default_rng(1).random((60, 9))
    expected = np.linalg.solve(np.eye(60) - alpha * S, B)
    rho = (1 - np.sqrt(1 - alpha**2)) / alpha
    filters = symmetric_filters(graph, np.float64)
    for k in (1, 2, 7, 30):
        error = np.linalg.norm(run(filters, B, chebyshev_steps(alpha, k)) - expected, axis=0)
        assert (error <= 2 * rho**k * np.linalg.norm(expected, axis=0) + 1e-12).all()


def test_steps_of_conjugate_gradients_serve_other_columns_too(graph):
    rng = np.random.default_rng(2)
    degrees = graph.sum(axis=1) + 0.2  # as if some links led to labelled nodes
    filters = symmetric_filters(graph, np.float64, degrees)
    M = np.eye(60) - graph.toarray() / np.sqrt(np.outer(degrees, degrees))
    B = rng.random((60, 20))
    few = B @ rng.choice([-1.0, 1.0], (20, 3))
    steps, close = conjugate_steps(filters, few, 1e-10, 500, lambda G: True)
    assert close
    np.testing.assert_allclose(run(filters, few, steps), np.linalg.solve(M, few), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(run(filters, B, steps), np.linalg.solve(M, B), rtol=1e-6, atol=1e-7)


def test_steps_end_where_the_limit_is_and_say_so(graph):
    filters = symmetric_filters(graph, np.float64, graph.sum(axis=1) + 0.01)
    steps, close = conjugate_steps(filters, np.ones((60, 1)), 1e-12, 3, lambda G: True)
    assert (len(steps), close) == (3, False)
    steps, close = conjugate_steps(filters, np.ones((60, 1)), 0.5, 300, lambda G: False)
    assert not close


def test_conjugate_gradients_solve_each_column_to_its_own_tolerance():
    rng = np.random.default_rng(3)
    root = rng.random((30, 30))
    M, B = root @ root.T + np.eye(30), rng.random((30, 4)) * [1, 1e-9, 1e9, 0]
    found, n_iter, settled = conjugate_gradients(lambda V: M @ V, B, 1e-10, 200)
    assert settled
    assert n_iter < 200
    np.testing.assert_allclose(found, np.linalg.solve(M, B), rtol=1e-6)
