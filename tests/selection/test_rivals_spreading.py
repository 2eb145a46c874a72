import numpy as np
import pytest

import gssl
from gssl.evaluation import held_out_accuracy
from gssl.selection import rivals
from gssl.selection.graph_features import GraphOperator, operators
from gssl.selection.rivals import spread_hidden


def test_hidden_labels_are_those_of_refits():
    data = gssl.datasets.load("karate")
    y = data.labels.copy()
    y[20:] = -1
    A = data.adjacency.astype(float)
    nodes, P = spread_hidden(operators(A, np.float64)["hop"], y, alpha=0.5, steps=200)
    expected = held_out_accuracy(gssl.LabelSpreading(spread=0.5, tol=1e-12), None, y, A)
    np.testing.assert_array_equal(nodes, expected.nodes)
    np.testing.assert_allclose(P, expected.distributions, atol=1e-8)


@pytest.mark.parametrize("alpha", [0.5, 0.9, 0.99])
def test_what_is_judged_is_what_predicts(alpha):
    """On a ring labels have a long way to go, and go it slowly."""
    n = 60
    A = np.roll(np.eye(n), 1, axis=1)
    A += A.T
    y = np.full(n, -1)
    y[[0, 4, 10, 21]] = 0
    y[[30, 37, 47]] = 1
    hop = operators(gssl.graph.check_adjacency(A), np.float64)["hop"]
    nodes, P = spread_hidden(hop, y, alpha)
    expected = held_out_accuracy(gssl.LabelSpreading(spread=alpha), None, y, A)
    np.testing.assert_array_equal(nodes, expected.nodes)
    # the 1 % that is missing is a larger part of what a node has that is far from every label
    np.testing.assert_allclose(P, expected.distributions, atol=0.05)


def test_folds_lie_side_by_side_while_they_are_few_columns(monkeypatch):
    data = gssl.datasets.load("karate")
    hop = operators(data.adjacency.astype(float), np.float64)["hop"]
    widths, apply = set(), GraphOperator.__call__
    monkeypatch.setattr(GraphOperator, "__call__", lambda hop, F: widths.add(F.shape[1]) or apply(hop, F))
    spread_hidden(hop, data.labels)
    assert widths == {5 * data.n_classes}
    # seventeen classes: a fold at a time, for two would be more than a few columns
    codes = np.arange(34) % 17
    widths.clear()
    spread_hidden(hop, codes, n_folds=2)
    assert widths == {17}


def test_folds_side_by_side_say_what_they_say_one_by_one(monkeypatch):
    data = gssl.datasets.load("karate")
    hop = operators(data.adjacency.astype(float), np.float64)["hop"]
    nodes, together = spread_hidden(hop, data.labels)
    monkeypatch.setattr(rivals, "_COLUMNS", 1)
    np.testing.assert_array_equal(spread_hidden(hop, data.labels)[0], nodes)
    np.testing.assert_allclose(spread_hidden(hop, data.labels)[1], together, atol=1e-14)
