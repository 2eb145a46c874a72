"""Estimates of a run on other machines: memory, slabs, passes, bytes moved, disk, time.

Slabs are cut by the code that cuts those of a run.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from gssl.operators import Complement, Filters, Mixture, NormalizedAdjacency, mix
from gssl.scale.columns import add_product
from gssl.scale.memory import (
    MAPPED,
    Load,
    available_memory,
    embedding_load,
    plan_slabs,
    spread_slabs,
    write_size,
)

# methods that can be planned, by the names of their classes
METHODS = {"sgc": "SGC", "ssgc": "SSGC", "ppr": "PPR", "ggc": "GGC", "ggcm": "GGCM", "ogc": "OGC"}
# node numbers are 32 bits long with a sign
_MOST_NODES = 2**31 - 1
# what any count may be, so that a product of some of them can still be divided
_MOST = 2**63 - 1
_SINGLE, _DOUBLE, _LINE = 4, 8, 64
# Python with the libraries that a run has loaded, and blocks on their way from files
PROCESS = 320 * 10**6
# of a hundred nodes, those that have a label
_LABELLED = 100
# bytes of a slab that is far larger than caches, and links to gather it by
_SLAB = 1 << 27
_LINKS = 1 << 24
# passes that are measured: the first two of a run have new buffers
_PROBED, _REPEATS = 4, 2


@dataclass(frozen=True)
class Job:
    """A run on paper, on a graph store, with features in a file of single precision."""

    nodes: int
    # each once, whatever its direction
    edges: int
    features: int
    depth: int = 16
    classes: int = 40
    method: str = "ggcm"
    weighted: bool = False

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"there is no plan for {self.method!r}: choose one of {', '.join(METHODS)}.")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is int and not (type(value) is int and 1 <= value <= _MOST):
                raise ValueError(f"{field.name} is {value!r}: give a whole number from 1 to {_MOST}.")
        if self.nodes > _MOST_NODES:
            raise ValueError(
                f"{self.nodes:,} nodes are too many: a graph holds fewer than 2³¹, for their numbers are 32 "
                "bits long; split the graph."
            )
        pairs = self.nodes * (self.nodes - 1) // 2
        if self.edges > pairs:
            raise ValueError(
                f"{self.nodes:,} nodes have {pairs:,} pairs and cannot have {self.edges:,} edges: count each "
                "edge once, and no self-loops."
            )

    @property
    def guided(self) -> bool:
        """Whether labels guide the embeddings, so that there are scores of all nodes in every iteration."""
        return self.method == "ogc"

    @property
    def negatives(self) -> bool:
        """Whether unlinked nodes are pushed apart, for which there is a second scale."""
        return not self.guided and any(mixture.sharp for mixture in _model(self.method).mixtures(1))

    @property
    def buffers(self) -> int:
        """Arrays of a slab's size that are held at once, as the method itself says; of OGC two."""
        return 2 if self.guided else int(_model(self.method).buffers())

    @property
    def column_bytes(self) -> int:
        """One number for every node."""
        return self.nodes * _SINGLE

    @property
    def link_bytes(self) -> int:
        """Neighbours, in the files of the store."""
        return 2 * self.edges * _SINGLE

    @property
    def pointer_bytes(self) -> int:
        """Where the neighbours of each node begin."""
        return (self.nodes + 1) * _DOUBLE

    @property
    def store_bytes(self) -> int:
        """The files of the store, its ids aside."""
        weights = 2 * self.edges * _DOUBLE if self.weighted else 0
        return self.link_bytes + self.pointer_bytes + weights

    @property
    def graph_bytes(self) -> int:
        """What a run counts of a store: a block of links, pointers, scales, and any weights."""
        scales = 2 if self.negatives else 1
        weights = self.link_bytes if self.weighted else 0
        return min(self.link_bytes, MAPPED) + self.pointer_bytes + scales * self.column_bytes + weights

    def pass_bytes(self, width: int) -> int:
        r"""Count what a pass over a slab of w columns moves.

        .. math:: 2m \cdot \max(4w, 64) + 8m + 8n + 4nw\,b

        The rows of neighbours come by the cache line; links, pointers and b arrays come in order. OGC then
        reads the slab once more and adds to the scores of c classes: 4nw + 16nc.
        """
        gathered = 2 * self.edges * max(_SINGLE * width, _LINE)
        weights = self.link_bytes if self.weighted else 0
        rows = self.buffers * width * self.column_bytes + self.nodes * _DOUBLE
        if self.guided:
            rows += width * self.column_bytes + 2 * self.nodes * self.classes * _DOUBLE
        return gathered + self.link_bytes + weights + rows


@cache
def _model(method: str) -> Any:
    """Return a method with its defaults, to ask what it holds: methods are a room below, found by name."""
    return getattr(import_module("gssl.methods"), METHODS[method])()


@dataclass(frozen=True)
class Estimate:
    """What a job takes on each of some workers, in bytes and seconds."""

    # whether there is memory for the links to stay in, so that they are read from files once
    cached: bool
    # the memory of :func:`gssl.execution` in such a run
    budget: int
    width: int
    # slabs that each worker does one after the other
    n_slabs: int
    # the most that a worker holds, its process and cached links included
    memory: int
    # what the client holds; 0 without a cluster
    client: int
    # over the graph, by each worker
    passes: int
    # read from memory or written to it by each worker, over all passes
    moved: int
    # read from files or written to them by each worker
    through_files: int
    # between machines
    network: int
    # of all files
    disk: int
    # for the passes, and for the files
    seconds: float
    file_seconds: float


@dataclass(frozen=True)
class Layout:
    """Where links are, and how wide slabs are then; ``waiting`` is whether slabs of OGC wait in files."""

    cached: bool
    budget: int
    width: int
    load: Load
    waiting: bool = False


def layouts(job: Job, workers: int, memory: int) -> list[Layout]:
    """Return the ways in which a job fits on workers with so many bytes, or say what would do.

    They are with room for the links to stay in memory, and without.
    """
    if not 1 <= workers <= job.features:
        raise ValueError(
            f"{workers:,} workers cannot share {job.features:,} features, of which each takes one or more: "
            f"give 1 to {job.features:,}."
        )
    found = []
    for cached in (True, False):
        budget = memory - PROCESS - (_cache(job) if cached else 0)
        try:
            if budget > 0:
                found.append(_layout(job, workers, budget, cached))
        except ValueError:  # not a column fits
            continue
    if not found:
        raise ValueError(_does_not_fit(job, workers, memory))
    return found


def estimate(
    job: Job, workers: int, memory: int, bandwidth: float | Callable[[int], float], disk_speed: float = 5e8
) -> Estimate:
    """Return what a job takes on workers with so many bytes of memory, in the quickest way that fits there.

    Speeds are bytes per second; that of passes may depend on the width: see :func:`measure_bandwidth`.
    """
    found = []
    for layout in layouts(job, workers, memory):
        speed = bandwidth(layout.width) if callable(bandwidth) else bandwidth
        found.append(_estimate(job, workers, layout, speed, disk_speed))
    # links in memory may leave room for so few columns that reading them again and again is quicker
    return min(found, key=lambda plan: plan.seconds + plan.file_seconds)


def _layout(job: Job, workers: int, budget: int, cached: bool) -> Layout:
    """Cut columns as a run does."""
    if job.guided:
        share = _share(job, workers)
        load, in_memory = _guided(job, workers, budget)
        width = plan_slabs(share, load, budget).width
        return Layout(cached, budget, width, load, waiting=not in_memory)
    load = _load(job, workers)
    return Layout(cached, budget, spread_slabs(job.features, workers, load, budget).width, load)


def _estimate(job: Job, workers: int, layout: Layout, speed: float, disk_speed: float) -> Estimate:
    n_slabs = -(-_share(job, workers) // layout.width)
    passes = job.depth * n_slabs
    # the last slab may be narrower
    rest = _share(job, workers) - (n_slabs - 1) * layout.width
    moved = job.depth * ((n_slabs - 1) * job.pass_bytes(layout.width) + job.pass_bytes(rest))
    through_files = _through_files(job, workers, layout, passes)
    return Estimate(
        cached=layout.cached,
        budget=layout.budget,
        width=layout.width,
        n_slabs=n_slabs,
        memory=_memory(job, workers, layout),
        client=_client(job, workers, layout),
        passes=passes,
        moved=moved,
        through_files=through_files,
        network=_network(job, workers),
        disk=_disk(job, layout),
        seconds=moved / speed,
        file_seconds=through_files / disk_speed,
    )


def _share(job: Job, workers: int) -> int:
    return -(-job.features // workers)


def _load(job: Job, workers: int) -> Load:
    # a result is on its way while a worker has the next slab
    return Load((job.buffers + (workers > 1)) * job.column_bytes, job.graph_bytes)


def _guided(job: Job, workers: int, budget: int) -> tuple[Load, bool]:
    shape, n_labelled = (job.nodes, _share(job, workers)), -(-job.nodes // _LABELLED)
    return embedding_load(shape, job.classes, n_labelled, _SINGLE, job.graph_bytes, budget)


def _cache(job: Job) -> int:
    """Count what links take beyond the block of them that is in memory anyway."""
    return max(0, job.link_bytes - MAPPED)


def _result(job: Job, layout: Layout) -> int:
    """Count a result of several slabs that is put together in memory, for it is small beside the budget."""
    whole = job.features * job.column_bytes
    several = layout.width < job.features and not job.guided
    return whole if several and whole <= layout.budget // 4 else 0


def _memory(job: Job, workers: int, layout: Layout) -> int:
    held = layout.load.of(layout.width) + (_result(job, layout) if workers == 1 else 0)
    # degrees and scales in double precision, before there are slabs
    before = job.graph_bytes + 2 * job.nodes * _DOUBLE
    return PROCESS + max(held, before) + (_cache(job) if layout.cached else 0)


def _client(job: Job, workers: int, layout: Layout) -> int:
    """Count what comes back from all workers at once, and what it is gathered in."""
    if workers == 1:
        return 0
    if job.guided:
        scores = job.nodes * job.classes
        return PROCESS + job.graph_bytes + (workers + 1) * scores * _DOUBLE + 2 * scores * _SINGLE
    return PROCESS + job.graph_bytes + workers * layout.width * job.column_bytes + _result(job, layout)


def _through_files(job: Job, workers: int, layout: Layout, passes: int) -> int:
    """Count links, columns as they come, slabs that wait, and the result."""
    share = _share(job, workers) * job.column_bytes
    links = job.link_bytes * (1 if layout.cached else passes) + job.pointer_bytes
    slabs = 2 * job.depth * share if layout.waiting else 0
    written = workers == 1 and not job.guided and layout.width < job.features and not _result(job, layout)
    return links + share + slabs + (share if written else 0)


def _network(job: Job, workers: int) -> int:
    """Count what goes to workers and back: graph and columns once, scores at first and in every iteration."""
    if workers == 1:
        return 0
    graph = workers * (job.link_bytes + job.pointer_bytes)
    there = job.features * job.column_bytes
    scores = workers * (job.depth + 1) * job.nodes * job.classes * _DOUBLE
    return graph + there + (scores if job.guided else there)


def _disk(job: Job, layout: Layout) -> int:
    """Count the store, the features, and the result or the slabs that wait."""
    columns = job.features * job.column_bytes
    more = layout.waiting if job.guided else layout.width < job.features and not _result(job, layout)
    return job.store_bytes + columns + (columns if more else 0)


def _does_not_fit(job: Job, workers: int, memory: int) -> str:
    load = _guided(job, workers, 1)[0] if job.guided else _load(job, workers)
    # a sixteenth of a small budget is kept for blocks
    least = PROCESS + load.of(1) * 16 // 15
    return (
        f"{write_size(memory)} per worker are too little for {job.nodes:,} nodes: one column needs "
        f"{write_size(least)}, or {write_size(least + _cache(job))} if the links are to stay in memory."
    )


def measure_bandwidth(job: Job, width: int) -> float:
    """Measure how many bytes per second, as :meth:`Job.pass_bytes` counts them, passes over a slab move.

    They are those of a run, with new buffers and links in a file, but on fewer nodes, whose neighbours are
    drawn at random.
    """
    small = replace(_smaller(job, width), depth=min(job.depth, _PROBED))
    few = replace(small, nodes=min(small.nodes, 100), edges=1)
    with TemporaryDirectory(prefix="gssl-probe-") as folder:
        # loops load in the first of them
        _passes(few, width, Path(folder) / "few.npy")()
        run = _passes(small, width, Path(folder) / "links.npy")
        start = perf_counter()
        for _ in range(_REPEATS):
            run()
        seconds = (perf_counter() - start) / _REPEATS
        # a map of the file would keep it from being removed on Windows
        del run
    return small.depth * small.pass_bytes(width) / seconds


def _smaller(job: Job, width: int) -> Job:
    """Return the job on so few nodes that its slabs fit, each with as many neighbours."""
    room = min(_SLAB, available_memory() // 16)
    degree = min(max(1, 2 * job.edges // job.nodes), _LINKS // 1000)
    least = min(job.nodes, 1000)
    nodes = max(least, min(job.nodes, room // (4 * max(width, job.classes)), _LINKS // degree))
    # a graph so dense that its nodes have no more neighbours
    return replace(job, nodes=nodes, edges=max(1, min(nodes * degree // 2, nodes * (nodes - 1) // 2)))


def _passes(job: Job, width: int, file: Path) -> Callable[[], Any]:
    """Return the passes of a run over one slab, to be called."""
    rng, n = np.random.default_rng(0), job.nodes
    pointers = np.linspace(0, 2 * job.edges, n + 1).astype(np.int64)
    np.save(file, rng.integers(n, size=2 * job.edges, dtype=np.int32))
    links = np.load(file, mmap_mode="r")
    scale = np.full(n, (1.0 + 2 * job.edges / n) ** -0.5, np.float32)
    weights = np.full(len(links) if job.weighted else 0, scale[0] ** 2, np.float32)
    N_hat = Complement(pointers, links, scale) if job.negatives else None
    filters = Filters(NormalizedAdjacency(pointers, links, weights, scale), N_hat)
    U = rng.random((n, width), dtype=np.float32)
    if not job.guided:
        model = type(_model(job.method))(depth=job.depth)
        return lambda: deque(model.scales(U, lambda k: filters), maxlen=1)
    W = rng.random((width, job.classes))

    def guided() -> None:
        V, scores = U, np.zeros((n, job.classes))
        for _ in range(job.depth):
            V = mix(filters, V, Mixture.lazy(0.1))
            add_product(scores, V, W)

    return guided
