"""update_labels gives the result of a new fit, without checking features and graph again."""

import copy

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.problems import use_label_space

import gssl
from gssl.datasets import draw_split, make_block_graph
from gssl.methods import embedding_classifier, graph_model, ogc

EMBEDDERS = [
    gssl.SGC(),
    gssl.SSGC(depth=4),
    gssl.PPR(depth=4),
    gssl.G2CN(depth=2),
    gssl.NDLS(depth=3),
    gssl.GGCM(depth=4),
    gssl.GGC(depth=3, negatives=2, random_state=0),
    gssl.NoGraph(),
]


@pytest.fixture(scope="module")
def data():
    return make_block_graph(800, 3200, 60, 4, features="dense", random_state=5)


@pytest.fixture(scope="module")
def labels(data):
    """Labels of each class: five, the same five and four more, and all but the first."""
    order = draw_split(data.labels, per_class=9, random_state=0)["train"]
    rank = np.array([np.sum(data.labels[order[:i]] == data.labels[node]) for i, node in enumerate(order)])

    def some(first, last):
        chosen = order[(rank >= first) & (rank < last)]
        y = np.full(800, -1)
        y[chosen] = data.labels[chosen]
        return y

    return some(0, 5), some(0, 9), some(1, 9)


@pytest.mark.parametrize("in_label_space", [True, False])
@pytest.mark.parametrize("head", ["logistic", "ridge", "adam"])
@pytest.mark.parametrize("embedder", EMBEDDERS, ids=lambda e: type(e).__name__)
def test_a_head_is_what_a_fit_would_give(data, labels, embedder, head, in_label_space, monkeypatch):
    use_label_space(monkeypatch, embedding_classifier.EmbeddingClassifier, in_label_space)
    X, A = data.features.astype(np.float64), data.adjacency
    model = gssl.EmbeddingClassifier(embedder, head, random_state=0).fit(X, labels[0], adjacency=A)
    for y in (labels[1], labels[2]):
        model.update_labels(y)
        fresh = gssl.EmbeddingClassifier(embedder, head, random_state=0).fit(X, y, adjacency=A)
        np.testing.assert_allclose(model.label_distributions_, fresh.label_distributions_, atol=1e-6)
        np.testing.assert_allclose(model.head_.coef_, fresh.head_.coef_, atol=1e-4)
        np.testing.assert_array_equal(model.transduction_, fresh.transduction_)
        np.testing.assert_array_equal(model.predict(X, adjacency=A), fresh.predict(X, adjacency=A))


@pytest.mark.parametrize("in_label_space", [True, False])
def test_only_new_labels_and_classes_are_propagated(data, labels, passes, monkeypatch, in_label_space):
    use_label_space(monkeypatch, embedding_classifier.EmbeddingClassifier, in_label_space)
    model = gssl.EmbeddingClassifier(gssl.SGC(depth=3))
    model.fit(data.features, labels[0], adjacency=data.adjacency)
    assert (60 in [width for *_, width in passes]) is not in_label_space
    passes.clear()
    model.update_labels(labels[1])
    if in_label_space:
        # 16 new rows, whose first hop is sparse, and 4 classes
        assert sum(width for *_, width in passes) <= 3 * (16 + 4)
        passes.clear()
        model.update_labels(labels[2])
    assert [width for *_, width in passes] == [4, 4, 4]


@pytest.mark.parametrize("in_label_space", [True, False])
@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_ogc_is_what_a_fit_would_give(data, labels, loss, in_label_space, monkeypatch):
    use_label_space(monkeypatch, ogc.OGC, in_label_space)
    X, A = data.features.astype(np.float64), data.adjacency
    model = gssl.OGC(loss=loss, random_state=0)
    # the anchors belong to the first fit
    model.fit(X, labels[0], adjacency=A, anchors=0.5)
    assert model.history_
    order = np.random.default_rng(0).permutation(800)
    for y in (labels[1], labels[2]):
        model.update_labels(y)
        fresh = gssl.OGC(loss=loss, random_state=0).fit(X, y, adjacency=A)
        for name in ("coef_", "embedding_", "label_distributions_", "transduction_", "n_iter_", "reached_"):
            np.testing.assert_array_equal(getattr(model, name), getattr(fresh, name))
        for name, values in fresh.history_.items():
            np.testing.assert_array_equal(model.history_[name], values)
        for nodes in (slice(None), order):
            graph = X[nodes], A[nodes][:, nodes]
            P, expected = (m.predict_proba(graph[0], adjacency=graph[1]) for m in (model, fresh))
            np.testing.assert_array_equal(P, expected)


def test_an_update_of_ogc_does_not_check_features_and_graph_again(data, labels, monkeypatch):
    model = gssl.OGC(random_state=0).fit(data.features, labels[0], adjacency=data.adjacency)
    checked = []
    monkeypatch.setattr(graph_model, "check_optional_features", lambda *_, **__: checked.append("features"))
    monkeypatch.setattr(graph_model, "check_graph", lambda *_, **__: checked.append("graph"))
    model.update_labels(labels[1])
    assert not checked


def test_an_update_of_ogc_is_a_fit_with_the_present_parameters(data, labels):
    X, A = data.features.astype(np.float64), data.adjacency
    model = gssl.OGC(random_state=0).fit(X, labels[0], adjacency=A)
    model.set_params(beta=0.9, max_iter=5).update_labels(labels[1])
    fresh = gssl.OGC(beta=0.9, max_iter=5, random_state=0).fit(X, labels[1], adjacency=A)
    np.testing.assert_array_equal(model.label_distributions_, fresh.label_distributions_)
    with pytest.raises(ValueError, match="max_iter must be"):
        model.set_params(max_iter=0).update_labels(labels[1])


def test_new_classes_and_priors(data, labels):
    X, A = data.features.astype(np.float64), data.adjacency
    three = np.where(labels[0] == 3, -1, labels[0])
    for model in (
        gssl.OGC(random_state=0, priors="uniform"),
        gssl.EmbeddingClassifier(gssl.SGC(), priors="uniform"),
    ):
        model.fit(X, three, adjacency=A)
        assert model.label_distributions_.shape == (800, 3)
        model.update_labels(labels[1])
        np.testing.assert_array_equal(model.classes_, [0, 1, 2, 3])
        np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1.0, atol=1e-12)
        assert np.mean(model.transduction_ == data.labels) > 0.7
        assert model.predict_proba(X, adjacency=A).shape == (800, 4)


def test_reached_follows_the_labels():
    A = csr_array(np.kron(np.eye(2), np.ones((4, 4)) - np.eye(4)))
    X = np.random.default_rng(0).random((8, 3))
    for model in (gssl.OGC(random_state=0), gssl.EmbeddingClassifier(gssl.SGC())):
        model.fit(X, [0, 1, -1, -1, -1, -1, -1, -1], adjacency=A)
        np.testing.assert_array_equal(model.reached_, [True] * 4 + [False] * 4)
        model.update_labels([0, 1, -1, -1, 1, -1, -1, -1])
        assert model.reached_.all()


@pytest.mark.parametrize(
    "make", [lambda: gssl.OGC(random_state=0), lambda: gssl.EmbeddingClassifier(gssl.GGCM(depth=3))]
)
def test_what_can_be_updated(problem, make, tmp_path):
    y = problem.y.copy()
    y[[1, 13, 25]] = [0, 1, 2]
    with pytest.raises(AttributeError, match="before fit"):
        make().update_labels(y)
    model = make().fit(problem.X, problem.y, adjacency=problem.A)
    gssl.save(model, tmp_path / "model.gssl")
    with pytest.raises(AttributeError, match="a loaded model keeps none"):
        gssl.load(tmp_path / "model.gssl").update_labels(y)
    with pytest.raises(ValueError, match="one label"):
        model.update_labels(y[:5])
    copied = copy.deepcopy(model).update_labels(y)
    expected = model.update_labels(y).label_distributions_
    np.testing.assert_allclose(copied.label_distributions_, expected, atol=1e-12)
    gssl.save(model, tmp_path / "model.gssl")
    loaded = gssl.load(tmp_path / "model.gssl")
    # stored in single precision
    np.testing.assert_allclose(loaded.label_distributions_, expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    "model",
    [
        gssl.OGC(random_state=0, priors=[1, 2, 3]),
        gssl.EmbeddingClassifier(gssl.SGC(), priors=[1, 2, 3]),
        gssl.EmbeddingClassifier(gssl.SGC(), head=gssl.LogisticHead(class_weight={2: 3.0})),
        gssl.AutoClassifier(depth=2, priors=[1, 2, 3]),
    ],
    ids=["ogc", "priors", "weights", "auto"],
)
def test_labels_that_are_refused_change_nothing(problem, model):
    model = copy.deepcopy(model).fit(problem.X, problem.y, adjacency=problem.A)
    before = copy.deepcopy(model)
    two = np.where(problem.y == 2, -1, problem.y)
    with pytest.raises(ValueError, match=r"priors must be 2 numbers|class_weight names 2"):
        model.update_labels(two)
    for name in ("classes_", "fit_codes", "reached_", "label_distributions_", "transduction_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(before, name))
    expected = before.predict(problem.X, adjacency=problem.A)
    np.testing.assert_array_equal(model.predict(problem.X, adjacency=problem.A), expected)


def test_validation_that_is_refused_leaves_the_head(problem):
    model = gssl.EmbeddingClassifier(gssl.SGC()).fit(problem.X, problem.y, adjacency=problem.A)
    expected = model.predict_proba(problem.X, adjacency=problem.A)
    with pytest.raises(ValueError, match="validation nodes are of use"):
        model.update_labels(problem.y, validation=np.flatnonzero(problem.y >= 0)[:1])
    np.testing.assert_array_equal(model.predict_proba(problem.X, adjacency=problem.A), expected)
