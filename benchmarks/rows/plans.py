"""What ``gssl plan`` says, beside what runs take.

Each run is a fit within a memory budget in a process of its own, on a graph store of links drawn at random
and on features in a file of some times the budget. Memory is that of the whole process. Time is CPU time of
the passes, for which a plan measures one slab; the whole fit is noted beside it.
"""

import json
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.child import in_child, write_features
from benchmarks.row import Measured, Row
from gssl.io.edge_tables import EdgeFacts
from gssl.io.graph_store import write_manifest
from gssl.scale.estimate import PROCESS, Job, layouts

_DEPTH, _CLASSES = 2, 4
_METHODS = ("sgc", "ssgc", "ppr", "ggc", "ggcm", "ogc")


@dataclass(frozen=True)
class Size:
    """A problem with seven edges per node, and the memory budget of its runs."""

    nodes: int
    features: int
    budget: int


_SIZES = (Size(200_000, 128, 60 * 10**6), Size(10**6, 128, 250 * 10**6), Size(3 * 10**6, 96, 500 * 10**6))
# slabs as large as the process itself, so that an error in the formula shows
_QUICK = [(Size(150_000, 256, 150 * 10**6), "ggcm"), (Size(300_000, 128, 250 * 10**6), "ogc")]


def rows(*, quick: bool) -> list[Row]:
    """Return a row for each size and method."""
    runs = _QUICK if quick else [(size, method) for size in _SIZES for method in _METHODS]
    return [
        Row(
            f"plan-{method}-{size.nodes}",
            f"{method.upper()} within {size.budget / 1e6:,.0f} MB, {size.nodes:,} nodes × {size.features}: "
            "memory planned over memory measured, or its inverse",
            partial(compare, size, method),
            rival="gssl plan",
            package="gssl",
            at_most=1.3,
            limit="what Python and its libraries take beside slabs",
            long=True,
        )
        for size, method in runs
    ]


def compare(size: Size, method: str) -> Measured:
    """Compare the memory and time of a run with its plan; raise ValueError if its slabs are others."""
    folder = _prepared(size).name
    run = json.loads(in_child("plan", folder, method, str(_DEPTH), str(_CLASSES), str(size.budget)))
    job = Job(size.nodes, 7 * size.nodes, size.features, _DEPTH, _CLASSES, method)
    # the last layout reserves no memory to cache links
    plan = layouts(job, 1, PROCESS + size.budget)[-1]
    if (plan.width, plan.passes) != (run["width"], run["passes"]):
        raise ValueError(f"{plan} was planned, but {run} came.")
    memory, time = plan.memory / run["peak"], run["planned"] / run["seconds"]
    note = (
        f"{plan.n_slabs} slabs × {plan.width} columns; memory {memory:.2f}; passes planned "
        f"{run['planned']:.1f} s, measured {run['seconds']:.1f} s: {time:.2f}; whole fit {run['fit']:.1f} s"
    )
    measured, planned = f"{run['peak'] / 1e6:,.0f} MB", f"{plan.memory / 1e6:,.0f} MB"
    return Measured((max(memory, 1 / memory),), measured, planned, note)


@cache
def _prepared(size: Size) -> "TemporaryDirectory[str]":
    """Write a graph store and features for all rows; they are removed when the process ends."""
    temporary = TemporaryDirectory(prefix="gssl-plan-", dir=Path.home())
    folder, rng, n = Path(temporary.name), np.random.default_rng(0), size.nodes
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
    return temporary
