"""Ridge regression in closed form agrees with the normal equations and with refitting without each label."""

import numpy as np
import pytest

from gssl.methods.labels import one_hot
from gssl.methods.ridge import Ridge, keep_class_mass, leave_one_out, ridge

PENALTIES = np.array([1e-3, 0.1, 10.0])


@pytest.fixture(params=[(12, 30), (30, 5), (9, 9)], ids=["wide", "tall", "square"])
def rows(request):
    """Features with a non-zero mean, labels of three classes of different size, and weights."""
    m, d = request.param
    rng = np.random.default_rng(3)
    codes = np.sort(rng.integers(3, size=m))
    codes[:3] = [0, 1, 2]
    U, Y = rng.normal(size=(m, d)) + 0.7, one_hot(codes, 3, np.float64)
    return U, Y, rng.uniform(0.5, 2.0, size=m)


def normal_equations(U, Y, w, penalty):
    return np.linalg.solve(U.T @ (w[:, None] * U) + penalty * np.eye(U.shape[1]), U.T @ (w[:, None] * Y))


@pytest.mark.parametrize("penalty", PENALTIES)
def test_coefficients_solve_the_normal_equations(rows, penalty):
    U, Y, w = rows
    W = Ridge(U, penalty, w).coefficients(Y)
    np.testing.assert_allclose(W, normal_equations(U, Y, w, penalty), atol=1e-8)
    np.testing.assert_allclose(
        Ridge(U, penalty).coefficients(Y), normal_equations(U, Y, np.ones(len(U)), penalty), atol=1e-8
    )


def test_influences_times_targets_are_scores(rows):
    U, Y, w = rows
    new = np.random.default_rng(0).normal(size=(4, U.shape[1]))
    for weights in (None, w):
        fit = Ridge(U, 0.3, weights)
        H = fit.influence(new)
        np.testing.assert_allclose(H @ Y, new @ fit.coefficients(Y), atol=1e-10)


def test_residuals_are_those_of_leave_one_out(rows):
    U, Y, w = rows
    for weights in (None, w):
        left_out = leave_one_out(U, Y, np.array([0.3]), weights)[0]
        np.testing.assert_allclose(Ridge(U, 0.3, weights).residuals(Y), Y - left_out, atol=1e-8)


def test_the_inverse_is_that_of_the_normal_equations(rows):
    U, _, w = rows
    G = U.T @ (w[:, None] * U) + 0.3 * np.eye(U.shape[1])
    np.testing.assert_allclose(G @ Ridge(U, 0.3, w).inverse_times(U.T), U.T, atol=1e-9)


def test_a_relative_penalty_does_not_depend_on_units(rows):
    U, Y, w = rows
    np.testing.assert_allclose(100.0 * ridge(100.0 * U, Y, 0.01, w), ridge(U, Y, 0.01, w), atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_refitting_without_each_label(rows, weighted):
    U, Y, w = rows
    w = w if weighted else np.ones(len(U))
    predicted = leave_one_out(U, Y, PENALTIES, w if weighted else None)
    for k, penalty in enumerate(PENALTIES):
        for i in range(len(U)):
            others = np.arange(len(U)) != i
            W = normal_equations(U[others], Y[others], w[others], penalty)
            np.testing.assert_allclose(predicted[k, i], U[i] @ W, atol=1e-7)


def test_class_mass_is_refitting_with_heavier_labels(rows):
    U, Y, _ = rows
    predicted = keep_class_mass(leave_one_out(U, Y, PENALTIES), Y)
    counts = Y.sum(axis=0)
    for i in range(len(U)):
        others, rest = np.arange(len(U)) != i, counts - Y[i]
        factors = np.divide(counts, rest, out=np.ones(3), where=rest > 0)
        W = normal_equations(U[others], Y[others] * factors, np.ones(len(U) - 1), PENALTIES[1])
        np.testing.assert_allclose(predicted[1, i], U[i] @ W, atol=1e-8)


def test_class_mass_is_corrected_by_at_most_three():
    Y = one_hot(np.array([0, 0, 1]), 2, np.float64)
    kept = keep_class_mass(np.ones((3, 2)), Y, np.array([100.0, 1.0, 1.0]))
    np.testing.assert_allclose(kept, [[3.0, 1.0], [1.01, 1.0], [1.0, 1.0]])


def test_numbers_are_targets_too(rows):
    U, _, w = rows
    y = np.random.default_rng(1).normal(size=(len(U), 1))
    predicted = leave_one_out(U, y, np.array([0.5]), w)[0]
    others = np.arange(len(U)) != 2
    W = normal_equations(U[others], y[others], w[others], 0.5)
    np.testing.assert_allclose(predicted[2], U[2] @ W, atol=1e-8)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (5, 0)])
def test_rows_of_zeros_predict_nothing(shape):
    Y = one_hot(np.arange(shape[0]) % 2, 2, np.float64)
    predicted = leave_one_out(np.zeros(shape), Y, PENALTIES)
    np.testing.assert_array_equal(predicted, np.zeros((3, shape[0], 2)))


def test_single_precision_and_a_tiny_penalty_have_an_answer():
    rng = np.random.default_rng(0)
    U = rng.random((200, 50), np.float32) @ rng.random((50, 80), np.float32)  # of rank 50
    y = rng.normal(size=(200, 1))
    expected = U @ np.linalg.lstsq(U.astype(np.float64), y, rcond=1e-6)[0]
    W = ridge(U, y, 1e-10)
    assert np.abs(U @ W - expected).max() < 0.5
