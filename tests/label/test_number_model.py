import numpy as np
import pytest

from gssl.label.number_model import NumberModel
from gssl.selection.trial import PENALTIES


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    good, poor = rng.standard_normal((2, 400, 6)).astype(np.float32)
    numbers = 50.0 + 4.0 * good @ np.arange(6) + 3.0 * rng.standard_normal(400)
    return [poor, good], numbers


def refit(B, y, penalty):
    """Return the coefficients of a ridge for centred numbers."""
    return np.linalg.solve(B.T @ B + penalty * np.eye(B.shape[1]), B.T @ y)


def test_hidden_numbers_are_those_of_a_fit_without_them(data):
    views, numbers = data
    labelled = np.arange(0, 60, 2)
    answer = NumberModel(views).fit(labelled, numbers[labelled])
    assert answer.rows is views[1]
    U = views[1][labelled].astype(np.float64)
    unit = np.square(U).sum(axis=1).mean()
    assert np.isclose(answer.ridge.penalty, unit * PENALTIES).sum() == 1
    B = np.column_stack([U, np.full(len(U), answer.constant)])
    mean = numbers[labelled].mean()
    y = numbers[labelled] - mean
    for k in (0, 7):
        rest = np.delete(np.arange(len(y)), k)
        W = refit(B[rest], y[rest], answer.ridge.penalty)
        assert answer.hidden[k] == pytest.approx(mean + B[k] @ W)
        # the root of a hidden number is that of a node without one, for the same fit
        inverse = np.linalg.inv(B[rest].T @ B[rest] + answer.ridge.penalty * np.eye(B.shape[1]))
        assert answer.hidden_roots[k] == pytest.approx(np.sqrt(1.0 + B[k] @ inverse @ B[k]))
    W = refit(B, y, answer.ridge.penalty)
    every = np.column_stack([views[1].astype(np.float64), np.full(400, answer.constant)])
    np.testing.assert_allclose(answer.values, mean + every @ W, rtol=1e-4)
    inverse = np.linalg.inv(B.T @ B + answer.ridge.penalty * np.eye(B.shape[1]))
    np.testing.assert_allclose(
        answer.roots, np.sqrt(1.0 + ((every @ inverse) * every).sum(axis=1)), rtol=1e-4
    )


def test_nine_of_ten_numbers_lie_within_their_intervals(data):
    views, numbers = data
    labelled, others = np.arange(100), np.arange(100, 400)
    answer = NumberModel(views).fit(labelled, numbers[labelled])
    within = np.abs(numbers - answer.values) <= answer.quantile * answer.roots
    assert 0.84 < within[others].mean() < 0.96
    assert answer.accuracy.within.mean() == pytest.approx(0.9, abs=0.02)
    assert answer.accuracy.r_squared[0] > 0.9


def test_shares_add_up_to_the_prediction(data):
    views, numbers = data
    labelled = np.arange(30)
    answer = NumberModel(views).fit(labelled, numbers[labelled])
    total = numbers[labelled].mean() + answer.shares(200).sum()
    assert total == pytest.approx(answer.values[200], rel=1e-4)


@pytest.mark.parametrize("factor", [1e-200, 1e295])
def test_units_do_not_matter(data, factor):
    views, numbers = data
    model, labelled = NumberModel(views), np.arange(30)
    plain = model.fit(labelled, numbers[labelled])
    scaled = model.fit(labelled, factor * numbers[labelled])
    np.testing.assert_allclose(scaled.values / factor, plain.values, rtol=1e-6)
    assert scaled.quantile / factor == pytest.approx(plain.quantile)
    assert scaled.accuracy.r_squared == pytest.approx(plain.accuracy.r_squared)


def test_two_numbers_are_enough(data):
    views, _ = data
    answer = NumberModel(views).fit(np.array([3, 9]), np.array([1.0, 2.0]))
    assert np.isfinite(answer.values).all()
    assert np.isfinite(answer.roots).all()
    assert answer.values.mean() == pytest.approx(1.5, abs=0.5)
