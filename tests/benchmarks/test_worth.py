"""Evaluation of confidences, label sets and label curves of simple models, with numbers computed by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from benchmarks.accuracy.worth import judge_calibration, judge_coverage, label_curve, labels_needed


class MadeUp(BaseEstimator):
    """Predict class 0 with 60 % before and 90 % after calibration; sets have class 0, with mondrian both."""

    def fit(self, X, y, adjacency=None):
        n = len(y)
        self.seen_ = np.flatnonzero(y >= 0)
        self.classes_ = np.array([0, 1])
        self.transduction_ = np.zeros(n, dtype=int)
        self.label_distributions_ = np.tile([0.9, 0.1], (n, 1))
        self.classifier_ = SimpleNamespace(label_distributions_=np.tile([0.6, 0.4], (n, 1)))
        self.calibration_ = SimpleNamespace(kind="temperature")
        return self

    def predict_sets(self, miscoverage, mondrian):
        return np.tile([True, mondrian], (len(self.transduction_), 1))


@pytest.fixture
def data():
    # of the test nodes 2 … 11, eight are of class 0
    labels = np.array([0, 1, *[0] * 8, 1, 1])
    split = {"train": np.array([0, 1]), "test": np.arange(2, 12)}
    return SimpleNamespace(features=None, adjacency=None, labels=labels), [split]


def test_calibration_by_hand(data):
    (record,) = judge_calibration({"made up": MadeUp()}, *data)
    assert (record.method, record.n_labels, record.calibration) == ("made up", 2, "temperature")
    assert record.accuracy == 0.8
    np.testing.assert_allclose([record.error_before, record.error_after], [0.2, 0.1])
    np.testing.assert_allclose(record.loss_before, -(0.8 * np.log(0.6) + 0.2 * np.log(0.4)))
    np.testing.assert_allclose(record.loss_after, -(0.8 * np.log(0.9) + 0.2 * np.log(0.1)))


def test_coverage_by_hand(data):
    one, each = judge_coverage(MadeUp(), *data)
    assert (one.coverage, one.mean_size, one.singles, one.worst_class) == (0.8, 1.0, 1.0, 0.0)
    assert (each.coverage, each.mean_size, each.singles, each.worst_class) == (1.0, 2.0, 0.0, 1.0)


def test_a_curve_starts_alike_and_labels_what_was_chosen(data):
    asked = []

    def choose(fitted, n):
        asked.append(n)
        return np.setdiff1d(np.arange(12), fitted.seen_)[:n]

    graph = data[0]
    random = list(label_curve(MadeUp(), graph, [3, 5, 9], None, random_state=4))
    chosen = list(label_curve(MadeUp(), graph, [3, 5, 9], choose, random_state=4))
    assert [point.n_labels for point in random] == [3, 5, 9]
    assert [point.how for point in (*random[:1], *chosen[:1])] == ["random", "suggested"]
    assert random[0].accuracy == chosen[0].accuracy
    assert asked == [2, 4]
    # accuracy is over unlabelled nodes: of 9 of class 0 and 3 of class 1
    left = 9 * chosen[0].accuracy
    assert left == pytest.approx(round(left))


def test_labels_needed_lie_on_the_line():
    assert labels_needed({10: 0.5, 20: 0.7, 30: 0.8}, 0.75) == 25.0
    assert labels_needed({10: 0.5}, 0.4) == 10.0
    assert labels_needed({10: 0.5}, 0.6) == float("inf")


def test_only_nodes_whose_truth_is_known_are_labelled(data):
    """The label of node 2 is unknown; if it is chosen, the next choice is used instead."""
    graph = SimpleNamespace(**{**vars(data[0]), "labels": data[0].labels.copy()})
    graph.labels[2] = -1
    seen = []

    class Noting(MadeUp):
        def fit(self, X, y, adjacency=None):
            seen.append(np.flatnonzero(y >= 0))
            return super().fit(X, y, adjacency)

    def choose(fitted, n):
        return np.append(2, np.setdiff1d(np.arange(12), [*fitted.seen_, 2]))[:n]

    for way in (None, choose):
        seen.clear()
        curve = list(label_curve(Noting(), graph, [3, 5, 8], way, random_state=4))
        assert [point.n_labels for point in curve] == [3, 5, 8]
        assert [len(nodes) for nodes in seen] == [3, 5, 8]
        assert not any(2 in nodes for nodes in seen)


def test_budgets_that_make_no_curve(data):
    def refuse(fitted, n):
        raise AssertionError("nothing is left to choose")

    same = [point.n_labels for point in label_curve(MadeUp(), data[0], [4, 4], refuse)]
    assert same == [4, 4]
    for choose in (None, refuse):
        with pytest.raises(ValueError, match="a budget of 3 labels is less than the 4 labels given so far"):
            list(label_curve(MadeUp(), data[0], [4, 3], choose))
        with pytest.raises(ValueError, match="a budget of 1 labels is less than the 2"):
            list(label_curve(MadeUp(), data[0], [1], choose))
        with pytest.raises(ValueError, match="leaves none of the 12 labelled nodes"):
            list(label_curve(MadeUp(), data[0], [12], choose))
