"""Connected components, nodes reached by labels, and k-hop subgraphs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from scipy import sparse

from gssl.graph import connected_components, k_hop_subgraph, reached_nodes
from gssl.graph.simplify import declare_simple
from gssl.operators import normalized_adjacency

# 0–3, 1–2–5 and the isolated node 4
GRAPH = sparse.coo_array((np.ones(3), ([0, 1, 2], [3, 2, 5])), shape=(6, 6))


def test_components_are_numbered_by_their_lowest_node():
    np.testing.assert_array_equal(connected_components(GRAPH), [0, 1, 1, 0, 2, 1])


def test_a_stored_zero_or_a_loop_links_nothing():
    matrix = sparse.coo_array(([0.0, 1.0], ([0, 1], [1, 1])), shape=(2, 2))
    np.testing.assert_array_equal(connected_components(matrix), [0, 1])


@pytest.mark.parametrize("labelled", [[5], np.array([False, True, False, False, False, False])])
def test_isolated_nodes_and_components_without_a_label_are_not_reached(labelled):
    np.testing.assert_array_equal(reached_nodes(GRAPH, labelled), [False, True, True, False, False, True])


def test_a_labelled_isolated_node_reaches_itself():
    np.testing.assert_array_equal(reached_nodes(GRAPH, [4]), [False] * 4 + [True, False])


def test_no_labels_reach_nothing():
    np.testing.assert_array_equal(reached_nodes(GRAPH, []), [False] * 6)
    np.testing.assert_array_equal(reached_nodes(GRAPH, np.zeros(6, dtype=bool)), [False] * 6)


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


@pytest.mark.parametrize("links_at_once", [1, 3, 1 << 22])
def test_a_declared_graph_is_searched_link_by_link(monkeypatch, links_at_once):
    monkeypatch.setattr("gssl.graph.components._LINKS", links_at_once)
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((60, 60)) < 0.02, k=1).astype(float)
    A = sparse.csr_array(upper + upper.T)
    A.sort_indices()
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


def random_graph(n=60, seed=0):
    """A weighted graph of several components, some of them single nodes."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < 1.2 / n, k=1) * rng.integers(1, 5, size=(n, n))
    return sparse.csr_array((A + A.T).astype(float))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("hops", [0, 1, 2, 5, 100])
def test_nodes_within_some_hops_are_where_powers_are_not_zero(seed, hops):
    A = random_graph(seed=seed)
    nodes = np.array([7, 31])
    steps = np.linalg.matrix_power((A.toarray() > 0) + np.eye(60), hops)[:, nodes]
    np.testing.assert_array_equal(k_hop_subgraph(A, nodes, hops).nodes, np.flatnonzero(steps.any(axis=1)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("hops", [0, 1, 2, 5, 100])
def test_the_wanted_rows_of_powers_are_those_of_the_whole(seed, hops):
    A = random_graph(seed=seed)
    U = np.random.default_rng(1).standard_normal((60, 3))
    nodes = np.array([31, 7, 31])
    part = k_hop_subgraph(A, nodes, hops)
    np.testing.assert_array_equal(part.nodes[part.positions], nodes)
    np.testing.assert_array_equal(part.degrees, A.sum(axis=1)[part.nodes])
    whole, small = U, U[part.nodes]
    A_hat, A_part = normalized_adjacency(A), normalized_adjacency(part.links, degrees=part.degrees)
    for _ in range(hops):
        whole, small = A_hat @ whole, A_part @ small
    np.testing.assert_allclose(small[part.positions], whole[nodes], atol=1e-14)


def test_only_the_rim_has_no_links():
    n = 20
    steps = np.arange(n)
    ring = sparse.csr_array((np.ones(n), (steps, (steps + 1) % n)), shape=(n, n))
    ring = sparse.csr_array(ring + ring.T)
    part = k_hop_subgraph(ring, np.array([0]), hops=3)
    np.testing.assert_array_equal(part.nodes, [0, 1, 2, 3, 17, 18, 19])
    np.testing.assert_array_equal(part.links.sum(axis=1), [2, 2, 2, 0, 0, 2, 2])


@pytest.mark.parametrize(("max_links", "given_up"), [(10, False), (9, True), (None, False)])
def test_too_many_links_are_given_up(max_links, given_up):
    """Node 0 has two links, its neighbours four, and their neighbours four: three hops read ten links."""
    steps = np.arange(20)
    ring = sparse.csr_array((np.ones(20), (steps, (steps + 1) % 20)), shape=(20, 20))
    part = k_hop_subgraph(sparse.csr_array(ring + ring.T), np.array([0]), 3, max_links)
    assert (part is None) is given_up


def test_no_nodes_have_no_surroundings():
    part = k_hop_subgraph(random_graph(), np.array([], dtype=int), hops=2)
    assert part.nodes.shape == part.degrees.shape == (0,)
    assert part.links.shape == (0, 0)
