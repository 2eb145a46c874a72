"""Embedders: every depth, blocks of columns, and invalid inputs."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone
from tests.problems import use_label_space

import gssl
from gssl.datasets import make_block_graph
from gssl.methods import embedder, embedding_classifier, ogc, ogc_history
from gssl.scale.execution import InMemory


@dataclass(frozen=True)
class Halves(InMemory):
    """Run every task on the first columns, then on the rest."""

    calls: list

    def map_columns(self, task, X, filters):
        self.calls.append(X.shape)
        parts = slice(0, X.shape[1] // 2), slice(X.shape[1] // 2, X.shape[1])
        return np.hstack([task(X[:, columns], filters, columns) for columns in parts])

    def embedding(self, X, filters, labelled):
        self.calls.append("embedding")
        return super().embedding(X, filters, labelled)


@pytest.fixture(scope="module")
def data():
    graph = make_block_graph(90, 360, 31, 3, random_state=0)
    y = np.full(90, -1)
    for c in range(3):
        y[np.flatnonzero(graph.labels == c)[:4]] = c
    return graph.features.astype(np.float64), graph.adjacency, y


@pytest.fixture
def halves(monkeypatch):
    execution = Halves([])
    for module in (embedder, embedding_classifier, ogc, ogc_history):
        monkeypatch.setattr(module, "current_execution", lambda *_, **__: execution)
    return execution


EMBEDDERS = [gssl.SGC(), gssl.GGCM(depth=3), gssl.PPR(depth=3), gssl.G2CN(depth=2), gssl.NDLS(depth=3)]


@pytest.mark.parametrize("embedder", EMBEDDERS, ids=repr)
def test_embeddings_by_columns(data, embedder, request):
    X, A, _ = data
    expected = clone(embedder).fit_transform(X, adjacency=A)
    execution = request.getfixturevalue("halves")
    np.testing.assert_allclose(clone(embedder).fit_transform(X, adjacency=A), expected, atol=1e-13)
    assert execution.calls == [X.shape]


@pytest.mark.parametrize("in_label_space", [True, False])
def test_a_classifier_by_columns(data, in_label_space, request, monkeypatch):
    X, A, y = data
    use_label_space(monkeypatch, gssl.EmbeddingClassifier, in_label_space)
    expected = gssl.EmbeddingClassifier(gssl.GGCM(depth=3)).fit(X, y, adjacency=A)
    embedding = expected.embedding_
    execution = request.getfixturevalue("halves")
    found = gssl.EmbeddingClassifier(gssl.GGCM(depth=3)).fit(X, y, adjacency=A)
    np.testing.assert_allclose(found.label_distributions_, expected.label_distributions_, atol=1e-9)
    np.testing.assert_allclose(found.embedding_, embedding, atol=1e-13)
    # labelled rows (in label space a column each, otherwise all rows); scores of three classes; the embedding
    first = [(90, 12)] if in_label_space else [X.shape]
    assert execution.calls == [*first, (90, 3), *([X.shape] if in_label_space else [])]


def test_ogc_by_columns(data, request, monkeypatch):
    X, A, y = data
    use_label_space(monkeypatch, gssl.OGC, False)
    expected = gssl.OGC(eta_sup=0.05, max_iter=8, random_state=0).fit(X, y, adjacency=A)
    embedding, history = expected.embedding_, expected.history_
    execution = request.getfixturevalue("halves")
    found = gssl.OGC(eta_sup=0.05, max_iter=8, random_state=0).fit(X, y, adjacency=A)
    assert execution.calls == ["embedding"]
    np.testing.assert_allclose(found.embedding_, embedding, atol=1e-13)
    for name, values in history.items():
        np.testing.assert_allclose(found.history_[name], values, rtol=1e-10)
    assert execution.calls == ["embedding", X.shape, X.shape]


@pytest.mark.parametrize("make", [gssl.SGC, gssl.GGC, gssl.GGCM, gssl.G2CN, gssl.CorrectAndSmooth])
def test_a_depth_that_nobody_waits_for_is_refused(make):
    A = np.ones((4, 4)) - np.eye(4)
    with pytest.raises(ValueError, match=r"depth must be a whole number from \d to 10000, not 100000"):
        make(depth=100_000).fit(np.eye(4), [0, 1, -1, -1], adjacency=A)


FILTERS = (gssl.SGC, gssl.SSGC, gssl.PPR, gssl.G2CN, gssl.NDLS, gssl.GGC, gssl.GGCM)


def test_depth_zero_gives_the_features_back(random_problem):
    X, A = random_problem.X, random_problem.A
    for method in FILTERS:
        np.testing.assert_array_equal(method(depth=0).fit_transform(X, adjacency=A), X)


@pytest.mark.parametrize("method", FILTERS)
def test_embeddings_yielded_belong_to_the_caller(random_problem, method):
    """Changing an embedding in place does not affect the next depth."""
    X, A = random_problem.X.copy(), random_problem.A
    expected = [U.copy() for U in method(depth=3).iter_embeddings(X, adjacency=A)]
    for U, reference in zip(method(depth=3).iter_embeddings(X, adjacency=A), expected, strict=True):
        np.testing.assert_array_equal(U, reference)
        U *= 2
    np.testing.assert_array_equal(X, random_problem.X)


def test_an_embedder_fitted_with_a_graph_asks_for_one(problem):
    model = gssl.GGCM().fit(problem.X, adjacency=problem.A)
    with pytest.raises(ValueError, match="fitted with a graph"):
        model.transform(problem.X)
    np.testing.assert_array_equal(model.transform(problem.X, adjacency=problem.A), model.embedding_)


def test_an_embedder_names_the_classifier_that_predicts():
    data = gssl.datasets.load("karate")
    model = gssl.SGC().fit(data.features, data.labels, adjacency=data.adjacency)
    message = r"use EmbeddingClassifier\(SGC\(\.\.\.\)\), which has predict\."
    with pytest.raises(AttributeError, match=message):
        model.predict(data.features)
    with pytest.raises(AttributeError, match=r"'SGC' object has no attribute 'spell_'"):
        _ = model.spell_
