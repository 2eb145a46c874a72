"""Reading edge tables, and building graphs from them."""

import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from benchmarks.row import Measured, Row, ratio
from gssl.io import build_graph_store, read_edges


def rows(*, quick: bool) -> list[Row]:
    """Return a row for reading beside pandas, and rows for building beside reading by DuckDB."""
    n_read, n_built = (100_000, 100_000) if quick else (1_000_000, 5_000_000)
    return [
        Row(
            "read-edges",
            f"{n_read:,} edges from a CSV of text ids, nodes numbered, to CSR",
            partial(_reading, n_read),
            rival="pandas, ids as text",
            package="pandas",
            at_least=1.5,
            limit="DuckDB hashes the ids of all rows",
        ),
        *(
            Row(
                f"build-{kind}",
                f"`graph build`, {n_built:,} rows of {kind} ids within 2 GB",
                partial(_building, kind, n_built),
                rival="DuckDB, reading the file",
                package="duckdb",
                at_most=goal,
                limit="hashing of ids, and sorting of links in both directions",
            )
            for kind, goal in (("text", 15.0), ("integer", 12.0))
        ),
    ]


def _reading(n_edges: int) -> Measured:
    import pandas

    def numbered(path: Path) -> Any:
        # dtype=str keeps 007 as it is
        frame = pandas.read_csv(path, dtype=str)
        codes, ids = pandas.factorize(pandas.concat([frame["source"], frame["target"]], ignore_index=True))
        return _csr(codes[:n_edges], codes[n_edges:], len(ids)), ids

    def ours(path: Path) -> Any:
        edges = read_edges(path)
        return _csr(edges.source, edges.target, len(edges.ids)), edges.ids

    with TemporaryDirectory(prefix="gssl-bench-") as folder:
        path = _write(Path(folder), "text", n_edges)
        return ratio(partial(ours, path), partial(numbered, path), _same)


def _building(kind: str, n_rows: int) -> Measured:
    import duckdb

    with TemporaryDirectory(prefix="gssl-bench-") as name:
        folder = Path(name)
        path = _write(folder, kind, n_rows)
        query = f"SELECT max(source), max(target) FROM read_csv('{path}', all_varchar=true)"

        def build() -> None:
            build_graph_store(path, folder / str(time.monotonic_ns()), memory_budget="2GB")

        return ratio(build, lambda: duckdb.execute(query).fetchall(), None, 3, cost=True)


def _write(folder: Path, kind: str, n_rows: int) -> Path:
    """Write a table with ten rows for each node."""
    import duckdb

    form = "'user_' || lpad({}::VARCHAR, 9, '0')" if kind == "text" else "{}"
    node = form.format(f"(random() * {n_rows // 10})::BIGINT")
    path = folder / "edges.csv"
    duckdb.execute(f"COPY (SELECT {node} AS source, {node} AS target FROM range({n_rows})) TO '{path}'")
    return path


def _csr(source: np.ndarray, target: np.ndarray, n: int) -> csr_array:
    return coo_array((np.ones(len(source), np.float32), (source, target)), shape=(n, n)).tocsr()


def _same(ours: Any, theirs: Any) -> str:
    same = sorted(ours[1]) == sorted(theirs[1]) and ours[0].nnz == theirs[0].nnz
    if not same or ours[0].sum() != theirs[0].sum():
        raise ValueError("the graphs differ, so nothing was timed")
    return ""
