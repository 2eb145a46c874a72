"""A part of a graph against powers of the whole."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.graph import ball, surroundings
from gssl.operators import normalized_adjacency


def random_graph(n=60, seed=0):
    """A weighted graph of several components, of which some are single nodes."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < 1.2 / n, k=1) * rng.integers(1, 5, size=(n, n))
    return csr_array((A + A.T).astype(float))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("hops", [0, 1, 2, 5, 100])
def test_a_ball_is_where_powers_are_not_zero(seed, hops):
    A = random_graph(seed=seed)
    nodes = np.array([7, 31])
    steps = np.linalg.matrix_power((A.toarray() > 0) + np.eye(60), hops)[:, nodes]
    np.testing.assert_array_equal(ball(A, nodes, hops), np.flatnonzero(steps.any(axis=1)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("hops", [0, 1, 2, 5, 100])
def test_the_wanted_rows_of_powers_are_those_of_the_whole(seed, hops):
    A = random_graph(seed=seed)
    U = np.random.default_rng(1).standard_normal((60, 3))
    nodes = np.array([31, 7, 31])
    part = surroundings(A, nodes, hops)
    np.testing.assert_array_equal(part.nodes[part.places], nodes)
    np.testing.assert_array_equal(part.degrees, A.sum(axis=1)[part.nodes])
    whole, small = U, U[part.nodes]
    A_hat, A_part = normalized_adjacency(A), normalized_adjacency(part.links, degrees=part.degrees)
    for _ in range(hops):
        whole, small = A_hat @ whole, A_part @ small
    np.testing.assert_allclose(small[part.places], whole[nodes], atol=1e-14)


def test_only_the_rim_has_no_links():
    n = 20
    steps = np.arange(n)
    ring = csr_array((np.ones(n), (steps, (steps + 1) % n)), shape=(n, n))
    ring = csr_array(ring + ring.T)
    part = surroundings(ring, np.array([0]), hops=3)
    np.testing.assert_array_equal(part.nodes, [0, 1, 2, 3, 17, 18, 19])
    np.testing.assert_array_equal(part.links.sum(axis=1), [2, 2, 2, 0, 0, 2, 2])


@pytest.mark.parametrize(("max_links", "given_up"), [(10, False), (9, True), (None, False)])
def test_too_many_links_are_given_up(max_links, given_up):
    """Node 0 has two links, its neighbours four and theirs four: ten are read for three hops."""
    steps = np.arange(20)
    ring = csr_array((np.ones(20), (steps, (steps + 1) % 20)), shape=(20, 20))
    part = surroundings(csr_array(ring + ring.T), np.array([0]), 3, max_links)
    assert (part is None) is given_up


def test_no_nodes_have_no_surroundings():
    part = surroundings(random_graph(), np.array([], dtype=int), hops=2)
    assert part.nodes.shape == part.degrees.shape == (0,)
    assert part.links.shape == (0, 0)
