"""A large graph from its table to predictions, by the commands that a user would run.

Links are drawn at random, most of them within a class; features are the means of the classes and noise. All
files are in a temporary folder.
"""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.row import Measured, Row

# of graph build and of classify
_MEMORY = 4
_CLASSES = 10
# percentage of links within a class, and of nodes with a label
_WITHIN, _LABELLED = 70, 1
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Taken:
    """Time, peak memory and output of a command."""

    name: str
    seconds: float
    cpu: float
    peak: float
    output: str

    @property
    def text(self) -> str:
        """The measurements as text."""
        return f"{self.name} {self.seconds:,.0f} s, CPU {self.cpu:,.0f} s, {self.peak / 1e9:.2f} GB"


def rows(*, quick: bool) -> list[Row]:
    """Return the peak memory of the whole run beside its budget."""
    nodes, edges = (10**5, 10**6) if quick else (10**7, 10**8)
    return [
        Row(
            "whole-run",
            f"`gssl graph build` and `classify --method sgc`, {edges:.0e} links, {nodes:.0e} nodes × 64",
            partial(_measure, nodes, edges, 64),
            rival=f"{_MEMORY} GB, the budget of both",
            unit="budget",
            at_most=1.0,
            limit="columns in memory at a time, and the ids",
            long=True,
        )
    ]


def _measure(n: int, m: int, d: int) -> Measured:
    memory = ["--memory", f"{_MEMORY}GB"]
    with TemporaryDirectory(prefix="gssl-whole-") as name:
        folder = Path(name)
        draw_edges(folder / "edges.csv", n, m)
        build = gssl(folder, "graph", "build", "--edges", "edges.csv", "--out", "graph", *memory)
        (folder / "edges.csv").unlink()
        labels = draw_nodes(folder, d)
        size = {"nodes": len(labels), "edges": m, "features": d, "depth": 2, "classes": _CLASSES}
        sizes = [word for name, value in size.items() for word in (f"--{name}", str(value))]
        plan = gssl(folder, "plan", *sizes, "--method", "sgc", *memory)
        files = ["--graph", "graph", "--features", "features.npy", "--labels", "labels.csv"]
        classify = gssl(
            folder, "classify", *files, "--method", "sgc", *memory, "--out", "p.parquet", "--no-calibrate"
        )
        right = accuracy(folder, labels)
    peak = max(build.peak, classify.peak)
    note = f"{build.text}; {classify.text}; accuracy {right:.1f} %; plan: {' '.join(plan.output.split())}"
    return Measured((peak / (_MEMORY * 1e9),), f"{peak / 1e9:.2f} GB", f"{_MEMORY} GB", note)


def gssl(folder: Path, *arguments: str) -> Taken:
    """Run a gssl command and measure it."""
    command = [str(Path(sys.executable).with_name("gssl")), *arguments]
    start = time.perf_counter()
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise RuntimeError(f"gssl {' '.join(arguments)} failed: {output}")
    seconds, cpu = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    return Taken(f"`gssl {' '.join(arguments[:2])}`", seconds, cpu, 1024 * usage.ru_maxrss, output)


def draw_edges(file: Path, n: int, m: int) -> None:
    """Write random links; the class of a node is the last digit of its id."""
    import duckdb

    within = f"u % {_CLASSES} + {_CLASSES} * (random() * {n // _CLASSES - 1})::BIGINT"
    anywhere = f"(random() * {n - 1})::BIGINT"
    drawn = f"SELECT (random() * {n - 1})::BIGINT AS u FROM range({m})"
    target = f"CASE WHEN random() * 100 < {_WITHIN} THEN {within} ELSE {anywhere} END"
    duckdb.execute(f"COPY (SELECT u AS source, {target} AS target FROM ({drawn})) TO '{file}'")


def draw_nodes(folder: Path, d: int) -> np.ndarray:
    """Write features in the order of the store, and some of the labels; return all labels."""
    import duckdb

    ids = duckdb.execute(f"SELECT id::BIGINT AS id FROM '{folder / 'graph' / 'ids.parquet'}'").fetchnumpy()[
        "id"
    ]
    labels, rng = (ids % _CLASSES).astype(np.int64), np.random.default_rng(0)
    means = rng.standard_normal((_CLASSES, d), dtype=np.float32)
    features = np.lib.format.open_memmap(folder / "features.npy", "w+", np.float32, (len(ids), d))
    for start in range(0, len(ids), _BLOCK):
        part = labels[start : start + _BLOCK]
        features[start : start + _BLOCK] = means[part] + 10 * rng.standard_normal((len(part), d), np.float32)
    features.flush()
    np.save(folder / "features.ids.npy", ids)
    chosen = rng.choice(len(ids), len(ids) * _LABELLED // 100, replace=False)
    rows = np.stack([ids[chosen], labels[chosen]], axis=1)
    np.savetxt(folder / "labels.csv", rows, "%d", ",", header="id,label", comments="")
    return labels


def accuracy(folder: Path, labels: np.ndarray) -> float:
    """Return the percentage of correct predictions."""
    import duckdb

    query = f"SELECT avg((id::BIGINT % {_CLASSES} = label::BIGINT)::INT) FROM '{folder / 'p.parquet'}'"
    share = duckdb.execute(query).fetchall()[0][0]
    if duckdb.execute(f"SELECT count(*) FROM '{folder / 'p.parquet'}'").fetchall()[0][0] != len(labels):
        raise ValueError("there is not a prediction for every node.")
    return 100 * float(share)
