"""Connected components, nodes reached by labels, and k-hop subgraphs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from scipy import sparse
from tests.problems import random_graph, ring

from gssl.graph import connected_components, k_hop_subgraph, reached_nodes
from gssl.graph.components import rings_around
from gssl.graph.simplify import declare_simple
from gssl.operators import normalized_adjacency

# 0–3, 1–2–5 and the isolated node 4
GRAPH = sparse.coo_array((np.ones(3), ([0, 1, 2], [3, 2, 5])), shape=(6, 6))


def test_components_are_numbered_by_their_lowest_node():
    np.testing.assert_array_equal(connected_components(GRAPH), [0, 1, 1, 0, 2, 1])


def test_a_stored_zero_or_a_loop_links_nothing():
    matrix = sparse.coo_array(([0.0, 1.0], ([0, 1], [1, 1])), shape=(2, 2))
    np.testing.assert_array_equal(connected_components(matrix), [0, 1])


@pytest.mark.parametrize(
    ("labelled", "reached"),
    [
        ([5], [1, 2, 5]),
        (np.array([False, True, False, False, False, False]), [1, 2, 5]),
        ([4], [4]),
        ([], []),
        (np.zeros(6, dtype=bool), []),
    ],
)
def test_labels_reach_their_components_only(labelled, reached):
    np.testing.assert_array_equal(np.flatnonzero(reached_nodes(GRAPH, labelled)), reached)


@pytest.mark.parametrize(
    ("labelled", "error", "message"),
    [
        ([6], ValueError, r"labelled node 6 is outside 0 … 5"),
        ([-1], ValueError, r"labelled node -1 is outside"),
        ([True, False], ValueError, r"shape \(2,\), not \(6,\)"),
        ([0.5], TypeError, r"indices"),
    ],
)
def test_labels_that_are_no_nodes(labelled, error, message):
    with pytest.raises(error, match=message):
        reached_nodes(GRAPH, labelled)


@settings(deadline=None)
@given(arrays(bool, (6, 6)), arrays(bool, 6))
def test_reached_is_what_powers_of_the_graph_reach(links, labelled):
    walks = np.linalg.matrix_power((links | links.T | np.eye(6, dtype=bool)).astype(int), 6) > 0
    np.testing.assert_array_equal(reached_nodes(links, labelled), (walks & labelled).any(axis=1))


def test_a_declared_graph_is_searched_ring_by_ring():
    A = sparse.csr_array(random_graph(60, 0.02))
    declared = A.copy()
    for array in (declared.data, declared.indices, declared.indptr):
        array.flags.writeable = False
    declared = declare_simple(declared)
    for nodes in ([0], [0, 17, 33], [], np.arange(60)):
        labelled = np.array(nodes, dtype=np.int64)
        reached = reached_nodes(declared, labelled)
        np.testing.assert_array_equal(reached, reached_nodes(A, labelled))
        # a node is reached if a power of A + I links it to a labelled node
        power = np.linalg.matrix_power((A.toarray() > 0) + np.eye(60), 60) > 0
        np.testing.assert_array_equal(reached, power[:, labelled].any(axis=1))
        rings = list(rings_around(declared, labelled))
        for links_at_once in (1, 3):
            for found, expected in zip(rings_around(declared, labelled, links_at_once), rings, strict=True):
                np.testing.assert_array_equal(np.sort(found), expected)


def scattered(seed=0):
    """A weighted graph of several components, some of them single nodes."""
    return sparse.csr_array(random_graph(60, 0.02, seed, weighted=True))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("hops", [0, 1, 2, 5, 100])
def test_the_wanted_rows_of_powers_are_those_of_the_whole(seed, hops):
    A = scattered(seed)
    U = np.random.default_rng(1).standard_normal((60, 3))
    nodes = np.array([31, 7, 31])
    part = k_hop_subgraph(A, nodes, hops)
    # those at which the powers are not zero
    steps = np.linalg.matrix_power((A.toarray() > 0) + np.eye(60), hops)[:, nodes]
    np.testing.assert_array_equal(part.nodes, np.flatnonzero(steps.any(axis=1)))
    np.testing.assert_array_equal(part.nodes[part.positions], nodes)
    np.testing.assert_array_equal(part.degrees, A.sum(axis=1)[part.nodes])
    whole, small = U, U[part.nodes]
    A_hat, A_part = normalized_adjacency(A), normalized_adjacency(part.links, degrees=part.degrees)
    for _ in range(hops):
        whole, small = A_hat @ whole, A_part @ small
    np.testing.assert_allclose(small[part.positions], whole[nodes], atol=1e-14)


def test_only_the_rim_has_no_links():
    part = k_hop_subgraph(sparse.csr_array(ring(20)), np.array([0]), hops=3)
    np.testing.assert_array_equal(part.nodes, [0, 1, 2, 3, 17, 18, 19])
    np.testing.assert_array_equal(part.links.sum(axis=1), [2, 2, 2, 0, 0, 2, 2])


@pytest.mark.parametrize(("max_links", "given_up"), [(10, False), (9, True), (None, False)])
def test_too_many_links_are_given_up(max_links, given_up):
    """Node 0 has two links, its neighbours four, and their neighbours four: three hops read ten links."""
    part = k_hop_subgraph(sparse.csr_array(ring(20)), np.array([0]), 3, max_links)
    assert (part is None) is given_up


def test_no_nodes_have_no_surroundings():
    part = k_hop_subgraph(scattered(), np.array([], dtype=int), hops=2)
    assert part.nodes.shape == part.degrees.shape == (0,)
    assert part.links.shape == (0, 0)
