"""OGC on nodes not seen in fit, with labels for all nodes, and with labels that cannot be learnt."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

import gssl
from gssl.datasets import load
from reproduction.reddit import inductive_accuracy


def normalized(A):
    root = np.diag(1 / np.sqrt(A.sum(axis=1) + 1))
    return root @ (A + np.eye(len(A))) @ root


@pytest.fixture(scope="module")
def standin():
    """A small graph like Reddit, with many classes and features that are informative only after smoothing."""
    rng = np.random.default_rng(0)
    n, c, d = 1500, 10, 40
    y = rng.integers(c, size=n)
    inside = rng.random((n, n)) < np.where(y[:, None] == y, 0.08, 0.001)
    A = np.triu(inside, k=1)
    X = rng.normal(size=(c, d))[y] + 4.0 * rng.normal(size=(n, d))
    parts = np.split(rng.permutation(n), [1000])
    return X, y, csr_array((A + A.T).astype(float)), {"train": parts[0], "test": parts[1]}


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_predict_on_the_graph_of_fit_is_transduction(problem, loss):
    model = gssl.OGC(loss=loss, eta_sup=0.1, random_state=0).fit(problem.X, problem.y, adjacency=problem.A)
    P = model.predict_proba(problem.X, adjacency=problem.A)
    np.testing.assert_allclose(P, model.label_distributions_, atol=1e-10)
    few = model.predict_proba(problem.X, adjacency=problem.A, nodes=[35, 2])
    np.testing.assert_allclose(few, P[[35, 2]], atol=1e-10)


@pytest.mark.parametrize(
    ("name", "labelled"), [("planetoid/cora", 0), ("cora", 0), ("graphs/amazon_photo", 0.66)]
)
def test_predict_agrees_with_transduction_on_real_graphs(name, labelled):
    try:
        data = load(name)
    except FileNotFoundError:
        pytest.skip(f"{name} is not here")
    if labelled:
        hidden = np.random.default_rng(0).random(len(data.labels)) > labelled
        y = np.where(hidden, -1, data.labels)
    else:
        y = data.mask_labels(next(iter(data.splits)), parts=("train",))
    X = data.normalized().features
    model = gssl.OGC(random_state=0).fit(X, y, adjacency=data.adjacency)
    predicted = model.predict(X, adjacency=data.adjacency)
    assert np.mean(predicted == model.transduction_) >= 0.98


def test_a_part_of_a_grown_graph_is_predicted_as_in_the_whole(problem):
    model = gssl.OGC(beta=0.2, max_iter=2, eta_sup=0.1, random_state=0)
    model.fit(problem.X, problem.y, adjacency=problem.A)
    # a long tail keeps the subgraph of the last node small
    n, tail = 36, 60
    A = np.zeros((n + tail, n + tail))
    A[:n, :n] = problem.A
    for i in range(n - 1, n + tail - 1):
        A[i, i + 1] = A[i + 1, i] = 1
    X = np.vstack([problem.X, problem.X[:1].repeat(tail, axis=0)])
    whole = model.predict_proba(X, adjacency=A)
    for node in (0, n - 1, n, n + tail - 1):
        part = model.predict_proba(X, adjacency=A, nodes=[node])
        np.testing.assert_allclose(part[0], whole[node], atol=1e-12)


def test_another_graph_is_predicted_by_ridge_on_smoothed_features(problem):
    model = gssl.OGC(beta=0.3, loss="cross_entropy", random_state=0)
    model.fit(problem.X, problem.y, adjacency=problem.A)
    smooth = np.linalg.matrix_power(0.3 * normalized(problem.A) + 0.7 * np.eye(36), 10)
    U, Z = smooth @ problem.X, model.embedding_ @ model.coef_
    W = np.linalg.solve(U.T @ U + 1e-3 * np.sum(U**2) * np.eye(6), U.T @ Z)
    order = np.random.default_rng(0).permutation(36)
    P = model.predict_proba(problem.X[order], adjacency=problem.A[np.ix_(order, order)])
    scores = (U @ W)[order]
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(P, expected, atol=1e-9)
    assert np.mean(P.argmax(axis=1) == problem.truth[order]) > 0.9


def test_new_labels_change_the_prediction_of_the_same_graph(problem):
    model = gssl.OGC(random_state=0).fit(problem.X, problem.y, adjacency=problem.A)
    model.predict(problem.X, adjacency=problem.A)
    y = problem.y.copy()
    y[4] = y[16] = 2
    model.update_labels(y)
    P = model.predict_proba(problem.X, adjacency=problem.A)
    np.testing.assert_allclose(P, model.label_distributions_, atol=1e-10)


def test_a_loaded_model_predicts_seen_and_unseen_graphs_as_before(problem, tmp_path):
    model = gssl.OGC(random_state=0).fit(problem.X, problem.y, adjacency=problem.A)
    gssl.save(model, tmp_path / "m.gssl")
    loaded = gssl.load(tmp_path / "m.gssl")
    for nodes in (slice(None), slice(12, 36)):
        X, A = problem.X[nodes], problem.A[nodes, nodes]
        np.testing.assert_array_equal(
            loaded.predict_proba(X, adjacency=A), model.predict_proba(X, adjacency=A)
        )


def test_where_all_nodes_are_labelled_a_tenth_of_each_class_is_watched(standin):
    X, y, A, _ = standin
    model = gssl.OGC(random_state=0).fit(X, y, adjacency=A)
    counts, anchors = np.bincount(y), np.bincount(y[model._anchored])
    np.testing.assert_array_equal(counts - anchors, counts // 10)
    again = gssl.OGC(random_state=0).fit(X, y, adjacency=A)
    np.testing.assert_array_equal(again._anchored, model._anchored)
    other = gssl.OGC(random_state=1).fit(X, y, adjacency=A)
    assert (other._anchored != model._anchored).any()


def test_classes_too_small_to_hold_out_are_all_anchors(problem):
    model = gssl.OGC(random_state=0).fit(problem.X[:9], problem.truth[[0, 1, 2, 12, 13, 14, 24, 25, 26]])
    assert model._anchored.all()


def test_inductive_accuracy_is_that_of_sgc_with_ridge(standin):
    X, y, A, split = standin
    X = X / np.abs(X).sum(axis=1, keepdims=True)
    rival = gssl.EmbeddingClassifier(gssl.SGC(depth=2), head="ridge")
    bar = inductive_accuracy(rival, X, y, A, split)
    assert bar > 0.8
    assert inductive_accuracy(gssl.OGC(random_state=0), X, y, A, split) >= bar - 0.01


def test_labels_that_are_not_learnt_are_a_warning():
    n = 200
    y = np.full(n, -1)
    y[:40] = np.arange(40) % 4
    A = csr_array((np.ones(n), (np.arange(n), np.roll(np.arange(n), 1))), shape=(n, n))
    X = np.ones((n, 50))
    with pytest.warns(ConvergenceWarning, match=r"learnt only \d+ of its 40 labels: scale X"):
        gssl.OGC(random_state=0).fit(X, y, adjacency=A + A.T, anchors=[])


def test_learnt_labels_are_no_warning(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = gssl.OGC(random_state=0).fit(problem.X, problem.y, adjacency=problem.A)
    labelled = problem.y >= 0
    np.testing.assert_array_equal(model.transduction_[labelled], problem.y[labelled])
