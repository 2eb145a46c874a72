"""Fits by slabs: their memory against the budget, and their time against fits in memory or on threads."""

import subprocess
import sys
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

import gssl
from benchmarks.entry import Figure, Reading
from benchmarks.measure import seconds
from gssl.datasets import make_block_graph
from gssl.operators import set_threads

# (nodes, edges, features, budget in bytes, a quarter of the features); _SMALL is for quick runs
_LARGE = (1_000_000, 7_000_000, 500, 5 * 10**8)
_SMALL = (200_000, 1_400_000, 400, 80 * 10**6)


def entries(*, quick: bool) -> list[Figure]:
    """Return memory and time of each method; goals apply to the full size."""
    shape = _SMALL if quick else _LARGE
    size = f"{shape[0]:,} nodes × {shape[2]}, {shape[1]:,} edges"
    memory = [
        Figure(
            f"budget-{method.lower()}",
            f"peak memory of {method}, 2 iterations, features in a file of 4 × the budget, {size}",
            partial(_peak, method, shape),
            unit="budget",
            at_most=None if quick else 1.15,
        )
        for method in ("SGC", "GGCM", "OGC", "EmbeddingClassifier", "LabelSpreading")
    ]
    slower = [
        Figure(
            f"slabs-{method.lower()}",
            f"{method} within a third of its memory, against in memory",
            partial(_against_memory, method, quick),
            unit="×",
            at_most=None if quick else 1.5,
        )
        for method in ("GGCM", "OGC")
    ]
    spread = [
        Figure(
            f"dask-{method.lower()}",
            f"{method} on 2 Dask workers of one thread, against 2 threads",
            partial(_against_threads, method, quick),
            unit="×",
            at_most=None if quick else 1.4,
            limit="columns go to other processes, and results come back",
        )
        for method in ("GGCM", "OGC")
    ]
    return [*memory, *slower, *spread]


def _peak(method: str, shape: tuple[int, int, int, int]) -> Reading:
    budget = shape[3]
    peak, base, duration = fit_apart(_written(*shape[:3]).name, method, str(budget), "1.15")
    note = (
        f"on top of {base / 1e9:.2f} GB of the process; no more is to be had; the fit takes {duration:.0f} s"
    )
    taken = peak - base
    return Reading([taken / budget], f"{taken / 1e9:.2f} GB", f"budget: {budget / 1e9:.2f} GB", note)


@cache
def _written(n_nodes: int, n_edges: int, n_features: int) -> "TemporaryDirectory[str]":
    """Write a problem for all methods; it is removed when the process ends."""
    folder = TemporaryDirectory(prefix="gssl-bench-", dir=Path.home())
    write_problem(Path(folder.name), n_nodes, n_edges, n_features)
    return folder


def write_problem(folder: Path, n_nodes: int, n_edges: int, n_features: int) -> None:
    """Write a graph, features and labels as arrays for memory mapping, with little memory and time.

    Nodes are on a ring, and all have neighbours at the same random distances.
    """
    rng = np.random.default_rng(0)
    distances = rng.choice(np.arange(1, n_nodes // 2), n_edges // n_nodes, replace=False)
    around = np.concatenate([distances, -distances])
    degree = len(around)
    arrays = {
        "indptr": np.arange(0, n_nodes * degree + 1, degree, dtype=np.int32),
        "data": np.ones(n_nodes * degree, dtype=np.float32),
        "y": np.where(np.arange(n_nodes) % 10_000 == 0, np.arange(n_nodes) // 10_000 % 4, -1),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    del arrays
    neighbours = (np.arange(n_nodes, dtype=np.int64)[:, None] + around) % n_nodes
    np.save(folder / "indices.npy", np.sort(neighbours.astype(np.int32), axis=1).ravel())
    block = rng.random((10_000, n_features), dtype=np.float32)
    with (folder / "X.npy").open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_nodes, n_features)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n_nodes, len(block)):
            np.roll(block, start // len(block), axis=1)[: n_nodes - start].tofile(file)


def fit_apart(folder: str, method: str, budget: str, limit: str = "none") -> tuple[int, int, float]:
    """Fit in a separate process: see :mod:`benchmarks.scale_child`."""
    command = [sys.executable, "-m", "benchmarks.scale_child", folder, method, budget, limit]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=root)
    if done.returncode:
        raise RuntimeError(f"{method} has failed: {done.stderr.strip().splitlines()[-1:]}")
    peak, base, duration = done.stdout.split()
    return int(peak), int(base), float(duration)


@cache
def _problem(quick: bool) -> tuple[Any, np.ndarray, np.ndarray]:
    n_nodes, n_edges, d = (20_000, 200_000, 128) if quick else (100_000, 2_000_000, 512)
    data = make_block_graph(n_nodes, n_edges, 2, 8, features="dense", random_state=0)
    X = np.random.default_rng(0).random((n_nodes, d), dtype=np.float32)
    return data.adjacency.astype(np.float32), X, data.mask_labels("default")


def _models() -> dict[str, Any]:
    # the same number of iterations in every run
    return {"GGCM": gssl.GGCM(depth=8), "OGC": gssl.OGC(max_iter=8, patience=99, random_state=0)}


def _against_memory(method: str, quick: bool, repeats: int = 3) -> Reading:
    A, X, y = _problem(quick)
    model = _models()[method]
    # a third of a plain fit, whose buffers are two or three times the features, plus the graph
    budget = int(2 * X.nbytes / 3) + A.nnz * 8 + len(X) * 8 * 40
    with direct_ogc():
        times: dict[str, list[float]] = {"memory": [], "slabs": []}
        for repeat in range(repeats + 1):
            for name, settings in (("memory", {}), ("slabs", {"memory": budget})):
                start = perf_counter()
                with gssl.execution(**settings):
                    model.fit(X, y, adjacency=A)
                if repeat:  # the first round is a warm-up
                    times[name].append(perf_counter() - start)
    return _ratio(times["slabs"], times["memory"])


def _against_threads(method: str, quick: bool, repeats: int = 3) -> Reading:
    from distributed import Client, LocalCluster

    A, X, y = _problem(quick)
    model = _models()[method]
    times: dict[str, list[float]] = {"threads": [], "dask": []}
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=None
    )
    set_threads(2)
    try:
        with direct_ogc(), cluster, Client(cluster) as client:
            for repeat in range(repeats + 1):
                for name, settings in (("threads", {}), ("dask", {"client": client})):
                    start = perf_counter()
                    with gssl.execution(**settings):
                        model.fit(X, y, adjacency=A)
                    if repeat:
                        times[name].append(perf_counter() - start)
    finally:
        set_threads(None)
    return _ratio(times["dask"], times["threads"])


def _ratio(ours: list[float], theirs: list[float]) -> Reading:
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return Reading(ratios, seconds(ours), seconds(theirs))


class direct_ogc:  # noqa: N801 - reads like a statement
    """Keep OGC from using label space within a block, so that it has embeddings to split into slabs."""

    def __enter__(self) -> None:
        self._before = gssl.OGC._label_space_pays
        gssl.OGC._label_space_pays = lambda *_: False

    def __exit__(self, *_: object) -> None:
        gssl.OGC._label_space_pays = self._before
