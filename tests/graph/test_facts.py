"""Edge homophily and node orders."""

import numpy as np
import pytest
from scipy import sparse

from gssl.graph import edge_homophily, node_order

# a square 0–1–2–3–0 with one diagonal 0–2, each edge listed once
SQUARE = sparse.coo_array((np.array([1.0, 1, 1, 1, 9]), ([0, 1, 2, 3, 0], [1, 2, 3, 0, 2])), shape=(4, 4))


def test_each_edge_counts_once_whatever_its_weight_or_direction():
    assert edge_homophily(SQUARE, [0, 0, 1, 1]) == 2 / 5
    assert edge_homophily(SQUARE.maximum(SQUARE.T), ["a", "a", "b", "b"]) == 2 / 5
    assert edge_homophily(SQUARE, [5, 5, 5, 5]) == 1


def test_unknown_ends_are_left_out():
    assert edge_homophily(SQUARE, [0, 0, 1, -1]) == 1 / 3


@pytest.mark.parametrize("labels", [[0, -1, -1, -1], [-1] * 4])
def test_no_edge_to_count_is_an_error(labels):
    with pytest.raises(ValueError, match="no edge has two labelled ends"):
        edge_homophily(SQUARE, labels)


def test_one_label_per_node():
    with pytest.raises(ValueError, match=r"shape \(3,\), not \(4,\)"):
        edge_homophily(SQUARE, [0, 1, 2])


def bandwidth(A):
    rows, columns = A.nonzero()
    return np.abs(rows - columns).max()


def test_cuthill_mckee_brings_neighbours_together():
    steps = np.arange(99)
    A = sparse.csr_array((np.ones(99), (steps, steps + 1)), shape=(100, 100))
    shuffled = np.random.default_rng(0).permutation(100)
    A = (A + A.T)[shuffled][:, shuffled]
    order = node_order(A, "rcm")
    assert sorted(order) == list(range(100))
    assert bandwidth(A) > 50
    assert bandwidth(A[order][:, order]) == 1


def test_hubs_come_first_and_ties_keep_their_order():
    A = np.zeros((4, 4))
    A[3, [0, 1, 2]] = A[[0, 1, 2], 3] = 1
    A[0, 1] = A[1, 0] = 1
    assert node_order(sparse.csr_array(A), "degree").tolist() == [3, 0, 1, 2]


def test_an_unknown_order_is_refused():
    with pytest.raises(ValueError, match="kind must be"):
        node_order(sparse.csr_array(np.eye(2)), "random")
