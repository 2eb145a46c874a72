"""``gssl classify`` within a memory budget, on local processes, and after a resume."""

from pathlib import Path

import pytest


def test_a_run_is_resumed(graph, classify, run):
    options = ["--method", "ogc", "--memory", "1MB", "--resume", "run"]
    assert graph.labels(classify(out="first.csv", more=options)) == graph.truth
    assert Path("run/run.json").exists()
    classify(out="again.csv", more=options)
    assert Path("first.csv").read_bytes() == Path("again.csv").read_bytes()
    tables = ["--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv", "--out", "p.csv"]
    other = run("classify", *tables, *options, "--seed", "1", ok=False)
    assert other.exit_code == 2
    assert "belongs to a run with other features, graph, labels or parameters" in other.output


def test_processes_of_this_machine_change_no_prediction(graph, classify):
    pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")
    assert graph.labels(classify(more=["--method", "ogc", "--workers", "1"])) == graph.truth


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--memory": "lots"}, "not an amount of memory"),
        ({"--memory": "1kB", "--method": "ogc"}, "a memory budget of 1.0 kB is too small"),
        ({"--dask": "tcp://127.0.0.1:8786", "--workers": "2"}, "--dask cannot be combined with --workers"),
        (
            {"--resume": "r", "--method": "correctandsmooth"},
            "--resume does not work with --method correctandsmooth",
        ),
        ({"--memory": "1GB", "--method": "manifoldregularization"}, "--memory does not work with --method"),
        ({"--resume": "e.csv"}, "e.csv is not a folder"),
    ],
)
def test_what_cannot_be_is_one_sentence(spoiled, changed, message):
    assert message in spoiled({"--method": "sgc"} | changed)
    assert not Path("out").exists()


@pytest.mark.parametrize("changed", [{"--workers": "2"}, {"--dask": "tcp://127.0.0.1:1"}])
def test_a_missing_dask_is_told_before_anything_is_read(spoiled, monkeypatch, changed):
    monkeypatch.setattr("gssl.scale.cluster.find_spec", lambda name: None)
    sentence = spoiled(changed | {"--edges": "not-there.csv"})
    assert sentence == "gssl: Dask is missing: pip install 'gssl[distributed]'."
