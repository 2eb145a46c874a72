"""AutoClassifier's public behaviour: results, explanations, attributes and errors."""

import copy
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import softmax
from tests.problems import arcs, block_graph, large_ring, ring
from threadpoolctl import threadpool_limits

import gssl
from gssl.scale.progress import watching
from gssl.selection.candidates import candidates
from gssl.selection.pool import floored_log


def communities(seed):
    """Return random features, a stochastic block model of four communities, and these."""
    rng = np.random.default_rng(seed)
    truth = np.arange(240) % 4
    links = np.triu(rng.random((240, 240)) < np.where(truth[:, None] == truth, 0.3, 0.02), 1)
    return rng.normal(size=(240, 20)), (links | links.T).astype(float), truth


def score(model, truth):
    return float((model.transduction_ == truth)[24:].mean())


def held_out(model):
    return model.distributions_without(np.flatnonzero(model.fit_codes >= 0), with_priors=False)


@pytest.fixture(scope="module")
def friendly():
    return block_graph()


@pytest.fixture(scope="module")
def fitted(friendly):
    X, A, y, _ = friendly
    return gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)


def test_a_graph_that_helps_is_used_and_said_to_help(friendly, fitted):
    X, A, y, truth = friendly
    plain = gssl.EmbeddingClassifier(gssl.SGC(depth=0), head="ridge").fit(X, y, adjacency=A)
    assert score(fitted, truth) > score(plain, truth) + 0.15
    more = np.where(np.arange(120) < 60, truth, -1)
    assert gssl.AutoClassifier(depth=4).fit(X, more, adjacency=A).explain_.count("The graph adds ") == 1
    assert not any(entry.chosen for entry in fitted.leaderboard_ if entry.model == "no graph")


def test_neighbours_that_differ_are_used_too():
    X, A, y, truth = block_graph(seed=1, p_in=0.0, p_out=0.1, signal=0.8)
    auto = gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)
    for embedder in (gssl.SGC(depth=1), gssl.SSGC(depth=4), gssl.GGCM(depth=4)):
        low_pass = gssl.EmbeddingClassifier(embedder, head="ridge").fit(X, y, adjacency=A)
        assert score(auto, truth) > score(low_pass, truth)


def test_a_graph_of_noise_is_left_alone():
    differences = []
    for seed in range(2, 8):
        X, A, y, truth = block_graph(seed=seed, p_in=0.05, p_out=0.05, signal=2.0)
        auto = gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)
        plain = gssl.EmbeddingClassifier(gssl.NoGraph(), head="ridge").fit(X, y, adjacency=A)
        differences.append(score(auto, truth) - score(plain, truth))
        assert "The graph adds" not in auto.explain_
    assert np.mean(differences) >= -0.03


def test_every_family_of_models_is_on_the_leaderboard(fitted):
    board = fitted.leaderboard_
    assert {
        "no graph",
        "SGC",
        "SSGC",
        "PPR",
        "HeatKernel",
        "GGC",
        "GGCM",
        "high-pass",
        "two-hop",
        "LabelSpreading",
    } <= {entry.model for entry in board}
    scores = [entry.score for entry in board]
    assert scores == sorted(scores, reverse=True)
    assert board[0].chosen


def test_the_explanation_counts_held_out_hits(friendly, fitted):
    _, _, y, _ = friendly
    hits = (held_out(fitted).argmax(axis=1) == y[:24]).mean()
    assert hits == pytest.approx(float(fitted.explain_.split(" %")[0]) / 100, abs=1e-3)
    assert not np.allclose(held_out(fitted), fitted.label_distributions_[:24], atol=1e-2)


def test_without_features_links_and_spread_labels_compete(friendly):
    _, A, y, truth = friendly
    model = gssl.AutoClassifier().fit(None, y, adjacency=A)
    assert "no features" in model.explain_
    spread = [entry.settings for entry in model.leaderboard_ if entry.model == "LabelSpreading"]
    assert sorted(spread) == ["spread=0.5", "spread=0.9", "spread=0.99"]
    assert any("links as features" in entry.model for entry in model.leaderboard_)
    assert score(model, truth) > 0.8
    np.testing.assert_array_equal(model.predict(None, adjacency=A), model.transduction_)


def test_links_of_a_large_graph_are_no_features():
    n = 30_001
    A, truth = large_ring(n), np.arange(n) * 3 // n
    y = np.where(np.arange(n) % 50 == 0, truth, -1)
    model = gssl.AutoClassifier().fit(None, y, adjacency=A)
    assert {entry.model for entry in model.leaderboard_} == {"LabelSpreading"}
    assert sum(entry.chosen for entry in model.leaderboard_) == 1
    assert score(model, truth) > 0.8
    one = np.where(np.isin(np.arange(n), [0, 15_000, 25_000]), truth, -1)
    assert "LabelPropagation" in gssl.AutoClassifier().fit(None, one, adjacency=A).explain_


def test_one_label_per_class_is_enough_to_run(friendly):
    X, A, y, truth = friendly
    y = np.where(np.arange(120) < 3, truth, -1)
    for features in (X, None):
        model = gssl.AutoClassifier(depth=4).fit(features, y, adjacency=A)
        assert np.isfinite(model.label_distributions_).all()
        assert set(model.transduction_) == {0, 1, 2}


def test_few_labels_are_spread_beside_the_average_where_only_links_tell():
    X, A, truth = communities(seed=0)
    y = np.where(np.arange(len(truth)) < 8, truth, -1)
    model = gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)
    assert "label spreading counts for most" in model.explain_
    assert model.knows_nodes
    P = model.label_distributions_.copy()
    spread = model.propagation_.label_distributions_**1.5
    del model.propagation_
    alone = model.predict_proba(X, adjacency=A)
    np.testing.assert_allclose(P, 0.3 * alone + 0.7 * spread / spread.sum(axis=1, keepdims=True), atol=1e-6)
    X, A, _, truth = block_graph(signal=3.0)
    model = gssl.AutoClassifier(depth=4).fit(X, np.where(np.arange(120) < 6, truth, -1), adjacency=A)
    assert not hasattr(model, "propagation_")


@pytest.mark.parametrize("per_class", [1, 2])
def test_random_features_cost_little_where_labels_follow_links(per_class):
    ours, spreading = [], []
    for seed in range(3):
        X, A, truth = communities(seed)
        y = np.where(np.arange(len(truth)) < 4 * per_class, truth, -1)
        models = gssl.AutoClassifier(), gssl.LabelSpreading()
        ours, spreading = (
            [*scores, np.mean(model.fit(X, y, adjacency=A).transduction_ == truth)]
            for scores, model in zip((ours, spreading), models, strict=True)
        )
    assert np.mean(ours) > np.mean(spreading) - 0.03


@pytest.mark.parametrize("per_class", [1, 2])
def test_few_labels_are_not_compared(friendly, per_class):
    X, A, _, truth = friendly
    y = np.where(np.arange(120) < 3 * per_class, truth, -1)
    model = gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)
    assert f"{3 * per_class} labels in 3 classes are too few to compare models" in model.explain_
    assert bool(model.leaderboard_) == (per_class > 1)
    assert model.score(X, truth, adjacency=A) > 0.75
    P = model.predict_proba(X, adjacency=A)
    np.testing.assert_allclose(P, model.label_distributions_, atol=1e-6)


@pytest.mark.parametrize(("every", "won"), [(8, True), (10, False)], ids=["30 labels", "24 labels"])
def test_a_rival_needs_thirty_hidden_labels_and_a_clear_difference(every, won):
    X, A, y = arcs(every=every)
    model = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=A)
    assert ("so LabelSpreading predicts." in model.explain_) == won
    assert [entry.model for entry in model.leaderboard_ if entry.chosen][:1] == ["LabelSpreading"] or not won
    expected = gssl.LabelSpreading().fit(None, y, adjacency=A).label_distributions_
    if won:
        expected = softmax(model.spread_power_ * floored_log(expected), axis=1)
    assert np.allclose(model.label_distributions_, expected, atol=1e-5) == won


def test_unlabelled_nodes_teach_unless_hidden_labels_suffer(monkeypatch):
    X, A, y, truth = block_graph(seed=5, n=600, p_in=0.03, p_out=0.003)
    taught = gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)
    assert taught.self_training_
    monkeypatch.setattr(
        "gssl.selection.model_search.taught_targets",
        lambda ensemble, sets, _: [replace(targets, Y=1.0 - targets.Y) for targets in sets],
    )
    alone = gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)
    assert not alone.self_training_
    assert score(taught, truth) > score(alone, truth)


def test_confidence_is_calibrated_by_hidden_labels():
    X, A, y, truth = block_graph(seed=6, n=900, p_in=0.01, p_out=0.004, signal=0.4)
    y = np.where(np.arange(900) < 150, truth, -1)
    model = gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)
    said = model.label_distributions_.max(axis=1)[150:].mean()
    assert abs(said - (model.transduction_ == truth)[150:].mean()) < 0.1


def test_what_is_no_better_than_the_largest_class_is_said():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(300) < 100, (rng.random(300) < 0.2).astype(int), -1)
    model = gssl.AutoClassifier(depth=2).fit(rng.normal(size=(300, 3)), y, adjacency=ring(300))
    assert "no better than always answering the largest class" in model.explain_


def test_priors_move_predictions_towards_frequent_classes(friendly, fitted):
    X, A, y, _ = friendly
    moved = gssl.AutoClassifier(depth=4, priors=[0.9, 0.05, 0.05]).fit(X, y, adjacency=A)
    P = fitted.label_distributions_ * np.array([2.7, 0.15, 0.15])
    np.testing.assert_allclose(moved.label_distributions_, P / P.sum(axis=1, keepdims=True), atol=1e-12)
    assert (moved.transduction_ == 0).sum() > (fitted.transduction_ == 0).sum()


def test_balanced_classes_count_alike_and_have_uniform_priors():
    X, A, y, truth = block_graph(seed=4, n=240, signal=0.5)
    y = np.where((np.arange(240) < 90) & ((truth == 0) | (np.arange(240) < 12)), truth, -1)
    balanced, uniform, counted, labelled = (
        gssl.AutoClassifier(depth=4, class_weight="balanced", priors=priors).fit(X, y, adjacency=A)
        for priors in (None, "uniform", {0: 30, 1: 4, 2: 4}, "labels")
    )
    np.testing.assert_allclose(uniform.label_distributions_, balanced.label_distributions_, atol=1e-12)
    np.testing.assert_allclose(labelled.label_distributions_, counted.label_distributions_, atol=1e-12)
    assert np.abs(counted.label_distributions_ - balanced.label_distributions_).max() > 0.1
    plain = gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)
    assert (balanced.transduction_ == 0).sum() < (plain.transduction_ == 0).sum()


def test_progress_is_told(friendly):
    X, A, y, _ = friendly
    seen = []
    with watching(lambda done, total: seen.append((done, total))):
        gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)
    n_filters = len(candidates(4))
    assert (1, n_filters) in seen
    assert (n_filters, n_filters) in seen


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"depth": 0}, "depth must be a whole number from 1 on"),
        ({"time_budget": -1.0}, "time_budget must be a number from 0.0 on"),
        ({"class_weight": {0: 0.0, 1: 1.0, 2: 1.0}}, "class_weight of 0 must be a positive number"),
        ({"priors": [0.5, 0.5]}, "priors must be 3 numbers"),
    ],
)
def test_settings_that_make_no_sense_are_refused(friendly, settings, message):
    X, A, y, _ = friendly
    with pytest.raises(ValueError, match=message):
        gssl.AutoClassifier(**settings).fit(X, y, adjacency=A)


def test_a_model_of_features_needs_them_to_predict(friendly, fitted):
    _, A, y, _ = friendly
    with pytest.raises(ValueError, match="was fitted to 12 features: give X"):
        fitted.predict(None, adjacency=A)
    with pytest.raises(ValueError, match="neither X nor adjacency"):
        gssl.AutoClassifier().fit(None, y)


def test_features_may_go_and_come_between_fits(friendly, fitted):
    X, A, y, _ = friendly
    model = gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)
    without = gssl.AutoClassifier(depth=4).fit(None, y, adjacency=A)
    model.fit(None, y, adjacency=A)
    assert not hasattr(model, "n_features_in_")
    np.testing.assert_array_equal(model.label_distributions_, without.label_distributions_)
    model.fit(X, y, adjacency=A)
    np.testing.assert_array_equal(model.label_distributions_, fitted.label_distributions_)


@pytest.mark.parametrize("features", [True, False])
def test_other_labels_give_what_a_fit_to_them_gives(friendly, features):
    X, A, y, truth = friendly
    X = X if features else None
    more = np.where(np.arange(120) < 40, truth, -1)
    two = np.where(y == 2, -1, y)
    model = gssl.AutoClassifier(depth=4, priors="uniform").fit(X, two, adjacency=A)
    assert model.classes_.tolist() == [0, 1]
    for labels in (more, y):
        fresh = gssl.AutoClassifier(depth=4, priors="uniform").fit(X, labels, adjacency=A)
        model.update_labels(labels)
        # up to rounding, which an iterative logistic head may amplify
        np.testing.assert_allclose(model.label_distributions_, fresh.label_distributions_, atol=1e-5)
        np.testing.assert_allclose(held_out(model), held_out(fresh), atol=5e-3)
        assert model.explain_ == fresh.explain_
        # the same models were tried and chosen, with the same settings and scores
        tables = ([(e.model, e.settings, e.chosen) for e in m.leaderboard_] for m in (model, fresh))
        assert next(tables) == next(tables)
        scores = ([e.score for e in m.leaderboard_] for m in (model, fresh))
        np.testing.assert_allclose(next(scores), next(scores), atol=1e-12)


def test_without_a_graph_updated_labels_still_serve_new_rows(friendly):
    X, _, y, truth = friendly
    more = np.where(np.arange(120) < 40, truth, -1)
    model = gssl.AutoClassifier(depth=4).fit(X, y).update_labels(more)
    fresh = gssl.AutoClassifier(depth=4).fit(X, more)
    np.testing.assert_allclose(model.predict_proba(X[:9]), fresh.predict_proba(X[:9]), atol=1e-5)
    with pytest.raises(AttributeError, match="no graph before fit"):
        gssl.AutoClassifier().update_labels(y)


@pytest.mark.parametrize("features", [np.ones((120, 4)), np.zeros((120, 4))], ids=["constant", "zero"])
def test_features_that_say_nothing_are_no_obstacle(friendly, features):
    _, A, y, truth = friendly
    assert score(gssl.AutoClassifier().fit(features, y, adjacency=A), truth) > 0.8


def test_the_unit_of_features_does_not_matter(friendly, fitted):
    X, A, y, _ = friendly
    for unit in (1e-30, 1e30):
        found = gssl.AutoClassifier(depth=4).fit(unit * X, y, adjacency=A)
        np.testing.assert_allclose(found.label_distributions_, fitted.label_distributions_, atol=1e-4)


def test_held_out_distributions_include_label_spreading(monkeypatch):
    X, A, truth = communities(seed=3)
    y = np.where(np.arange(len(truth)) < 8, truth, -1)
    mixed = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=A)
    assert "label spreading counts for most" in mixed.explain_
    monkeypatch.setattr("gssl.selection.comparison._CLOSED", np.inf)
    alone = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=A)
    assert not np.allclose(held_out(mixed), held_out(alone))
    np.testing.assert_allclose(held_out(mixed).sum(axis=1), 1.0, atol=1e-6)
    P = mixed.predict_proba(X, adjacency=A)
    np.testing.assert_allclose(P, mixed.label_distributions_, atol=1e-12)


def test_class_weights_do_not_move_spread_labels():
    """Links of so many nodes are not used as features."""
    y = np.full(30_001, -1)
    y[:18:2], y[20:26:2] = 0, 1
    plain, weighted = (
        gssl.AutoClassifier(depth=2, priors="labels", class_weight=w).fit(None, y, adjacency=large_ring())
        for w in (None, "balanced")
    )
    assert hasattr(plain, "propagation_")
    assert not plain.self_training_
    np.testing.assert_allclose(plain.label_distributions_, weighted.label_distributions_)


def test_rows_that_are_all_zero_are_no_error():
    n = 2000
    A = csr_array((np.ones(n - 1), (np.arange(n - 1), np.arange(1, n))), shape=(n, n))
    X = np.zeros((n, 4))
    y = np.full(n, -1)
    X[[700, 800, 900]], y[[100, 200, 300, 400, 1100, 1200, 1300, 1400]] = np.eye(4)[:3], [0, 1] * 4
    model = gssl.AutoClassifier(depth=1).fit(X, y, adjacency=A + A.T)
    assert np.isfinite(model.label_distributions_).all()


def test_the_gain_of_the_graph_and_features_alone_add_up_to_the_accuracy(fitted):
    accuracy = float(fitted.explain_.split(" %")[0])
    gain, alone = re.search(
        r"The graph adds ([\d.]+) points \([\d.]+ to [\d.]+\) over features alone \(([\d.]+) %\)",
        fitted.explain_,
    ).groups()
    assert float(gain) + float(alone) == pytest.approx(accuracy, abs=0.11)


def test_parameters_are_checked_before_labels_are_updated(friendly, fitted):
    _, _, y, _ = friendly
    with pytest.raises(ValueError, match="depth"):
        copy.copy(fitted).set_params(depth=0).update_labels(y)


@pytest.mark.parametrize("name", [pytest.param("cora", marks=pytest.mark.slow), "digits", "drawn"])
def test_blas_threads_change_no_class_and_distributions_by_less_than_the_promise(name):
    if name == "drawn":
        data = gssl.datasets.make_block_graph(3000, 15000, 600, 6, features="dense", random_state=0)
        X, y = np.asarray(data.features, np.float32), data.mask_labels("default")
    elif name == "cora":
        data = gssl.datasets.load("cora").normalized()
        X, y = data.features, data.mask_labels("default")
    else:
        data = gssl.datasets.load("digits")
        X, y = data.features, np.where(np.arange(len(data.labels)) % 10 == 0, data.labels, -1)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            found.append(gssl.AutoClassifier().fit(X, y, adjacency=data.adjacency).label_distributions_)
    one, two = found
    np.testing.assert_array_equal(one.argmax(axis=1), two.argmax(axis=1))
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-5)


def test_features_are_predicted_as_they_are_stored_sparse_or_dense():
    X, A, y, _ = block_graph(seed=3, n=300, p_in=0.05, p_out=0.01)
    X = np.where(np.abs(X) > 0.5, 100.0 * X + np.arange(X.shape[1]) * 1e3, 0.0)
    model = gssl.AutoClassifier(depth=2).fit(csr_array(X), y, adjacency=A)
    P = model.label_distributions_
    for given in (X, csr_array(X)):
        np.testing.assert_allclose(model.predict_proba(given, adjacency=A), P, atol=1e-5)


def test_label_spreading_that_is_clearly_worse_does_not_count_for_half():
    rng = np.random.default_rng(1)
    truth = np.arange(600) % 20
    X = np.eye(20)[truth] + 0.2 * rng.normal(size=(600, 20))
    A = np.triu(rng.random((600, 600)) < 0.01, k=1)
    y = np.where(np.arange(600) < 59, truth, -1)
    model = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=csr_array((A | A.T).astype(float)))
    assert "counts for half" not in model.explain_
    assert (model.transduction_ == truth)[59:].mean() > 0.9


def test_what_spreads_labels_is_not_said_to_use_features_alone():
    X, A, _, truth = block_graph(seed=4, n=300, p_in=0.05, p_out=0.01)
    y = np.where(np.arange(300) < 2 * len(np.unique(truth)), truth, -1)
    model = gssl.AutoClassifier(depth=2, time_budget=0.0).fit(X, y, adjacency=A)
    assert not ("features alone predict" in model.explain_ and "counts for half" in model.explain_)


def test_fifty_classes_promise_no_more_than_they_keep():
    # a map of 50 classes has 2,550 numbers, and 750 labels to fit them to
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(50), 40)
    X = 0.5 * rng.normal(size=(50, 30))[truth] + rng.normal(size=(2000, 30))
    target = np.where(rng.random((2000, 3)) < 0.3, truth[:, None] * 40 + rng.integers(0, 40, (2000, 3)), -1)
    target = np.where(target < 0, rng.integers(0, 2000, (2000, 3)), target)
    A = csr_array((np.ones(6000), (np.arange(2000).repeat(3), target.ravel())), shape=(2000, 2000))
    A = csr_array(((A + A.T) > 0).astype(float))
    A.setdiag(0)
    y = np.where(np.arange(2000) % 40 < 15, truth, -1)
    model = gssl.AutoClassifier().fit(X, y, adjacency=A)
    accuracy = (model.transduction_ == truth)[y < 0].mean()
    assert 0.3 < accuracy < 0.9
    assert max(entry.score for entry in model.leaderboard_) < accuracy + 0.05
    assert abs(model.label_distributions_[y < 0].max(axis=1).mean() - accuracy) < 0.06


def test_scores_of_too_many_classes_are_refused_before_they_fill_the_memory():
    n = 200_000
    y = np.arange(n) % 50_000
    A = csr_array((np.ones(n), (np.arange(n), np.roll(np.arange(n), 1))), shape=(n, n))
    message = r"^AutoClassifier compares models by the scores of 200,000 labels in 50,000 classes, which take"
    with pytest.raises(ValueError, match=message):
        gssl.AutoClassifier().fit(np.ones((n, 1)), y, adjacency=csr_array(A + A.T))
