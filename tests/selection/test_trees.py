"""Boosted trees never see a node's own label, stay only where they help, and predict as they were fitted."""

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array
from tests.problems import checkerboard

import gssl
from gssl.methods.labels import UNLABELLED
from gssl.selection.neighbour_columns import Neighbourhood

N = 900


@pytest.fixture(scope="module")
def fitted():
    X, A, y, truth = checkerboard()
    return X, A, truth, y, gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)


def test_trees_stay_where_linear_models_see_nothing(fitted):
    _, _, truth, _, model = fitted
    assert (model.transduction_ == truth)[600:].mean() > 0.85
    assert "Boosted trees on the features and labels of neighbours are averaged with it" in model.explain_
    assert "Among linear models, the graph" in model.explain_
    assert model.tree_pool_[1] > model.tree_pool_[0]
    best = model.leaderboard_[0]
    assert (best.model, best.chosen) == ("boosted trees", True)
    assert model.knows_nodes


def test_trees_go_where_they_do_not_help(fitted):
    X, A, truth, _, _ = fitted
    noise = np.where(np.arange(N) < 600, np.random.default_rng(1).integers(2, size=N), -1)
    few = np.where(np.arange(N) < 90, truth, -1)
    for y in (noise, few):
        assert not hasattr(gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A), "tree_pool_")


def test_new_nodes_are_predicted(fitted):
    X, A, _, _, model = fitted
    new_X, _, _, new_truth = checkerboard(seed=5, n=200)
    grown = block_diag([A, csr_array((200, 200))], format="csr")
    predicted = model.predict(np.vstack([X, new_X]), adjacency=csr_array(grown))[N:]
    assert (predicted == new_truth).mean() > 0.8


def test_label_columns_do_not_count_a_nodes_own_label():
    X, A, _, truth = checkerboard(n=120)
    columns = Neighbourhood(X, A, np.zeros((4, 0)), np.arange(4))
    codes = np.where(np.arange(120) < 60, truth, UNLABELLED)
    near = (A + A @ A).toarray() > 0
    # nodes far from each other swap their labels, so that all classes keep their shares
    node, other = next(
        (u, v) for u in range(60) for v in range(60) if codes[u] != codes[v] and not near[u, v] and near[u, u]
    )
    swapped = codes.copy()
    swapped[[node, other]] = codes[[other, node]]
    before, after = (columns.answer_columns(np.eye(2)[each], each != UNLABELLED) for each in (codes, swapped))
    np.testing.assert_allclose(before[[node, other]], after[[node, other]], atol=1e-6)
    assert not np.allclose(before, after)


def test_an_explanation_says_what_share_trees_have(fitted):
    *_, model = fitted
    (one,) = gssl.why(model, 700)
    weight = 100 * model.tree_pool_[1] / model.tree_pool_[:2].sum()
    assert one.note == f"Boosted trees have a weight of {weight:.0f} % beside these shares."


def test_nodes_that_look_the_same_are_hidden_together_and_leave_no_trees():
    """On a path without features most nodes are alike, and what is left has one class."""
    n = 20_000
    A = csr_array((np.ones(n - 1), (np.arange(n - 1), np.arange(1, n))), shape=(n, n))
    y = np.where(np.arange(n) % 200 == 0, np.arange(n) // 200 % 2, UNLABELLED)
    y[-1] = 1
    model = gssl.AutoClassifier().fit(None, y, adjacency=csr_array(A + A.T))
    assert not model.has_trees
    assert (model.transduction_[y != UNLABELLED] == y[y != UNLABELLED]).mean() > 0.9


def test_many_classes_have_no_trees():
    X, A, y, truth = checkerboard()
    # as before, trees alone would see the signs
    many = np.where(y == UNLABELLED, UNLABELLED, truth + 2 * (np.arange(N) % 60))
    model = gssl.AutoClassifier(depth=2).fit(np.c_[X, np.arange(N) % 60], many, adjacency=A)
    assert not model.has_trees
    assert "boosted trees" not in str(model.leaderboard_)
