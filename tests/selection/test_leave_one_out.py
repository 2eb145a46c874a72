"""Closed forms agree with refitting without each label."""

import numpy as np
import pytest

from gssl.methods.labels import one_hot
from gssl.selection import (
    dual_coefficients,
    keep_class_mass,
    leave_one_out,
    spectrum,
    spectrum_of_rows,
)

PENALTIES = np.array([1e-3, 0.1, 10.0])


@pytest.fixture(params=[(12, 30), (30, 5), (9, 9)], ids=["wide", "tall", "square"])
def rows(request):
    """Features with a non-zero mean, and labels of three classes of different size."""
    m, d = request.param
    rng = np.random.default_rng(3)
    codes = np.sort(rng.integers(3, size=m))
    codes[:3] = [0, 1, 2]
    return rng.normal(size=(m, d)) + 0.7, one_hot(codes, 3, np.float64)


def refitted(U, Y, ridge, i, factors=None):
    """Fit Θ to all rows but one by the normal equations, and predict that row."""
    others = np.arange(len(U)) != i
    V, T = U[others], Y[others] if factors is None else Y[others] * factors
    return U[i] @ np.linalg.solve(V.T @ V + ridge * np.eye(U.shape[1]), V.T @ T)


def test_leave_one_out_is_refitting_without_each_label(rows):
    U, Y = rows
    gram = spectrum_of_rows(U)
    assert gram.scale == pytest.approx(np.square(U).sum() / len(U))
    predicted = leave_one_out(gram, Y, PENALTIES)
    for k, penalty in enumerate(PENALTIES):
        expected = [refitted(U, Y, penalty * gram.scale, i) for i in range(len(U))]
        np.testing.assert_allclose(predicted[k], expected, atol=1e-8)


def test_class_mass_is_refitting_with_heavier_labels(rows):
    U, Y = rows
    gram = spectrum_of_rows(U)
    predicted = keep_class_mass(leave_one_out(gram, Y, PENALTIES), Y)
    counts = Y.sum(axis=0)
    for i in range(len(U)):
        rest = counts - Y[i]
        factors = np.divide(counts, rest, out=np.ones(3), where=rest > 0)
        expected = refitted(U, Y, PENALTIES[1] * gram.scale, i, factors)
        np.testing.assert_allclose(predicted[1, i], expected, atol=1e-8)


def test_dual_coefficients_give_the_ridge_predictor(rows):
    U, Y = rows
    gram = spectrum_of_rows(U)
    for penalty in PENALTIES:
        theta = U.T @ dual_coefficients(gram, Y, penalty)
        ridge = penalty * gram.scale
        expected = np.linalg.solve(U.T @ U + ridge * np.eye(U.shape[1]), U.T @ Y)
        np.testing.assert_allclose(theta, expected, atol=1e-8)


def test_both_decompositions_agree(rows):
    U, Y = rows
    np.testing.assert_allclose(
        leave_one_out(spectrum(U @ U.T), Y, PENALTIES),
        leave_one_out(spectrum_of_rows(U), Y, PENALTIES),
        atol=1e-7,
    )


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (5, 0)])
def test_rows_of_zeros_predict_nothing(shape):
    gram = spectrum_of_rows(np.zeros(shape))
    Y = one_hot(np.arange(shape[0]) % 2, 2, np.float64)
    np.testing.assert_array_equal(leave_one_out(gram, Y, PENALTIES), np.zeros((3, shape[0], 2)))
