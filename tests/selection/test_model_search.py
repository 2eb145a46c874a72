"""AutoClassifier's model search: hidden labels, the value of the graph, and rival models."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.problems import block_graph

import gssl
from gssl.scale.execution import IN_MEMORY
from gssl.selection.hidden_labels import HiddenLabels
from gssl.selection.model_search import ClassComparison
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


def hide(codes, weights=(1.0, 1.0, 1.0)):
    return HiddenLabels.deal(codes, np.array(weights), np.arange(len(codes), dtype=float))


def test_labels_that_were_never_hidden_do_not_count(problem):
    truth = problem[3]
    y = np.full(120, -1)
    y[1:12:3], y[2:15:3], y[0] = truth[1:12:3], truth[2:15:3], 0
    hidden = hide(y)
    assert hidden.tested.sum() == len(hidden.nodes) - 1
    # all are wrong except the one of class 0, which no fold hides
    assert hidden.accuracy(np.tile([1.0, 0.0, 0.0], (len(hidden.nodes), 1))) == 0.0


def test_a_tie_of_classes_is_a_share_of_a_hit_whatever_their_order(problem):
    hidden = hide(problem[2])
    assert hidden.accuracy(hidden.uniform_scores()) == pytest.approx(1 / 3)
    two = np.tile([0.5, 0.5, 0.0], (len(hidden.nodes), 1))
    assert hidden.hits(two).tolist() == np.where(hidden.truth < 2, 0.5, 0.0).tolist()


def test_accuracy_is_weighted(problem):
    hidden = hide(problem[2], weights=(3.0, 1.0, 1.0))
    scores = np.tile([1.0, 0.0, 0.0], (len(hidden.nodes), 1))
    assert hidden.accuracy(scores) == pytest.approx(3.0 / 5.0)


def test_hidden_labels_are_predicted_by_the_others(problem):
    X, A, y, _ = problem
    hidden = hide(y)
    comparison = ClassComparison(Views(X, A), A, hidden, 4, IN_MEMORY, np.inf, np.arange(120))
    ensemble = comparison.ensemble(comparison.compare()[1])
    before = comparison.hidden_logits(ensemble, comparison.shown_labels(ensemble))
    hidden.labels.Y[0] = hidden.labels.Y[0][[1, 2, 0]]
    after = comparison.hidden_logits(ensemble, comparison.shown_labels(ensemble))
    changed = np.abs(after - before).max(axis=1) > 1e-9
    fold = next(fold for fold in hidden.folds if hidden.nodes[0] in fold)
    same = np.isin(hidden.nodes, fold)
    assert not changed[same].any()
    assert changed[~same].any()


def test_a_graph_that_no_model_uses_neither_adds_nor_costs(problem):
    X, A, y, _ = problem
    model = gssl.AutoClassifier(depth=2, time_budget=0.0).fit(X, y, adjacency=A)
    assert [(entry.model, entry.chosen) for entry in model.leaderboard_] == [("no graph", True)]
    assert "No model that uses the graph is among the best: features alone predict." in model.explain_


def test_the_graph_is_compared_on_the_same_folds(problem):
    X, _, y, _ = problem
    # with an uninformative graph the difference is about zero, whichever model is chosen
    rng = np.random.default_rng(1)
    noise = np.triu(rng.random((120, 120)) < 0.05, k=1)
    model = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=csr_array((noise | noise.T).astype(float)))
    assert "costs" not in model.explain_
    assert "adds" not in model.explain_


def test_with_many_labels_the_graph_is_still_compared():
    X, A, _, truth = block_graph(n=1300, p_in=0.02, p_out=0.002)
    y = np.where(np.arange(1300) < 1200, truth, -1)
    assert "The graph " in gssl.AutoClassifier(depth=2).fit(X, y, adjacency=A).explain_
