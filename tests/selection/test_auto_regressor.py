"""AutoRegressor's public behaviour: numbers, intervals, explanations and errors."""

import copy
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score
from tests.problems import near_places
from threadpoolctl import threadpool_limits

import gssl


def fit(X, y, known, A, depth=4, **options):
    """Fit to the known ones of some numbers."""
    return gssl.AutoRegressor(depth=depth, **options).fit(X, np.where(known, y, np.nan), adjacency=A)


def ridge(X, y, known):
    """Predict by features alone."""
    Z = np.column_stack([X, np.ones(len(X))])
    return Z @ np.linalg.solve(Z[known].T @ Z[known] + 0.1 * np.eye(Z.shape[1]), Z[known].T @ y[known])


def grow(A, links):
    """Add one node with links to others."""
    n = len(A)
    grown = np.zeros((n + 1, n + 1))
    grown[:n, :n] = A
    grown[n, links] = grown[links, n] = 1.0
    return grown


@pytest.fixture(scope="module")
def drawn():
    drawn = near_places()
    # what is given is never changed
    for each in drawn:
        each.setflags(write=False)
    return drawn


@pytest.fixture(scope="module")
def fitted(drawn):
    """A fit that no test changes."""
    X, A, y, known = drawn
    return fit(X, y, known, A)


@pytest.fixture
def parts(fitted):
    """Assert that the fit of most tests uses residuals and trees, which saved and grown models need."""
    assert fitted._pool[0] > 0
    assert fitted._pool[2] > 0


@pytest.mark.parametrize("seed", range(3))
def test_a_regressor_beats_features_alone_and_estimates_its_r_squared(seed):
    X, A, y, known = near_places(seed)
    model, new = fit(X, y, known, A), ~known
    found = r2_score(y[new], model.transduction_[new])
    assert found > 0.7
    assert found > r2_score(y[new], ridge(X, y, known)[new]) + 0.3
    assert abs(r2_score(y[known], model.held_out_) - found) < 0.1
    low, high = model.intervals_.T
    assert 0.8 <= ((low <= y) & (y <= high))[new].mean() <= 0.98
    assert (low < model.transduction_).all()
    assert (model.transduction_ < high).all()


def test_an_interval_holds_the_share_that_was_asked_for():
    shares = []
    for seed in range(3):
        X, A, y, known = near_places(seed)
        low, high = fit(X, y, known, A, depth=2, interval=0.6).intervals_.T
        shares.append(((low <= y) & (y <= high))[~known].mean())
    assert 0.5 < np.mean(shares) < 0.7


def test_noise_is_not_said_to_be_explained(drawn):
    X, A, _, known = drawn
    y = np.random.default_rng(5).normal(size=len(X))
    model = fit(X, y, known, A)
    assert r2_score(y[known], model.held_out_) < 0.15
    assert r2_score(y[~known], model.transduction_[~known]) > -0.15
    assert "The graph adds" not in model.explain_


def test_a_prediction_of_a_known_node_hardly_depends_on_its_own_number(drawn, fitted):
    """Its number shapes the choice and the scale of all models, but not its own prediction."""
    X, A, y, known = drawn
    node = np.flatnonzero(known)[7]
    changed = y.copy()
    changed[node] += 3.0
    moved = fit(X, changed, known, A).transduction_[node] - fitted.transduction_[node]
    assert abs(moved) < 0.5


def test_the_explanation_counts_what_is_kept(drawn, fitted):
    _, _, y, known = drawn
    np.testing.assert_array_equal(fitted.held_out_, fitted.transduction_[known])
    assert np.abs(fitted.held_out_ - y[known]).min() > 0
    score, _, count = re.match(r"R² (\S+) \((\S+ to \S+)\) on (\d+) hidden numbers", fitted.explain_).groups()
    assert float(score) == pytest.approx(r2_score(y[known], fitted.held_out_), abs=0.005)
    assert int(count) == known.sum()
    typical = float(re.search(r"typical error (\S+);", fitted.explain_)[1])
    assert typical == pytest.approx(np.median(np.abs(y[known] - fitted.held_out_)), rel=0.01)
    assert re.search(
        r"Among linear models, the graph adds 0\.\d\d \(0\.\d\d to 0\.\d\d\) to R²", fitted.explain_
    )
    low, high = fitted.intervals_[known].T
    within = 100 * ((low <= y[known]) & (y[known] <= high)).mean()
    assert f"{within:.0f} % of hidden numbers lie within their intervals." in fitted.explain_


def test_the_leaderboard_is_in_order_and_shows_what_predicts(fitted):
    scores = [entry.score for entry in fitted.leaderboard_]
    assert scores == sorted(scores, reverse=True)
    assert max(scores) <= 1.0
    models = {entry.model for entry in fitted.leaderboard_}
    assert {"no graph", "SGC", "PPR", "high-pass", "boosted trees"} <= models
    assert any(entry.chosen for entry in fitted.leaderboard_)


def test_logarithms_are_predicted_where_numbers_are_log_normal(drawn):
    X, A, y, known = drawn
    numbers = np.exp(y)
    model = fit(X, numbers, known, A)
    assert model.number_scale.log
    assert "Logarithms are predicted" in model.explain_
    assert model.intervals_.min() > 0
    plain = fit(X, y, known, A)
    # means, which are a multiple of the medians
    factors = model.transduction_ / np.exp(plain.transduction_)
    np.testing.assert_allclose(factors, factors[0], rtol=1e-9)
    assert 1.0 < factors[0] < 3.0
    np.testing.assert_allclose(model.intervals_, np.exp(plain.intervals_), rtol=1e-9)
    linear = fit(X, numbers, known, A, scale="linear")
    assert not linear.number_scale.log
    errors = [np.square(m.transduction_ - numbers)[~known].mean() for m in (model, linear)]
    assert errors[0] < errors[1]


@pytest.mark.parametrize("shift", [8.0, 1000.0])
def test_logarithms_are_not_predicted_where_numbers_are_normal(drawn, fitted, shift):
    X, A, y, known = drawn
    model = fit(X, y + shift, known, A)
    assert (y[known] + shift).min() > 0
    assert not model.number_scale.log
    assert "Logarithms" not in model.explain_
    np.testing.assert_allclose(model.transduction_ - shift, fitted.transduction_, atol=1e-6)


def test_with_logarithms_asked_for_predictions_are_positive(drawn):
    X, A, y, known = drawn
    model = fit(X, y - y.min() + 0.01, known, A, scale="log")
    assert model.number_scale.log
    assert model.transduction_.min() > 0
    assert model.intervals_.min() > 0
    assert model.predict(X, adjacency=A).min() > 0


@pytest.mark.parametrize(("factor", "shift"), [(1000.0, 5.0), (1e-6, 0.0)])
def test_units_do_not_matter(drawn, fitted, factor, shift):
    X, A, y, known = drawn
    model = fit(X, factor * y + shift, known, A)
    np.testing.assert_allclose((model.transduction_ - shift) / factor, fitted.transduction_, atol=1e-6)
    limits = np.sort((model.intervals_ - shift) / factor, axis=1)
    np.testing.assert_allclose(limits, fitted.intervals_, atol=1e-6)


def test_whole_numbers_texts_and_none_are_read_alike():
    X, A, y, known = near_places(n=60)
    whole = np.round(10 * y).astype(int)
    plain = fit(X, whole.astype(float), known, A, depth=2).transduction_
    mixed = [int(v) if k else None for v, k in zip(whole, known, strict=True)]
    texts = [str(v) if k else "" for v, k in zip(whole, known, strict=True)]
    for given in (mixed, texts, pd.Series(mixed, dtype="Int64")):
        model = gssl.AutoRegressor(depth=2).fit(X, given, adjacency=A)
        np.testing.assert_array_equal(model.transduction_, plain)
    everywhere, floats = (gssl.AutoRegressor(depth=2).fit(X, y, adjacency=A) for y in (whole, 1.0 * whole))
    np.testing.assert_array_equal(everywhere.transduction_, floats.transduction_)


def test_without_features_links_take_their_place(drawn):
    _, A, y, known = drawn
    model = fit(None, y, known, A)
    assert r2_score(y[~known], model.transduction_[~known]) > 0.2
    assert "There are no features" in model.explain_
    assert model.knows_nodes
    assert not model.uses_features
    again = model.predict(None, adjacency=A)
    np.testing.assert_allclose(again[~known], model.transduction_[~known], rtol=1e-6)


def test_without_a_graph_neighbours_by_features_are_linked(drawn):
    X, _, y, known = drawn
    y = np.sin(X[:, 0]) + X[:, 1]
    model = gssl.AutoRegressor(depth=2).fit(X, np.where(known, y, np.nan))
    assert r2_score(y[~known], model.transduction_[~known]) > 0.7
    # a copy of a row gets the mean of those nearest to it
    assert r2_score(y, model.predict(X + 1e-9)) > 0.7
    assert model.predict_intervals(X[:3]).shape == (3, 2)


def test_some_nodes_are_predicted_and_explained_as_in_fit(drawn, fitted, parts):
    X, A, _, known = drawn
    chosen = np.flatnonzero(~known)[[5, 2]]
    some = fitted.predict(X, adjacency=A, nodes=chosen)
    np.testing.assert_allclose(some, fitted.transduction_[chosen], rtol=1e-9)
    for one in gssl.why(fitted, [0, int(np.flatnonzero(known)[0]), int(chosen[0])]):
        assert one.total == pytest.approx(fitted.transduction_[one.node])


def test_a_grown_graph_is_predicted(drawn, fitted, parts):
    """Each new node is the twin of an unknown one, whose links it has."""
    X, A, y, known = drawn
    twins = np.flatnonzero(~known & (A.sum(axis=1) > 3))[:12]
    found = []
    for twin in twins:
        grown, Z = grow(A, np.flatnonzero(A[twin])), np.vstack([X, X[twin]])
        predicted = fitted.predict_with_intervals(Z, adjacency=grown)
        found.append(predicted[-1, 0])
        assert predicted[-1, 1] < predicted[-1, 0] < predicted[-1, 2]
    assert np.corrcoef(found, fitted.transduction_[twins])[0, 1] > 0.95
    assert r2_score(y[twins], found) > 0.5


def test_a_model_of_features_predicts_any_graph():
    X, A, _, known = near_places(3)
    # errors that neighbours do not share
    y = 2.0 * X[:, 0] + 1.0 + np.random.default_rng(9).normal(size=len(X))
    known = known & (np.arange(len(X)) < 80)
    model = fit(X, y, known, A, depth=2)
    assert not model.knows_nodes
    Z, B, _, _ = near_places(4, 60)
    assert r2_score(2.0 * Z[:, 0] + 1.0, model.predict(Z, adjacency=B)) > 0.8


def test_a_model_of_logarithms_is_saved_as_such(tmp_path, drawn):
    X, A, y, known = drawn
    model = fit(X, np.exp(y), known, A, depth=2, interval=0.8)
    gssl.save(model, tmp_path / "m.gssl", problem=True)
    loaded = gssl.load(tmp_path / "m.gssl")
    assert loaded.get_params() == model.get_params()
    assert loaded.number_scale.log
    wanted = model.predict_with_intervals(X, adjacency=A)
    np.testing.assert_allclose(loaded.predict_with_intervals(X, adjacency=A), wanted, rtol=1e-9)


def test_an_update_to_few_numbers_has_no_trees(drawn, fitted):
    X, A, y, _ = drawn
    few = np.where(np.arange(len(y)) < 20, y, np.nan)
    model = copy.deepcopy(fitted).update_labels(few)
    new = gssl.AutoRegressor(depth=4).fit(X, few, adjacency=A)
    np.testing.assert_array_equal(model.fit_values, few)
    np.testing.assert_allclose(model.transduction_, new.transduction_, rtol=1e-9)
    found = model.predict(X, adjacency=A)
    np.testing.assert_allclose(found[20:], new.transduction_[20:], rtol=1e-9)


def test_numbers_that_are_refused_change_nothing(drawn, fitted):
    model = copy.deepcopy(fitted)
    with pytest.raises(ValueError, match="infinity"):
        model.update_labels(np.where(drawn[3], np.inf, np.nan))
    np.testing.assert_array_equal(model.transduction_, fitted.transduction_)
    np.testing.assert_array_equal(model.fit_values, fitted.fit_values)


def test_the_score_is_r_squared_of_the_nodes_that_have_a_number(drawn, fitted):
    X, A, y, known = drawn
    predicted = fitted.predict(X, adjacency=A)
    assert fitted.score(X, y, adjacency=A) == pytest.approx(r2_score(y, predicted))
    hidden = fitted.score(X, np.where(known, np.nan, y), adjacency=A)
    assert hidden == pytest.approx(r2_score(y[~known], fitted.transduction_[~known]))
    weights = np.linspace(1, 2, len(y))
    weighted = fitted.score(X, np.where(known, np.nan, y), weights, adjacency=A)
    wanted = r2_score(y[~known], fitted.transduction_[~known], sample_weight=weights[~known])
    assert weighted == pytest.approx(wanted)


@pytest.mark.parametrize("m", [3, 9, 50])
@pytest.mark.parametrize("features", [True, False])
def test_few_numbers_are_enough(drawn, m, features):
    X, A, y, _ = drawn
    X, known = X if features else None, np.arange(len(y)) < m
    model = fit(X, y, known, A, depth=2)
    assert np.isfinite(model.transduction_).all()
    assert np.isfinite(model.intervals_).all()
    told = f"on {m} hidden numbers" if m >= 10 else f"{m} known numbers are too few to say"
    assert told in model.explain_
    again = model.predict(X, adjacency=A)
    np.testing.assert_allclose(again[m:], model.transduction_[m:], rtol=1e-9)


def test_reached_nodes_are_those_in_a_component_with_a_number(drawn):
    X, A, y, known = drawn
    A, known = A.copy(), known.copy()
    A[:10, 10:] = A[10:, :10] = 0.0
    A[np.arange(9), np.arange(1, 10)] = A[np.arange(1, 10), np.arange(9)] = 1.0
    known[:10] = False
    model = fit(X, y, known, A, depth=2)
    assert not model.reached_[:10].any()
    assert np.isfinite(model.transduction_).all()


def test_neither_another_fit_nor_threads_change_the_result(drawn, fitted):
    X, A, y, known = drawn
    np.testing.assert_array_equal(fit(X, y, known, A).transduction_, fitted.transduction_)
    with threadpool_limits(2):
        model = fit(X, y, known, A)
    np.testing.assert_allclose(model.transduction_, fitted.transduction_, rtol=1e-9, atol=1e-9)


def test_no_time_still_gives_a_model(drawn):
    X, A, y, known = drawn
    model = fit(X, y, known, A, time_budget=0)
    assert len(model.leaderboard_) < 10
    assert np.isfinite(model.transduction_).all()


def test_wrong_numbers_are_one_sentence(drawn):
    X, A, y, known = drawn
    given = np.where(known, y, np.nan)
    for wrong, message in (
        (np.column_stack([y, y]), r"y should be a 1d array, got an array of shape \(200, 2\)"),
        (given[:-1], "y has 199 entries but X has 200 rows: give one number"),
    ):
        with pytest.raises(ValueError, match=message):
            gssl.AutoRegressor(depth=2).fit(X, wrong, adjacency=A)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": 1.5}, r"interval must be a number between 0\.0 and 1\.0, both excluded, not 1\.5\.$"),
        ({"interval": 0}, "interval must be a number between"),
        ({"interval": "wide"}, "interval must be a number between"),
        ({"scale": "cubic"}, "scale must be auto, linear, log, not 'cubic'"),
        ({"depth": 0}, "depth must be a whole number from 1 on, not 0"),
        ({"time_budget": -1}, r"time_budget must be a number from 0\.0 on, not -1"),
    ],
)
def test_wrong_parameters_are_one_sentence(drawn, options, message):
    X, A, y, known = drawn
    with pytest.raises(ValueError, match=message):
        fit(X, y, known, A, **{"depth": 2, **options})


def test_a_model_of_a_graph_asks_for_one(drawn, fitted):
    with pytest.raises(ValueError, match="pass adjacency=, the graph over"):
        fitted.predict(drawn[0])


@pytest.mark.parametrize("kind", ["star", "clique"])
def test_errors_of_neighbours_in_common_do_not_narrow_intervals(kind):
    rng, n = np.random.default_rng(0), 300
    A = np.ones((n, n)) if kind == "clique" else np.zeros((n, n))
    A[0] = A[:, 0] = 1.0
    np.fill_diagonal(A, 0.0)
    y, known = rng.normal(size=n), np.arange(n) % 10 < 7
    model = fit(rng.normal(size=(n, 4)), y, known, A, depth=2)
    low, high = model.intervals_[~known].T
    assert ((low <= y[~known]) & (y[~known] <= high)).mean() > 0.8


def test_a_notebook_shows_a_model_without_trees(drawn):
    X, A, y, _ = drawn
    model = fit(X, y, np.arange(len(y)) < 30, A, depth=2)
    assert not model.has_trees
    assert "hidden numbers" in model._repr_html_()
    assert not hasattr(model, "_trees")
