import csv
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from threadpoolctl import threadpool_limits

from gssl.cli.app import app

GOOD = {"--edges": "e.csv", "--labels": "l.csv", "--features": "f.csv", "--out": "out/p.csv"}
SPECIAL = ["007", "18446744073709551615", "naïve"]


@pytest.fixture
def graph(tmp_path, monkeypatch):
    """Write three rings of ten nodes, one per class, with three labels each and features to a new folder."""
    monkeypatch.chdir(tmp_path)
    ids = [*SPECIAL, *(f"n{i}" for i in range(3, 30))]
    classes = [f"c{i % 3}" for i in range(30)]
    edges = [(ids[i], ids[(i + 3) % 30]) for i in range(30)] + [
        (ids[i], ids[(i + 6) % 30]) for i in range(30)
    ]
    x = np.random.default_rng(0).random((30, 3)) / 4
    x[np.arange(30), np.arange(30) % 3] += 0.5
    write_rows("e.csv", ["source", "target"], edges)
    write_rows("l.csv", ["id", "label"], zip(ids[:9], classes, strict=False))
    write_rows("t.csv", ["id", "label"], zip(ids, classes, strict=True))
    write_rows("f.csv", ["id", "a", "b", "c"], ([i, *row] for i, row in zip(ids, x.tolist(), strict=True)))
    truth = dict(zip(ids, classes, strict=True))
    things = {"folder": tmp_path, "ids": ids, "truth": truth, "edges": edges, "x": x}
    return SimpleNamespace(**things, write=write_rows, read=read_rows, labels=labels_of)


@pytest.fixture
def run(monkeypatch):
    """Return a function that runs the command in this process; ``ok`` asserts success."""

    def run(*arguments, env=None, ok=True):
        arguments = [str(argument) for argument in arguments]
        monkeypatch.setattr("sys.argv", ["gssl", *arguments])
        # node maps are faster on one thread while other tests run; also undoes --threads
        with threadpool_limits(1):
            result = CliRunner(env=env).invoke(app, arguments)
        if ok:
            assert result.exit_code == 0, result.output
        return result

    return run


@pytest.fixture
def classify(run):
    """Return a function that classifies, by default with a fast method, and returns the rows by id."""

    def classify(edges="e.csv", labels="l.csv", features="f.csv", out="p.csv", more=()):
        named = (("--edges", edges), ("--labels", labels), ("--features", features), ("--out", out))
        given = [part for name, value in named if value is not None for part in (name, value)]
        quick = [] if "--method" in more else ["--method", "labelpropagation" if features is None else "sgc"]
        run("classify", *given, *quick, *more)
        return read_rows(out)

    return classify


@pytest.fixture
def refused(graph, run):
    """Return a function that runs a command, asserts that it is refused, and returns its message."""

    def refused(*arguments, env=None):
        before = {path: path.read_bytes() for path in graph.folder.rglob("*") if path.is_file()}
        result = run(*arguments, env=env, ok=False)
        assert result.exit_code == 2, result.output
        assert "Traceback" not in result.output
        assert result.stdout == ""
        *before_it, sentence = result.stderr.splitlines()
        assert all(note.startswith("note: ") for note in without_stages(before_it)), result.stderr
        assert sentence.startswith("gssl: ")
        assert sentence.endswith(".")
        assert before == {path: path.read_bytes() for path in graph.folder.rglob("*") if path.is_file()}
        return sentence

    return refused


@pytest.fixture
def spoiled(refused):
    """Return a function that classifies with some options replaced, or removed if None."""

    def spoiled(changed, *more, env=None):
        options = GOOD | changed
        given = [part for name, value in options.items() if value is not None for part in (name, value)]
        return refused("classify", *given, *more, env=env)

    return spoiled


def without_stages(lines):
    """Remove lines about tables being read and times of stages."""
    return [line for line in lines if not re.match(r"reading \S|\w[\w ]+ +\d+\.\d s\b", line)]


def write_rows(path, head, rows, delimiter=","):
    with Path(path).open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, delimiter=delimiter).writerows([head, *rows])
    return path


def read_rows(path):
    """Read predictions in any format, by id, with flags and numbers as text."""
    if str(path).endswith(".parquet"):
        import pyarrow.parquet

        rows = pyarrow.parquet.read_table(path).to_pylist()
    elif str(path).endswith(".jsonl"):
        rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    else:
        with Path(path).open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream, delimiter="\t" if str(path).endswith(".tsv") else ","))
    return {row["id"]: {key: str(value).lower() for key, value in row.items()} for row in rows}


def labels_of(rows):
    return {node: row["label"] for node, row in rows.items()}
