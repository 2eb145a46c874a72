"""``python -m benchmarks.plan_check``: what ``gssl plan`` says beside what runs take, as a table.

Each run is a fit within a memory budget in a process of its own, on a graph store of links drawn at random
and on features in a file of some times the budget. Memory is that of the whole process. Time is that of the
passes, for which a plan measures one slab; the whole fit is shown beside it.
"""

# ruff: noqa: T201 - a command prints
import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.child import in_child, write_features
from gssl.io.edge_tables import EdgeFacts
from gssl.io.graph_store import write_manifest
from gssl.scale.estimate import PROCESS, Estimate, Job, layouts

_DEPTH, _CLASSES = 2, 4
_HEAD = (
    "| nodes | features | budget | method | slabs × columns | memory planned | measured | ratio "
    "| passes planned | measured | ratio | whole fit |"
)


@dataclass(frozen=True)
class Size:
    """A problem with seven edges per node, and the memory budget of its runs."""

    nodes: int
    features: int
    budget: int

    def job(self, method: str) -> Job:
        """Return the job of a method for the estimate."""
        return Job(self.nodes, 7 * self.nodes, self.features, _DEPTH, _CLASSES, method)


METHODS = ("sgc", "ssgc", "ppr", "ggc", "ggcm", "ogc")
_SIZES = (Size(200_000, 128, 60 * 10**6), Size(10**6, 128, 250 * 10**6), Size(3 * 10**6, 96, 500 * 10**6))
RUNS = [(size, method) for size in _SIZES for method in METHODS]
# slabs as large as the process itself, so that an error in the formula shows
QUICK = [(Size(150_000, 256, 150 * 10**6), "ggcm"), (Size(300_000, 128, 250 * 10**6), "ogc")]


def main() -> None:
    """Read the options, run, print; exit with 1 if memory is off by more than 30 %."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plan_check", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one method at each of two small sizes")
    parser.add_argument("--nodes", type=int, help="only the size that has so many")
    parser.add_argument("--method", choices=METHODS, action="append", help="only this one; may be repeated")
    parser.add_argument("--cpu", action="store_true", help="compare CPU time, on a machine that is busy")
    options = parser.parse_args()
    runs = [
        (size, method)
        for size, method in (QUICK if options.quick else RUNS)
        if options.nodes in (None, size.nodes) and method in (options.method or METHODS)
    ]
    with TemporaryDirectory(prefix="gssl-plan-", dir=Path.home()) as temporary:
        folders = {size: Path(temporary) / str(size.nodes) for size, _ in runs}
        for size, folder in folders.items():
            prepare(folder, size)
        print(_HEAD, "|---" * 12 + "|", sep="\n")
        off = [method for size, method in runs if not check(folders[size], size, method, cpu=options.cpu)]
    if off:
        sys.exit(f"the memory of {', '.join(off)} is off by more than 30 %.")


def check(folder: Path, size: Size, method: str, *, cpu: bool = False) -> bool:
    """Compare a run with its plan, print a line, and return whether memory is within 30 %."""
    clock = "cpu" if cpu else "wall"
    run = json.loads(
        in_child("plan", str(folder), method, str(_DEPTH), str(_CLASSES), str(size.budget), clock)
    )
    # the last layout reserves no memory to cache links
    plan = layouts(size.job(method), 1, PROCESS + size.budget)[-1]
    if (plan.width, plan.passes) != (run["width"], run["passes"]):
        sys.exit(f"{method} on {size.nodes:,} nodes: {plan} was planned, but {run} came.")
    print(_line(size, method, plan, run), flush=True)
    return 1 / 1.3 < plan.memory / run["peak"] < 1.3


def _line(size: Size, method: str, plan: Estimate, run: dict[str, Any]) -> str:
    whole = size.nodes * size.features * 4
    cells = (
        f"{size.nodes:,}",
        f"{whole / 1e6:,.0f} MB",
        f"{size.budget / 1e6:,.0f} MB",
        method.upper(),
        f"{plan.n_slabs} × {plan.width}",
        f"{plan.memory / 1e6:,.0f} MB",
        f"{run['peak'] / 1e6:,.0f} MB",
        f"{plan.memory / run['peak']:.2f}",
        f"{run['planned']:.1f} s",
        f"{run['seconds']:.1f} s",
        f"{run['planned'] / run['seconds']:.2f}",
        f"{run['fit']:.1f} s",
    )
    return f"| {' | '.join(cells)} |"


def prepare(folder: Path, size: Size) -> None:
    """Write a graph store and features."""
    folder.mkdir()
    rng, n = np.random.default_rng(0), size.nodes
    ends = rng.integers(n, size=(2, 7 * n + 7 * n // 100))
    ends.sort(axis=0)
    pairs = np.unique((ends[0] * n + ends[1])[ends[0] < ends[1]])
    pairs = rng.permutation(pairs)[: 7 * n]
    links = np.concatenate([pairs, pairs % n * n + pairs // n])
    links.sort()
    np.save(folder / "indptr.npy", np.r_[0, np.cumsum(np.bincount(links // n, minlength=n))])
    np.save(folder / "indices.npy", (links % n).astype(np.int32))
    write_manifest(folder, "drawn at random", EdgeFacts(), [], ())
    write_features(folder / "X.npy", n, size.features)


if __name__ == "__main__":
    main()
