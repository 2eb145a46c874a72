from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import gssl
from reproduction.reddit import inductive_accuracy

SPLIT = {"train": [5, 1, 2], "val": [0], "test": [3, 4]}


class Spy(BaseEstimator):
    """Record inputs, and predict the first feature."""

    calls: ClassVar[list] = []

    def fit(self, X, y, *, adjacency):
        self.classes_ = np.unique(y)
        Spy.calls = [(X, y, adjacency.toarray())]
        return self

    def predict(self, X, *, adjacency):
        Spy.calls.append((X, adjacency.toarray()))
        return X[:, 0].astype(int)


@pytest.fixture
def graph():
    X = np.column_stack([[0, 1, 0, 1, 0, 1], np.arange(6)]).astype(float)
    A = np.zeros((6, 6))
    for u, v in [(0, 1), (1, 2), (2, 3), (3, 4), (1, 5)]:
        A[u, v] = A[v, u] = 1
    return X, np.array([0, 1, 0, 1, 1, 1]), A


def test_fit_sees_the_training_subgraph_and_predict_the_whole_graph(graph):
    X, y, A = graph
    # node 3 is right, node 4 is wrong
    assert inductive_accuracy(Spy(), X, y, A, SPLIT) == 0.5
    (X_fit, y_fit, A_fit), (X_all, A_all) = Spy.calls
    seen = [1, 2, 5]
    np.testing.assert_array_equal(X_fit, X[seen])
    np.testing.assert_array_equal(y_fit, y[seen])
    np.testing.assert_array_equal(A_fit, A[np.ix_(seen, seen)])
    order = [1, 2, 5, 0, 3, 4]
    np.testing.assert_array_equal(X_all, X[order])
    np.testing.assert_array_equal(A_all, A[np.ix_(order, order)])


def test_test_nodes_are_never_seen(graph):
    X, y, A = graph
    with pytest.raises(ValueError, match="fit would see a test node"):
        inductive_accuracy(Spy(), X, y, A, SPLIT, seen=("train", "test"))
    inductive_accuracy(Spy(), X, y, A, SPLIT, seen=("train", "val"))
    np.testing.assert_array_equal(Spy.calls[0][0], X[[0, 1, 2, 5]])
    with pytest.raises(ValueError, match="the split has no part 'dev'; it has train, val, test"):
        inductive_accuracy(Spy(), X, y, A, SPLIT, seen="dev")


@pytest.mark.parametrize("model", [gssl.OGC(random_state=0), gssl.LabelPropagation()])
def test_other_kinds_of_models_score_unseen_nodes(model):
    """Label propagation needs the nodes of fit first, whatever their order in the data."""
    data = gssl.datasets.make_block_graph(600, 3000, 32, 3, homophily=0.9, random_state=0)
    order = np.random.default_rng(0).permutation(600)
    split = {"train": order[:300], "test": order[300:]}
    X = data.normalized().features
    assert inductive_accuracy(model, X, data.labels, data.adjacency, split) > 0.8
