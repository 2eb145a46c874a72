"""Hops without self-loops, and differences to neighbours, agree with dense algebra."""

import numpy as np
import pytest

import gssl


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(0)
    A = np.triu((rng.random((40, 40)) < 0.1).astype(float), k=1)
    A[:, 7] = A[7] = 0.0  # an isolated node
    return rng.normal(size=(40, 5)), A + A.T


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
@pytest.mark.parametrize("operator", ["hop", "high"])
def test_it_is_a_power_of_its_operator(graph, depth, operator):
    X, A = graph
    degree = A.sum(axis=1)
    if operator == "hop":
        s = np.divide(1.0, np.sqrt(degree), out=np.zeros(40), where=degree > 0)
        T = s[:, None] * A * s
    else:
        t = 1.0 / np.sqrt(2.0 + degree)
        T = t[:, None] * (2.0 * np.eye(40) - A) * t
    U = gssl.HopFilter(depth, operator).fit_transform(X, adjacency=A)
    np.testing.assert_allclose(U, np.linalg.matrix_power(T, depth) @ X, atol=1e-12)


def test_its_rows_are_those_of_its_transposed_program(graph):
    X, A = graph
    y = np.where(np.arange(40) < 12, np.arange(40) % 2, -1)
    for operator in ("hop", "high"):
        embedder = gssl.HopFilter(2, operator)
        model = gssl.EmbeddingClassifier(embedder, head="ridge").fit(X, y, adjacency=A)
        U = embedder.fit_transform(X, adjacency=A)
        head = gssl.RidgeHead().fit(U[:12], y[:12])
        np.testing.assert_allclose(model.label_distributions_, head.predict_proba(U), atol=1e-9)


@pytest.mark.parametrize("operator", ["hop", "high"])
def test_a_few_nodes_are_predicted_as_in_the_whole_graph(operator):
    n = 200
    A = np.eye(n, k=1) + np.eye(n, k=-1)  # a path, on which a few nodes depend on a small part
    X = np.random.default_rng(0).random((n, 5))
    y = np.where(np.arange(n) < 40, np.arange(n) % 2, -1)
    model = gssl.EmbeddingClassifier(gssl.HopFilter(2, operator)).fit(X, y, adjacency=A)
    few = model.predict_proba(X, adjacency=A, nodes=[5, 100])
    np.testing.assert_array_equal(few, model.predict_proba(X, adjacency=A)[[5, 100]])


def test_another_operator_is_refused(graph):
    X, A = graph
    with pytest.raises(ValueError, match=r"operator must be one of .*, not \'low\'\.$"):
        gssl.HopFilter(operator="low").fit(X, adjacency=A)
