"""Predictions for a few nodes: those of the whole graph, from their surroundings alone."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

import gssl
from gssl.operators import NormalizedAdjacency

LOCAL = {
    "sgc": gssl.EmbeddingClassifier(gssl.SGC()),
    "plain": gssl.EmbeddingClassifier(gssl.SGC(depth=0), head="ridge"),
    "ssgc": gssl.EmbeddingClassifier(gssl.SSGC(depth=4), head="adam", random_state=0),
    "ppr": gssl.EmbeddingClassifier(gssl.PPR(depth=5)),
    "g2cn": gssl.EmbeddingClassifier(gssl.G2CN(depth=2, mix=0.3)),
    "unsharp": gssl.EmbeddingClassifier(gssl.GGCM(depth=4, igc_beta=0.0)),
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


@pytest.fixture
def passes(monkeypatch):
    """Note rows and links of every pass over a graph."""
    seen = []
    parts = NormalizedAdjacency.parts

    def noting(A_hat, width):
        seen.append((len(A_hat.scale), len(A_hat.indices)))
        return parts(A_hat, width)

    monkeypatch.setattr(NormalizedAdjacency, "parts", noting)
    return seen


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
def test_and_from_sparse_features(town, name):
    X, A, y = town
    model = LOCAL[name].fit(csr_array(X[:N]), y, adjacency=A[:N, :N])
    P = model.predict_proba(csr_array(X), adjacency=A)
    few = model.predict_proba(csr_array(X), adjacency=A, nodes=[N + 1, 4])
    np.testing.assert_allclose(few, P[[N + 1, 4]], atol=1e-14, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "hops"), [("sgc", 2), ("ssgc", 4), ("ppr", 5), ("g2cn", 4), ("ogc", 5), ("calibrated", 2)]
)
def test_only_their_surroundings_are_touched(town, passes, name, hops):
    """Around a corner of a grid, K hops hold (K + 1)(K + 2)/2 nodes; the new node is one hop farther."""
    X, A, _ = town
    model = fit(LOCAL[name], town)
    passes.clear()
    model.predict(X, adjacency=A, nodes=[N + 2])
    assert len(passes) >= hops
    assert {rows for rows, _ in passes} == {1 + hops * (hops + 1) // 2}
    # those of the nodes within K − 1 hops, each of which has four links at most
    assert max(links for _, links in passes) <= 4 * (1 + (hops - 1) * hops // 2)
    passes.clear()
    model.predict(X, adjacency=A)
    assert {rows for rows, _ in passes} == {N + NEW}


@pytest.mark.parametrize("name", ["ggc", "ggcm"])
def test_what_all_nodes_have_a_part_in_takes_them_all(town, passes, name):
    X, A, _ = town
    model = fit(GLOBAL[name], town)
    passes.clear()
    model.predict(X, adjacency=A, nodes=[N])
    assert {rows for rows, _ in passes} == {N + NEW}


def test_surroundings_that_are_most_of_the_graph_are_not_cut_out(town, passes):
    X, A, _ = town
    model = fit(gssl.EmbeddingClassifier(gssl.SGC(depth=25)), town)
    passes.clear()
    model.predict(X, adjacency=A, nodes=[465])
    assert {rows for rows, _ in passes} == {N + NEW}


def test_a_feature_out_of_sight_is_not_out_of_reach():
    """On a path whose far end alone has features, nothing comes near within two hops, but something may."""
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
