"""Benches on the command line: runs, stored results, skipped graphs and output files."""

import json

import pytest
from click.testing import CliRunner

from benchmarks.accuracy import bench
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.worth import CurvePoint
from reproduction.spec import MEASURES


@pytest.fixture
def run():
    """Return a function that runs the command in this process; ``ok`` asserts success."""

    def run(*arguments, ok=True):
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        if ok:
            assert result.exit_code == 0, result.output
        return result

    return run


@pytest.fixture
def counted(monkeypatch):
    """Count the runs of each measure."""
    runs = []

    def watched(name):
        original = MEASURES[name]

        def measured(cell, seed):
            runs.append((name, cell.dataset, cell.settings["method"], seed))
            return original(cell, seed)

        return measured

    for name in ("drawn", "calibration", "coverage"):
        monkeypatch.setitem(MEASURES, name, watched(name))
    return runs


def selection(run, tmp_path, *more):
    return run(
        "selection", "--graphs", "digits,graphs/nowhere", "--records",
        tmp_path / "s.jsonl", "--out", tmp_path / "r", *more,
    )  # fmt: skip


def test_selection_goes_on_where_it_stopped(run, tmp_path, counted):
    methods = "labelspreading,graph-free ridge"
    first = selection(run, tmp_path, "--methods", methods, "--draws", "1")
    assert [(method, seed) for _, _, method, seed in counted] == [
        ("LabelSpreading", 0),
        ("EmbeddingClassifier", 0),
    ]
    assert "skipped: graphs/nowhere.npz is not in" in first.stdout
    assert "not run: auto: its mean over graphs" in first.stdout
    again = selection(run, tmp_path, "--methods", f"auto,{methods}", "--draws", "2")
    assert len(counted) == 2 + 4
    records = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert len(records) == 6
    accuracy = {r["settings"]["method"]: r["values"]["accuracy"] for r in records if r["seed"] == 0}
    assert all(80 < value <= 100 for value in accuracy.values())
    page = (tmp_path / "r" / "selection.md").read_text(encoding="utf-8")
    assert "| graph | labels | auto | LabelSpreading | graph-free ridge |" in page
    assert "| digits | 20 per class | 9" in page
    assert "| mean of 1 |" in page
    assert "holds: auto: on no graph is it more than 1.0 below graph-free ridge" in again.stdout
    # digits is a homophilous graph
    assert "not run: auto: where edge homophily is below 0.5" in again.stdout


def test_selection_draws_a_share_of_the_labels(run, tmp_path):
    selection(run, tmp_path, "--methods", "graph-free ridge", "--draws", "2", "--share", "0.5")
    page = (tmp_path / "r" / "selection.md").read_text(encoding="utf-8")
    assert "| digits | 0.5 of all | 9" in page
    assert "| digits, 0.5 of all | graph-free ridge | 9" in page
    records = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert [record["values"]["labels"] for record in records] == [898, 898]


def test_labels_are_drawn_in_one_way(run):
    both = run("selection", "--graphs", "digits", "--per-class", "5", "--share", "0.5", ok=False)
    assert "--per-class and --share draw labels in different ways" in both.stderr
    other = run("calibration", "--graphs", "digits", "--share", "0.5", ok=False)
    assert "leave --share out" in other.stderr


def test_runs_that_failed_are_counted_and_compared_with_nothing(run, tmp_path, monkeypatch):
    original = MEASURES["drawn"]

    def failing(cell, seed):
        if cell.settings["method"] == "LabelSpreading" and seed == 4:
            raise MemoryError("no room")
        return original(cell, seed)

    monkeypatch.setitem(MEASURES, "drawn", failing)
    selection(run, tmp_path, "--methods", "labelspreading,graph-free ridge", "--draws", "2", "--seed", "3")
    page = (tmp_path / "r" / "selection.md").read_text(encoding="utf-8")
    assert "seeds 3–4. Some runs failed" in page
    (row,) = (line for line in page.splitlines() if line.startswith("| digits |"))
    assert row.count("(1 of 2 draws)") == 1
    assert page.count("(1 of 2 draws)") == 1 + 2
    records = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    spread, ridge = (
        next(r["values"]["accuracy"] for r in records if r["seed"] == 3 and r["settings"]["method"] == method)
        for method in ("LabelSpreading", "EmbeddingClassifier")
    )
    assert f"| mean of 1 |  | {spread:.1f} | {ridge:.1f} |" in page


def test_seeds_of_what_is_random_on_public_splits(run, tmp_path, monkeypatch):
    ran = []

    def scored(jobs, store, talk):
        ran.extend((job.cell.settings["method"], job.seed) for job in jobs)
        for job in jobs:
            store.add(job.cell, job.seed, {"accuracy": 50.0 + job.seed}, 0.0)

    monkeypatch.setattr(bench, "run_missing", scored)
    monkeypatch.setattr(bench, "PUBLIC", ("digits",))
    selection(run, tmp_path, "--methods", "ogc,labelspreading", "--draws", "2", "--seed", "3")
    assert sorted(set(ran)) == [("LabelSpreading", 0), ("OGC", 3), ("OGC", 4)]
    page = (tmp_path / "r" / "selection.md").read_text(encoding="utf-8")
    assert "what is random: seeds 3–4." in page
    assert "| train | OGC | 53.5 ± 0.5 |" in page


@pytest.mark.parametrize("option", [("--methods", "ogc"), ("--records", "r.jsonl")])
def test_suggest_refuses_what_it_has_no_use_for(run, option):
    result = run("suggest", "--graphs", "digits", *option, ok=False)
    assert f"so {option[0]} does not apply" in result.stderr


def test_selection_refuses_unknown_methods(run, tmp_path):
    result = run("selection", "--graphs", "digits", "--methods", "gin", ok=False)
    assert "there is no method 'gin' here" in result.stderr


def test_calibration_of_the_automatic_choice_is_kept(run, tmp_path, counted):
    arguments = [
        "calibration", "--graphs", "digits", "--methods", "auto,LabelSpreading",
        "--draws", "1", "--records", tmp_path / "c.jsonl", "--out", tmp_path / "r",
    ]  # fmt: skip
    run(*arguments)
    page = (tmp_path / "r" / "calibration.md").read_text(encoding="utf-8")
    run(*arguments)
    assert len(counted) == 2
    assert (tmp_path / "r" / "calibration.md").read_text(encoding="utf-8") == page
    assert "| digits | auto | 9" in page
    assert "| digits | LabelSpreading | 9" in page


def test_label_sets_of_two_methods(run, tmp_path, counted):
    run(
        "conformal", "--graphs", "digits", "--methods", "sgc,LabelSpreading",
        "--draws", "1", "--out", tmp_path / "r",
    )  # fmt: skip
    assert len(counted) == 4
    page = (tmp_path / "r" / "conformal.md").read_text(encoding="utf-8")
    for title in ("SGC, sets at 90 %", "LabelSpreading, sets at 90 %"):
        for how in ("drawn at random, seed 0", "drawn class by class, seed 0"):
            assert any(title in line and how in line for line in page.splitlines())
    assert page.count("| digits | one threshold |") == page.count("| digits | threshold per class |") == 4


def test_a_bench_writes_its_table(run, tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.accuracy.bench._BATCHES", (1, 2))
    run("suggest", "--graphs", "karate", "--draws", "2", "--out", tmp_path / "r")
    text = (tmp_path / "r" / "suggest.md").read_text(encoding="utf-8")
    assert "| karate | 4 |" in text
    assert "karate: random picks reach" in text


def test_a_bench_leaves_nodes_to_judge_by(run, tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.accuracy.bench._BATCHES", (2, 50))
    run("suggest", "--graphs", "karate", "--draws", "1", "--out", tmp_path / "r")
    text = (tmp_path / "r" / "suggest.md").read_text(encoding="utf-8")
    assert "nan" not in text


@pytest.mark.filterwarnings("error")
def test_each_way_of_choosing_has_its_own_numbers_of_labels():
    def points(how, curve):
        return [CurvePoint(how, run, n, accuracy) for run in (0, 1) for n, accuracy in curve.items()]

    random = points("random", {10: 0.5, 20: 0.7})
    # suggestions ran out at 17
    verdict = bench._verdict("g", [*random, *points("suggested", {10: 0.5, 15: 0.6, 17: 0.8})])
    assert verdict == "g: random picks reach 70.0% with 20 labels; suggested ones with 16, 80% of them."
    verdict = bench._verdict("g", [*random, *points("suggested", {10: 0.5, 17: 0.6})])
    assert verdict == "g: random picks reach 70.0% with 20 labels; suggested ones do not with 17."
