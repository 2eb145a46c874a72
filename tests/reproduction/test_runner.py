"""Only missing runs are computed, and a failure does not affect the others."""

import numpy as np
import pytest

from reproduction import measures  # noqa: F401 - it registers what is patched
from reproduction.runner import missing_jobs, run
from reproduction.spec import MEASURES, Artefact, Cell, Entry
from reproduction.store import Store


def test_failures_are_given_and_the_rest_is_kept(store, tiny, monkeypatch):
    original = MEASURES["classifier"]

    def measured(cell, seed):
        if cell.settings["method"] == "OGC" and seed == 0:
            raise ImportError("no package:\n  install it.")
        return original(cell, seed) | ({"spread": np.inf} if cell.settings["method"] == "OGC" else {})

    monkeypatch.setitem(MEASURES, "classifier", measured)
    jobs, reported = missing_jobs([tiny], store, seeds=2), []
    failures = run(jobs, store, lambda job, seconds: reported.append(job))
    assert [(failure.job, failure.reason) for failure in failures] == [
        (jobs[0], "no package: install it."),
        (jobs[1], "its spread is inf, not a finite number."),
    ]
    assert reported == jobs
    assert len(store) == 1
    assert store.values(jobs[2].cell, 0)["accuracy"] == pytest.approx(96.875)
    # a failure is not stored, so it is tried again
    assert [job.seed for job in missing_jobs([tiny], store, seeds=2)] == [0, 1]


def test_what_another_process_has_run_is_not_run_again(store, tiny, monkeypatch):
    asked = []

    def measured(cell, seed):
        asked.append((cell.settings["method"], seed))
        # meanwhile another process finishes the next seed
        if seed == 0 and cell.settings["method"] == "OGC":
            Store(store.path).add(cell, 1, {"accuracy": 7.0}, 0.1)
        return {"accuracy": 1.0}

    monkeypatch.setitem(MEASURES, "classifier", measured)
    jobs, reported = missing_jobs([tiny], store, seeds=2), []
    run(jobs, store, lambda job, seconds: reported.append(job))
    assert asked == [("OGC", 0), ("LabelPropagation", 0)]
    assert reported == jobs
    assert store.values(jobs[1].cell, 1) == {"accuracy": 7.0}
    assert len(store.path.read_text().splitlines()) == 3


def test_only_missing_cells_are_computed(store, tiny, monkeypatch):
    asked = []
    original = MEASURES["classifier"]

    def spy(cell, seed):
        asked.append((cell.settings["method"], seed))
        return original(cell, seed)

    monkeypatch.setitem(MEASURES, "classifier", spy)
    run(missing_jobs([tiny], store, seeds=2), store)
    # one seed for deterministic cells, none for methods that do not exist
    assert asked == [("OGC", 0), ("OGC", 1), ("LabelPropagation", 0)]
    run(missing_jobs([tiny], Store(store.path), seeds=3), store)
    assert asked[3:] == [("OGC", 2)]


def test_quick_leaves_slow_cells_out(store):
    cells = [Cell("classifier", "karate", {"method": "OGC", "n": n}, slow=n == 1) for n in range(2)]
    artefact = Artefact("x", "", "", tuple(Entry("OGC", str(n), cell=c) for n, c in enumerate(cells)))
    assert len(missing_jobs([artefact], store, seeds=1)) == 2
    assert [job.cell.settings["n"] for job in missing_jobs([artefact], store, seeds=1, quick=True)] == [0]


def test_a_run_beyond_its_time_is_given_up_and_not_tried_again(store, tiny, monkeypatch):
    def forever(cell, seed):
        while cell.settings["method"] == "OGC":
            pass
        return {"accuracy": 1.0}

    monkeypatch.setitem(MEASURES, "classifier", forever)
    jobs = missing_jobs([tiny], store, seeds=1)
    assert run(jobs, store, limit=0.2) == []
    assert store.values(jobs[0].cell, 0) is None
    assert store.reason(jobs[0].cell) == "more than 0.2 s of CPU time"
    assert store.values(jobs[1].cell, 0) == {"accuracy": 1.0}
    again = Store(store.path)
    assert missing_jobs([tiny], again, seeds=3, limit=0.2) == []
    # with more time it is tried again
    assert [job.seed for job in missing_jobs([tiny], again, seeds=1, limit=5.0)] == [0]
    assert [job.seed for job in missing_jobs([tiny], again, seeds=1)] == [0]
    assert not again.is_current(jobs[0].cell, 0)
