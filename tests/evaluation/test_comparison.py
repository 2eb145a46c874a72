import numpy as np
import pytest

import gssl
from gssl.evaluation import Record, compare, summarize


class Recorder(gssl.LabelPropagation):
    """Record the labels passed to fit."""

    def fit(self, X, y, *, adjacency=None):
        self.shown_ = np.array(y)
        return super().fit(X, y, adjacency=adjacency)


def test_a_method_sees_the_labels_of_its_budget_and_no_others():
    data = gssl.datasets.load("karate")
    split = {"train": np.array([0, 33]), "val": np.array([1, 32]), "test": np.array([5, 24])}
    for parts, shown in ((("train",), [0, 33]), (("train", "val"), [0, 1, 32, 33])):
        fitted = {}
        [record] = compare({"r": Recorder()}, data, [split], parts=parts, on_record=fitted.__setitem__)
        assert np.flatnonzero(fitted[record].shown_ != -1).tolist() == shown
        assert record.n_labels == len(shown)
        assert record.budget == {2: "train", 4: "train+validation"}[len(shown)]
        assert record.accuracy == 1.0


def test_an_unknown_budget_is_refused():
    data = gssl.datasets.load("karate")
    with pytest.raises(ValueError, match="label budget"):
        compare({}, data, [data.splits["default"]], parts=("test",))


def test_draws_are_averaged_within_a_method_and_a_budget():
    records = [
        Record("A", 0, "train", 2, 0.5, 10, 1.0),
        Record("B", 0, "train", 2, 1.0, 3, 2.0),
        Record("A", 1, "train", 2, 0.7, 20, 3.0),
        Record("A", 0, "train+validation", 4, 0.9, 20, 3.0),
    ]
    first, second, third = summarize(records)
    assert (first.method, first.budget, first.n_iter, first.seconds) == ("A", "train", 15.0, 2.0)
    assert first.accuracy == pytest.approx(0.6)
    assert first.spread == pytest.approx(0.1)
    assert (second.method, second.accuracy) == ("B", 1.0)
    assert third.budget == "train+validation"
