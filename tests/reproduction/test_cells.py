"""What cells ask for: their packages, their nodes, and their data only once."""

import sys

import numpy as np
import pytest
from reproduction.measures import MEASURES

from gssl.datasets import make_synthetic_reddit
from reproduction import ARTEFACTS, Artefact, Cell, Entry, missing_jobs, reddit, run, summarize

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


def test_the_nodes_of_the_karate_club_are_part_of_its_key():
    cell = ARTEFACTS["karate"].cells()[0]
    assert cell.settings["nodes"] == [11, 4, 10, 5, 6, 7, 0, 33]
    fewer = Cell(cell.measure, cell.dataset, {**cell.settings, "nodes": [4]}, split=cell.split)
    assert fewer.key(0) != cell.key(0)
    assert set(MEASURES["oversmoothing"](fewer, 0)) == {"node 4", "gap"}


def test_a_large_graph_is_loaded_once_for_all_methods(monkeypatch):
    loaded = []
    data = make_synthetic_reddit(300, n_features=16)

    def load(name):
        loaded.append(name)
        return data

    monkeypatch.setattr(reddit, "load", load)
    reddit._standardised.cache_clear()
    head = {"head": "ridge", "embedder": {"method": "SGC"}}
    cells = [
        Cell("inductive", "synthetic/reddit", {"method": "EmbeddingClassifier", "params": head}),
        Cell("inductive", "synthetic/reddit", {"method": "OGC"}),
    ]
    values = [MEASURES["inductive"](cell, seed)["accuracy"] for cell in cells for seed in range(2)]
    assert loaded == ["synthetic/reddit"]
    assert values[0] == values[1] > 20.0
    X = reddit._standardised("synthetic/reddit", "public", ("train",)).X
    train = X[data.splits["public"]["train"]]
    np.testing.assert_allclose(train.mean(axis=0), 0.0, atol=1e-5)
    np.testing.assert_allclose(train.std(axis=0), 1.0, atol=1e-4)
    MEASURES["inductive"](Cell("inductive", "reddit", {"method": "OGC"}), 0)
    assert loaded == ["synthetic/reddit", "reddit"]
    reddit._standardised.cache_clear()
