from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import softmax

import gssl
from gssl.methods.labels import UNLABELLED
from gssl.selection import Explanation, why


def _problem(dtype=np.float64, n=90, d=12, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    X = (np.eye(3, d)[truth] * 1.5 + rng.standard_normal((n, d))).astype(dtype)
    same = truth[:, None] == truth
    A = np.triu(rng.random((n, n)) < np.where(same, 0.12, 0.02), 1)
    y = np.where(np.arange(n) < 30, truth, UNLABELLED)
    return X, csr_array((A | A.T).astype(dtype)), y, truth


def _total(one: Explanation):
    return one.shares.sum(axis=0) + one.unlabelled + one.intercept


@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-6), (np.float32, 1e-4)])
def test_shares_of_labels_and_of_features_add_up_to_the_logits(dtype, tol):
    X, A, y, _ = _problem(dtype)
    model = gssl.AutoClassifier().fit(X, y, adjacency=A)
    nodes = [0, 31, 50, 89, 17, 40, 41, 42, 43, 44]
    for one, node in zip(why(model, nodes), nodes, strict=True):
        np.testing.assert_allclose(_total(one), one.scores, atol=tol)
        np.testing.assert_allclose(one.features.sum(axis=0) + one.links + one.intercept, one.scores, atol=tol)
        np.testing.assert_allclose(softmax(one.scores), model.label_distributions_[node], atol=tol)
        assert one.predicted == model.transduction_[node]


def test_a_share_is_what_the_logits_lose_without_the_label():
    X, A, y, _ = _problem()
    model = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=A)
    (one,) = why(model, 60)
    average = model._fitted_average
    Y = average.targets.Y.copy()
    Y[4] = 0.0
    less = replace(average, targets=replace(average.targets, Y=Y))
    U, _ = average.node_rows(np.array([60]), {})
    logits = np.mean([each.logits(u @ W) for u, (W, each) in zip(U, less.fit, strict=True)], axis=0)
    np.testing.assert_allclose(one.scores - average.sharpness * logits[0], one.shares[4], atol=1e-9)
    assert np.abs(one.shares[4]).max() > 1e-4


@pytest.mark.parametrize(
    "model",
    [
        gssl.AutoClassifier(depth=2, priors=[0.6, 0.2, 0.2]),
        gssl.CalibratedClassifier(gssl.AutoClassifier(depth=2)),
    ],
    ids=["priors", "calibrated"],
)
def test_priors_and_calibration_leave_the_sum_of_shares(model):
    X, A, y, _ = _problem()
    model.fit(X, y, adjacency=A)
    (one,) = why(model, 70)
    np.testing.assert_allclose(_total(one), one.scores, atol=1e-6)
    inner = getattr(model, "classifier_", model)
    np.testing.assert_allclose(softmax(one.scores), inner.label_distributions_[70], atol=1e-6)


def test_links_as_features_have_a_share():
    _, A, y, _ = _problem()
    model = gssl.AutoClassifier(depth=2).fit(None, y, adjacency=A)
    (one,) = why(model, 70)
    np.testing.assert_allclose(_total(one), one.scores, atol=1e-6)
    assert "by the graph alone" in one.text() or one.links.any()


def test_where_labels_are_few_spreading_is_explained_beside_the_average():
    rng, truth = np.random.default_rng(0), np.arange(120) % 2
    links = np.triu(rng.random((120, 120)) < np.where(truth[:, None] == truth, 0.3, 0.02), 1)
    X, A = rng.normal(size=(120, 6)), (links | links.T).astype(float)
    model = gssl.AutoClassifier(depth=2).fit(X, np.where(np.arange(120) < 4, truth, UNLABELLED), adjacency=A)
    (one,) = why(model, 70)
    np.testing.assert_allclose(_total(one), one.scores, atol=1e-6)
    assert one.beside is not None
    assert "Label spreading" in one.text()


@pytest.mark.parametrize("spread", [0.5, 0.99])
def test_label_spreading_is_a_sum_over_labels(spread):
    _, A, y, _ = _problem()
    model = gssl.LabelSpreading(spread=spread, tol=1e-12).fit(None, y, adjacency=A)
    dense = A.toarray()
    scale = 1 / np.sqrt(np.maximum(dense.sum(axis=1), 1))
    S = scale[:, None] * dense * scale
    F = (1 - spread) * np.linalg.solve(np.eye(90) - spread * S, np.eye(4)[y][:, :3])
    for node in (3, 77):
        (one,) = why(model, node)
        np.testing.assert_allclose(one.shares.sum(axis=0), F[node], atol=1e-9)
        P = one.scores / one.scores.sum()
        np.testing.assert_allclose(P, model.label_distributions_[node], atol=1e-6)


def test_label_propagation_is_a_sum_over_labels_and_a_label_speaks_for_itself():
    _, A, y, _ = _problem()
    model = gssl.LabelPropagation(tol=1e-12, class_mass=False).fit(None, y, adjacency=A)
    own, other = why(model, [3, 77])
    assert [voice.node for voice in own.voices] == [3]
    assert "its own label" in own.text()
    np.testing.assert_allclose(other.shares.sum(axis=0), model.label_distributions_[77], atol=1e-8)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("embedder", [gssl.SSGC(), gssl.GGCM(random_state=0), gssl.G2CN(), gssl.NoGraph()])
def test_ridge_heads_are_sums_over_labels_and_over_features(embedder, class_weight):
    X, A, y, _ = _problem()
    y[3:9] = UNLABELLED
    y[0] = UNLABELLED
    head = gssl.RidgeHead(class_weight=class_weight)
    model = gssl.EmbeddingClassifier(embedder, head=head).fit(X, y, adjacency=A)
    for node in (1, 55):
        (one,) = why(model, node)
        scores = model.embedding_[node] @ model.head_.coef_
        np.testing.assert_allclose(one.scores, scores, atol=1e-9)
        np.testing.assert_allclose(one.shares.sum(axis=0), scores, atol=1e-6)
        np.testing.assert_allclose(one.features.sum(axis=0), scores, atol=1e-9)


def test_softmax_heads_are_sums_over_features_and_say_so():
    X, A, y, _ = _problem()
    model = gssl.EmbeddingClassifier(gssl.SGC()).fit(X, y, adjacency=A)
    (one,) = why(model, 55)
    np.testing.assert_allclose(softmax(one.scores), model.label_distributions_[55], atol=1e-9)
    np.testing.assert_allclose(one.features.sum(axis=0) + one.intercept, one.scores, atol=1e-9)
    assert not len(one.labelled)
    assert "no closed form" in one.text()


def test_ogc_and_manifold_regularization_are_sums_over_features():
    X, A, y, _ = _problem()
    model = gssl.OGC(random_state=0).fit(X, y, adjacency=A)
    (one,) = why(model, 55)
    np.testing.assert_allclose(one.features.sum(axis=0), model.embedding_[55] @ model.coef_, atol=1e-9)
    model = gssl.ManifoldRegularization().fit(X, y, adjacency=A)
    (one,) = why(model, 55)
    np.testing.assert_allclose(one.features.sum(axis=0), X[55] @ model.coef_, atol=1e-9)


def test_the_way_to_a_label_is_a_shortest_path():
    A = np.zeros((6, 6))
    for a, b in [(0, 1), (1, 2), (2, 3), (4, 5)]:
        A[a, b] = A[b, a] = 1.0
    y = [0, -1, -1, 1, -1, 1]
    model = gssl.LabelSpreading().fit(None, y, adjacency=csr_array(A))
    (one,) = why(model, 1)
    assert [(v.node, v.path) for v in one.voices] == [(0, ()), (3, (2,))]
    assert one.lead(one.shares).sum() == pytest.approx(float(one.lead(one.scores)))
    text = one.text(node_ids=list("abcdef"))
    assert "b: 0" in text
    assert "a (0), a neighbour" in text
    assert "d (1), via c" in text


def test_a_label_without_a_path_speaks_through_features():
    X, A, y, _ = _problem()
    A = A.toarray()
    A[60:] = 0
    A[:, 60:] = 0
    A[60, 61] = A[61, 60] = 1.0
    model = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=csr_array(A))
    (one,) = why(model, 60)
    assert {voice.path for voice in one.voices} == {None}
    assert "through features only" in one.text(feature_names=[f"word{k}" for k in range(12)])
    assert "word" in one.text(feature_names=[f"word{k}" for k in range(12)])


def test_what_cannot_be_explained_is_refused_in_a_sentence(tmp_path):
    X, A, y, _ = _problem()
    model = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=A)
    gssl.save(model, tmp_path / "m.gssl")
    for other in (gssl.load(tmp_path / "m.gssl"), deepcopy(model)):
        with pytest.raises(ValueError, match="fit it again"):
            why(other, 0)
    smoothed = gssl.CorrectAndSmooth().fit(X, y, adjacency=A)
    with pytest.raises(ValueError, match="is not additive"):
        why(smoothed, 0)
    with pytest.raises(ValueError, match="nodes"):
        why(model, 90)


def test_a_problem_names_nodes_and_features():
    X, A, y, _ = _problem()
    ids = [f"n{k}" for k in range(90)]
    names = [f"word {j}" for j in range(12)]
    labels = [None if code == UNLABELLED else code for code in y]
    problem = replace(gssl.io.from_scipy(A, labels, X, node_ids=ids), feature_names=tuple(names))
    model = gssl.AutoClassifier(depth=4).fit(problem)
    by_number, by_id = why(model, [40, 3], problem=problem), why(model, ["n40", "n3"], problem=problem)
    assert [one.node for one in by_id] == [40, 3]
    assert [one.text() for one in by_id] == [one.text() for one in by_number]
    assert by_id[0].text() == why(model, 40)[0].text(ids, names)
    assert why(model, "n40", problem=problem)[0].text().startswith("n40: ")
    assert "word " in repr(by_id[0])
    with pytest.raises(ValueError, match=r"there is no node 'nobody': give ids as they are in the tables\."):
        why(model, ["n3", "nobody"], problem=problem)
    with pytest.raises(ValueError, match="give the problem of fit, too"):
        why(model, "n3")
    with pytest.raises(ValueError, match="the problem has 2 nodes and the model was fitted to 90"):
        why(model, 3, problem=gssl.io.from_scipy([[0, 1], [1, 0]]))
