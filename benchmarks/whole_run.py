"""``python -m benchmarks.whole_run``: a large graph from its table to predictions, beside what a plan says.

Links are drawn at random, most of them within a class; features are the means of the classes and noise. Every
step is a command of its own, whose time and peak memory are printed. All files are in a temporary folder.
"""

# ruff: noqa: T201 - a command prints
import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np

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

    def line(self) -> str:
        """Format it as a row of a Markdown table."""
        return f"| {self.name} | {self.seconds:,.0f} s | {self.cpu:,.0f} s | {self.peak / 1e9:.2f} GB |"


def main() -> None:
    """Read the options, draw a graph, run the commands and print measurements."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.whole_run", description=__doc__)
    parser.add_argument("--nodes", type=float, default=1e7)
    parser.add_argument("--edges", type=float, default=1e8)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--method", default="sgc")
    parser.add_argument("--memory", default="4GB", help="of graph build and of classify")
    options = parser.parse_args()
    n, m, d = int(options.nodes), int(options.edges), options.features
    with TemporaryDirectory(prefix="gssl-whole-") as name:
        folder = Path(name)
        draw_edges(folder / "edges.csv", n, m)
        print("| step | time | CPU | peak memory |", "|---|---|---|---|", sep="\n", flush=True)
        build = ["graph", "build", "--edges", "edges.csv", "--out", "graph", "--memory", options.memory]
        print(gssl(folder, *build).line(), flush=True)
        (folder / "edges.csv").unlink()
        labels = draw_nodes(folder, d)
        depth = "2" if options.method == "sgc" else "16"
        size = {"nodes": len(labels), "edges": m, "features": d, "depth": depth, "classes": _CLASSES}
        sizes = [word for name, value in size.items() for word in (f"--{name}", str(value))]
        plan = gssl(folder, "plan", *sizes, "--method", options.method, "--memory", options.memory)
        classify = ["classify", "--graph", "graph", "--features", "features.npy", "--labels", "labels.csv"]
        classify += ["--method", options.method, "--memory", options.memory, "--out", "p.parquet"]
        print(gssl(folder, *classify, "--no-calibrate").line())
        print(f"accuracy {accuracy(folder, labels):.1f} %", "", plan.output, sep="\n")


def gssl(folder: Path, *arguments: str) -> Taken:
    """Run a gssl command and measure it."""
    command = [str(Path(sys.executable).with_name("gssl")), *arguments]
    start = time.perf_counter()
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"gssl {' '.join(arguments)} failed: {output}")
    seconds, cpu = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    return Taken(f"`gssl {' '.join(arguments[:2])}`", seconds, cpu, 1024 * usage.ru_maxrss, output)


def draw_edges(file: Path, n: int, m: int) -> None:
    """Write random links; the class of a node is the last digit of its id."""
    within = f"u % {_CLASSES} + {_CLASSES} * (random() * {n // _CLASSES - 1})::BIGINT"
    anywhere = f"(random() * {n - 1})::BIGINT"
    drawn = f"SELECT (random() * {n - 1})::BIGINT AS u FROM range({m})"
    target = f"CASE WHEN random() * 100 < {_WITHIN} THEN {within} ELSE {anywhere} END"
    duckdb.execute(f"COPY (SELECT u AS source, {target} AS target FROM ({drawn})) TO '{file}'")


def draw_nodes(folder: Path, d: int) -> np.ndarray:
    """Write features in the order of the store, and some of the labels; return all labels."""
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
    query = f"SELECT avg((id::BIGINT % {_CLASSES} = label::BIGINT)::INT) FROM '{folder / 'p.parquet'}'"
    share = duckdb.execute(query).fetchall()[0][0]
    if duckdb.execute(f"SELECT count(*) FROM '{folder / 'p.parquet'}'").fetchall()[0][0] != len(labels):
        sys.exit("there is not a prediction for every node.")
    return 100 * float(share)


if __name__ == "__main__":
    main()
