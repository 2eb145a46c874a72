"""Predictions of all classifiers: for a few nodes the same as for the whole graph, and for new nodes."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from tests import problems

import gssl
from gssl.graph import nearest_rows

LOCAL = {
    "sgc": gssl.EmbeddingClassifier(gssl.SGC()),
    "plain": gssl.EmbeddingClassifier(gssl.SGC(depth=0), head="ridge"),
    "ssgc": gssl.EmbeddingClassifier(gssl.SSGC(depth=4), head="adam", random_state=0),
    "ppr": gssl.EmbeddingClassifier(gssl.PPR(depth=5)),
    "g2cn": gssl.EmbeddingClassifier(gssl.G2CN(depth=2, mix=0.3)),
    "unsharp": gssl.EmbeddingClassifier(gssl.GGCM(depth=4, igc_beta=0.0)),
    "hop": gssl.EmbeddingClassifier(gssl.HopFilter(depth=2)),
    "high-pass": gssl.EmbeddingClassifier(gssl.HopFilter(depth=2, operator="high")),
    "own-head": gssl.EmbeddingClassifier(gssl.SGC(), head=LogisticRegression()),
    "no-graph": gssl.EmbeddingClassifier(gssl.NoGraph()),
    "manifold": gssl.ManifoldRegularization(),
    "ogc": gssl.OGC(max_iter=5, agreement=1.0, random_state=0),
    "calibrated": gssl.CalibratedClassifier(gssl.EmbeddingClassifier(gssl.SGC(), priors="uniform")),
    "ogc-cross-entropy": gssl.OGC(beta=0.6, loss="cross_entropy", max_iter=5, random_state=0),
}
GLOBAL = {
    "ggc": gssl.EmbeddingClassifier(gssl.GGC(depth=3)),
    "ggcm": gssl.EmbeddingClassifier(gssl.GGCM(depth=3)),
    "sampled": gssl.EmbeddingClassifier(gssl.GGC(depth=3, negatives=2, random_state=0)),
    "ndls": gssl.EmbeddingClassifier(gssl.NDLS(depth=3)),
    "propagation": gssl.LabelPropagation(),
    "spreading": gssl.LabelSpreading(),
    "correct-and-smooth": gssl.CorrectAndSmooth(),
    "auto": gssl.AutoClassifier(depth=3),
}
N, NEW = 900, 4


@pytest.fixture(scope="module", params=["unweighted", "weighted"])
def town(request):
    """A grid of 30 × 30 in four quarters, and four new nodes at its corners, two of them linked."""
    rng = np.random.default_rng(0)
    row, column = np.divmod(np.arange(N), 30)
    right, down = np.flatnonzero(column < 29), np.flatnonzero(row < 29)
    new = N + np.arange(NEW)
    start = np.concatenate([right, down, new, [N]])
    end = np.concatenate([right + 1, down + 30, [0, 29, 870, 899], [N + 1]])
    weights = rng.integers(1, 5, len(start)) / 2 if request.param == "weighted" else np.ones(len(start))
    A = csr_array((weights, (start, end)), shape=(N + NEW, N + NEW))
    truth = 2 * (row >= 15) + (column >= 15)
    X = np.eye(4)[np.concatenate([truth, [0, 1, 2, 3]])] + 0.3 * rng.random((N + NEW, 4))
    y = np.where(rng.random(N) < 0.1, truth, -1)
    return X / X.sum(axis=1, keepdims=True), csr_array(A + A.T), y


def fit(model, town):
    X, A, y = town
    return model.fit(X[:N], y, adjacency=A[:N, :N])


@pytest.mark.parametrize("name", [*LOCAL, *GLOBAL])
def test_a_few_nodes_are_predicted_as_by_the_whole_graph(town, name):
    X, A, _ = town
    model = fit({**LOCAL, **GLOBAL}[name], town)
    P, classes = model.predict_proba(X, adjacency=A), model.predict(X, adjacency=A)
    mask = np.isin(np.arange(N + NEW), [3, 400, N, N + 3])
    for nodes in (N + np.arange(NEW), [17, N + 2, 17, 0], mask, np.array([], dtype=int), np.arange(N + NEW)):
        few = model.predict_proba(X, adjacency=A, nodes=nodes)
        np.testing.assert_allclose(few, P[nodes], atol=1e-14, rtol=1e-12)
        np.testing.assert_array_equal(model.predict(X, adjacency=A, nodes=nodes), classes[nodes])
        sure = model.predict(X, adjacency=A, nodes=nodes, abstain=0.6)
        np.testing.assert_array_equal(sure, np.where(P.max(axis=1) < 0.6, -1, classes)[nodes])


@pytest.mark.parametrize("name", LOCAL)
def test_a_few_nodes_are_predicted_from_sparse_features(town, name):
    X, A, y = town
    model = LOCAL[name].fit(csr_array(X[:N]), y, adjacency=A[:N, :N])
    P = model.predict_proba(csr_array(X), adjacency=A)
    few = model.predict_proba(csr_array(X), adjacency=A, nodes=[N + 1, 4])
    np.testing.assert_allclose(few, P[[N + 1, 4]], atol=1e-14, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "hops"), [("sgc", 2), ("ssgc", 4), ("ppr", 5), ("g2cn", 4), ("ogc", 5), ("calibrated", 2)]
)
def test_only_their_surroundings_are_touched(town, passes, name, hops):
    """A corner of a grid has (K + 1)(K + 2)/2 nodes within K hops; the new node is one hop farther."""
    X, A, _ = town
    model = fit(LOCAL[name], town)
    passes.clear()
    model.predict(X, adjacency=A, nodes=[N + 2])
    assert len(passes) >= hops
    assert {rows for rows, _, _ in passes} == {1 + hops * (hops + 1) // 2}
    # links of the nodes within K − 1 hops, at most four each
    assert max(links for _, links, _ in passes) <= 4 * (1 + (hops - 1) * hops // 2)
    passes.clear()
    model.predict(X, adjacency=A)
    assert {rows for rows, _, _ in passes} == {N + NEW}


@pytest.mark.parametrize(
    ("model", "node"),
    [
        (GLOBAL["ggc"], N),
        (GLOBAL["ggcm"], N),
        # 25 hops around the middle are most of the graph
        (gssl.EmbeddingClassifier(gssl.SGC(depth=25)), 465),
    ],
    ids=["ggc", "ggcm", "deep"],
)
def test_a_node_that_depends_on_most_others_is_predicted_in_the_whole_graph(town, passes, model, node):
    X, A, _ = town
    model = fit(model, town)
    passes.clear()
    model.predict(X, adjacency=A, nodes=[node])
    assert {rows for rows, _, _ in passes} == {N + NEW}


def test_a_feature_out_of_sight_is_not_out_of_reach():
    """Features are only at the far end of a path, beyond two hops but in the same component."""
    steps = np.arange(49)
    A = csr_array((np.ones(49), (steps, steps + 1)), shape=(52, 52))
    A = csr_array(A + A.T)
    X = np.zeros((52, 2))
    X[40:50] = np.tile(np.eye(2), (5, 1))
    y = np.full(52, -1)
    y[45:49] = [0, 1, 0, 1]
    with pytest.warns(gssl.GraphWarning, match="nothing is known about 2 nodes"):
        model = gssl.EmbeddingClassifier(gssl.SGC()).fit(X, y, adjacency=A)
    with pytest.warns(gssl.GraphWarning, match="nothing is known about 2 nodes"):
        whole = model.predict(X, adjacency=A)
    P, informed = model.predict_informed(X, A, nodes=[0, 42, 50])
    np.testing.assert_array_equal(informed, [True, True, False])
    np.testing.assert_array_equal(P, model.predict_proba(X, adjacency=A)[[0, 42, 50]])
    with pytest.warns(gssl.GraphWarning, match="nothing is known about 1 node"):
        np.testing.assert_array_equal(model.predict(X, adjacency=A, nodes=[0, 42, 50]), whole[[0, 42, 50]])


def test_without_a_graph_only_the_wanted_rows_look_for_neighbours(problem):
    model = gssl.EmbeddingClassifier(gssl.SGC()).fit(problem.X, problem.y)
    P = model.predict_proba(problem.X)
    np.testing.assert_array_equal(model.predict_proba(problem.X, nodes=[30, 2]), P[[30, 2]])


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([99], "nodes names node 99, but the nodes are numbered 0 to 35"),
        ([-1], "nodes names node -1"),
        (np.ones(7, dtype=bool), r"nodes is a mask of shape \(7,\), but there are 36 nodes"),
        ([0.5], "nodes must be a boolean mask over the nodes or an array of node indices"),
    ],
)
def test_nodes_that_are_none_are_refused(problem, nodes, message):
    model = gssl.EmbeddingClassifier(gssl.SGC()).fit(problem.X, problem.y, adjacency=problem.A)
    with pytest.raises(ValueError, match=message):
        model.predict(problem.X, adjacency=problem.A, nodes=nodes)


@pytest.fixture
def grown(problem):
    """Three new nodes, each linked to four nodes of one ring and with features like theirs."""
    grown = problems.grown(problem, 3, problem.X[[4, 16, 28]] + 0.01)
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


@pytest.mark.parametrize(
    "model",
    [
        gssl.LabelPropagation(tol=1e-10),
        gssl.LabelSpreading(tol=1e-10),
        gssl.CorrectAndSmooth(),
        gssl.CorrectAndSmooth(scale="auto"),
    ],
    ids=str,
)
def test_propagation_on_a_grown_graph_is_a_fit_to_it_and_a_part_is_refused(problem, grown, model):
    """A fit to the grown graph has the same labels."""
    X, A = problem.X, problem.A
    refitted = clone(model).fit(grown.X, grown.y, adjacency=grown.A)
    model = clone(model).fit(X, problem.y, adjacency=A)
    P = model.predict_proba(grown.X, adjacency=grown.A)
    np.testing.assert_array_equal(P, refitted.label_distributions_)
    np.testing.assert_array_equal(model.predict(grown.X, adjacency=grown.A), refitted.transduction_)
    with pytest.raises(ValueError, match=r"begin with the 36 nodes of fit.* only 30 nodes"):
        model.predict(X[:30], adjacency=A[:30, :30])


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
    with pytest.raises(ValueError, match="was fitted with a graph: pass adjacency="):
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
    P = without.predict_proba(None, adjacency=problem.A)
    np.testing.assert_array_equal(P, without.label_distributions_)
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


def test_ogc_repeats_its_steps_on_a_grown_graph(problem, grown):
    model = gssl.OGC(beta=0.3, random_state=0).fit(problem.X, problem.y, adjacency=problem.A)
    root = np.diag(1 / np.sqrt(grown.A.sum(axis=1) + 1))
    smooth = 0.3 * root @ (grown.A + np.eye(39)) @ root + 0.7 * np.eye(39)
    U = grown.X
    for pull in model._steps.pulls:
        U = smooth @ U
        U[pull.nodes] += pull.R @ pull.W.T
    Z = U @ model.coef_
    P = model.predict_proba(grown.X, adjacency=grown.A)
    # the projection onto distributions shifts every positive entry of a row by the same amount
    inside = (P > 0).all(axis=1)
    assert inside.any()
    np.testing.assert_allclose(P[inside], (Z + (1 - Z.sum(axis=1, keepdims=True)) / 3)[inside], atol=1e-12)


def test_score_counts_labelled_nodes_only(problem, classifier):
    classifier.fit(problem.X, problem.y, adjacency=problem.A)
    score = classifier.score(problem.X, problem.y, adjacency=problem.A)
    predicted = classifier.predict(problem.X, adjacency=problem.A)
    known = problem.y >= 0
    assert score == np.mean(predicted[known] == problem.y[known])
