import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.graph import node_order


def bandwidth(A):
    rows, columns = A.nonzero()
    return np.abs(rows - columns).max()


def test_cuthill_mckee_brings_neighbours_together():
    steps = np.arange(99)
    A = csr_array((np.ones(99), (steps, steps + 1)), shape=(100, 100))
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
    assert node_order(csr_array(A), "degree").tolist() == [3, 0, 1, 2]


def test_an_unknown_order_is_refused():
    with pytest.raises(ValueError, match="kind must be"):
        node_order(csr_array(np.eye(2)), "random")
