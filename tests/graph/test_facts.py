"""Edge homophily and node orders."""

import numpy as np
import pytest
from scipy import sparse

from gssl.graph import edge_homophily

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
