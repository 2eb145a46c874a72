"""The torch implementation of OGC has gssl's settings and the same results."""

import numpy as np
import pytest

import gssl
from benchmarks.graphs import Task
from benchmarks.rows import ogc


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_the_rival_does_as_many_iterations_and_predicts_the_same(form):
    torch_ogc = pytest.importorskip("benchmarks.rivals.torch_ogc", reason="torch is not installed")
    data = gssl.datasets.load("cora").normalized()
    train = data.splits["default"]["train"]
    task = Task(data, data.mask_labels("default", parts=("train",)), train, np.arange(len(data.labels)))
    short = {"max_iter": 8, "agreement": 1.0}
    ours = ogc.fit(task, **short)
    theirs = torch_ogc.fit(torch_ogc.make_inputs(task), form, **short)
    assert ours.n_iter_ == theirs.n_iter == 8
    assert np.mean(ours.transduction_ == theirs.predicted) > 0.98
