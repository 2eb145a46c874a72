"""The table that the trees see, and that they learn from it."""

import numpy as np
from scipy.sparse import csr_array, random_array

from benchmarks.rivals.trees import NeighbourTrees
from gssl.datasets import load

# a path 0–1–2 with a self-loop at 1, and a node alone
LINKS = np.array([[0, 1, 0, 0], [1, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], dtype=float)
X = np.array([[1.0], [2.0], [5.0], [7.0]])


def test_rows_hold_means_degree_and_known_labels_of_neighbours():
    rows = NeighbourTrees()._rows(X, np.array([0, 1, -1, 0]), csr_array(LINKS))
    np.testing.assert_allclose(rows[:, 0], [1, 2, 5, 7])
    np.testing.assert_allclose(rows[:, 1], [2, 3, 2, 0])
    np.testing.assert_allclose(rows[:, 2], [3, 2, 3, 0])
    np.testing.assert_allclose(rows[:, 3], np.log([2, 3, 2, 1]))
    np.testing.assert_allclose(rows[:, 4:], [[0, 1], [1, 0], [0, 1], [np.nan, np.nan]])


def test_a_row_does_not_contain_the_label_of_its_node():
    y = np.array([0, 1, 0, 1])
    hidden = np.array([0, -1, 0, 1])
    before, after = (NeighbourTrees()._rows(X, labels, csr_array(LINKS)) for labels in (y, hidden))
    np.testing.assert_array_equal(before[1], after[1])
    assert (before[0, 4:] != after[0, 4:]).any()


def test_wide_sparse_features_become_their_leading_directions():
    rng = np.random.default_rng(0)
    for width, kept in ((300, 128), (100, 100)):
        features = csr_array(random_array((200, width), density=0.1, rng=rng))
        assert NeighbourTrees(0)._dense(features).shape == (200, kept)


def test_trees_learn_from_labelled_nodes():
    data = load("digits")
    y = np.where(np.arange(data.n_nodes) % 4 == 0, data.labels, -1)
    model = NeighbourTrees(random_state=0).fit(data.features, y, adjacency=data.adjacency)
    assert (model.transduction_ == data.labels)[y < 0].mean() > 0.9
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1.0)
