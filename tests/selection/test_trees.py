"""Boosted trees never see a node's own label, stay only where they help, and predict as they were fitted."""

import pickle

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array

import gssl
from gssl.methods.labels import UNLABELLED
from gssl.selection.neighbour_columns import Neighbourhood

N = 900


def checkered(seed=0, n=N):
    """Return features whose signs form a checkerboard, which no linear model sees, and links at random."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    truth = (X[:, 0] * X[:, 1] > 0).astype(int)
    links = np.triu(rng.random((n, n)) < 4 / n, 1)
    return X, csr_array((links | links.T).astype(float)), truth


@pytest.fixture(scope="module")
def fitted():
    X, A, truth = checkered()
    y = np.where(np.arange(N) < 600, truth, -1)
    return X, A, truth, y, gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)


def test_trees_stay_where_linear_models_see_nothing(fitted):
    _, _, truth, _, model = fitted
    assert (model.transduction_ == truth)[600:].mean() > 0.85
    assert "Boosted trees on the features and labels of neighbours are pooled with it" in model.explain_
    assert "Among linear models, the graph" in model.explain_
    assert model.tree_pool_[1] > model.tree_pool_[0]
    best = model.leaderboard_[0]
    assert (best.model, best.chosen) == ("boosted trees", True)
    assert model.knows_nodes


def test_they_go_where_they_do_not_help():
    X, A, _ = checkered()
    y = np.where(np.arange(N) < 600, np.random.default_rng(1).integers(2, size=N), -1)
    model = gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)
    assert not hasattr(model, "tree_pool_")
    few = np.where(np.arange(N) < 90, checkered()[2], -1)
    assert not hasattr(gssl.AutoClassifier(depth=4).fit(X, few, adjacency=A), "tree_pool_")


def test_the_nodes_of_fit_and_new_ones_are_predicted_alike(fitted):
    X, A, _, _, model = fitted
    np.testing.assert_allclose(model.predict_proba(X, adjacency=A), model.label_distributions_, atol=1e-6)
    new_X, _, new_truth = checkered(seed=5, n=200)
    grown = block_diag([A, csr_array((200, 200))], format="csr")
    predicted = model.predict(np.vstack([X, new_X]), adjacency=csr_array(grown))[N:]
    assert (predicted == new_truth).mean() > 0.8
    with pytest.raises(ValueError, match=f"must begin with the {N} nodes of fit"):
        model.predict(new_X, adjacency=csr_array((200, 200)))


def test_a_saved_or_pickled_model_predicts_the_same(fitted, tmp_path):
    X, A, _, _, model = fitted
    gssl.save(model, tmp_path / "m.gssl")
    for other in (gssl.load(tmp_path / "m.gssl"), pickle.loads(pickle.dumps(model))):  # noqa: S301
        np.testing.assert_allclose(other.predict_proba(X, adjacency=A), model.label_distributions_, atol=1e-5)


def test_the_order_of_nodes_and_columns_does_not_matter(fitted):
    X, A, _, y, model = fitted
    nodes, columns = np.random.default_rng(2).permutation(N), [2, 0, 3, 1]
    other = gssl.AutoClassifier(depth=4).fit(X[nodes][:, columns], y[nodes], adjacency=A[nodes][:, nodes])
    np.testing.assert_allclose(other.label_distributions_, model.label_distributions_[nodes], atol=1e-6)


def test_label_columns_do_not_count_a_nodes_own_label():
    X, A, truth = checkered(n=120)
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
