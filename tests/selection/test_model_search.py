"""AutoClassifier's model search: hidden labels, the value of the graph, and rival models."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.scale.execution import IN_MEMORY
from gssl.selection.model_search import ModelSearch
from gssl.selection.self_training import Ensemble
from gssl.selection.views import Views


@pytest.fixture(scope="module")
def problem():
    """Three classes of forty nodes with weakly informative links and features."""
    rng = np.random.default_rng(0)
    truth = np.arange(120) % 3
    A = np.triu(rng.random((120, 120)) < np.where(truth[:, None] == truth, 0.15, 0.02), k=1)
    X = np.eye(3)[truth] + rng.normal(size=(120, 3))
    y = np.where(np.arange(120) < 36, truth, -1)
    return X, csr_array((A | A.T).astype(float)), y, truth


def search_of(problem, y=None, weights=(1.0, 1.0, 1.0)):
    X, A, given, _ = problem
    codes = given if y is None else y
    return ModelSearch(Views(X, A), A, codes, np.array(weights), 4, IN_MEMORY, np.inf)


def test_labels_that_were_never_hidden_do_not_count(problem):
    _, _, _, truth = problem
    y = np.full(120, -1)
    y[1:12:3], y[2:15:3], y[0] = truth[1:12:3], truth[2:15:3], 0
    search = search_of(problem, y)
    assert search.tested.sum() == len(search.labelled) - 1
    # all are wrong except the one of class 0, which no fold hides
    assert search.accuracy(search.nothing_hidden()) == 0.0


def test_accuracy_is_weighted(problem):
    search = search_of(problem, weights=(3.0, 1.0, 1.0))
    said = np.tile([1.0, 0.0, 0.0], (len(search.labelled), 1))
    assert search.accuracy(said) == pytest.approx(3.0 / 5.0)


def test_hidden_labels_are_predicted_by_the_others(problem):
    search = search_of(problem)
    found = search.run()
    ensemble = Ensemble(search.rows, found.chosen)
    before = search.hidden_logits(ensemble, search.folds)
    search.labels.Y[0] = search.labels.Y[0][[1, 2, 0]]
    changed = np.abs(search.hidden_logits(ensemble, search.folds) - before).max(axis=1) > 1e-9
    fold = next(fold for fold in search.folds if search.labelled[0] in fold)
    same = np.isin(search.labelled, fold)
    assert not changed[same].any()
    assert changed[~same].any()


def test_a_graph_that_no_model_uses_neither_adds_nor_costs(problem):
    X, A, y, _ = problem
    model = gssl.AutoClassifier(depth=2, time_budget=0.0).fit(X, y, adjacency=A)
    assert {entry.model for entry in model.leaderboard_ if entry.chosen} == {"no graph"}
    assert "No model that uses the graph is among the best: features alone predict." in model.explain_


def test_the_graph_is_compared_on_the_same_folds(problem):
    X, _, y, _ = problem
    # with an uninformative graph the difference is about zero, whichever model is chosen
    rng = np.random.default_rng(1)
    noise = np.triu(rng.random((120, 120)) < 0.05, k=1)
    model = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=csr_array((noise | noise.T).astype(float)))
    assert "costs" not in model.explain_
    assert "adds" not in model.explain_


def test_with_many_labels_the_graph_is_still_compared(problem, monkeypatch):
    monkeypatch.setattr("gssl.selection.trial.JUDGES", 12)
    X, A, y, _ = problem
    assert "The graph " in gssl.AutoClassifier(depth=2).fit(X, y, adjacency=A).explain_
