"""The program of every embedder, and its transpose, give the same in slabs and on a cluster."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.estimators import EMBEDDERS
from tests.problems import random_graph

import gssl


@pytest.fixture(scope="module")
def graph():
    return np.random.default_rng(0).normal(size=(60, 12)), random_graph(60, 0.08)


@pytest.fixture(params=["slabs", "dask"])
def place(request):
    if request.param == "slabs":
        # five arrays of three columns
        return {"memory": 60 * 8 * 5 * 3 + 40_000}
    return {"client": request.getfixturevalue("client")}


@pytest.mark.parametrize("name", EMBEDDERS)
def test_an_embedder_gives_the_same_everywhere(graph, place, name):
    X, A = graph
    embedder = EMBEDDERS[name]
    expected = embedder.fit_transform(X, adjacency=A)
    with gssl.execution(**place):
        np.testing.assert_allclose(embedder.fit_transform(X, adjacency=A), expected, atol=1e-10)


@pytest.mark.parametrize("name", EMBEDDERS)
def test_single_rows_by_the_transposed_program_are_those_of_the_embedding(graph, place, name):
    X, A = graph
    embedder = EMBEDDERS[name]
    expected = embedder.fit_transform(X, adjacency=A)
    y = np.where(np.arange(60) < 9, np.arange(60) % 3, -1)
    with gssl.execution(**place):
        model = gssl.EmbeddingClassifier(embedder, head="ridge").fit(csr_array(X), y, adjacency=A)
    head = gssl.RidgeHead().fit(expected[:9], y[:9])
    np.testing.assert_allclose(model.label_distributions_, head.predict_proba(expected), atol=1e-8)
