"""Calibration maps on simulated distributions."""

import numpy as np
import pytest

from gssl.selection import calibrate, isotonic, score_temperature, temperature
from gssl.selection.calibration import FITS, FLOOR, cross_validated_losses, log_loss


def drawn(m, sharpness, seed=0, c=4):
    """Draw distributions and labels from them; return the distributions with another sharpness too."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(c, 0.4), size=m)
    codes = np.array([rng.choice(c, p=row) for row in truth])
    P = truth**sharpness
    return P / P.sum(axis=1, keepdims=True), codes, truth


@pytest.mark.parametrize("sharpness", [0.4, 1.0, 1.5])
def test_the_temperature_undoes_a_change_of_sharpness(sharpness):
    P, codes, truth = drawn(4000, sharpness)
    found = temperature(P, codes)
    # approximate, because of the lower bound on probabilities
    np.testing.assert_allclose(found.temperature, sharpness, rtol=0.12)
    assert np.abs(found(P) - truth).mean() < 0.02


def test_the_temperature_is_where_the_loss_is_least():
    P, codes, _ = drawn(300, 0.5)
    found = temperature(P, codes)

    def loss(t):
        Q = (P + FLOOR) ** (1 / t)
        return log_loss(Q / Q.sum(axis=1, keepdims=True), codes) + np.log(t) ** 2 / 600

    grid = np.linspace(0.2, 3.0, 2000)
    best = grid[np.argmin([loss(t) for t in grid])]
    np.testing.assert_allclose(found.temperature, best, atol=0.002)


def test_a_single_label_moves_the_temperature_little():
    P = np.array([[0.6, 0.4]])
    assert 0.5 < temperature(P, np.array([0])).temperature < 1.0
    assert 1.0 < temperature(P, np.array([1])).temperature < 2.0


def test_isotonic_learns_what_no_temperature_can():
    """Accuracy jumps at a confidence of 0.75: below it is about chance, above it nearly one."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1.0, size=2000)
    right = rng.random(2000) < np.where(p > 0.75, 0.98, 0.55)
    P = np.stack([p, 1 - p], axis=1)
    codes = np.where(right, 0, 1)
    assert calibrate(P, codes, "best").kind == "isotonic"
    # with two thousand labels the average has no weight on other maps
    assert calibrate(P, codes).parts[2][0] > 0.999
    said = isotonic(P, codes)(np.array([[0.65, 0.35], [0.9, 0.1]]))[:, 0]
    np.testing.assert_allclose(said, [0.55, 0.98], atol=0.03)


def test_scores_on_the_simplex_are_softened_by_their_differences():
    rng = np.random.default_rng(0)
    scores = rng.uniform(0.0, 0.6, size=(3000, 3))
    likely = np.exp(scores / 0.1)
    likely /= likely.sum(axis=1, keepdims=True)
    codes = np.array([rng.choice(3, p=row) for row in likely])
    P = scores + (1 - scores.sum(axis=1, keepdims=True)) / 3  # keeps differences
    found = score_temperature(P, codes)
    np.testing.assert_allclose(found.temperature, 0.1, rtol=0.05)
    np.testing.assert_allclose(found(P), likely, atol=0.03)


@pytest.mark.parametrize("fit", [*FITS.values(), calibrate])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distributions_stay_distributions_and_classes_stay(fit, dtype):
    rng = np.random.default_rng(1)
    held, codes, _ = drawn(40, 1.7)
    held[:5] = np.eye(4)[0]  # zeros, as from a projection
    P = np.vstack([rng.dirichlet(np.full(4, 0.2), size=500), np.eye(4)]).astype(dtype)
    Q = fit(held, codes)(P)
    assert Q.dtype == dtype
    assert Q.min() > 0
    np.testing.assert_allclose(Q.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_array_equal(Q.argmax(axis=1), P.argmax(axis=1))
    np.testing.assert_allclose(fit(held, codes)(np.full((1, 4), 0.25)), 0.25)


def test_the_chosen_map_has_the_least_cross_validated_loss():
    P, codes, _ = drawn(120, 0.4)
    found = calibrate(P, codes, "best")
    assert found.kind == min(found.log_loss, key=found.log_loss.get)
    assert set(found.log_loss) == set(FITS)
    for kind in ("best", "average"):
        assert calibrate(P[:8], codes[:8], kind).kind == "temperature"


def test_an_average_weighs_maps_by_what_they_say_of_unseen_labels():
    held, codes, _ = drawn(60, 0.6)
    P = np.vstack([np.random.default_rng(2).dirichlet(np.full(4, 0.2), size=500), np.eye(4)])
    found = calibrate(held, codes)
    losses = cross_validated_losses(held, codes)
    assert found.log_loss == losses
    # the probability of all 60 labels under each map
    likely = np.exp(-60 * np.array(list(losses.values())))
    weights = likely / likely.sum()
    assert weights.max() < 0.99
    by_hand = sum(w * fit(held, codes)(P) for w, fit in zip(weights, FITS.values(), strict=True))
    np.testing.assert_allclose(found(P), by_hand, atol=1e-6)


def test_an_average_is_no_further_off_than_the_choice_it_replaces():
    """Compare the mean error over many small samples of labels from known distributions."""
    errors = {"best": [], "average": []}
    for seed in range(30):
        held, codes, _ = drawn(40, 0.6, seed)
        P, _, truth = drawn(400, 0.6, 1000 + seed)
        for kind, found in errors.items():
            found.append(np.abs(calibrate(held, codes, kind)(P) - truth).mean())
    assert np.mean(errors["average"]) < np.mean(errors["best"])


def test_probabilities_a_rounding_error_apart_do_not_undo_an_isotonic_map():
    P = np.array([[4 / 9, 5 / 9]] * 5 + [[5 / 9, 4 / 9]] * 5)
    P[9] += [1e-15, -1e-15]
    Q = isotonic(P, np.repeat([0, 1], 5))(P)
    np.testing.assert_allclose(Q.sum(axis=1), 1.0)
    np.testing.assert_allclose(Q, 0.5, atol=0.01)
