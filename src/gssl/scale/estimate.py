"""Estimates of the memory and disk space of a run, with the same slabs as in a run, and measured times."""

from dataclasses import dataclass, fields
from time import perf_counter

import numpy as np
from scipy.sparse import csr_array

from gssl.operators import Filters, Program, complement_negatives, normalized_adjacency
from gssl.scale.columns import add_product
from gssl.scale.memory import (
    MAPPED,
    Load,
    available_memory,
    embedding_load,
    plan_slabs,
    spread_slabs,
)
from gssl.wording import counted, write_size


@dataclass(frozen=True)
class Method:
    """What an estimate needs to know of a method; tests compare it with the class."""

    # slab-sized arrays held at once
    buffers: int
    # whether unlinked nodes are pushed apart, which needs a second scale per node
    negatives: bool = False
    # whether labels guide the embeddings, which needs scores of all nodes in every iteration
    guided: bool = False


METHODS = {
    "sgc": Method(3),
    "ssgc": Method(4),
    "ppr": Method(3),
    "ggc": Method(3, negatives=True),
    "ggcm": Method(4, negatives=True),
    "ogc": Method(2, guided=True),
}
# node indices are signed 32-bit integers
_MOST_NODES = 2**31 - 1
# largest allowed count: products of a few of them still fit in a float
_MOST = 2**63 - 1
_SINGLE, _DOUBLE, _LINE = 4, 8, 64
# memory of Python with the libraries that a run loads, and of file buffers
PROCESS = 320 * 10**6
# one node in this many is assumed to be labelled
_LABELLED = 100


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
    def facts(self) -> Method:
        """The facts about the method."""
        return METHODS[self.method]

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
        scales = 2 if self.facts.negatives else 1
        weights = self.link_bytes if self.weighted else 0
        return min(self.link_bytes, MAPPED) + self.pointer_bytes + scales * self.column_bytes + weights


@dataclass(frozen=True)
class Estimate:
    """The bytes that a job takes on each worker."""

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
        if job.facts.guided:
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
        return graph + there + (scores if job.facts.guided else there)

    @property
    def disk(self) -> int:
        """Bytes of all files: the store, the features, and the result or the slabs of OGC."""
        columns = self.job.features * self.job.column_bytes
        return self.job.store_bytes + columns + (columns if self.waiting or self._result_in_file else 0)

    def facts(self, seconds: float | None = None) -> dict[str, str]:
        """Describe the plan by named facts; ``seconds`` are those of all passes, if they were measured."""
        job, several = self.job, self.workers > 1
        each, by_each = (" for each worker", " by each worker") if several else ("", "")
        links = write_size(job.link_bytes)
        stay = f"{links} of links stay in it" if self.cached else f"{links} of links are read in every pass"
        facts = {
            job.method: f"{job.nodes:,} nodes, {job.edges:,} edges, {job.features:,} features, "
            f"{job.depth:,} iterations" + (f", {self.workers:,} workers" if several else ""),
            "memory": f"{write_size(self.memory)}{each}; {stay}",
            "columns": f"{counted(self.n_slabs, 'slab')} of {self.width:,}{each}",
            "passes": f"{self.passes:,} over the graph{by_each}",
            "through files": f"{write_size(self.through_files)}{by_each}",
        }
        if several:
            facts["over the network"] = f"{write_size(self.network)}; less where workers see the files"
            facts["memory of client"] = f"{write_size(self.client)} at most, for what workers send back"
        facts["disk"] = f"{write_size(self.disk)} for graph, features and result"
        facts["time"] = "needs the graph, on the machine that will run: gssl graph build, then --graph"
        if seconds is not None:
            facts["time"] = (
                f"{_write_time(seconds)} for the passes{by_each}, measured on one slab; files, network, "
                "checks and predictions come on top"
            )
        return {**facts, "run with": f"--memory {self.budget // 10**6}MB"}

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
        return self.width < self.job.features and not self.job.facts.guided


def _write_time(seconds: float) -> str:
    """Format a time in a suitable unit, such as ``10.0 min``."""
    units = ((172_800, 86_400, "days"), (3600, 3600, "h"), (60, 60, "min"))
    unit, name = next(((u, s) for least, u, s in units if seconds >= least), (1, "s"))
    return f"{seconds / unit:,.1f} {name}"


def layouts(job: Job, workers: int, memory: int) -> list[Estimate]:
    """Return the layouts that fit on the workers: with links kept in memory, and without."""
    if not 1 <= workers <= job.features:
        raise ValueError(
            f"{workers:,} workers cannot share {job.features:,} features, because each needs at least one: "
            f"give 1 to {job.features:,} workers."
        )
    fitting = []
    for cached in (True, False):
        budget = memory - PROCESS - (job.cache_bytes if cached else 0)
        try:
            if budget > 0:
                fitting.append(_layout(job, workers, budget, cached))
        except ValueError:  # not even one column fits
            continue
    if not fitting:
        # a sixteenth of a small budget is reserved for blocks
        least = PROCESS + _load(job, workers, 1)[0].of(1) * 16 // 15
        raise ValueError(
            f"{write_size(memory)} per worker is not enough for {job.nodes:,} nodes: one column needs "
            f"{write_size(least)}, or {write_size(least + job.cache_bytes)} to keep the links in memory."
        )
    return fitting


def estimate(job: Job, workers: int, memory: int) -> Estimate:
    """Return the better layout on workers with ``memory`` bytes each."""

    # cached links may leave memory for so few columns that rereading the links takes less time: fetching a
    # cache line for every link takes about as long as reading the links from a file
    def cost(plan: Estimate) -> int:
        lines = -(-plan.width * _SINGLE // _LINE)
        return plan.passes * lines * job.link_bytes + plan.through_files

    return min(layouts(job, workers, memory), key=cost)


def _layout(job: Job, workers: int, budget: int, cached: bool) -> Estimate:
    """Choose slabs as a run does."""
    load, waiting = _load(job, workers, budget)
    if job.facts.guided:
        width = plan_slabs(-(-job.features // workers), load, budget).width
    else:
        width = spread_slabs(job.features, workers, load, budget).width
    return Estimate(job, workers, cached, budget, width, load, waiting)


def _load(job: Job, workers: int, budget: int) -> tuple[Load, bool]:
    """Return the memory load of a worker, and whether slabs are kept in files."""
    if not job.facts.guided:
        # a result is in transit while the worker processes the next slab
        return Load((job.facts.buffers + (workers > 1)) * job.column_bytes, job.graph_bytes), False
    shape, n_labelled = (job.nodes, -(-job.features // workers)), -(-job.nodes // _LABELLED)
    load, in_memory = embedding_load(shape, job.classes, n_labelled, _SINGLE, job.graph_bytes, budget)
    return load, not in_memory


def measure_passes(plan: Estimate, A: csr_array, program: Program) -> float:
    """Measure passes over one slab of a graph; return the seconds of all passes of a worker.

    ``program`` has a few iterations of the method; the first, which also allocates, is not timed.
    """
    job, rng = plan.job, np.random.default_rng(0)
    N_hat = complement_negatives(A, np.float32) if job.facts.negatives else None
    filters = Filters(normalized_adjacency(A, np.float32), N_hat)
    # the slab of a larger machine may not fit here
    width = max(1, min(plan.width, available_memory() // (2 * job.facts.buffers * job.column_bytes)))
    X, W = rng.random((job.nodes, width), dtype=np.float32), rng.random((width, job.classes))
    scores = np.zeros((job.nodes, job.classes) if job.facts.guided else (0, 0))
    ends = []
    for state in program.states(X, lambda k: filters):
        if job.facts.guided:
            add_product(scores, state.U, W)
        ends.append(perf_counter())
    return plan.passes * plan.width / width * (ends[-1] - ends[0]) / (len(ends) - 1)
