"""SGC, SSGC and PPR agree with dense algebra; without a graph, heads are plain regressions."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from tests.methods.dense import assert_depths, dense_A_hat
from tests.problems import grown

import gssl


def test_ridge_on_no_graph_is_ridge_regression(random_problem):
    X, y = random_problem.X, random_problem.y
    U, Y = X[y >= 0], np.eye(3)[y[y >= 0]]
    ridge = 0.01 * np.sum(U**2)
    W = np.linalg.solve(U.T @ U + ridge * np.eye(5), U.T @ Y)
    model = gssl.EmbeddingClassifier(gssl.NoGraph(), head="ridge").fit(X, y, adjacency=random_problem.A)
    np.testing.assert_allclose(model.head_.coef_, W, atol=1e-12)
    np.testing.assert_array_equal(model.transduction_, (X @ W).argmax(axis=1))


def test_logistic_on_no_graph_is_softmax_regression(random_problem):
    """On a sum of losses the penalty is λ s m / 2, and scikit-learn's is 1 / (2C)."""
    X, y = random_problem.X, random_problem.y
    U = X[y >= 0]
    theirs = LogisticRegression(C=1 / (1e-3 * np.sum(U**2)), tol=1e-10, max_iter=10_000).fit(U, y[y >= 0])
    model = gssl.EmbeddingClassifier(gssl.NoGraph()).fit(X, y)
    np.testing.assert_allclose(model.label_distributions_, theirs.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_graph_is_ignored_and_none_is_built(problem, sparse, monkeypatch):
    X = csr_array(problem.X) if sparse else problem.X
    with_graph = gssl.EmbeddingClassifier(gssl.NoGraph()).fit(X, problem.y, adjacency=problem.A)
    monkeypatch.setattr("gssl.methods.inputs.knn_graph", lambda *_: pytest.fail("a graph was built"))
    without = gssl.EmbeddingClassifier(gssl.NoGraph()).fit(X, problem.y)
    np.testing.assert_array_equal(without.label_distributions_, with_graph.label_distributions_)
    np.testing.assert_array_equal(without.predict(X), without.transduction_)
    assert without.reached_.all()
    np.testing.assert_array_equal(gssl.NoGraph().fit_transform(X), problem.X)
    np.testing.assert_array_equal(gssl.NoGraph().fit(X, adjacency=problem.A).transform(X), problem.X)


def test_a_neighbour_brings_no_features(problem):
    """Node 36 is linked to node 0 but has no features, so nothing is known about it."""
    more = grown(problem, 1)
    more.A[0, 36] = more.A[36, 0] = 1
    model = gssl.EmbeddingClassifier(gssl.NoGraph())
    with pytest.warns(gssl.GraphWarning, match="nothing is known about 1 node:"):
        model.fit(more.X, more.y, adjacency=more.A)
    assert model.reached_.all()
    np.testing.assert_array_equal(model.informed_, np.arange(37) < 36)
    np.testing.assert_allclose(model.label_distributions_[36], 1 / 3)


def test_features_stay_sparse_and_no_column_per_label_is_made(problem, monkeypatch):
    """There is no dense copy of the features, and no column per label: labelled rows are taken directly."""
    monkeypatch.setattr(
        gssl.NoGraph, "_embed_transposed", lambda *_: pytest.fail("columns per label were made")
    )
    model = gssl.EmbeddingClassifier(gssl.NoGraph()).fit(csr_array(problem.X), problem.y)
    assert "embedding_" not in vars(model)
    np.testing.assert_array_equal(model.transduction_, problem.truth)


def test_sgc(random_problem):
    X, A = random_problem.X, random_problem.A
    powers = [np.linalg.matrix_power(dense_A_hat(A), k) @ X for k in range(6)]
    assert_depths(gssl.SGC(depth=5), X, A, powers)


def test_ssgc(random_problem):
    X, A = random_problem.X, random_problem.A
    powers = [np.linalg.matrix_power(dense_A_hat(A), k) @ X for k in range(6)]
    expected = [X] + [0.2 * X + 0.8 * np.mean(powers[1 : k + 1], axis=0) for k in range(1, 6)]
    assert_depths(gssl.SSGC(depth=5, alpha=0.2), X, A, expected)


def test_ppr(random_problem):
    A = random_problem.A
    for X in (random_problem.X, random_problem.X * (random_problem.X > 0.5)):
        expected = [X]
        for _ in range(5):
            expected.append(0.7 * dense_A_hat(A) @ expected[-1] + 0.3 * X)
        assert_depths(gssl.PPR(depth=5, alpha=0.3), X, A, expected)
        assert_depths(gssl.PPR(depth=5, alpha=0.3), csr_array(X), A, expected)


def test_ppr_tends_to_its_closed_form(random_problem):
    X, A = random_problem.X, random_problem.A
    limit = 0.3 * np.linalg.solve(np.eye(len(A)) - 0.7 * dense_A_hat(A), X)
    np.testing.assert_allclose(
        gssl.PPR(depth=100, alpha=0.3).fit_transform(X, adjacency=A), limit, atol=1e-12
    )
