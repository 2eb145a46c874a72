"""Estimates of a run on other machines; slabs are cut as in a run."""

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
    def cache_bytes(self) -> int:
        """Neighbours beyond the block of them that is in memory anyway."""
        return max(0, self.link_bytes - MAPPED)

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

    job: Job
    workers: int
    # whether there is memory for the links to stay in, so that they are read from files once
    cached: bool
    # the memory of :func:`gssl.execution` in such a run
    budget: int
    # columns of a slab, and what a worker holds for them
    width: int
    load: Load
    # whether slabs of OGC wait in files
    waiting: bool
    # bytes per second of passes and of files
    speed: float = np.inf
    disk_speed: float = np.inf

    @property
    def share(self) -> int:
        """Columns of each worker."""
        return -(-self.job.features // self.workers)

    @property
    def n_slabs(self) -> int:
        """Slabs that each worker does one after the other."""
        return -(-self.share // self.width)

    @property
    def passes(self) -> int:
        """Passes over the graph by each worker."""
        return self.job.depth * self.n_slabs

    @property
    def moved(self) -> int:
        """What each worker reads from memory or writes to it, over all passes."""
        n_whole = self.n_slabs - 1
        # the last slab may be narrower
        last = self.job.pass_bytes(self.share - n_whole * self.width)
        return self.job.depth * (n_whole * self.job.pass_bytes(self.width) + last)

    @property
    def memory(self) -> int:
        """The most that a worker holds, its process and cached links included."""
        job = self.job
        held = self.load.of(self.width) + (self._result if self.workers == 1 else 0)
        # degrees and scales in double precision, before there are slabs
        before = job.graph_bytes + 2 * job.nodes * _DOUBLE
        return PROCESS + max(held, before) + (job.cache_bytes if self.cached else 0)

    @property
    def client(self) -> int:
        """What the client gets from all workers at once, and gathers it in; 0 without a cluster."""
        job = self.job
        if self.workers == 1:
            return 0
        scores = job.nodes * job.classes
        if job.guided:
            gathered = (self.workers + 1) * scores * _DOUBLE + 2 * scores * _SINGLE
        else:
            gathered = self.workers * self.width * job.column_bytes + self._result
        return PROCESS + job.graph_bytes + gathered

    @property
    def through_files(self) -> int:
        """Links, columns as they come, slabs that wait, and the result, by each worker."""
        job, part = self.job, self.share * self.job.column_bytes
        links = job.link_bytes * (1 if self.cached else self.passes) + job.pointer_bytes
        slabs = 2 * job.depth * part if self.waiting else 0
        return links + part + slabs + (part if self.workers == 1 and self._result_in_file else 0)

    @property
    def network(self) -> int:
        """What goes to workers and back: graph and columns once, scores at first and in every iteration."""
        job = self.job
        if self.workers == 1:
            return 0
        graph = self.workers * (job.link_bytes + job.pointer_bytes)
        there = job.features * job.column_bytes
        scores = self.workers * (job.depth + 1) * job.nodes * job.classes * _DOUBLE
        return graph + there + (scores if job.guided else there)

    @property
    def disk(self) -> int:
        """The files of the store, the features, and the result or the slabs that wait."""
        columns = self.job.features * self.job.column_bytes
        return self.job.store_bytes + columns + (columns if self.waiting or self._result_in_file else 0)

    @property
    def seconds(self) -> float:
        """Seconds of all passes."""
        return self.moved / self.speed

    @property
    def file_seconds(self) -> float:
        """Seconds of reading and writing files."""
        return self.through_files / self.disk_speed

    @property
    def _result(self) -> int:
        """A result of several slabs that is put together in memory, for it is small beside the budget."""
        whole = self.job.features * self.job.column_bytes
        return whole if self._in_slabs and whole <= self.budget // 4 else 0

    @property
    def _result_in_file(self) -> bool:
        return self._in_slabs and not self._result

    @property
    def _in_slabs(self) -> bool:
        return self.width < self.job.features and not self.job.guided


def layouts(job: Job, workers: int, memory: int) -> list[Estimate]:
    """Return the ways in which a job fits on workers: with links that stay in memory, and without."""
    if not 1 <= workers <= job.features:
        raise ValueError(
            f"{workers:,} workers cannot share {job.features:,} features, of which each takes one or more: "
            f"give 1 to {job.features:,}."
        )
    found = []
    for cached in (True, False):
        budget = memory - PROCESS - (job.cache_bytes if cached else 0)
        try:
            if budget > 0:
                found.append(_layout(job, workers, budget, cached))
        except ValueError:  # not a column fits
            continue
    if not found:
        # a sixteenth of a small budget is kept for blocks
        least = PROCESS + _load(job, workers, 1)[0].of(1) * 16 // 15
        raise ValueError(
            f"{write_size(memory)} per worker are too little for {job.nodes:,} nodes: one column needs "
            f"{write_size(least)}, or {write_size(least + job.cache_bytes)} if the links are to stay in "
            "memory."
        )
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
        found.append(replace(layout, speed=speed, disk_speed=disk_speed))
    # links in memory may leave room for so few columns that reading them again and again is quicker
    return min(found, key=lambda plan: plan.seconds + plan.file_seconds)


def _layout(job: Job, workers: int, budget: int, cached: bool) -> Estimate:
    """Cut columns as a run does."""
    load, waiting = _load(job, workers, budget)
    if job.guided:
        width = plan_slabs(-(-job.features // workers), load, budget).width
    else:
        width = spread_slabs(job.features, workers, load, budget).width
    return Estimate(job, workers, cached, budget, width, load, waiting)


def _load(job: Job, workers: int, budget: int) -> tuple[Load, bool]:
    """Return what a worker holds, and whether slabs wait in files."""
    if not job.guided:
        # a result is on its way while a worker has the next slab
        return Load((job.buffers + (workers > 1)) * job.column_bytes, job.graph_bytes), False
    shape, n_labelled = (job.nodes, -(-job.features // workers)), -(-job.nodes // _LABELLED)
    load, in_memory = embedding_load(shape, job.classes, n_labelled, _SINGLE, job.graph_bytes, budget)
    return load, not in_memory


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
