"""Trials of candidates, and the selection of near-best ones."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.methods.softmax import fit_softmax_map
from gssl.selection.candidates import candidates
from gssl.selection.comparison import try_all
from gssl.selection.filtered_rows import FilteredRows
from gssl.selection.trial import (
    AVERAGED,
    Labels,
    near_best,
    try_filter,
)
from gssl.selection.views import Views


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    truth = np.arange(150) % 3
    A = np.triu(rng.random((150, 150)) < np.where(truth[:, None] == truth, 0.1, 0.02), k=1).astype(float)
    X = np.eye(3)[truth].repeat(3, axis=1) + rng.normal(size=(150, 9))
    rows = FilteredRows(Views(X, csr_array(A + A.T)), csr_array(A + A.T), X.dtype, np.arange(150), depth=2)
    return rows, Labels(np.eye(3)[truth[:45]], np.ones(45), np.arange(45.0))


def test_a_trial_is_a_ridge_refitted_without_each_label(problem):
    rows, labels = problem
    filter_ = candidates(2)[2]
    trial = try_filter(rows, "unit", filter_, 9, np.arange(45), labels)
    U = rows.rows("unit", filter_, 9)[:45]
    for i in (0, 17, 44):
        shown = np.arange(45) != i
        G = U[shown].T @ U[shown] + trial.penalty * np.eye(9)
        z = U[i] @ np.linalg.solve(G, U[shown].T @ labels.Y[shown])
        # the remaining labels of its class are weighted up for the hidden one
        z[labels.Y[i] == 1] *= 15 / 14
        np.testing.assert_allclose(trial.predicted[i], z, atol=1e-8)
    fitted = fit_softmax_map(trial.predicted, labels.Y, np.ones(45), trial.t, trial.map_penalty)
    assert trial.score == (fitted.logits_without.argmax(axis=1) == np.arange(45) % 3).mean()


def test_a_softmax_map_does_not_see_hidden_labels(problem):
    rows, labels = problem
    trial = try_filter(rows, "unit", candidates(2)[2], 9, np.arange(45), labels)
    hidden, shown = np.arange(10), np.arange(10, 45)
    expected = fit_softmax_map(
        trial.predicted[shown], labels.Y[shown], np.ones(35), trial.t, trial.map_penalty
    )
    refitted = trial.map_without(hidden, labels)
    np.testing.assert_array_equal(refitted.A, expected.map.A)
    assert np.abs(refitted.A - trial.score_map.A).max() > 1e-4


def test_the_map_of_a_sample_is_fitted_without_hidden_labels(problem):
    rows, labels = problem
    trial = try_filter(rows, "unit", candidates(2)[2], 9, np.arange(45), labels)
    sample = np.arange(5, 25)
    part = replace(trial, predicted=trial.predicted[sample], evaluated=sample)
    same = replace(part, predicted=np.vstack([part.predicted[5:], part.predicted[:5]]))
    same = replace(same, evaluated=np.concatenate([sample[5:], np.arange(5)]))
    hidden = np.arange(10)
    np.testing.assert_allclose(part.map_without(hidden, labels).A, same.map_without(hidden, labels).A)
    # nothing is left to fit a map to
    assert part.map_without(sample, labels) is trial.score_map


def test_other_kinds_and_widths_are_tried_with_the_best_filters(problem):
    rows, labels = problem
    tried, gains = try_all(rows, np.arange(45), labels)
    assert not gains
    assert [trial.loss for trial in tried] == sorted(trial.loss for trial in tried)
    assert {trial.kind for trial in tried} >= {"unit", "raw", "standardized"}
    assert {trial.filter.model for trial in tried} >= {"GGC", "GGCM", "SGC", "own and neighbours' features"}
    assert len([trial for trial in tried if trial.kind == "unit"]) == len(candidates(2))
    # none is tried twice, although all widths are the same with nine directions
    assert len({(trial.kind, trial.filter, trial.width) for trial in tried}) == len(tried)


def test_the_near_best_are_few_and_none_is_clearly_worse(problem):
    rows, labels = problem
    trial = try_filter(rows, "unit", candidates(2)[2], 9, np.arange(45), labels)
    worse = replace(trial, loss=trial.loss + 1.0)
    alike = [replace(trial, loss=trial.loss + 0.001 * k) for k in range(AVERAGED + 3)]
    assert near_best([worse, *alike]) == alike[:AVERAGED]
