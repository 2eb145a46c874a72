"""Components, and which nodes a label reaches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from scipy import sparse

from gssl.graph import connected_components, reached_nodes

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
