"""How fast this machine passes over a graph, in the bytes by which a plan counts."""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from gssl.scale.job import Job, model_of
from gssl.scale.memory import available_memory

# bytes of a slab that is far larger than caches, and links to gather it by
_SLAB = 1 << 27
_LINKS = 1 << 25


def measure_bandwidth(job: Job, width: int) -> float:
    """Measure how many bytes per second a pass of a method moves here, in a second or a few.

    The pass is that of the job, over as many columns and as many neighbours for each node, but on fewer nodes
    and with neighbours drawn at random. Its bytes are counted as :meth:`gssl.scale.job.Job.pass_bytes` counts
    them, so that what caches save or cost is in the number.

    Parameters
    ----------
    job : Job
    width : int
        Columns of the slab.

    Returns
    -------
    float

    Examples
    --------
    >>> measure_bandwidth(Job(nodes=1000, edges=5000, features=4), width=4) > 0
    True
    """
    small = _smaller(job, width)
    one_pass, best = _pass(small, width), np.inf
    for _ in range(3):
        start = perf_counter()
        one_pass()
        best = min(best, perf_counter() - start)
    return small.pass_bytes(width) / best


def _smaller(job: Job, width: int) -> Job:
    """Give the job on so few nodes that its slabs fit, each with as many neighbours."""
    room = min(_SLAB, available_memory() // 16)
    degree = min(max(1, 2 * job.edges // job.nodes), _LINKS // 1000)
    least = min(job.nodes, 1000)
    nodes = max(least, min(job.nodes, room // (4 * max(width, job.classes)), _LINKS // degree))
    # a graph so dense that its nodes have no more neighbours
    return replace(job, nodes=nodes, edges=max(1, min(nodes * degree // 2, nodes * (nodes - 1) // 2)))


def _pass(job: Job, width: int) -> Callable[[], Any]:
    from gssl.operators import Complement, Filters, Mixture, NormalizedAdjacency, mix
    from gssl.scale.precise import add_product

    rng, n = np.random.default_rng(0), job.nodes
    pointers = np.linspace(0, 2 * job.edges, n + 1).astype(np.int64)
    links = rng.integers(n, size=2 * job.edges, dtype=np.int32)
    scale = np.full(n, (1.0 + 2 * job.edges / n) ** -0.5, np.float32)
    weights = np.full(len(links) if job.weighted else 0, scale[0] ** 2, np.float32)
    N_hat = Complement(pointers, links, scale) if job.negatives else None
    filters = Filters(NormalizedAdjacency(pointers, links, weights, scale), N_hat)
    U = rng.random((n, width), dtype=np.float32)
    out = np.empty_like(U)
    if job.guided:
        W, scores = rng.random((width, job.classes)), np.zeros((n, job.classes))

        def guided() -> None:
            mix(filters, U, Mixture.lazy(0.1), out=out)
            add_product(scores, out, W)

        return guided
    carried, gathered = model_of(job.method)._mixtures(2)
    # a running total, if the method has one, is the fourth array
    more: Any = {"gathered": gathered, "total": np.zeros_like(U)} if job.buffers > 3 else {}
    return lambda: mix(filters, U, carried, out=out, X=U, **more)
