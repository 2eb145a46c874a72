"""The ensemble agrees with dense algebra, and self-training uses unlabelled nodes."""

import numpy as np
import pytest
from scipy.special import softmax

import gssl
from gssl.graph import check_adjacency
from gssl.methods.softmax import ScoreMap
from gssl.operators import Mixture, mix
from gssl.selection.candidates import Block, Filter
from gssl.selection.ensemble import Ensemble, FittedEnsemble, Targets
from gssl.selection.filtered_rows import FilteredRows
from gssl.selection.self_training import balanced, pseudo_targets, smoothed, taught_targets
from gssl.selection.trial import Labels, Trial
from gssl.selection.views import Views


def member(kind, filter_, width, penalty):
    rng = np.random.default_rng(width)
    score_map = ScoreMap(rng.normal(size=(2, 2)), rng.normal(size=2))
    none = np.zeros(0)
    return Trial(
        kind, filter_, width, penalty, score_map, none, none, 1.0, 5.0, none, none, *[0.0] * 4, "", 0.0
    )


@pytest.fixture(scope="module")
def ensemble():
    rng = np.random.default_rng(0)
    A = np.triu((rng.random((50, 50)) < 0.1).astype(float), k=1)
    both_ways = A + A.T
    A = check_adjacency({"cites": np.triu(np.roll(A, 7, axis=0), 1), "likes": both_ways}, directed=True)
    X = rng.normal(size=(50, 8))
    rows = FilteredRows(Views(X, A), A, X.dtype, np.arange(50), depth=4)
    smooth = Filter("", "", (Block("smooth", np.array([0.2, 0.0, 0.8])),))
    both = Filter("", "", (Block("smooth", np.ones(1)), Block("hop", np.array([0.0, 1.0]))))
    apart = Filter("", "", (Block.of(gssl.GGC(depth=4)),))
    members = [member("unit", smooth, 5, 0.3), member("raw", both, 8, 0.1), member("unit", both, 8, 1.0)]
    members.append(member("unit", apart, 8, 0.5))
    blocks = [("out:cites", [0.0, 0.5, 1.0]), ("in:cites", [0.0, 1.0]), ("smooth:likes", [0.1, 0.0, 1.0])]
    typed = Filter("", "", tuple(Block(name, np.array(powers)) for name, powers in blocks), centred=True)
    members.append(member("raw", typed, 8, 0.5))
    return Ensemble(rows, members)


@pytest.mark.parametrize("n_labels", [5, 30])
def test_members_are_weighted_ridges(ensemble, n_labels):
    rng = np.random.default_rng(1)
    targets = Targets(np.arange(n_labels), rng.random((n_labels, 2)), rng.uniform(0.5, 2.0, n_labels))
    for (found, fitted_map), each in zip(ensemble.solve(targets), ensemble.members, strict=True):
        assert fitted_map is each.score_map
        U = ensemble.tables.rows(each.kind, each.filter, each.width)[:n_labels]
        D = np.diag(targets.weights)
        expected = np.linalg.solve(U.T @ D @ U + each.penalty * np.eye(U.shape[1]), U.T @ D @ targets.Y)
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_one_polynomial_says_what_the_members_say_on_average(ensemble):
    rng = np.random.default_rng(1)
    sets = [Targets(np.arange(k), rng.random((k, 2)), np.ones(k)) for k in (10, 20)]
    solved = [ensemble.solve(targets) for targets in sets]
    L = ensemble.logits(solved)
    for k, each in enumerate(solved):
        np.testing.assert_allclose(L[:, k], ensemble.logits_at(each, np.arange(50)), atol=1e-4)


def test_smoothing_keeps_labels(ensemble):
    P = softmax(np.random.default_rng(0).normal(size=(50, 1, 2)), axis=2)
    targets = Targets(np.array([3]), np.array([[0.0, 1.0]]), np.ones(1))
    S, A_hat = (
        P[:, 0].copy(),
        mix(ensemble.tables.operators["smooth"].filters, np.eye(50), Mixture(smooth=1.0)),
    )
    for _ in range(10):
        S[3] = [0.0, 1.0]
        S = 0.5 * A_hat @ S + 0.5 * P[:, 0]
    np.testing.assert_allclose(
        smoothed(ensemble, P, [targets], 0.5)[:, 0], S / S.sum(axis=1, keepdims=True), atol=1e-12
    )


def test_nodes_teach_as_much_as_they_are_sure():
    targets = Targets(np.arange(4), np.eye(2)[[0, 1, 0, 1]], np.ones(4))
    T = np.array([[1.0, 0.0], [0.75, 0.25], [0.5, 0.5]])
    found = pseudo_targets(T, np.array([7, 8, 9]), targets)
    np.testing.assert_allclose(found.weights / found.weights.sum(), [0.8, 0.2, 0.0])
    assert found.weights.sum() == pytest.approx(2.0 * 4 / (1 + 4 / 500))
    np.testing.assert_array_equal(found.Y, T)


def test_sets_of_labels_do_not_influence_each_other(ensemble):
    rng = np.random.default_rng(2)
    sets = [Targets(np.arange(k), np.eye(2)[rng.integers(2, size=k)], np.ones(k)) for k in (10, 20)]
    together = taught_targets(ensemble, sets, np.arange(50))
    for targets, taught in zip(sets, together, strict=True):
        (alone,) = taught_targets(ensemble, [targets], np.arange(50))
        np.testing.assert_array_equal(taught.positions, alone.positions)
        np.testing.assert_allclose(taught.Y, alone.Y, atol=1e-4)
        np.testing.assert_allclose(taught.weights, alone.weights, rtol=1e-3)


def test_shares_of_targets_and_of_features_both_add_up_to_logits(ensemble):
    rng = np.random.default_rng(3)
    Y = np.eye(2)[rng.integers(2, size=20)]
    targets = Targets(np.arange(20), Y, rng.uniform(0.5, 2.0, 20))
    average = FittedEnsemble(ensemble, targets, Labels(Y, targets.weights, np.arange(20.0)), 2.0)
    nodes = np.array([3, 30, 44])
    rows, by_kind = average.node_rows(nodes, average.coefficients())
    logits = 2.0 * ensemble.logits([average.fit])[nodes, 0]
    # that of centred members is part of the shares
    intercept = average.map_intercept
    np.testing.assert_allclose(intercept + average.shares(rows).sum(axis=1), logits, atol=1e-9)
    features = sum(part.sum(axis=1) for part in by_kind.values())
    np.testing.assert_allclose(intercept + features, logits, atol=1e-9)


def test_classes_are_balanced_towards_the_shares_of_labels():
    S = softmax(np.random.default_rng(0).normal(size=(30, 1, 3)), axis=2)
    targets = Targets(np.arange(4), np.eye(3)[[0, 0, 1, 2]], np.ones(4))
    shares = np.array([3, 2, 2]) / 7
    expected = S[:, 0] * (shares / S[:, 0].mean(axis=0)) ** 0.3
    np.testing.assert_allclose(
        balanced(S, [targets], 0.3)[:, 0], expected / expected.sum(axis=1, keepdims=True), atol=1e-12
    )
    assert balanced(S, [targets], 0.0) is S
