"""Reading and building graphs from edge tables, and the start-up time of the command line."""

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from benchmarks.entry import Contest, Figure, Race, Reading, Rival
from benchmarks.measure import interleaved, seconds
from gssl.io import read_edges

_KEPT: list[TemporaryDirectory[str]] = []


def entries(*, quick: bool) -> list[Race | Figure]:
    """Return the race against pandas, the memory of reading, builds, and the time of ``gssl --help``."""
    n_edges = 100_000 if quick else 1_000_000
    what = f"reading {n_edges:,} edges from a CSV of text ids by DuckDB, numbering the nodes, to CSR"
    return [
        Race("read-edges", what, lambda: _contest(n_edges)),
        Figure("read-memory", f"{what}: peak memory beyond imports", lambda: _memory(n_edges), unit="MB"),
        *(
            _building(kind, goal, 10**5 if quick else 10**7)
            for kind, goal in (("text", 1.2), ("integer", 2.5))
        ),
        Figure("help", "`gssl --help` beyond Python's own start", _help, unit="s", at_most=0.5),
    ]


def _csv(n_edges: int) -> Path:
    folder = TemporaryDirectory(prefix="gssl-bench-")
    _KEPT.append(folder)  # keeps the folder until the process ends
    path = Path(folder.name) / "edges.csv"
    ends = np.random.default_rng(0).integers(n_edges // 10, size=(n_edges, 2))
    lines = "\n".join(f"node-{u:06d},node-{v:06d}" for u, v in ends)
    path.write_text(f"source,target\n{lines}\n", encoding="ascii")
    return path


def _contest(n_edges: int) -> Contest:
    import pandas

    path = _csv(n_edges)

    def numbered(**options: Any) -> Any:
        frame = pandas.read_csv(path, **options)
        codes, ids = pandas.factorize(pandas.concat([frame["source"], frame["target"]], ignore_index=True))
        return _csr(codes[:n_edges], codes[n_edges:], len(ids)), ids

    def ours() -> Any:
        edges = read_edges(path)
        return _csr(edges.source, edges.target, len(edges.ids)), edges.ids

    rivals = (
        Rival("pandas, ids as text", lambda: numbered(dtype=str), 1.5, _same, "dtype=str keeps 007 as it is"),
        Rival("pandas, types guessed", numbered, None, _same, "would read 007 as 7"),
    )
    return Contest(ours, rivals)


def _csr(source: np.ndarray, target: np.ndarray, n: int) -> csr_array:
    return coo_array((np.ones(len(source), np.float32), (source, target)), shape=(n, n)).tocsr()


def _same(ours: Any, theirs: Any) -> str:
    same = sorted(ours[1]) == sorted(theirs[1]) and ours[0].nnz == theirs[0].nnz
    if not same or ours[0].sum() != theirs[0].sum():
        raise ValueError("the graphs differ, so nothing was timed")
    return ""


def _memory(n_edges: int) -> Reading:
    path = _csv(n_edges)
    code = """
import sys, duckdb, numpy
from gssl.io import read_edges
def peak(): return int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM")).split()[1]) / 1024
before = peak()
edges = read_edges(sys.argv[1])
print(peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True)
    used = float(done.stdout)
    return Reading([used], f"{used:.0f} MB", f"the file: {path.stat().st_size / 1e6:.0f} MB")


def _building(kind: str, goal: float, n_rows: int) -> Figure:
    what = f"`graph build`, {n_rows:,} rows of {kind} ids within 2 GB"
    return Figure(f"build-{kind}", what, lambda: _built(kind, n_rows), unit="M rows/s", at_least=goal)


def _built(kind: str, n_rows: int) -> Reading:
    import duckdb

    from gssl.io import build_graph_store

    form = "'user_' || lpad({}::VARCHAR, 9, '0')" if kind == "text" else "{}"
    node = form.format(f"(random() * {n_rows // 10})::BIGINT")
    with TemporaryDirectory(prefix="gssl-bench-") as folder:
        file = Path(folder) / "edges.csv"
        duckdb.execute(f"COPY (SELECT {node} AS source, {node} AS target FROM range({n_rows})) TO '{file}'")
        read = f"SELECT max(source), max(target) FROM read_csv('{file}', all_varchar=true)"
        calls = {
            "build": lambda: build_graph_store(
                file, Path(folder) / str(time.monotonic_ns()), memory_budget="2GB"
            ),
            "read": lambda: duckdb.execute(read).fetchall(),
        }
        interleaved(calls, 1)
        before = time.process_time()
        times = interleaved({"build": calls["build"]}, 3)
        spent = (time.process_time() - before) / 3
        times |= interleaved({"read": calls["read"]}, 3)
    rates = [n_rows / 1e6 / taken for taken in times["build"]]
    shown = f"{seconds(times['build'])}, {spent:.2f} s of CPU"
    return Reading(rates, shown, f"DuckDB reads the file: {seconds(times['read'])}")


def _help() -> Reading:
    command = Path(sys.executable).with_name("gssl")
    calls = {
        "help": lambda: subprocess.run([command, "--help"], check=True, stdout=subprocess.DEVNULL),
        "python": lambda: subprocess.run([sys.executable, "-c", ""], check=True),
    }
    interleaved(calls, 1)
    times = interleaved(calls, 9)
    beyond = [ours - base for ours, base in zip(times["help"], times["python"], strict=True)]
    return Reading(beyond, seconds(times["help"]), f"python: {seconds(times['python'])}")
