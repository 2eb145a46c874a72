"""Records are carried over to new code only if a sample of them gives the same numbers."""

import json

import pytest

from gssl.cli.console import Terminal
from reproduction.page import reproduction_page
from reproduction.rekey import draw, old_jobs, rekey
from reproduction.runner import Job
from reproduction.spec import MEASURES, Artefact, Cell, Entry
from reproduction.store import Store
from reproduction.summary import summarize

KINDS = ("first", "second", "third")


@pytest.fixture
def calls(monkeypatch):
    """Measures whose values depend on the seed, and a list of the runs computed."""
    calls = []

    def measured(cell, seed):
        calls.append((cell.measure, seed))
        return {"accuracy": seed + 0.1, "depth": 2.0}

    for name in (*KINDS, "race"):
        monkeypatch.setitem(MEASURES, name, measured)
    return calls


@pytest.fixture
def artefact(calls):
    entries = (Entry(name, "karate", cell=Cell(name, "karate", {})) for name in (*KINDS, "race"))
    return Artefact("tiny", "Table 0", "Tiny", tuple(entries))


@pytest.fixture
def filled(store, artefact, monkeypatch):
    """A store with eight runs of each cell by earlier code; seed 7 took long."""
    with monkeypatch.context() as patch:
        patch.setattr("reproduction.spec.code_hash", lambda roots: "of earlier code")
        for cell in artefact.cells():
            for seed in range(8):
                seconds = 1000.0 if seed == 7 else 1.0
                store.add(cell, seed, {"accuracy": seed + 0.1, "depth": 2.0}, seconds)
    return Store(store.path)


def test_a_sample_that_agrees_carries_all_runs_over_but_times(filled, artefact, calls):
    assert rekey([artefact], filled, Terminal(quiet=True)) == 24
    assert len(calls) == len(set(calls)) == 10
    assert "race" not in {name for name, _ in calls}
    assert 7 not in {seed for _, seed in calls}
    *measured, timed = artefact.cells()
    for store in (filled, Store(filled.path)):
        for cell in measured:
            for seed in range(8):
                assert store.is_current(cell, seed)
                assert store.is_carried_over(cell, seed)
                assert store.values(cell, seed) == {"accuracy": seed + 0.1, "depth": 2.0}
        assert not store.is_current(timed, 0)
        assert not store.is_carried_over(timed, 0)
    assert old_jobs([artefact], filled) == []
    assert rekey([artefact], filled, Terminal(quiet=True)) == 0


def test_a_record_keeps_the_hash_of_the_code_that_computed_it(filled, artefact, monkeypatch):
    rekey([artefact], filled, Terminal(quiet=True))
    monkeypatch.setattr("reproduction.spec.code_hash", lambda roots: "of newer code")
    store = Store(filled.path)
    rekey([artefact], store, Terminal(quiet=True))
    records = [json.loads(line) for line in store.path.read_text().splitlines()]
    assert len(records) == 32
    assert {record.get("run_by") for record in records if record["measure"] in KINDS} == {"of earlier code"}
    assert {record["code"] for record in records if record["measure"] in KINDS} == {"of newer code"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"accuracy": 9.9, "depth": 2.0}, r"10 of 10 repeated runs differ.*accuracy was \d\.1 and is 9\.9"),
        ({"accuracy": 9.9}, "values depth are in one of the runs only"),
    ],
)
def test_a_sample_that_differs_changes_nothing(filled, artefact, monkeypatch, values, message):
    for name in KINDS:
        monkeypatch.setitem(MEASURES, name, lambda cell, seed: values)
    before = filled.path.read_bytes()
    with pytest.raises(ValueError, match=message):
        rekey([artefact], filled, Terminal(quiet=True))
    assert filled.path.read_bytes() == before


def test_too_few_short_runs_are_no_sample(filled, artefact):
    with pytest.raises(ValueError, match=r"only 0 runs took at most 0\.5 s, too few for a sample of 10"):
        rekey([artefact], filled, Terminal(quiet=True), longest=0.5)


def test_every_measure_is_drawn_before_one_is_drawn_twice():
    jobs = [Job(Cell("common", "karate", {}), seed) for seed in range(50)]
    jobs += [Job(Cell("rare", "karate", {}), 0)]
    assert [job.cell.measure for job in draw(jobs, 3)].count("rare") == 1
    assert len(set(draw(jobs, 51))) == 51


def test_damaged_lines_and_other_records_stay_in_the_file(filled, artefact):
    other = b'{"key": "other", "values": {}}\n'
    with filled.path.open("ab") as stream:
        stream.write(b"hello\n" + other)
    with pytest.warns(UserWarning, match="is not a record"):
        rekey([artefact], Store(filled.path), Terminal(quiet=True))
    assert filled.path.read_bytes().endswith(b"hello\n" + other)


def test_the_page_counts_what_was_carried_over(filled, artefact):
    assert "32 of 32 runs are by earlier code" in reproduction_page([summarize(artefact, filled)])
    rekey([artefact], filled, Terminal(quiet=True))
    page = reproduction_page([summarize(artefact, filled)])
    assert "8 of 32 runs are by earlier code" in page
    assert "24 of 32 runs were computed by earlier code and carried over" in page
