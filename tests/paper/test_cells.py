"""What cells ask for: their packages, and no more than their own failure."""

import sys

import numpy as np
import pytest

from gssl.paper import Artefact, Cell, Entry, missing_jobs, run, summarize
from gssl.paper.measures import MEASURES

WALKS = Cell("embedding", "karate", {"method": "DeepWalk", "depths": [0]})


@pytest.fixture
def no_gensim(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)


@pytest.mark.usefixtures("no_gensim")
def test_a_method_whose_package_is_missing_is_not_run(store):
    entry = Entry("DeepWalk", "karate", published=67.2, cell=WALKS, tolerance=1.0)
    artefact = Artefact("tiny", "", "", (entry,))
    assert not WALKS.available
    assert not Cell("classifier", "karate", {"method": "Node2Vec"}).available
    assert Cell("classifier", "karate", {"method": "OGC"}).available
    assert missing_jobs([artefact], store, seeds=2) == []
    assert summarize(artefact, store).lines[0].verdict == "published only"
    # a result from where the package was is still one
    store.add(WALKS, 0, {"accuracy": 67.0}, seconds=1.0)
    assert summarize(artefact, store).lines[0].verdict == "hit"


def test_failures_are_given_and_the_rest_is_kept(store, tiny, monkeypatch):
    original = MEASURES["classifier"]

    def measured(cell, seed):
        if cell.settings["method"] == "OGC" and seed == 0:
            raise ImportError("no package:\n  install it.")
        return original(cell, seed) | ({"spread": np.inf} if cell.settings["method"] == "OGC" else {})

    monkeypatch.setitem(MEASURES, "classifier", measured)
    jobs, told = missing_jobs([tiny], store, seeds=2), []
    failures = run(jobs, store, lambda job, seconds: told.append(job))
    assert [(failure.job, failure.reason) for failure in failures] == [
        (jobs[0], "no package: install it."),
        (jobs[1], "its spread is inf, not a number."),
    ]
    assert told == jobs
    assert len(store) == 1
    assert store.values(jobs[2].cell, 0)["accuracy"] == pytest.approx(96.875)
    # a failure is no result: it is tried again
    assert [job.seed for job in missing_jobs([tiny], store, seeds=2)] == [0, 1]
