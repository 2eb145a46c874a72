"""Laplacian-regularised least squares agrees with its normal equations in dense algebra."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

import gssl


def dense_W(X, A, y, gamma_A, gamma_I):
    """Return the W at which the gradient of the objective is zero."""
    S, Y = np.diag((y >= 0) * 1.0), np.eye(3)[y] * (y >= 0)[:, None]
    m = S.sum()
    s = np.trace(S @ X @ X.T) / m
    L = np.diag(A.sum(axis=1)) - A
    M = X.T @ S @ X / m + gamma_A * s * np.eye(X.shape[1]) + 2 * gamma_I / A.sum() * X.T @ L @ X
    return np.linalg.solve(M, X.T @ Y / m)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("gamma_A", "gamma_I"), [(1e-3, 5.0), (0.1, 0.3), (1e-2, 0.0)])
def test_weights_solve_the_normal_equations(random_problem, gamma_A, gamma_I, sparse):
    X, A, y = random_problem.X, random_problem.A, random_problem.y
    W = dense_W(X, A, y, gamma_A, gamma_I)
    model = gssl.ManifoldRegularization(gamma_A, gamma_I, tol=1e-13)
    model.fit(csr_array(X) if sparse else X, y, adjacency=A)
    np.testing.assert_allclose(model.coef_, W, atol=1e-10)
    np.testing.assert_array_equal(model.transduction_, (X @ W).argmax(axis=1))


def test_the_intrinsic_penalty_is_the_mean_over_edges(random_problem):
    """No W near the solution has a smaller objective, computed edge by edge."""
    X, A, y = random_problem.X, random_problem.A, random_problem.y
    known, Y = y >= 0, np.eye(3)[y]
    pairs = [(i, j) for i in range(25) for j in range(i) if A[i, j]]

    def objective(W):
        F = X @ W
        fit = np.mean(np.sum((F[known] - Y[known]) ** 2, axis=1))
        s = np.mean(np.sum(X[known] ** 2, axis=1))
        edges = np.average(
            [np.sum((F[i] - F[j]) ** 2) for i, j in pairs], weights=[A[i, j] for i, j in pairs]
        )
        return fit + 0.01 * s * np.sum(W**2) + 0.7 * edges

    W = gssl.ManifoldRegularization(0.01, 0.7, tol=1e-13).fit(X, y, adjacency=A).coef_
    rng = np.random.default_rng(0)
    assert all(objective(W) < objective(W + 1e-3 * rng.standard_normal(W.shape)) for _ in range(50))


def test_without_intrinsic_penalty_it_is_the_ridge_head(random_problem):
    X, A, y = random_problem.X, random_problem.A, random_problem.y
    model = gssl.ManifoldRegularization(0.02, 0.0, tol=1e-13).fit(X, y, adjacency=A)
    head = gssl.RidgeHead(penalty=0.02).fit(X[y >= 0], y[y >= 0])
    np.testing.assert_allclose(model.coef_, head.coef_, atol=1e-10)


def test_unlabelled_nodes_count_through_the_edges():
    """Two features occur at labelled nodes; the third gets its class through the edge to one of them."""
    X = np.eye(3)
    A = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])
    model = gssl.ManifoldRegularization(1e-3, 5.0).fit(X, [0, 1, -1], adjacency=A)
    np.testing.assert_array_equal(model.transduction_, [0, 1, 0])
    assert model.label_distributions_[2, 0] > 0.6
    np.testing.assert_allclose(
        gssl.ManifoldRegularization(gamma_intrinsic=0.0).fit(X, [0, 1, -1], adjacency=A).coef_[2],
        0,
        atol=1e-9,
    )


@pytest.mark.parametrize("factor", [1e-300, 1e-3, 1e300])
def test_the_unit_of_the_weights_does_not_matter(random_problem, factor):
    X, A, y = random_problem.X, random_problem.A, random_problem.y
    models = [gssl.ManifoldRegularization().fit(X, y, adjacency=scale * A) for scale in (1.0, factor)]
    np.testing.assert_allclose(models[1].coef_, models[0].coef_, rtol=1e-6)


def test_too_few_iterations_are_said(random_problem):
    with pytest.warns(ConvergenceWarning, match="not settled in 2 iterations"):
        gssl.ManifoldRegularization(max_iter=2).fit(
            random_problem.X, random_problem.y, adjacency=random_problem.A
        )
