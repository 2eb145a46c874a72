import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.methods.labels import UNLABELLED
from gssl.operators.field import field_mean, field_operator
from gssl.selection import LearningCurve, learning_curve
from gssl.selection.learning_curve import draw_curve, fit_power_laws, nested_order, subset_sizes
from gssl.selection.measures import R_SQUARED, JudgedClasses, JudgedNumbers


def _problem(n=300, d=10, n_labelled=80, distance=1.2, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    X = np.eye(3, d)[truth] * distance + rng.standard_normal((n, d))
    same = truth[:, None] == truth
    A = np.triu(rng.random((n, n)) < np.where(same, 0.02, 0.01), 1)
    y = np.where(np.arange(n) < n_labelled, truth, UNLABELLED)
    return X, csr_array((A | A.T).astype(float)), y, truth


def _exact(a, b, c, target=None, n_labels=100, **more):
    return LearningCurve(
        n_labels, 1_000_000, np.array([10]), np.array([0.5]), target, np.tile([a, b, c], (50, 1)), **more
    )


def _numbers(n=600, n_known=120, seed=0, noise=0.5):
    """Return features, the graph of near places, and numbers that depend on both, some of them known."""
    rng = np.random.default_rng(seed)
    place, X = rng.random((n, 2)), rng.standard_normal((n, 20))
    distance = np.linalg.norm(place[:, None] - place, axis=2)
    A = csr_array(((distance < np.sqrt(6 / (n * np.pi))) & (distance > 0)).astype(float))
    truth = X @ rng.standard_normal(20) / 4 + np.sin(4 * place[:, 0]) + noise * rng.standard_normal(n)
    return X, A, np.where(np.arange(n) < n_known, truth, np.nan), truth


@pytest.mark.parametrize(("a", "b", "c"), [(0.9, 1.0, 0.5), (0.7, 2.0, 1.0)])
def test_a_power_law_without_noise_is_found(a, b, c):
    n = np.array([20, 40, 80, 160, 320])
    rng = np.random.default_rng(0)
    y = a - b * n**-c
    found = fit_power_laws(n, np.tile(y, (20, 1)), np.full((20, 5), 1e-4), rng)
    np.testing.assert_allclose(np.mean(found, axis=0), [a, b, c], rtol=0.05)


def test_a_falling_curve_is_flat_and_no_curve_exceeds_one():
    n, rng = np.array([20, 40, 80]), np.random.default_rng(0)
    ((a, b, _),) = fit_power_laws(n, np.array([[0.8, 0.79, 0.78]]), np.full((1, 3), 0.01), rng)
    assert b == 0.0
    assert a == pytest.approx(0.79)
    steep = fit_power_laws(n, np.tile([0.5, 0.75, 0.99], (20, 1)), np.full((20, 3), 0.01), rng)
    assert steep[:, 0].max() <= 1.0


def test_labels_needed_are_those_of_the_equation():
    curve = _exact(0.9, 1.0, 0.5)
    # 0.9 - n^(-1/2) = 0.85 at n = 400
    assert curve.labels_needed(0.85) == pytest.approx((300.0, 300.0, 300.0))
    assert "About 300 more labels reach 85 %." in curve.text(0.85)
    assert curve.labels_needed(0.8) == (0.0, 0.0, 0.0)
    assert "80 % is reached already" in curve.text(0.8)
    assert np.isinf(curve.labels_needed(0.95)[0])
    assert "95 % is not reachable: accuracy levels off near 89.9 %" in curve.text(0.95)
    assert curve.gain(300) == pytest.approx(0.05)
    assert "Another 300 labels would add about 5.0 points." in curve.text(more=300)
    assert curve.at(400)[0] == pytest.approx(0.85)
    # 0.9 - n^(-1/2) = 0.899 at n = 1,000,000, the number of nodes
    assert np.isfinite(curve.labels_needed(0.8989)[0])
    assert np.isinf(curve.labels_needed(0.8991)[0])


def test_a_curve_can_be_moved_and_aims_at_a_round_accuracy():
    curve = _exact(0.9, 1.0, 0.5)
    moved = curve.moved_to(0.85)
    assert moved.at(100)[0] == pytest.approx(0.85)
    assert moved.gain(300) == pytest.approx(curve.gain(300))
    np.testing.assert_allclose(moved.accuracy, curve.accuracy + 0.05)
    assert curve.moved_to(0.99).samples[:, 0].max() == 1.0
    assert [_exact(a, 0.0, 0.5).next_target for a in (0.82, 0.951, 0.999)] == [0.85, 0.96, 1.0]


def test_a_target_is_taken_from_the_curve_or_asked_for():
    assert _exact(0.9, 1.0, 0.5, target=0.85).labels_needed()[0] == pytest.approx(300.0)
    with pytest.raises(ValueError, match="give a target"):
        _exact(0.9, 1.0, 0.5).labels_needed()
    with pytest.raises(ValueError, match="between 0 and 1"):
        _exact(0.9, 1.0, 0.5).labels_needed(85)


def test_beginnings_of_an_order_have_their_share_of_each_class():
    codes = np.repeat([0, 1, 2], [60, 30, 10])
    order = nested_order(codes, np.arange(100.0), np.random.default_rng(0))
    assert sorted(order) == list(range(100))
    for size in (10, 20, 50):
        counts = np.bincount(codes[order[:size]], minlength=3)
        assert np.abs(counts - size * np.array([0.6, 0.3, 0.1])).max() <= 1.0


def test_sizes_leave_labels_to_judge_and_few_labels_are_refused():
    sizes = subset_sizes(np.arange(100) % 4)
    assert sizes[0] == 10
    assert sizes[-1] <= 80
    with pytest.raises(ValueError, match="too few for a learning curve"):
        subset_sizes(np.arange(12) % 4)


def test_the_curve_rises_and_holds_what_more_labels_bring():
    X, A, y, truth = _problem()
    model = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=A)
    curve = learning_curve(model, 0.99)
    assert curve.n_labels == 80
    assert curve.accuracy[-1] > curve.accuracy[0]
    again = learning_curve(model, 0.99)
    assert (curve.samples == again.samples).all()
    y = np.where(np.arange(300) < 160, truth, UNLABELLED)
    more = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=A)
    found = float((more.transduction_[160:] == truth[160:]).mean())
    _, low, high = curve.at(160)
    assert low <= found <= high
    assert high - low < 0.3


def test_other_models_and_bad_targets_are_refused():
    X, A, y, _ = _problem()
    model = gssl.EmbeddingClassifier(gssl.SGC()).fit(X, y, adjacency=A)
    with pytest.raises(ValueError, match="fit AutoClassifier"):
        learning_curve(model)
    with pytest.raises(ValueError, match="between 0 and 1"):
        learning_curve(model, 1.5)


def test_of_many_labels_a_part_draws_the_curve():
    X, A, y, _ = _problem(n_labelled=200)
    model = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=A)
    whole = learning_curve(model)
    part = draw_curve(model, most=60)
    assert part.n_labels == whole.n_labels == 200
    assert part.sizes[-1] == 60 < whole.sizes[-1]
    _, low, high = part.at(200)
    assert low <= whole.at(200)[0] <= high


def test_numbers_needed_are_those_of_the_equation():
    curve = _exact(0.9, 1.0, 0.5, measure=R_SQUARED)
    assert "R² 0.85 needs about 300 more numbers." in curve.text(0.85)
    assert "With 100 numbers R² is about 0.80." in curve.text()
    assert "R² 0.80 is reached already" in curve.text(0.8)
    assert "R² 0.95 is not reachable: R² levels off near 0.90" in curve.text(0.95)
    assert "Another 300 numbers would add about 0.050." in curve.text(more=300)
    assert curve.to_dict() == {"numbers": [10], "R²": [0.5]}
    # R² has no least value, but a target has
    worse = _exact(0.9, 20.0, 0.5, measure=R_SQUARED)
    assert worse.at(100) == pytest.approx((-1.1, -1.1, -1.1))
    assert worse.next_target == 0.05


def test_losses_give_accuracy_and_r_squared():
    classes = JudgedClasses(np.array([0, 1, 1]))
    np.testing.assert_array_equal(classes.losses(np.eye(2)[[0, 0, 1]]), [0, 1, 0])
    X, A, y, _ = _numbers(n=100, n_known=40)
    for scale in ("linear", "log"):
        model = gssl.AutoRegressor(scale=scale, depth=2).fit(X, np.exp(y), adjacency=A)
        hidden, truth = JudgedNumbers(model, np.arange(40)), np.exp(y[:40])
        losses = hidden.losses(model.number_scale.values(model.held_out_)[:, None])
        expected = 1 - np.square(truth - model.held_out_).mean() / truth.var()
        assert 1 - losses.mean() / hidden.reference.mean() == pytest.approx(expected, abs=0.05)
        # what is far beyond the known numbers is cut off
        assert np.isfinite(hidden.losses(np.full((40, 1), 1e9))).all()


def test_residuals_of_shown_numbers_are_spread_to_hidden_ones():
    X, A, y, _ = _numbers()
    model = gssl.AutoRegressor(depth=2).fit(X, y, adjacency=A)
    hidden, shown = JudgedNumbers(model, np.arange(120)), np.arange(120) < 60
    e = np.random.default_rng(0).standard_normal((60, 1))
    known, values = np.zeros((600, 1), dtype=bool), np.zeros((600, 1))
    known[:60], values[:60] = True, e
    assert 0 < hidden.reach < 1
    field = field_mean(field_operator(A), values, known, hidden.reach / (1.0 - hidden.reach))
    np.testing.assert_allclose(hidden.spread(e, shown), field[:120], atol=1e-7)


def test_the_curve_of_numbers_holds_what_more_numbers_bring():
    X, A, y, truth = _numbers()
    model = gssl.AutoRegressor(depth=2).fit(X, y, adjacency=A)
    curve = learning_curve(model, 0.99)
    assert (curve.n_labels, curve.n_nodes, curve.measure) == (120, 600, R_SQUARED)
    assert curve.accuracy[-1] > curve.accuracy[0]
    known = ~np.isnan(y)
    shown = 1 - np.square(truth - model.transduction_)[known].mean() / truth[known].var()
    assert curve.at(120)[0] == pytest.approx(shown, abs=0.02)
    assert (curve.samples == learning_curve(model, 0.99).samples).all()
    more = gssl.AutoRegressor(depth=2).fit(X, np.where(np.arange(600) < 360, truth, np.nan), adjacency=A)
    found = 1 - np.square(truth - more.transduction_)[360:].mean() / truth.var()
    _, low, high = curve.at(360)
    assert low <= found <= high
    assert high - low < 0.4


def test_a_saved_regressor_has_the_same_curve(tmp_path):
    X, A, y, _ = _numbers(n=200, n_known=60)
    model = gssl.AutoRegressor(depth=2).fit(X, y, adjacency=A)
    gssl.save(model, tmp_path / "m.gssl", problem=True)
    again = learning_curve(gssl.load(tmp_path / "m.gssl"))
    np.testing.assert_allclose(again.accuracy, learning_curve(model).accuracy, atol=1e-6)
    few = gssl.AutoRegressor(depth=2).fit(X, np.where(np.arange(200) < 15, y, np.nan), adjacency=A)
    with pytest.raises(
        ValueError, match="15 known nodes are too few for a learning curve: label at least 20"
    ):
        learning_curve(few)
