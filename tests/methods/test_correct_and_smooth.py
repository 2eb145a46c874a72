"""Correct and Smooth agrees with its equations in dense algebra."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC
from tests.problems import grown

import gssl
from gssl.methods.labels import nearest_distribution


def base():
    return LogisticRegression(C=0.5)


def smoothed(G, A, alpha, depth):
    D = A.sum(axis=1)
    S, F = A / np.sqrt(np.outer(D, D)), G
    for _ in range(depth):
        F = (1 - alpha) * G + alpha * S @ F
    return F


def finished(Z, A, y, alpha, depth):
    """Insert labels into the corrected predictions, smooth them, and scale rows to sum to one."""
    G = np.where((y >= 0)[:, None], np.eye(3)[y], nearest_distribution(Z))
    F = smoothed(G, A, alpha, depth)
    return F / F.sum(axis=1, keepdims=True)


@pytest.fixture
def start(random_problem):
    """Distributions of the base classifier and their errors, zero at unlabelled nodes."""
    X, y = random_problem.X, random_problem.y
    Z = base().fit(X[y >= 0], y[y >= 0]).predict_proba(X)
    return Z, (np.eye(3)[y] - Z) * (y >= 0)[:, None]


@pytest.mark.parametrize("sparse", [False, True])
def test_autoscale(random_problem, start, sparse):
    A, y = random_problem.A, random_problem.y
    Z, E = start
    sigma = np.abs(E[y >= 0]).sum(axis=1).mean()
    E_hat = smoothed(E, A, 0.7, 9)
    Z = Z + sigma * E_hat / np.abs(E_hat).sum(axis=1, keepdims=True)
    model = gssl.CorrectAndSmooth(base(), "auto", alpha_correct=0.7, alpha_smooth=0.6, depth=9)
    X = csr_array(random_problem.X) if sparse else random_problem.X
    model.fit(X, y, adjacency=A)
    np.testing.assert_allclose(
        model.label_distributions_, finished(Z, A, y, 0.6, 9), atol=1e-6 if sparse else 1e-12
    )


def test_fdiff_scale(random_problem, start):
    """After many steps the errors are harmonic: each unlabelled one is the mean of its neighbours'."""
    A, y = random_problem.A, random_problem.y
    Z, E = start
    known, L = y >= 0, np.diag(A.sum(axis=1)) - A
    E[~known] = np.linalg.solve(L[np.ix_(~known, ~known)], A[np.ix_(~known, known)] @ E[known])
    model = gssl.CorrectAndSmooth(base(), 1.3, alpha_smooth=0.6, depth=500)
    model.fit(random_problem.X, y, adjacency=A)
    expected = finished(Z + 1.3 * E, A, y, 0.6, 500)
    np.testing.assert_allclose(model.label_distributions_, expected, atol=1e-12)


def test_smoothing_alone_is_a_closed_form(random_problem, start):
    A, y = random_problem.A, random_problem.y
    D = A.sum(axis=1)
    G = np.where((y >= 0)[:, None], np.eye(3)[y], start[0])
    F = np.linalg.solve(np.eye(25) - 0.5 * A / np.sqrt(np.outer(D, D)), G)
    model = gssl.CorrectAndSmooth(base(), 0, alpha_smooth=0.5, depth=100).fit(
        random_problem.X, y, adjacency=A
    )
    np.testing.assert_allclose(model.label_distributions_, F / F.sum(axis=1, keepdims=True), atol=1e-12)


def test_an_isolated_node_keeps_what_the_base_says(problem):
    more = grown(problem, 1, problem.X[13:14])
    for scale in ("auto", 1.0):
        model = gssl.CorrectAndSmooth(scale=scale).fit(more.X, more.y, adjacency=more.A)
        np.testing.assert_allclose(model.label_distributions_[36], model.base_.predict_proba(more.X)[36])
        np.testing.assert_array_equal(model.informed_, True)
        np.testing.assert_array_equal(model.reached_, np.arange(37) < 36)


def test_a_neighbour_informs_a_node_without_features(problem):
    more = grown(problem, 1)
    more.A[30, 36] = more.A[36, 30] = 1
    model = gssl.CorrectAndSmooth().fit(more.X, more.y, adjacency=more.A)
    assert model.informed_.all()
    assert model.transduction_[36] == 2


def test_any_classifier_with_probabilities_is_a_base(problem):
    for part in (MLPClassifier((8,), solver="lbfgs", random_state=0), LogisticRegression()):
        model = gssl.CorrectAndSmooth(part).fit(csr_array(problem.X), problem.y, adjacency=problem.A)
        np.testing.assert_array_equal(model.transduction_, problem.truth)
        assert type(model.base_) is type(part)


@pytest.mark.parametrize("part", [LinearSVC(), LogisticRegression, "logistic"])
def test_other_bases_are_refused(problem, part):
    with pytest.raises(ValueError, match="base must be a classifier with predict_proba"):
        gssl.CorrectAndSmooth(part).fit(problem.X, problem.y, adjacency=problem.A)
