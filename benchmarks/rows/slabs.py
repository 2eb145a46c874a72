"""The time of fits by slabs and on workers, beside fits in memory on threads."""

from functools import cache, partial
from typing import Any

import numpy as np

import gssl
from benchmarks import THREADS
from benchmarks.child import direct_ogc
from benchmarks.row import Measured, Row, ratio
from gssl.datasets import make_block_graph

# the same number of iterations in every run
_MODELS = {"GGCM": gssl.GGCM(depth=8), "OGC": direct_ogc(8)}
_REPEATS = 2


def rows(*, quick: bool) -> list[Row]:
    """Return the cost of slabs and of workers for each method."""
    n, edges, d = shape = (20_000, 200_000, 128) if quick else (100_000, 2_000_000, 512)
    size = f"{n:,} nodes × {d}, {edges:,} edges"
    settings = (
        ("slabs", "within a third of its memory", _by_slabs, 1.5, "gssl", "columns go through files"),
        (
            "dask",
            f"on {THREADS} Dask workers of one thread",
            _on_workers,
            1.4,
            "distributed",
            "columns go to other processes, and results come back",
        ),
    )
    return [
        Row(
            f"{name}-{method.lower()}",
            f"{method} {how}, 8 iterations, {size}",
            partial(measure, method, shape),
            rival=f"gssl in memory, {THREADS} threads",
            package=package,
            at_most=goal,
            limit=limit,
        )
        for name, how, measure, goal, package, limit in settings
        for method in _MODELS
    ]


def _by_slabs(method: str, shape: tuple[int, int, int]) -> Measured:
    A, X, _ = _problem(shape)
    # a third of a plain fit, whose buffers are two or three times the features, plus the graph
    budget = int(2 * X.nbytes / 3) + A.nnz * 8 + len(X) * 8 * 40
    return _beside_memory(method, shape, memory=budget)


def _on_workers(method: str, shape: tuple[int, int, int]) -> Measured:
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=THREADS, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=None
    )
    with cluster, Client(cluster) as client:
        return _beside_memory(method, shape, client=client)


def _beside_memory(method: str, shape: tuple[int, int, int], **settings: Any) -> Measured:
    A, X, y = _problem(shape)

    def fit(**settings: Any) -> None:
        with gssl.execution(**settings):
            _MODELS[method].fit(X, y, adjacency=A)

    return ratio(partial(fit, **settings), fit, None, _REPEATS, cost=True)


@cache
def _problem(shape: tuple[int, int, int]) -> tuple[Any, np.ndarray, np.ndarray]:
    n, edges, d = shape
    data = make_block_graph(n, edges, 2, 8, features="dense", random_state=0)
    X = np.random.default_rng(0).random((n, d), dtype=np.float32)
    return data.adjacency.astype(np.float32), X, data.mask_labels("default")
