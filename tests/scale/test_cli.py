"""``gssl classify`` within a budget, on processes of this machine, and after a stop."""

import numpy as np
import pytest
from click.testing import CliRunner

import gssl
from gssl.cli.app import app


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Write a graph, features and labels as files."""
    folder = tmp_path_factory.mktemp("tables")
    data = gssl.datasets.make_block_graph(120, 500, 24, 3, features="dense", random_state=1)
    y = data.mask_labels("default")
    rows, columns = data.adjacency.nonzero()
    edges = "".join(f"{u},{v}\n" for u, v in zip(rows, columns, strict=True) if u < v)
    (folder / "edges.csv").write_text("a,b\n" + edges)
    labels = "".join(f"{node},c{label}\n" for node, label in enumerate(y) if label != -1)
    (folder / "labels.csv").write_text("id,label\n" + labels)
    np.save(folder / "x.npy", np.array(data.features, dtype=np.float32))
    np.save(folder / "x.ids.npy", np.arange(120))
    return folder


def _classify(tables, out, *options):
    named = {"--edges": "edges.csv", "--labels": "labels.csv", "--features": "x.npy"}
    sources = [part for option, file in named.items() for part in (option, str(tables / file))]
    return CliRunner().invoke(app, ["classify", *sources, "--out", str(out), "-q", *options])


@pytest.mark.parametrize("method", ["ogc", "sgc", "labelspreading"])
def test_a_budget_changes_no_prediction(tables, tmp_path, method):
    plain, budgeted = tmp_path / "plain.csv", tmp_path / "budgeted.csv"
    assert _classify(tables, plain, "--method", method).exit_code == 0
    done = _classify(tables, budgeted, "--method", method, "--memory", "1MB")
    assert done.exit_code == 0, done.output
    labels = [[line.split(",")[:2] for line in out.read_text().splitlines()] for out in (plain, budgeted)]
    assert labels[0] == labels[1]


def test_a_run_is_resumed(tables, tmp_path):
    first, again = tmp_path / "first.csv", tmp_path / "again.csv"
    options = ["--method", "ogc", "--memory", "1MB", "--resume", str(tmp_path / "run")]
    assert _classify(tables, first, *options).exit_code == 0
    assert (tmp_path / "run" / "run.json").exists()
    assert _classify(tables, again, *options).exit_code == 0
    assert first.read_bytes() == again.read_bytes()
    other = _classify(tables, again, *options, "--seed", "1")
    assert other.exit_code == 2
    assert "belongs to a run with other features, graph, labels or parameters" in other.output


def test_processes_of_this_machine_change_no_prediction(tables, tmp_path):
    pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")
    plain, spread = tmp_path / "plain.csv", tmp_path / "spread.csv"
    assert _classify(tables, plain, "--method", "ogc").exit_code == 0
    done = _classify(tables, spread, "--method", "ogc", "--workers", "1")
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
def test_what_cannot_be_is_one_sentence(tables, tmp_path, options, told, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = _classify(tables, tmp_path / "p.csv", "--method", "sgc", *options)
    assert done.exit_code == 2
    assert told in done.output
    assert "Traceback" not in done.output
    assert not (tmp_path / "p.csv").exists()
