"""Maps from scores to distributions agree with an optimiser, and undo the masking of a middle class."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from gssl.methods.softmax import ScoreMap, fit_softmax_map, inverse_temperatures


@pytest.mark.parametrize("scale", [0.02, 1.0, 30.0])
def test_newton_finds_the_temperature(scale):
    rng = np.random.default_rng(0)
    Y = np.eye(3)[rng.integers(3, size=80)]
    Z = scale * (Y + rng.normal(0.0, 0.7, size=(2, 80, 3)))
    weights = rng.uniform(0.5, 2.0, size=80)
    t, losses = inverse_temperatures(Z, Y, weights)
    for k in range(2):

        def loss(t, k=k):
            logs = (log_softmax(t * Z[k], axis=1) * Y).sum(axis=1)
            return -np.average(logs, weights=weights) + np.log(t / 10.0) ** 2 / (2 * 80)

        best = minimize_scalar(loss, bounds=(1e-3, 200.0), method="bounded", options={"xatol": 1e-6})
        assert losses[k] == pytest.approx(best.fun, abs=1e-4)
        assert t[k] == pytest.approx(best.x, rel=0.02)


def test_scores_that_say_all_do_not_run_away():
    Y = np.eye(2)[[0, 1] * 20]
    t, _ = inverse_temperatures(Y[None], Y, np.ones(40))
    assert 10.0 < t[0] <= 200.0


def test_a_softmax_map_brings_back_a_class_between_two_others():
    # least squares on one ordered feature never predicts the middle class
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], 100)
    x = codes - 1.0 + rng.normal(0.0, 0.2, size=300)
    Y = np.eye(3)[codes]
    F = np.column_stack([x, np.ones(300)])
    Z = F @ np.linalg.lstsq(F, Y, rcond=None)[0]
    assert (Z.argmax(axis=1) == codes).mean() < 0.7
    fitted = fit_softmax_map(Z, Y, np.ones(300), 5.0, penalty=5.0)
    assert (fitted.map.logits(Z).argmax(axis=1) == codes).mean() > 0.95
    without, plain = (log_softmax(logits, axis=1) * Y for logits in (fitted.logits_without, 5.0 * Z))
    assert without.sum() > plain.sum()


def test_leave_one_out_logits_are_those_of_a_map_fitted_without_the_label():
    rng = np.random.default_rng(0)
    codes = np.arange(80) % 4
    Y, weights = np.eye(4)[codes], rng.uniform(0.5, 2.0, size=80)
    Z = 0.3 * Y + rng.normal(0.0, 0.3, size=(80, 4))
    fitted = fit_softmax_map(Z, Y, weights, 3.0, penalty=5.0)
    seen = fitted.map.logits(Z)
    refitted = np.empty_like(Z)
    # the penalty counts labels of mean weight one, and the scale is that of all scores
    for i in range(80):
        w = np.where(np.arange(80) == i, 1e-12, weights) * 80 / weights.sum()
        penalty = 5.0 * 80 / (80 - weights[i] * 80 / weights.sum())
        refitted[i] = fit_softmax_map(Z, Y, w, 3.0, penalty).map.logits(Z[i])
    true = Y > 0
    moved = (refitted - seen)[true]
    assert (moved < 0).all()
    np.testing.assert_allclose((fitted.logits_without - seen)[true], moved, rtol=0.25, atol=0.02)


def test_an_infinite_penalty_leaves_a_temperature():
    Y = np.eye(2)[[0, 1, 0, 1]]
    fitted = fit_softmax_map(0.5 * Y, Y, np.ones(4), 7.0, penalty=np.inf)
    np.testing.assert_array_equal(fitted.map.A, 7.0 * np.eye(2))
    np.testing.assert_array_equal(fitted.logits_without, 3.5 * Y)


def test_few_labels_leave_a_map_near_a_temperature():
    Y = np.eye(3)[[0, 1, 2]]
    fitted = fit_softmax_map(Y + 0.1, Y, np.ones(3), 10.0, penalty=5.0)
    np.testing.assert_allclose(fitted.map.A, 10.0 * np.eye(3), atol=0.5)
    np.testing.assert_allclose(ScoreMap.default(2).logits(np.eye(2)), 10.0 * np.eye(2))


def test_a_map_that_reverses_scores_is_refused():
    # leave-one-out scores of uninformative features: slightly lower for the true class
    Y = np.eye(3)[np.arange(60) % 3]
    fitted = fit_softmax_map(0.33 - 0.02 * Y, Y, np.ones(60), 1.0, penalty=5.0)
    np.testing.assert_array_equal(fitted.map.A, np.eye(3))
    assert (log_softmax(fitted.logits_without, axis=1) * Y).sum(axis=1).mean() < 0.01 - np.log(3)
