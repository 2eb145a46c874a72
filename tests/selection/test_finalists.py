"""Logistic heads beside ridges: the same head as elsewhere, judged on hidden labels, averaged and saved."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax

import gssl
from gssl.evaluation.holdout import balanced_fold_count, label_folds
from gssl.methods.labels import nearest_distribution, one_hot
from gssl.selection import spectrum_of_rows
from gssl.selection.averaged import polynomial_scores
from gssl.selection.candidates import candidate_filters
from gssl.selection.graph_features import Features
from gssl.selection.labelled_rows import LabelledRows
from gssl.selection.search import fit_logistic, hidden_logits, try_all, try_logistic
from gssl.selection.trial import Labels, near_best


@pytest.fixture(params=[(24, 40), (60, 5)], ids=["wide", "tall"])
def clouds(request):
    """Three clouds of points, and their classes."""
    rng = np.random.default_rng(1)
    m, d = request.param
    codes = np.arange(m) % 3
    U = rng.normal(size=(m, d)) + 0.5 + np.eye(3)[codes] @ rng.normal(size=(3, d))
    return U, codes


def test_it_is_the_logistic_head(clouds):
    U, codes = clouds
    labels = Labels(one_hot(codes, 3, np.float64), np.ones(len(codes)))
    theta, b = fit_logistic(U, labels, 1e-3)
    head = gssl.LogisticHead(penalty=1e-3).fit(U, codes)
    np.testing.assert_allclose(theta, head.coef_, atol=2e-2)
    np.testing.assert_allclose(b - b.mean(), head.intercept_ - head.intercept_.mean(), atol=2e-2)


def test_hidden_labels_are_those_of_a_head_that_has_not_seen_them(clouds):
    U, codes = clouds
    folds = label_folds(codes, 4, random_state=0)
    labels = Labels(one_hot(codes, 3, np.float64), np.ones(len(codes)))
    said = hidden_logits(spectrum_of_rows(U), labels, 1e-2, folds)
    np.testing.assert_allclose(np.exp(said).sum(axis=1), 1.0)
    for fold in folds:
        seen = np.setdiff1d(np.arange(len(U)), fold)
        # a penalty is counted in units of all rows there, and of those that are seen here
        scale = np.square(U).sum(axis=1).mean() / np.square(U[seen]).sum(axis=1).mean()
        head = gssl.LogisticHead(penalty=1e-2 * scale).fit(U[seen], codes[seen])
        np.testing.assert_allclose(np.exp(said[fold]), head.predict_proba(U[fold]), atol=2e-2)


@pytest.mark.parametrize("per_class", [2, 3, 20])
@pytest.mark.parametrize("mean", [0.0, 1.0], ids=["centred", "common mean"])
def test_on_noise_both_heads_are_right_by_chance(per_class, mean):
    """Neither leans away from a class because labels of it were hidden: one label in five is right."""
    found = {"ridge": [], "logistic": []}
    for seed in range(120 // per_class):
        rng = np.random.default_rng(seed)
        Y = np.eye(5).repeat(per_class, axis=0)
        labels = Labels(Y, np.ones(len(Y)))
        X = rng.normal(size=(len(Y), 30)) + mean
        rows = LabelledRows(X, csr_array((len(Y), len(Y))), np.arange(len(Y)), depth=1)
        ridges = try_all(rows, candidate_filters(1)[:1], labels)
        for trial in (*ridges, *try_logistic(rows, ridges, labels)):
            found[trial.head].append(trial.scores[0])
    assert 0.14 < np.mean(found["logistic"]) < 0.26
    assert 0.14 < np.mean(found["ridge"]) < 0.3


def test_seen_labels_count_for_hidden_ones_of_their_class():
    """Without features, what is said is how often each class was seen: all labels, as if none was hidden."""
    Y = np.eye(2)[[0, 0, 0, 0, 1, 1]]
    said = hidden_logits(spectrum_of_rows(np.zeros((6, 1))), Labels(Y, np.ones(6)), 1e-2, [np.array([0, 4])])
    np.testing.assert_allclose(np.exp(said[[0, 4]]), [[4 / 6, 2 / 6]] * 2, atol=1e-3)


def test_folds_that_hide_of_every_class_alike_weigh_nothing():
    """Twenty labels of each class are hidden by fours: all seen ones count the same."""
    codes = np.repeat(np.arange(3), 20)
    folds = label_folds(codes, balanced_fold_count(codes, 5), random_state=0)
    assert len(folds) == 5
    assert all(np.bincount(codes[fold]).tolist() == [4, 4, 4] for fold in folds)


def outliers(m=200):
    """Two classes along one feature, of which one reaches far out: least squares is drawn after it."""
    rng = np.random.default_rng(0)
    codes = np.arange(m) % 2
    x = np.where(codes == 0, rng.normal(-1.0, 0.5, m), rng.normal(1.0, 0.5, m))
    x[codes == 1] *= np.where(rng.random(m // 2) < 0.3, 12.0, 1.0)
    return np.column_stack([x, np.ones(m)]), codes


def test_it_predicts_alone_where_it_is_clearly_better():
    X, codes = outliers()
    rows = LabelledRows(X, csr_array((len(X), len(X))), np.arange(len(X)), depth=1)
    labels = Labels(one_hot(codes, 2, np.float64), np.ones(len(X)))
    ridges = try_all(rows, candidate_filters(1)[:1], labels)
    found = try_logistic(rows, ridges, labels)
    assert [trial.name for trial in found] == ["no graph, logistic"]
    assert found[0].scores.max() > 0.93 > ridges[0].scores.max()
    assert sorted(found[0].penalties) == [1e-4, 1e-3, 1e-2]
    assert {trial.head for trial, _ in near_best([*ridges, *found], labels)} == {"logistic"}


def test_the_only_label_of_a_class_is_never_called_right():
    X = np.eye(3)[[0, 0, 1, 1, 2]]
    labels = Labels(X, np.ones(5))
    folds = label_folds(X.argmax(axis=1), 2, random_state=0)
    said = hidden_logits(spectrum_of_rows(X), labels, 1e-3, folds)
    np.testing.assert_allclose(said[4], log_softmax([0.0, 0.0, -1.0]))


def test_nothing_is_tried_where_classes_have_one_label_or_time_is_up():
    rows = LabelledRows(np.eye(2), csr_array((2, 2)), np.arange(2), depth=1)
    labels = Labels(np.eye(2), np.ones(2))
    assert try_logistic(rows, try_all(rows, candidate_filters(1)[:1], labels), labels) == []
    rows = LabelledRows(np.eye(2)[[0, 1, 0, 1]], csr_array((4, 4)), np.arange(4), depth=1)
    labels = Labels(np.eye(2)[[0, 1, 0, 1]], np.ones(4))
    assert try_logistic(rows, try_all(rows, candidate_filters(1)[:1], labels), labels, deadline=0.0) == []


def crowd(seed=3, n=300):
    """Two noisy classes in which both heads are of use, and a graph that says a little."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.4).astype(int)
    A = np.triu(rng.random((n, n)) < np.where(truth[:, None] == truth, 0.03, 0.015), k=1).astype(float)
    X = rng.normal(size=(n, 6)) + 0.6 * truth[:, None]
    return X, csr_array(A + A.T), np.where(np.arange(n) < 90, truth, -1)


@pytest.mark.parametrize("features", [crowd, lambda: (*_far(),)], ids=["both", "logistic"])
def test_heads_are_averaged_as_distributions_and_saved(tmp_path, features):
    X, A, y = features()
    model = gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)
    scaled = Features.unit(X) if model._unit_rows else X
    chosen = [entry.model for entry in model.leaderboard_ if entry.chosen]
    assert any("logistic" in name for name in chosen)
    shares = model._shares
    Z = polynomial_scores(model.logistic_coef_, scaled, A, 4) + model.logistic_intercept_
    P = shares[1] * softmax(Z, axis=1)
    if shares[0]:
        P += shares[0] * nearest_distribution(polynomial_scores(model.coef_, scaled, A, 4))
    else:
        assert not hasattr(model, "coef_")
    np.testing.assert_allclose(shares.sum(), 1.0)
    np.testing.assert_allclose(model.label_distributions_, P, atol=1e-12)
    gssl.save(model, tmp_path / "m.gssl")
    loaded = gssl.load(tmp_path / "m.gssl")
    np.testing.assert_array_equal(loaded.predict_proba(X, adjacency=A), model.predict_proba(X, adjacency=A))


def _far():
    X, codes = outliers()
    links = np.arange(199)
    A = csr_array((np.ones(199), (links, links + 1)), shape=(200, 200))
    return X, A + A.T, np.where(np.arange(200) < 150, codes, -1)
