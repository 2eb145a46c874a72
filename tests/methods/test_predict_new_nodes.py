"""Prediction for nodes that were not there in fit."""

import numpy as np
import pytest

import gssl
from gssl.graph import nearest_rows


@pytest.fixture
def grown(problem):
    """Three new nodes, each linked to four nodes of one ring and with features like theirs."""
    grown = problem.grown(3, problem.X[[4, 16, 28]] + 0.01)
    for node, start in zip((36, 37, 38), (0, 12, 24), strict=True):
        grown.A[node, start : start + 4] = grown.A[start : start + 4, node] = 1
    return grown


def test_a_grown_graph(classifier, problem, grown):
    classifier.fit(problem.X, problem.y, adjacency=problem.A)
    P = classifier.predict_proba(grown.X, adjacency=grown.A)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    expected = np.concatenate([problem.truth, [0, 1, 2]])
    np.testing.assert_array_equal(P.argmax(axis=1), expected)
    np.testing.assert_array_equal(classifier.predict(grown.X, adjacency=grown.A), expected)


@pytest.mark.parametrize("method", [gssl.LabelPropagation, gssl.LabelSpreading])
def test_a_grown_graph_is_propagated_like_in_fit(problem, grown, method):
    model = method(tol=1e-10).fit(problem.X, problem.y, adjacency=problem.A)
    refitted = method(tol=1e-10).fit(None, grown.y, adjacency=grown.A)
    np.testing.assert_array_equal(model.predict_proba(None, adjacency=grown.A), refitted.label_distributions_)
    np.testing.assert_array_equal(model.predict(grown.X, adjacency=grown.A), refitted.transduction_)


@pytest.mark.parametrize("method", [gssl.LabelPropagation, gssl.LabelSpreading])
def test_a_shrunk_graph_cannot_be_propagated(problem, method):
    model = method().fit(None, problem.y, adjacency=problem.A)
    with pytest.raises(ValueError, match=r"begin with the 36 nodes of fit.* only 30 nodes"):
        model.predict(None, adjacency=problem.A[:30, :30])


def test_a_model_fitted_with_a_graph_needs_one_to_predict(classifier_by_graph, problem):
    classifier_by_graph.fit(problem.X, problem.y, adjacency=problem.A)
    with pytest.raises(ValueError, match=r"was fitted with a graph: pass adjacency="):
        classifier_by_graph.predict(problem.X)


def test_a_model_fitted_without_a_graph_takes_the_mean_of_nearest_nodes(classifier_by_graph, problem):
    classifier_by_graph.fit(problem.X, problem.y)
    new = problem.X[[3, 15, 27]] + 0.01
    P = classifier_by_graph.predict_proba(new)
    neighbors = nearest_rows(new, problem.X, 10)
    np.testing.assert_allclose(
        P, classifier_by_graph.label_distributions_[neighbors].mean(axis=1), atol=1e-14
    )
    np.testing.assert_array_equal(classifier_by_graph.predict(new), [0, 1, 2])
    assert classifier_by_graph.predict_proba(new[:1]).tobytes() == P[:1].tobytes()


def test_refitting_with_a_graph_forgets_the_features(classifier_by_graph, problem):
    classifier_by_graph.fit(problem.X, problem.y).fit(problem.X, problem.y, adjacency=problem.A)
    with pytest.raises(ValueError, match="was fitted with a graph"):
        classifier_by_graph.predict(problem.X)


def test_a_predictor_of_rows_needs_no_graph(classifier_by_rows, problem, grown):
    """A node's prediction is the same alone, among others, and in any graph."""
    model = classifier_by_rows.fit(problem.X, problem.y, adjacency=problem.A)
    P = model.predict_proba(grown.X)
    np.testing.assert_array_equal(P, model.predict_proba(grown.X, adjacency=grown.A))
    np.testing.assert_allclose(P[:36], model.label_distributions_, atol=1e-14)
    np.testing.assert_allclose(model.predict_proba(grown.X[37:38]), P[37:38], atol=1e-14)
    np.testing.assert_array_equal(model.predict(grown.X[36:]), [0, 1, 2])


@pytest.mark.parametrize("method", [gssl.LabelPropagation, gssl.LabelSpreading])
def test_propagation_needs_no_features_where_there_is_a_graph(problem, method):
    with_features = method().fit(problem.X, problem.y, adjacency=problem.A)
    without = method().fit(None, problem.y, adjacency=problem.A)
    np.testing.assert_array_equal(with_features.label_distributions_, without.label_distributions_)
    with pytest.raises(ValueError, match="X"):
        method().fit(None, problem.y)


@pytest.mark.parametrize("head", ["logistic", "ridge", "adam"])
@pytest.mark.parametrize(
    "embedder", [gssl.SGC(), gssl.GGCM(depth=4), gssl.GGC(depth=4, negatives=2, random_state=0)]
)
def test_predicting_the_nodes_of_fit_gives_their_transduction(problem, embedder, head):
    model = gssl.EmbeddingClassifier(embedder, head=head, random_state=0)
    model.fit(problem.X, problem.y, adjacency=problem.A)
    P = model.predict_proba(problem.X, adjacency=problem.A)
    np.testing.assert_array_equal(P, model.label_distributions_)
    np.testing.assert_array_equal(model.predict(problem.X, adjacency=problem.A), model.transduction_)


def test_ogc_smooths_a_new_graph_as_often_as_in_fit(problem, grown):
    model = gssl.OGC(beta=0.3, random_state=0).fit(problem.X, problem.y, adjacency=problem.A)
    root = np.diag(1 / np.sqrt(grown.A.sum(axis=1) + 1))
    smooth = 0.3 * root @ (grown.A + np.eye(39)) @ root + 0.7 * np.eye(39)
    Z = np.linalg.matrix_power(smooth, model.n_iter_) @ grown.X @ model.coef_
    P = model.predict_proba(grown.X, adjacency=grown.A)
    # the nearest distribution to a row that sums to s moves every positive entry alike
    inside = (P > 0).all(axis=1)
    assert inside.any()
    np.testing.assert_allclose(P[inside], (Z + (1 - Z.sum(axis=1, keepdims=True)) / 3)[inside], atol=1e-12)


def test_another_number_of_features_is_an_error(classifier, problem):
    classifier.fit(problem.X, problem.y, adjacency=problem.A)
    with pytest.raises(ValueError, match="5 features"):
        classifier.predict(problem.X[:, :5], adjacency=problem.A)
