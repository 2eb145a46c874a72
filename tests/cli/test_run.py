"""``gssl classify`` within a budget, on processes of this machine, and after a stop."""

import pytest


@pytest.mark.parametrize("method", ["ogc", "sgc", "labelspreading"])
def test_a_budget_changes_no_prediction(classify, tables, tmp_path, method):
    plain, budgeted = tmp_path / "plain.csv", tmp_path / "budgeted.csv"
    assert classify(tables, plain, "--method", method).exit_code == 0
    done = classify(tables, budgeted, "--method", method, "--memory", "1MB")
    assert done.exit_code == 0, done.output
    labels = [[line.split(",")[:2] for line in out.read_text().splitlines()] for out in (plain, budgeted)]
    assert labels[0] == labels[1]


def test_a_run_is_resumed(classify, tables, tmp_path):
    first, again = tmp_path / "first.csv", tmp_path / "again.csv"
    options = ["--method", "ogc", "--memory", "1MB", "--resume", str(tmp_path / "run")]
    assert classify(tables, first, *options).exit_code == 0
    assert (tmp_path / "run" / "run.json").exists()
    assert classify(tables, again, *options).exit_code == 0
    assert first.read_bytes() == again.read_bytes()
    other = classify(tables, again, *options, "--seed", "1")
    assert other.exit_code == 2
    assert "belongs to a run with other features, graph, labels or parameters" in other.output


def test_processes_of_this_machine_change_no_prediction(classify, tables, tmp_path):
    pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")
    plain, spread = tmp_path / "plain.csv", tmp_path / "spread.csv"
    assert classify(tables, plain, "--method", "ogc").exit_code == 0
    done = classify(tables, spread, "--method", "ogc", "--workers", "1")
    assert done.exit_code == 0, done.output
    labels = [[line.split(",")[:2] for line in out.read_text().splitlines()] for out in (plain, spread)]
    assert labels[0] == labels[1]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--memory", "lots"], "no amount of memory"),
        (["--memory", "1kB"], "too small"),
        (["--dask", "tcp://127.0.0.1:8786", "--workers", "2"], "give either"),
        (["--resume", "r", "--method", "correctandsmooth"], "--resume is not for --method correctandsmooth"),
        (["--memory", "1GB", "--method", "manifoldregularization"], "--memory is not for --method"),
    ],
)
def test_what_cannot_be_is_one_sentence(classify, tables, tmp_path, options, told, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = classify(tables, tmp_path / "p.csv", "--method", "sgc", *options)
    assert done.exit_code == 2
    assert told in done.output
    assert "Traceback" not in done.output
    assert not (tmp_path / "p.csv").exists()


@pytest.mark.parametrize("options", [["--workers", "2"], ["--dask", "tcp://127.0.0.1:1"]])
def test_a_missing_dask_is_told_before_anything_is_read(classify, tmp_path, monkeypatch, options):
    monkeypatch.setattr("gssl.scale.cluster.find_spec", lambda name: None)
    done = classify(tmp_path, tmp_path / "p.csv", *options)  # there are no tables
    assert done.exit_code == 2
    assert "Dask is missing: pip install 'gssl[distributed]'." in done.output


@pytest.mark.parametrize("method", ["auto", "ogc"])
def test_too_small_a_budget_is_named_as_it_was_given(classify, tables, tmp_path, method):
    done = classify(tables, tmp_path / "p.csv", "--method", method, "--memory", "4kB")
    assert done.exit_code == 2
    assert "a memory budget of 4.0 kB is too small" in done.output
