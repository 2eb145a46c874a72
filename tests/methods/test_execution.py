"""The seam of execution: a method whose columns are computed apart gives the same numbers."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone

import gssl
from gssl.datasets import make_block_graph
from gssl.methods import _embedder, _execution, embedding_classifier, ogc
from gssl.methods._execution import InMemory, choose_execution


@dataclass(frozen=True)
class Halves(InMemory):
    """Every task on the first columns, then on the rest."""

    calls: list

    def run(self, task, X, filters):
        self.calls.append(X.shape)
        parts = slice(0, X.shape[1] // 2), slice(X.shape[1] // 2, X.shape[1])
        return np.hstack([task(X[:, columns], filters, columns) for columns in parts])

    def guided(self, X, filters, beta, labelled, anchors):
        self.calls.append("guided")
        return super().guided(X, filters, beta, labelled, anchors)


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
    for module in (_embedder, embedding_classifier, ogc):
        monkeypatch.setattr(module, "choose_execution", lambda *_, **__: execution)
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
    monkeypatch.setattr(gssl.EmbeddingClassifier, "_label_space_pays", lambda *_: in_label_space)
    expected = gssl.EmbeddingClassifier(gssl.GGCM(depth=3)).fit(X, y, adjacency=A)
    execution = request.getfixturevalue("halves")
    found = gssl.EmbeddingClassifier(gssl.GGCM(depth=3)).fit(X, y, adjacency=A)
    np.testing.assert_allclose(found.label_distributions_, expected.label_distributions_, atol=1e-9)
    np.testing.assert_allclose(found.embedding_, expected.embedding_, atol=1e-13)
    # the rows that the head learns from, as columns or as all rows; scores of three classes; the embedding
    first = [(90, 12)] if in_label_space else [X.shape]
    assert execution.calls == [*first, (90, 3), *([X.shape] if in_label_space else [])]


def test_ogc_by_columns(data, request, monkeypatch):
    X, A, y = data
    monkeypatch.setattr(gssl.OGC, "_label_space_pays", lambda *_: False)
    expected = gssl.OGC(eta_sup=0.05, max_iter=8, random_state=0).fit(X, y, adjacency=A)
    execution = request.getfixturevalue("halves")
    found = gssl.OGC(eta_sup=0.05, max_iter=8, random_state=0).fit(X, y, adjacency=A)
    assert execution.calls == ["guided"]
    np.testing.assert_allclose(found.embedding_, expected.embedding_, atol=1e-13)
    for name, values in expected.history_.items():
        np.testing.assert_allclose(found.history_[name], values, rtol=1e-10)
    assert execution.calls == ["guided", X.shape, X.shape]


def test_an_execution_is_found_by_what_a_fit_asks_for(monkeypatch):
    asked = []

    def find(name, **options):
        asked.append((name, options))
        return InMemory()

    monkeypatch.setattr(_execution, "_find", find)
    assert choose_execution(gssl.SGC()) == InMemory()
    assert asked == []
    choose_execution(gssl.SGC(backend="torch", device="cpu"))
    choose_execution(gssl.OGC(), memory_budget="2 GB")
    choose_execution(gssl.OGC(), client="here", memory_budget=5)
    run = {"resume": None, "description": "OGC()"}
    assert asked == [
        ("torch", {"device": "cpu"}),
        ("slabs", {"memory_budget": "2 GB", **run}),
        ("dask", {"client": "here", "memory_budget": 5, **run}),
    ]
    with pytest.raises(ValueError, match='client and resume need backend="numba"'):
        choose_execution(gssl.OGC(backend="torch"), memory_budget=5)
