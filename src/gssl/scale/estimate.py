"""Estimates of the time and memory of a run on other machines, with the same slabs as in a run."""

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
)
from gssl.wording import write_size

# methods that can be estimated, and the names of their classes
METHODS = {"sgc": "SGC", "ssgc": "SSGC", "ppr": "PPR", "ggc": "GGC", "ggcm": "GGCM", "ogc": "OGC"}
# node indices are signed 32-bit integers
_MOST_NODES = 2**31 - 1
# largest allowed count: products of a few of them still fit in a float
_MOST = 2**63 - 1
_SINGLE, _DOUBLE, _LINE = 4, 8, 64
# memory of Python with the libraries that a run loads, and of file buffers
PROCESS = 320 * 10**6
# one node in this many is assumed to be labelled
_LABELLED = 100
# size of the graph for measurements: bytes of a slab, far larger than caches, and links
_SLAB = 1 << 27
_LINKS = 1 << 24
# passes per measurement, of which the first two allocate buffers, as in a run; and measurements
_PROBED, _REPEATS = 4, 2


@dataclass(frozen=True)
class Job:
    """A planned run on a graph store, with float32 features in a file."""

    nodes: int
    # undirected: each edge counts once
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
                f"{self.nodes:,} nodes are too many: a graph holds fewer than 2³¹, because node indices have "
                "32 bits; split the graph."
            )
        pairs = self.nodes * (self.nodes - 1) // 2
        if self.edges > pairs:
            raise ValueError(
                f"{self.nodes:,} nodes have {pairs:,} pairs and cannot have {self.edges:,} edges: count each "
                "edge once, and no self-loops."
            )

    @property
    def guided(self) -> bool:
        """Whether labels guide the embeddings, which needs scores of all nodes in every iteration."""
        return self.method == "ogc"

    @property
    def negatives(self) -> bool:
        """Whether unlinked nodes are pushed apart, which needs a second scale per node."""
        return not self.guided and any(mixture.sharp for mixture in _model(self.method).mixtures(1))

    @property
    def buffers(self) -> int:
        """Number of slab-sized arrays held at once, as given by the method; two for OGC."""
        return 2 if self.guided else int(_model(self.method).buffers())

    @property
    def column_bytes(self) -> int:
        """Bytes of a column: one number per node."""
        return self.nodes * _SINGLE

    @property
    def link_bytes(self) -> int:
        """Bytes of the neighbours in the store."""
        return 2 * self.edges * _SINGLE

    @property
    def cache_bytes(self) -> int:
        """Bytes of the neighbours beyond the block that is always in memory."""
        return max(0, self.link_bytes - MAPPED)

    @property
    def pointer_bytes(self) -> int:
        """Bytes of the row pointers."""
        return (self.nodes + 1) * _DOUBLE

    @property
    def store_bytes(self) -> int:
        """Bytes of the store's files, without node ids."""
        weights = 2 * self.edges * _DOUBLE if self.weighted else 0
        return self.link_bytes + self.pointer_bytes + weights

    @property
    def graph_bytes(self) -> int:
        """Bytes of the graph in a run: a block of links, row pointers, scales, and any weights."""
        scales = 2 if self.negatives else 1
        weights = self.link_bytes if self.weighted else 0
        return min(self.link_bytes, MAPPED) + self.pointer_bytes + scales * self.column_bytes + weights

    def pass_bytes(self, width: int) -> int:
        r"""Count the bytes that a pass over a slab of w columns moves.

        .. math:: 2m \cdot \max(4w, 64) + 8m + 8n + 4nw\,b

        Rows of neighbours are read by cache lines; links, pointers and b arrays are read in order. OGC then
        reads the slab once more and updates the scores of c classes: 4nw + 16nc.
        """
        gathered = 2 * self.edges * max(_SINGLE * width, _LINE)
        weights = self.link_bytes if self.weighted else 0
        rows = self.buffers * width * self.column_bytes + self.nodes * _DOUBLE
        if self.guided:
            rows += width * self.column_bytes + 2 * self.nodes * self.classes * _DOUBLE
        return gathered + self.link_bytes + weights + rows


@cache
def _model(method: str) -> Any:
    """Return a method with its defaults; imported by name, because gssl.methods imports this package."""
    return getattr(import_module("gssl.methods"), METHODS[method])()


@dataclass(frozen=True)
class Estimate:
    """The bytes and seconds that a job takes on each worker."""

    job: Job
    workers: int
    # whether links stay in memory, so that they are read from files only once
    cached: bool
    # the argument ``memory`` of :func:`gssl.execution` for this run
    budget: int
    # columns of a slab, and the memory that a worker needs for them
    width: int
    load: Load
    # whether slabs of OGC are kept in files between passes
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
        """Slabs that each worker processes one after the other."""
        return -(-self.share // self.width)

    @property
    def passes(self) -> int:
        """Passes over the graph by each worker."""
        return self.job.depth * self.n_slabs

    @property
    def moved(self) -> int:
        """Bytes that each worker reads from and writes to memory, over all passes."""
        n_whole = self.n_slabs - 1
        # the last slab may be narrower
        last = self.job.pass_bytes(self.share - n_whole * self.width)
        return self.job.depth * (n_whole * self.job.pass_bytes(self.width) + last)

    @property
    def memory(self) -> int:
        """Peak memory of a worker, including its process and cached links."""
        job = self.job
        held = self.load.of(self.width) + (self._result if self.workers == 1 else 0)
        # before slabs are loaded: degrees and scales in double precision
        before = job.graph_bytes + 2 * job.nodes * _DOUBLE
        return PROCESS + max(held, before) + (job.cache_bytes if self.cached else 0)

    @property
    def client(self) -> int:
        """Memory of the client, including the results of all workers; 0 without a cluster."""
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
        """Bytes of files that each worker reads and writes: links, columns, slabs of OGC, and the result."""
        job, part = self.job, self.share * self.job.column_bytes
        links = job.link_bytes * (1 if self.cached else self.passes) + job.pointer_bytes
        slabs = 2 * job.depth * part if self.waiting else 0
        return links + part + slabs + (part if self.workers == 1 and self._result_in_file else 0)

    @property
    def network(self) -> int:
        """Bytes sent: graph and columns once; then results or, in OGC, scores initially and per iteration."""
        job = self.job
        if self.workers == 1:
            return 0
        graph = self.workers * (job.link_bytes + job.pointer_bytes)
        there = job.features * job.column_bytes
        scores = self.workers * (job.depth + 1) * job.nodes * job.classes * _DOUBLE
        return graph + there + (scores if job.guided else there)

    @property
    def disk(self) -> int:
        """Bytes of all files: the store, the features, and the result or the slabs of OGC."""
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
        """Bytes of a result of several slabs that is small enough to be assembled in memory, else 0."""
        whole = self.job.features * self.job.column_bytes
        return whole if self._in_slabs and whole <= self.budget // 4 else 0

    @property
    def _result_in_file(self) -> bool:
        return self._in_slabs and not self._result

    @property
    def _in_slabs(self) -> bool:
        return self.width < self.job.features and not self.job.guided


def layouts(job: Job, workers: int, memory: int) -> list[Estimate]:
    """Return the layouts that fit on the workers: with links kept in memory, and without."""
    if not 1 <= workers <= job.features:
        raise ValueError(
            f"{workers:,} workers cannot share {job.features:,} features, because each needs at least one: "
            f"give 1 to {job.features:,} workers."
        )
    found = []
    for cached in (True, False):
        budget = memory - PROCESS - (job.cache_bytes if cached else 0)
        try:
            if budget > 0:
                found.append(_layout(job, workers, budget, cached))
        except ValueError:  # not even one column fits
            continue
    if not found:
        # a sixteenth of a small budget is reserved for blocks
        least = PROCESS + _load(job, workers, 1)[0].of(1) * 16 // 15
        raise ValueError(
            f"{write_size(memory)} per worker is not enough for {job.nodes:,} nodes: one column needs "
            f"{write_size(least)}, or {write_size(least + job.cache_bytes)} to keep the links in memory."
        )
    return found


def estimate(
    job: Job, workers: int, memory: int, bandwidth: float | Callable[[int], float], disk_speed: float = 5e8
) -> Estimate:
    """Return the estimate of the fastest layout that fits on workers with ``memory`` bytes each.

    Speeds are in bytes per second; ``bandwidth`` may depend on the width: see :func:`measure_bandwidth`.
    """
    found = []
    for layout in layouts(job, workers, memory):
        speed = bandwidth(layout.width) if callable(bandwidth) else bandwidth
        found.append(replace(layout, speed=speed, disk_speed=disk_speed))
    # cached links may leave room for so few columns that rereading the links is faster
    return min(found, key=lambda plan: plan.seconds + plan.file_seconds)


def _layout(job: Job, workers: int, budget: int, cached: bool) -> Estimate:
    """Choose slabs as a run does."""
    load, waiting = _load(job, workers, budget)
    if job.guided:
        width = plan_slabs(-(-job.features // workers), load, budget).width
    else:
        width = spread_slabs(job.features, workers, load, budget).width
    return Estimate(job, workers, cached, budget, width, load, waiting)


def _load(job: Job, workers: int, budget: int) -> tuple[Load, bool]:
    """Return the memory load of a worker, and whether slabs are kept in files."""
    if not job.guided:
        # a result is in transit while the worker processes the next slab
        return Load((job.buffers + (workers > 1)) * job.column_bytes, job.graph_bytes), False
    shape, n_labelled = (job.nodes, -(-job.features // workers)), -(-job.nodes // _LABELLED)
    load, in_memory = embedding_load(shape, job.classes, n_labelled, _SINGLE, job.graph_bytes, budget)
    return load, not in_memory


def measure_bandwidth(job: Job, width: int) -> float:
    """Measure the bytes per second that passes over a slab move, as counted by :meth:`Job.pass_bytes`.

    The passes are those of a run, with new buffers and links in a file, but on fewer nodes with random
    neighbours.
    """
    small = replace(_smaller(job, width), depth=min(job.depth, _PROBED))
    few = replace(small, nodes=min(small.nodes, 100), edges=1)
    with TemporaryDirectory(prefix="gssl-probe-") as folder:
        # load the compiled loops first
        _passes(few, width, Path(folder) / "few.npy")()
        run = _passes(small, width, Path(folder) / "links.npy")
        start = perf_counter()
        for _ in range(_REPEATS):
            run()
        seconds = (perf_counter() - start) / _REPEATS
        # Windows cannot remove a mapped file
        del run
    return small.depth * small.pass_bytes(width) / seconds


def _smaller(job: Job, width: int) -> Job:
    """Return the job on fewer nodes, so that its slabs fit, with the same number of neighbours per node."""
    room = min(_SLAB, available_memory() // 16)
    degree = min(max(1, 2 * job.edges // job.nodes), _LINKS // 1000)
    least = min(job.nodes, 1000)
    nodes = max(least, min(job.nodes, room // (4 * max(width, job.classes)), _LINKS // degree))
    # a small graph may not have enough pairs for this degree
    return replace(job, nodes=nodes, edges=max(1, min(nodes * degree // 2, nodes * (nodes - 1) // 2)))


def _passes(job: Job, width: int, file: Path) -> Callable[[], Any]:
    """Return a function that runs the passes over one slab."""
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
        return lambda: model.program().run(U, lambda k: filters)
    W = rng.random((width, job.classes))

    def guided() -> None:
        V, scores = U, np.zeros((n, job.classes))
        for _ in range(job.depth):
            V = mix(filters, V, Mixture.lazy(0.1))
            add_product(scores, V, W)

    return guided
