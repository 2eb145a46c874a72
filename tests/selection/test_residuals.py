"""Residuals are propagated if those of other folds predict those of a fold, and hidden ones stay hidden."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.operators.field import field_mean, field_operator
from gssl.selection.residuals import REACHES, judge_residuals, residual_field, spread_residuals

N = 200


def draw_graph(seed=0):
    """Return the places of nodes in a square, and S of the graph of near ones."""
    place = np.random.default_rng(seed).random((N, 2))
    distance = np.linalg.norm(place[:, None] - place, axis=2)
    return place, field_operator(csr_array(((distance < 0.12) & (distance > 0)).astype(float)))


def draw_folds(m, seed=0, count=10):
    return [np.sort(fold) for fold in np.array_split(np.random.default_rng(seed).permutation(m), count)]


@pytest.fixture
def drawn():
    """Smooth residuals of every second node, with some noise."""
    place, S = draw_graph()
    nodes = np.arange(0, N, 2)
    noise = np.random.default_rng(1).normal(size=N)
    return S, nodes, (np.sin(5 * place[:, 0]) + 0.3 * noise)[nodes], draw_folds(len(nodes))


def test_smooth_residuals_are_propagated(drawn):
    S, nodes, e, folds = drawn
    found = judge_residuals(S, nodes, folds, e, np.ones(len(e)))
    assert found.reach in REACHES
    assert np.square(e - found.corrections).sum() < 0.5 * np.square(e).sum()
    np.testing.assert_array_equal(found.e, e)


def test_noise_is_left_alone():
    """Of 40 draws, most have no reach, and none seems to explain much."""
    _, S = draw_graph()
    nodes, gains, reaches = np.arange(0, N, 2), [], []
    for seed in range(40):
        e = np.random.default_rng(seed).normal(size=len(nodes))
        found = judge_residuals(S, nodes, draw_folds(len(nodes), seed), e, np.ones(len(nodes)))
        gains.append(1 - np.square(e - found.corrections).sum() / np.square(e).sum())
        reaches.append(found.reach)
        if not found.reach:
            assert not found.corrections.any()
            assert not residual_field(S, nodes, found.e, found.reach).any()
    assert np.median(reaches) == 0.0
    assert np.mean(reaches) < 0.2
    assert np.mean(gains) < 0.01


def test_the_reach_is_that_of_least_error_on_hidden_residuals(drawn):
    S, nodes, e, folds = drawn
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(e))
    found = judge_residuals(S, nodes, folds, e, weights)
    errors = {}
    for reach in REACHES:
        known = np.ones(len(e), dtype=bool)
        corrections = np.zeros(len(e))
        for fold in folds:
            shown = known.copy()
            shown[fold] = False
            values, at = np.zeros((N, 1)), np.zeros((N, 1), dtype=bool)
            values[nodes[shown], 0], at[nodes[shown], 0] = e[shown], True
            corrections[fold] = field_mean(S, values, at, reach / (1 - reach))[nodes[fold], 0]
        errors[reach] = weights @ np.square(e - corrections)
        if reach == found.reach:
            np.testing.assert_allclose(found.corrections, corrections, atol=1e-7)
    assert found.reach == min(errors, key=errors.get)


def test_a_correction_does_not_use_residuals_of_its_own_fold(drawn):
    S, nodes, e, folds = drawn
    before = judge_residuals(S, nodes, folds, e, np.ones(len(e)))
    for fold in folds[:3]:
        changed = e.copy()
        changed[fold[0]] += 0.5
        after = judge_residuals(S, nodes, folds, changed, np.ones(len(e)))
        assert after.reach == before.reach
        np.testing.assert_allclose(after.corrections[fold], before.corrections[fold], atol=1e-7)
        others = np.setdiff1d(np.arange(len(e)), fold)
        assert np.abs(after.corrections - before.corrections)[others].max() > 1e-3


def test_the_field_is_that_of_all_residuals(drawn):
    S, nodes, e, _ = drawn
    values, known = np.zeros((N, 1)), np.zeros((N, 1), dtype=bool)
    values[nodes, 0], known[nodes, 0] = e, True
    found = residual_field(S, nodes, e, 0.9)
    np.testing.assert_allclose(found, field_mean(S, values, known, 9.0)[:, 0], atol=1e-12)
    np.testing.assert_array_equal(found[nodes], e)


def test_many_sets_are_solved_like_one(drawn):
    """More sets than are solved together."""
    S, nodes, e, _ = drawn
    sets = draw_folds(len(e), seed=5, count=37)
    found = spread_residuals(S, nodes, sets, e, 0.95)
    assert found.shape == (N, 37)
    for k in (0, 15, 16, 36):
        np.testing.assert_allclose(found[:, [k]], spread_residuals(S, nodes, [sets[k]], e, 0.95), atol=1e-7)


def test_residuals_without_links_are_not_propagated(drawn):
    _, nodes, e, folds = drawn
    assert judge_residuals(csr_array((N, N)), nodes, folds, e, np.ones(len(e))).reach == 0.0
