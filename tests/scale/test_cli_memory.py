"""``gssl classify --memory``: features stay in a file, with the right rows and the usual scaling."""

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


def _classify(tables, features, out, *options):
    named = {"--edges": "edges.csv", "--labels": "labels.csv", "--features": features}
    if "--graph" in options:
        del named["--edges"]
    sources = [part for option, file in named.items() for part in (option, str(tables / file))]
    done = CliRunner().invoke(app, ["classify", *sources, "--out", str(out), "-q", *options])
    assert done.exit_code == 0, done.output
    lines = [line.split(",") for line in out.read_text().splitlines()[1:]]
    return {line[0]: line[1] for line in lines}, done.output


@pytest.mark.parametrize("features", ["x.npy", "x.csv", "x.parquet", "lists.parquet"])
@pytest.mark.parametrize("scaling", ["auto", "rows", "columns", "none"])
def test_rows_and_scaling_are_those_without_a_budget(tables, tmp_path, features, scaling, monkeypatch):
    import gssl.io.reading as reading
    from gssl.graph.mapped import mapped_file

    options = ["--method", "ggcm", "--normalize", scaling]
    plain, _ = _classify(tables, features, tmp_path / "plain.csv", *options)
    seen, join = [], reading.assemble
    monkeypatch.setattr(reading, "assemble", lambda *a, **k: seen.append(a[1]) or join(*a, **k))
    budgeted, _ = _classify(tables, features, tmp_path / "budgeted.csv", *options, "--memory", "1MB")
    assert budgeted == plain
    (mapped,) = seen
    assert mapped_file(mapped.matrix) is not None
    whole = gssl.io.read_features(str(tables / features))
    assert mapped.names == whole.names
    assert mapped.ids.tolist() == whole.ids.tolist()
    expected = gssl.io.Preparation.fit(whole, scaling).apply(whole).matrix
    np.testing.assert_allclose(mapped.matrix, expected, rtol=1e-5, atol=1e-6)


def test_rows_are_in_the_order_of_a_graph_on_disk(tables, tmp_path):
    gssl.io.build_graph_store(str(tables / "edges.csv"), tmp_path / "store")
    options = ["--method", "ggcm", "--graph", str(tmp_path / "store")]
    plain, _ = _classify(tables, "x.parquet", tmp_path / "plain.csv", *options)
    budgeted, _ = _classify(tables, "x.parquet", tmp_path / "b.csv", *options, "--memory", "1MB")
    assert budgeted == plain


def test_categories_are_read_as_ever(tables, tmp_path):
    (tables / "jobs.csv").write_text(
        "id,job\n" + "".join(f"n{i:03},{'spy' if i % 3 else 'cook'}\n" for i in range(120))
    )
    plain, _ = _classify(tables, "jobs.csv", tmp_path / "plain.csv", "--method", "sgc")
    budgeted, _ = _classify(tables, "jobs.csv", tmp_path / "b.csv", "--method", "sgc", "--memory", "1MB")
    assert budgeted == plain


def test_a_long_table_of_numbered_features_is_read_as_ever(tables, tmp_path):
    X, names = np.load(tables / "x.npy"), np.load(tables / "x.ids.npy")
    lines = (f"{names[i]},{j},{float(X[i, j])!r}\n" for i in range(120) for j in range(24))
    (tables / "long.csv").write_text("id,feature,value\n" + "".join(lines))
    plain, _ = _classify(tables, "long.csv", tmp_path / "plain.csv", "--method", "sgc")
    budgeted, _ = _classify(tables, "long.csv", tmp_path / "b.csv", "--method", "sgc", "--memory", "1MB")
    assert budgeted == plain


def test_a_column_that_is_left_out_is_told_of(tables, tmp_path):
    sources = [f"--{name}={tables / name}.csv" for name in ("edges", "labels")]
    arguments = ["classify", *sources, f"--features={tables / 'x.csv'}", f"--out={tmp_path / 'out.csv'}"]
    done = CliRunner().invoke(app, [*arguments, "--method", "sgc", "--memory", "1MB"])
    assert done.exit_code == 0, done.output
    assert "column 'label' is named like a label and not used as a feature" in " ".join(done.output.split())


_CHILD = """
import re, sys
from pathlib import Path
from click.testing import CliRunner
from gssl.cli.app import app
done = CliRunner().invoke(app, sys.argv[1:])
assert done.exit_code == 0, done.output
print(1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]))
"""


def _peak(*arguments):
    command = [sys.executable, "-c", _CHILD, "classify", *map(str, arguments)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def _write_large(folder: Path, n: int, d: int) -> None:
    """Write n × d features, a ring of links and a few labels, with little memory."""
    step = 1000
    columns = ", ".join(f"(hash(i * {j + 1}) % 1000)::FLOAT AS f{j}" for j in range(d))
    duckdb.sql(
        f"COPY (SELECT 'n' || i AS id, {columns} FROM range({n}) t(i)) TO '{folder / 'f.parquet'}' "
        f"(ROW_GROUP_SIZE {4 * step})"
    )
    duckdb.sql(
        f"COPY (SELECT 'n' || i AS a, 'n' || ((i + 1) % {n}) AS b FROM range({n}) t(i)) "
        f"TO '{folder / 'e.parquet'}'"
    )
    labels = "".join(f"n{k * (n // 30)},c{k % 3}\n" for k in range(30))
    (folder / "l.csv").write_text("id,label\n" + labels)


def _sources(folder: Path) -> list[object]:
    named = {"--edges": "e.parquet", "--features": "f.parquet", "--labels": "l.csv"}
    return [part for option, file in named.items() for part in (option, folder / file)]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted as Linux tells it")
@pytest.mark.parametrize(
    ("n", "d", "budget"),
    [(20_000, 2000, 40), pytest.param(200_000, 1500, 300, marks=pytest.mark.slow)],
    ids=["40MB", "300MB"],
)
def test_features_of_several_budgets_take_no_more_than_one(tmp_path, n, d, budget):
    large, small = tmp_path / "large", tmp_path / "small"
    for folder, rows, columns in ((large, n, d), (small, 300, 4)):
        folder.mkdir()
        _write_large(folder, rows, columns)
    options = ["--method", "ggcm", "-q", "--memory", f"{budget}MB"]
    base = _peak(*_sources(small), "--out", small / "p.csv", *options)
    peak = _peak(*_sources(large), "--out", large / "p.csv", *options)
    # whatever the budget, ids and labels of all nodes are text in memory, DuckDB needs 32 MB, and a pass over
    # a file holds a block of 16 MB
    least = 1000 * n + 48 * 10**6
    assert 4 * n * d >= 4 * budget * 10**6 * 0.95
    assert peak - base <= 1.15 * budget * 10**6 + least
