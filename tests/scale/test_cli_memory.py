"""``gssl classify`` with --memory, --resume and --workers: features stay in files, labels are the same."""

import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner

import gssl
from gssl.cli.app import app


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Write a graph, and its features in shuffled row order, in every file format."""
    folder = tmp_path_factory.mktemp("tables")
    data = gssl.datasets.make_block_graph(120, 500, 24, 3, features="dense", random_state=1)
    y = data.mask_labels("default")
    names = np.array([f"n{i:03}" for i in range(120)])
    rows, columns = data.adjacency.nonzero()
    edges = "".join(f"{names[u]},{names[v]}\n" for u, v in zip(rows, columns, strict=True) if u < v)
    (folder / "edges.csv").write_text("a,b\n" + edges)
    labels = "".join(f"{names[node]},c{label}\n" for node, label in enumerate(y) if label != -1)
    (folder / "labels.csv").write_text("id,label\n" + labels)
    order = np.random.default_rng(0).permutation(120)
    X = np.abs(np.array(data.features, dtype=np.float32))[order]
    np.save(folder / "x.npy", X)
    np.save(folder / "x.ids.npy", names[order])
    head = "id," + ",".join(f"f{j}" for j in range(24)) + ",label\n"
    lines = "".join(
        f"{names[i]},{','.join(map(repr, row))},-\n" for i, row in zip(order, X.tolist(), strict=True)
    )
    (folder / "x.csv").write_text(head + lines)
    listed = ", ".join(f"f{j}" for j in range(24))
    read = f"FROM read_csv('{folder / 'x.csv'}')"
    duckdb.sql(f"COPY (SELECT * {read}) TO '{folder / 'x.parquet'}'")
    duckdb.sql(f"COPY (SELECT id, [{listed}] AS x {read}) TO '{folder / 'lists.parquet'}'")
    return folder


def _run(tables, features, out, *options):
    named = {"--edges": "edges.csv", "--labels": "labels.csv", "--features": features}
    if "--graph" in options:
        del named["--edges"]
    sources = [part for option, file in named.items() for part in (option, str(tables / file))]
    return CliRunner().invoke(app, ["classify", *sources, "--out", str(out), *options])


def _classify(tables, features, out, *options):
    """Return the label of each node."""
    done = _run(tables, features, out, "-q", *options)
    assert done.exit_code == 0, done.output
    return dict(line.split(",")[:2] for line in out.read_text().splitlines()[1:])


@pytest.mark.parametrize("features", ["x.npy", "x.csv", "x.parquet", "lists.parquet"])
@pytest.mark.parametrize("scaling", ["auto", "rows", "columns", "none"])
def test_rows_and_scaling_are_those_without_a_budget(tables, tmp_path, features, scaling, monkeypatch):
    import gssl.io.reading as reading
    from gssl.graph.mapped import mapped_file

    options = ["--method", "ggcm", "--normalize", scaling]
    plain = _classify(tables, features, tmp_path / "plain.csv", *options)
    seen, join = [], reading.assemble
    monkeypatch.setattr(reading, "assemble", lambda *a, **k: seen.append(a[1]) or join(*a, **k))
    budgeted = _classify(tables, features, tmp_path / "budgeted.csv", *options, "--memory", "1MB")
    assert budgeted == plain
    (mapped,) = seen
    assert mapped_file(mapped.matrix) is not None
    whole = gssl.io.read_features(str(tables / features))
    assert mapped.names == whole.names
    assert mapped.ids.tolist() == whole.ids.tolist()
    expected = gssl.io.Preparation.fit(whole, scaling).apply(whole).matrix
    np.testing.assert_allclose(mapped.matrix, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["a graph on disk", "categories", "a long table of numbered features"])
def test_any_table_is_read_as_without_a_budget(tables, tmp_path, kind):
    features, options = "kind.csv", ["--method", "sgc"]
    if kind == "a graph on disk":
        gssl.io.build_graph_store(str(tables / "edges.csv"), tmp_path / "store")
        features, options = "x.parquet", ["--method", "ggcm", "--graph", str(tmp_path / "store")]
    elif kind == "categories":
        rows = (f"n{i:03},{'spy' if i % 3 else 'cook'}\n" for i in range(120))
        (tables / features).write_text("id,job\n" + "".join(rows))
    else:
        X, names = np.load(tables / "x.npy"), np.load(tables / "x.ids.npy")
        rows = (f"{names[i]},{j},{float(X[i, j])!r}\n" for i in range(120) for j in range(24))
        (tables / features).write_text("id,feature,value\n" + "".join(rows))
    plain = _classify(tables, features, tmp_path / "plain.csv", *options)
    assert _classify(tables, features, tmp_path / "b.csv", *options, "--memory", "1MB") == plain


def test_a_column_that_is_left_out_is_told_of(tables, tmp_path):
    done = _run(tables, "x.csv", tmp_path / "out.csv", "--method", "sgc", "--memory", "1MB")
    assert done.exit_code == 0, done.output
    assert "column 'label' is named like a label and not used as a feature" in " ".join(done.output.split())


@pytest.mark.parametrize("how", ["memory", "resume", pytest.param("workers", marks=pytest.mark.slow)])
def test_options_work_without_a_method(tables, tmp_path, how):
    if how == "workers":
        pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")
    options = {"memory": ["--memory", "1MB"], "workers": ["--workers", "2"]}
    options["resume"] = [*options["memory"], "--resume", str(tmp_path / "run")]
    plain = _classify(tables, "x.npy", tmp_path / "plain.csv")
    assert _classify(tables, "x.npy", tmp_path / "found.csv", *options[how]) == plain
    if how == "resume":
        assert (tmp_path / "run" / "run.json").exists()
        _classify(tables, "x.npy", tmp_path / "again.csv", *options[how])
        assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "found.csv").read_bytes()


@pytest.mark.parametrize(
    ("method", "flag", "value"),
    [
        ("manifoldregularization", "--memory", "1GB"),
        ("correctandsmooth", "--resume", "r"),
        ("correctandsmooth", "--workers", "2"),
        ("manifoldregularization", "--dask", "tcp://127.0.0.1:1"),
    ],
)
def test_options_are_refused_before_anything_is_read(tmp_path, method, flag, value):
    # none of the files exist
    done = _run(tmp_path, "x.npy", tmp_path / "p.csv", "-q", "--method", method, flag, value)
    assert done.exit_code == 2
    told = done.output.strip()
    assert told == f"gssl: {flag} does not work with --method {method}: choose another, such as ogc or ggcm."


_CHILD = """
import re, sys
from pathlib import Path
from click.testing import CliRunner
from gssl.cli.app import app
done = CliRunner().invoke(app, sys.argv[1:])
assert done.exit_code == 0, done.output
print(1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]))
"""


def _peak(folder: Path, n: int, d: int, *options: str) -> int:
    """Return the memory of a run on n × d features, a ring of links and a few labels."""
    folder.mkdir()
    columns = ", ".join(f"(hash(i * {j + 1}) % 1000)::FLOAT AS f{j}" for j in range(d))
    duckdb.sql(
        f"COPY (SELECT 'n' || i AS id, {columns} FROM range({n}) t(i)) TO '{folder / 'f.parquet'}' "
        "(ROW_GROUP_SIZE 4000)"
    )
    duckdb.sql(
        f"COPY (SELECT 'n' || i AS a, 'n' || ((i + 1) % {n}) AS b FROM range({n}) t(i)) "
        f"TO '{folder / 'e.parquet'}'"
    )
    labels = "".join(f"n{k * (n // 30)},c{k % 3}\n" for k in range(30))
    (folder / "l.csv").write_text("id,label\n" + labels)
    named = {"edges": "e.parquet", "features": "f.parquet", "labels": "l.csv", "out": "p.csv"}
    sources = [f"--{option}={folder / file}" for option, file in named.items()]
    command = [sys.executable, "-c", _CHILD, "classify", *sources, *options]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted as Linux tells it")
@pytest.mark.parametrize(
    ("n", "d", "budget"),
    [(20_000, 2000, 40), (200_000, 1500, 300)],
    ids=["40MB", "300MB"],
)
def test_features_of_several_budgets_take_no_more_than_one(tmp_path, n, d, budget):
    options = ["--method", "ggcm", "-q", "--memory", f"{budget}MB"]
    base = _peak(tmp_path / "small", 300, 4, *options)
    peak = _peak(tmp_path / "large", n, d, *options)
    # whatever the budget, ids and labels of all nodes are text in memory, DuckDB needs 32 MB, and a pass over
    # a file holds a block of 16 MB
    least = 1000 * n + 48 * 10**6
    assert 4 * n * d >= 4 * budget * 10**6 * 0.95
    assert peak - base <= 1.15 * budget * 10**6 + least
