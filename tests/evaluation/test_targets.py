"""What hidden answers say about scores, for classes, numbers and several labels per node."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from scipy.stats import norm
from sklearn.metrics import r2_score

from gssl.evaluation.metrics import score_error
from gssl.evaluation.targets import (
    MAP_PENALTIES,
    Classes,
    LabelSets,
    Numbers,
    effective_number,
    fit_sigmoids,
    r_squared,
)
from gssl.methods.ridge import keep_class_mass
from gssl.methods.softmax import fit_softmax_map, inverse_temperatures


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draw_numbers(rng, m=200):
    """Return numbers, scores of four penalties of which the third is best, and weights."""
    Y = rng.normal(size=(m, 1))
    return Y, np.stack([Y + s * rng.normal(size=(m, 1)) for s in (2.0, 0.9, 0.3, 0.6)]), rng.uniform(1, 3, m)


def draw_classes(rng, m=150, p=3):
    """Return one-hot classes, scores of p penalties, and weights."""
    truth = rng.integers(3, size=m)
    Y = np.eye(3)[truth]
    Z = np.stack([0.3 * Y + spread * rng.normal(size=(m, 3)) for spread in np.linspace(0.3, 0.1, p)])
    return Y, Z, rng.uniform(0.5, 2.0, m)


def draw_sets(rng, m=3000):
    """Return scores, sets of three labels that have known slopes and intercepts, and these."""
    a, b = np.array([1.0, 3.0, 0.5]), np.array([0.0, -2.0, 1.0])
    Z = rng.normal([0.0, 1.0, 3.0], size=(m, 3))
    return Z, (rng.random((m, 3)) < expit(a * Z + b)).astype(float), a, b


def test_the_penalty_of_least_squared_error_is_taken(rng):
    Y, Z, w = draw_numbers(rng)
    judged = Numbers().judge(Z, Y, w, smooth=True)
    assert judged.best == 2
    np.testing.assert_array_equal(judged.scores, Z[2])
    # answers that count more decide
    errors = np.abs(Z - Y)[..., 0]
    judged = Numbers().judge(Z, Y, (errors[1] < errors[2]).astype(float) + 1e-9, smooth=True)
    assert judged.best == 1


def test_logs_of_numbers_are_those_of_a_normal_density(rng):
    Y, Z, w = draw_numbers(rng)
    judged = Numbers().judge(Z, Y, w, smooth=False)
    variance = np.average((Y - Z[2])[:, 0] ** 2, weights=w)
    wanted = norm.logpdf(Y[:, 0], loc=Z[2, :, 0], scale=np.sqrt(variance))
    np.testing.assert_allclose(judged.logs, wanted, rtol=1e-12)
    assert (judged.score, judged.error) == r_squared(Y[:, 0], Z[2, :, 0], w)


def test_exact_scores_of_numbers_have_finite_logs(rng):
    Y, _, w = draw_numbers(rng)
    judged = Numbers().judge(Y[None], Y, w, smooth=True)
    assert np.isfinite(judged.logs).all()
    assert (judged.score, judged.error) == (1.0, 0.0)


def test_scores_of_numbers_are_the_answers(rng):
    Y, Z, w = draw_numbers(rng)
    judged = Numbers().judge(Z, Y, w, smooth=True)
    fitted = Numbers().fit_map(Z[2], Y, w, judged.t, judged.strength)
    for each in (judged.map, fitted, Numbers().default_map(1)):
        np.testing.assert_array_equal(each.logits(Z[2]), Z[2])
    assert not Numbers().has_intercept


@pytest.mark.parametrize("smooth", [True, False])
def test_classes_are_judged_by_what_their_parts_give(rng, smooth):
    Y, Z, w = draw_classes(rng)
    judged = Classes().judge(Z, Y, w, smooth=smooth)
    kept = keep_class_mass(Z, Y)
    temperatures, losses = inverse_temperatures(kept, Y, w)
    best = int(np.argmin(losses))
    assert judged.best == best == 2
    assert judged.t == temperatures[best]
    np.testing.assert_array_equal(judged.scores, kept[best])
    # a higher penalty of a filter that is not smooth must be clearly better
    tried = MAP_PENALTIES if smooth else MAP_PENALTIES[::-1]
    needed = 0.0 if smooth else 0.1 * w.sum()
    maps = {s: fit_softmax_map(kept[best], Y, w, judged.t, s) for s in tried}
    logs = {s: (log_softmax(each.logits_without, axis=1) * Y).sum(axis=1) for s, each in maps.items()}
    strength = tried[0]
    for following in tried[1:]:
        if w @ logs[following] <= w @ logs[strength] + needed:
            break
        strength = following
    assert judged.strength == strength
    np.testing.assert_array_equal(judged.logs, logs[strength])
    np.testing.assert_array_equal(judged.map.logits(kept[best]), maps[strength].map.logits(kept[best]))
    hits = maps[strength].logits_without.argmax(axis=1) == Y.argmax(axis=1)
    assert judged.score == np.average(hits, weights=w)
    assert judged.error == score_error(judged.score, effective_number(w))
    again = Classes().fit_map(kept[best], Y, w, judged.t, judged.strength)
    np.testing.assert_array_equal(again.logits(kept[best]), judged.map.logits(kept[best]))


def test_many_classes_are_chosen_by_squared_error(rng):
    Y, Z, w = draw_classes(rng)
    judged = Classes(many_scores=10).judge(Z, Y, w, smooth=True)
    errors = np.square(keep_class_mass(Z, Y) - Y).sum(axis=2) @ w
    assert judged.best == np.argmin(errors)
    # 100 × the scores are as likely, but have other squares
    scaled = np.concatenate([100.0 * Z[2:], Z[:2]])
    assert Classes(many_scores=10).judge(scaled, Y, w, smooth=True).best == np.argmin(errors[:2]) + 1


def test_label_sets_are_judged_cell_by_cell(rng):
    Z, Y, _, _ = draw_sets(rng, 400)
    w = rng.uniform(1, 2, 400)
    scores = np.stack([Z + 5.0, (Y + 0.1 * Z)])
    shares = Y.mean(axis=0)
    judged = LabelSets(shares).judge(scores, Y - shares, w, smooth=True)
    assert judged.best == 1
    p = expit(judged.map.logits(scores[1]))
    np.testing.assert_allclose(judged.logs, (Y * np.log(p) + (1 - Y) * np.log(1 - p)).sum(axis=1), rtol=1e-9)
    right = ((p > 0.5) == (Y == 1)).mean(axis=1)
    assert judged.score == pytest.approx(np.average(right, weights=w))
    assert judged.error == pytest.approx(right.std() / np.sqrt(effective_number(w)))


def test_r_squared_of_the_mean_of_the_truth_and_of_equal_numbers():
    truth = np.array([1.0, 2.0, 6.0])
    assert r_squared(truth, np.full(3, 3.0), np.ones(3)) == (0.0, 0.0)
    assert r_squared(truth, truth, np.ones(3)) == (1.0, 0.0)
    assert r_squared(np.ones(3), truth, np.ones(3)) == (0.0, 0.0)


def test_r_squared_is_that_of_scikit_learn(rng):
    Y, Z, w = draw_numbers(rng)
    for scores in Z:
        for weights in (w, np.ones(len(w))):
            found = r_squared(Y[:, 0], scores[:, 0], weights)[0]
            assert found == pytest.approx(r2_score(Y[:, 0], scores[:, 0], sample_weight=weights), abs=1e-12)


def test_the_error_of_r_squared_is_that_of_repeated_samples(rng):
    found = []
    for _ in range(400):
        truth = rng.normal(size=300)
        found.append(r_squared(truth, 0.7 * truth + 0.4 * rng.normal(size=300), np.ones(300)))
    scores, errors = np.transpose(found)
    assert errors.mean() == pytest.approx(scores.std(), rel=0.15)


def test_the_effective_number_of_answers():
    assert effective_number(np.full(7, 3.0)) == pytest.approx(7.0)
    assert effective_number(np.array([1.0, 1.0, 0.0, 0.0])) == pytest.approx(2.0)
    assert effective_number(np.array([1.0, 3.0])) == pytest.approx(16 / 10)


def test_sigmoids_are_those_that_the_data_were_drawn_from(rng):
    Z, Y, a, b = draw_sets(rng, 20_000)
    found_a, found_b = fit_sigmoids(Z, Y, np.ones(len(Y)), 5.0)
    np.testing.assert_allclose(found_a, a, rtol=0.1)
    np.testing.assert_allclose(found_b, b, atol=0.2)


def test_sigmoids_are_calibrated(rng):
    Z, Y, _, _ = draw_sets(rng)
    a, b = fit_sigmoids(Z, Y, np.ones(len(Y)), 5.0)
    p = expit(a * Z + b)
    for k in range(3):
        for part in np.array_split(np.argsort(p[:, k]), 5):
            deviation = np.sqrt((p[part, k] * (1 - p[part, k])).sum()) / len(part)
            assert abs(Y[part, k].mean() - p[part, k].mean()) < 4 * deviation


def test_the_penalised_likelihood_has_its_greatest_value_at_the_fit(rng):
    """The prior of the last label is the median slope of all, of which there is but one."""
    Z, Y, _, _ = draw_sets(rng, 300)
    Z, Y, w, rho = Z[:, :1], Y[:, :1], rng.uniform(0.5, 2.0, 300), 5.0
    (a,), (b,) = fit_sigmoids(Z, Y, w, rho)
    w = w * 300 / w.sum()
    centre, scale = np.average(Z[:, 0], weights=w), Z.std()
    share = (np.average(Y[:, 0], weights=w) * 300 + 0.5) / 301

    def search(prior):
        """Return the standardised slope and shift that minimise the loss."""
        x, y = (Z[:, 0] - centre) / scale, Y[:, 0]

        def loss(theta):
            logits = theta[0] * x + theta[1]
            squares = (theta[0] - prior) ** 2 + (theta[1] - np.log(share / (1 - share))) ** 2
            return w @ (np.logaddexp(0, logits) - y * logits) + 0.5 * rho * squares

        return minimize(loss, [0.0, 0.0], tol=1e-12).x

    slope, shift = search(search(0.0)[0])
    assert a == pytest.approx(slope / scale, rel=1e-4)
    assert b == pytest.approx(shift - slope * centre / scale, abs=1e-4)


def test_no_slope_is_negative(rng):
    Z, Y, _, _ = draw_sets(rng, 500)
    a, _ = fit_sigmoids(-Z, Y, np.ones(500), 5.0)
    assert (a == 0.0).all()
    mixed, _ = fit_sigmoids(Z * [1, -1, 1], Y, np.ones(500), 5.0)
    assert (mixed >= 0.0).all()
    assert mixed[0] > 0.5


def test_a_label_of_one_node_is_near_its_share(rng):
    Z, Y, _, _ = draw_sets(rng, 400)
    Y[:, 1] = 0.0
    Y[7, 1] = 1.0
    a, b = fit_sigmoids(Z, Y, np.ones(400), 5.0)
    p = expit(a * Z + b)[:, 1]
    assert p.mean() == pytest.approx(1 / 400, abs=0.004)
    assert p.max() < 0.3
    Y[7, 1] = 0.0  # of none
    a, b = fit_sigmoids(Z, Y, np.ones(400), 5.0)
    assert 0 < expit(a * Z + b)[:, 1].mean() < 0.004


def test_weights_count(rng):
    Z, Y, _, _ = draw_sets(rng, 400)
    twice = rng.random(400) < 0.5
    weights = np.where(twice, 1.0, 1e-9)
    found = fit_sigmoids(Z, Y, weights, 1e-3)
    part = fit_sigmoids(Z[twice], Y[twice], np.ones(twice.sum()), 1e-3)
    np.testing.assert_allclose(found, part, rtol=2e-2, atol=2e-2)
    for one, other in zip(
        fit_sigmoids(Z, Y, 7.0 * weights, 1.0), fit_sigmoids(Z, Y, weights, 1.0), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_scores_that_are_all_equal_give_shares(rng):
    _, Y, _, _ = draw_sets(rng, 400)
    a, b = fit_sigmoids(np.full((400, 3), 0.3), Y, np.ones(400), 5.0)
    np.testing.assert_allclose(expit(a * 0.3 + b), Y.mean(axis=0), atol=0.01)
