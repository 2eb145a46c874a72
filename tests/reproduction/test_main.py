"""``python -m reproduction`` on a small artefact."""

import subprocess

import pytest
from click.testing import CliRunner

from reproduction.__main__ import main
from reproduction.catalogue import ARTEFACTS
from reproduction.check import draw_jobs
from reproduction.provenance import code_commit
from reproduction.spec import MEASURES, Artefact, Cell, Entry
from reproduction.store import Store


@pytest.fixture
def run():
    """Return a function that runs the command in this process; ``ok`` asserts success."""

    def run(*arguments, ok=True):
        if arguments[0] in ("run", "all"):
            arguments = (*arguments, "--records", "r")
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        if ok:
            assert result.exit_code == 0, result.output
        return result

    return run


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    cell = Cell("classifier", "karate", {"method": "LabelPropagation"}, split="default", random=False)
    entry = Entry("LP", "karate", published=50.0, cell=cell, tolerance=50.0)
    monkeypatch.setitem(ARTEFACTS, "tiny", Artefact("tiny", "Table 0", "Tiny", (entry,)))
    return cell


def test_list_names_every_artefact(run):
    lines = run("list").output.splitlines()
    assert [line.split()[0] for line in lines] == list(ARTEFACTS)


def test_run_shows_keeps_and_writes(run, tiny, tmp_path):
    first = run("run", "tiny", "--out", "r")
    assert "96.9 (50.0)" in first.output
    assert "runs to do: 1" in first.output
    assert Store(tmp_path / "r" / "records.jsonl").values(tiny, 0)["accuracy"] == pytest.approx(96.875)
    assert "96.9 (50.0, +46.9)" in (tmp_path / "r" / "tiny.md").read_text(encoding="utf-8")
    again = run("run", "tiny", "--out", "r", "--quick")
    assert "runs to do: 0" in again.output
    assert "96.9 (50.0)" in again.output


def test_a_row_that_cannot_be_run_is_said_why(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    unknown = Cell("classifier", "karate", {"method": "DeepMagic"}, split="default")
    entries = (
        Entry("magic", "karate", cell=unknown),
        Entry("deep", "karate", published=83.9, absent="it takes days"),
    )
    monkeypatch.setitem(ARTEFACTS, "tiny", Artefact("tiny", "Table 0", "Tiny", entries))
    output = run("run", "tiny", "--rows", "magic", "--rows", "deep", "--out", "r").output
    assert "note: magic is not run here: DeepMagic is not installed." in output
    assert "note: deep is not run here: it takes days." in output
    assert "note:" not in run("run", "tiny", "--out", "r").output


def test_a_note_is_printed_one_sentence_per_line(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    note = "The first sentence is here.\nThe second is there.\n\nThis is another paragraph."
    artefact = Artefact("tiny", "Table 0", "Tiny", (Entry("LP", "karate", published=50.0),), note=note)
    monkeypatch.setitem(ARTEFACTS, "tiny", artefact)
    output = run("run", "tiny", "--out", "r").output
    assert f"\n{note}\n" in output
    assert "\\n" not in output
    assert note in (tmp_path / "r" / "tiny.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ARTEFACTS)
def test_notes_have_one_short_sentence_per_line(name):
    for line in ARTEFACTS[name].note.split("\n"):
        assert len(line) <= 110
        assert not line or line.endswith(".")
        assert ". " not in line


def test_without_a_library_for_charts_there_is_a_table(run, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("reproduction.page.find_spec", lambda name: None if name == "altair" else True)
    run("run", "tiny", "--out", "r")
    run("page", "--records", "r", "--out", "docs")
    assert {file.name for file in (tmp_path / "r").iterdir()} == {"records.jsonl", "tiny.md"}
    assert (tmp_path / "docs" / "reproduction.md").exists()


def test_the_page_comes_from_records(run, tiny, tmp_path):
    run("run", "tiny", "--out", "r")
    run("page", "--records", "r", "--out", "docs")
    page = (tmp_path / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert "| Table 0: Tiny | 1 | 1 | 1 | 0 | 0 | 0 | 0 | `python -m reproduction run tiny` |" in page


def test_runs_by_earlier_code_are_kept_until_they_are_renewed(run, tiny, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("reproduction.store.code_commit", lambda: "0123456789")
        run("run", "tiny", "--out", "r")
        assert "runs to do: 0; kept" in run("run", "tiny", "--out", "r", "--renew").output
    assert "runs to do: 0; kept in r/records.jsonl: 1" in run("run", "tiny", "--out", "r").output
    run("page", "--records", "r", "--out", "docs")
    page = (tmp_path / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert "that computed the 1 runs: 0123456789 (1)." in page
    assert "runs to do: 1; kept" in run("run", "tiny", "--out", "r", "--renew").output
    assert Store(tmp_path / "r" / "records.jsonl").commit(tiny, 0) == code_commit()


def test_check_repeats_kept_runs_and_fails_if_one_differs(run, tiny, tmp_path):
    run("run", "tiny", "--out", "r")
    again = run("check", "--records", "r").output
    assert "classifier of LabelPropagation on karate, labels: train, seed 0, by " in again
    assert "1 of 1 runs give the same numbers with the code of " in again
    store = Store(tmp_path / "r" / "records.jsonl")
    store.add(tiny, 0, {**store.values(tiny, 0), "accuracy": 95.0}, 1.0)
    differs = run("check", "--records", "r", ok=False)
    assert differs.exit_code == 1
    assert "accuracy was 95 and is 96.875" in differs.output
    assert "0 of 1 runs give the same numbers" in differs.output
    store.add(tiny, 0, {}, 1.0)
    assert "are in one of the runs only" in run("check", "--records", "r", ok=False).output
    short = run("check", "--records", "r", "--longest", "0.1", ok=False)
    assert "holds no run of at most 0.1 s: allow longer ones." in short.output


def test_a_sample_has_one_run_of_each_measure_first_and_no_times(store, monkeypatch):
    cells = [Cell(name, "karate", {}) for name in ("first", "second", "third", "race")]
    artefact = Artefact("tiny", "", "", tuple(Entry(c.measure, "x", cell=c) for c in cells))
    for cell in cells:
        for seed in range(8):
            store.add(cell, seed, {"accuracy": 1.0}, 100.0 if seed == 7 else 1.0)
    drawn = draw_jobs([artefact], store, 10, longest=30.0)
    assert {job.cell.measure for job in drawn[:3]} == {"first", "second", "third"}
    assert len({(job.cell.measure, job.seed) for job in drawn}) == 10
    assert not any(job.seed == 7 or job.cell.measure == "race" for job in drawn)


def test_the_commit_is_the_last_that_changed_computing_code(monkeypatch, tmp_path):
    asked = []

    def git(arguments, **options):
        asked.append(arguments)
        return subprocess.CompletedProcess(arguments, 0, stdout=answers.pop(0))

    answers = ["0123456789\n", "", "0123456789\n", "diff"]
    monkeypatch.setattr(subprocess, "run", git)
    assert code_commit.__wrapped__() == "0123456789"
    assert code_commit.__wrapped__().startswith("0123456789+")
    assert {"src/gssl/methods", "reproduction/*.py"} < set(asked[0])
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: (_ for _ in ()).throw(FileNotFoundError))
    assert code_commit.__wrapped__() == "unknown"


def test_a_cell_that_fails_stands_in_the_way_of_no_other(run, tiny, tmp_path, monkeypatch):
    """One cell raises, one returns NaN, and the one after them is computed, shown and written."""
    original = MEASURES["classifier"]

    def measured(cell, seed):
        if cell.settings["method"] == "LabelSpreading":
            raise RuntimeError("no luck\ntoday")
        if cell.settings["method"] == "OGC":
            return {"accuracy": float("nan")}
        return original(cell, seed)

    monkeypatch.setitem(MEASURES, "classifier", measured)
    cells = [Cell("classifier", "karate", {"method": name}) for name in ("LabelSpreading", "OGC")]
    entries = (Entry("LS", "karate", cell=cells[0]), Entry("OGC", "karate", cell=cells[1]))
    both = Artefact("tiny", "Table 0", "Tiny", (*entries, *ARTEFACTS["tiny"].entries))
    monkeypatch.setitem(ARTEFACTS, "tiny", both)
    result = run("run", "tiny", "--out", "r", "--seeds", "2", "--quiet", ok=False)
    assert result.exit_code == 1
    where = "on karate, labels: train, seeds 0, 1"
    assert result.output.strip().splitlines() == [
        f"gssl: failed: classifier of LabelSpreading {where}: no luck today",
        f"gssl: failed: classifier of OGC {where}: its accuracy is nan, not a finite number.",
    ]
    assert "96.9 (50.0, +46.9)" in (tmp_path / "r" / "tiny.md").read_text(encoding="utf-8")
    assert len(Store(tmp_path / "r" / "records.jsonl")) == 1


def test_a_damaged_record_is_told_in_a_note(run, tiny, tmp_path):
    run("run", "tiny", "--out", "r")
    with (tmp_path / "r" / "records.jsonl").open("a") as stream:
        stream.write("hello\n")
    again = run("run", "tiny", "--out", "r")
    assert "note: r/records.jsonl, line 2 is not a record of a run and was skipped" in again.output
    assert "runs to do: 0; kept in r/records.jsonl: 1" in again.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "tabel1"), "there is no artefact 'tabel1' (did you mean 'table1'?): choose from table1"),
        (("run",), "Missing argument"),
        (("run", "table1", "--seeds", "0"), "Invalid value for '--seeds'"),
        (("run", "tiny", "--rows", "GCN"), "there is no row 'GCN': choose from "),
        (("page", "--records", "nothing"), "holds no results: run python -m reproduction all"),
    ],
)
def test_mistakes_get_one_sentence(run, tiny, arguments, message):
    result = run(*arguments, ok=False)
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.strip().splitlines()) == 1
