"""What a run would take on a machine that is not here: memory, slabs, passes, bytes moved, disk, time.

All formulas of a plan are in this file; the width of a slab is chosen by the code that runs slabs.
"""

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from gssl.scale.plan import Load, plan_slabs, write_size

# Python with the libraries that a run has loaded, and blocks on their way from files
PROCESS = 300 * 10**6
# arrays of a slab's size for which a run keeps room when it chooses the width, whatever the method
RESERVED = 5
# what a graph in files has in memory of its links
_BLOCK = 1 << 26
_SINGLE, _DOUBLE, _LINE = 4, 8, 64


@dataclass(frozen=True)
class Method:
    """What a method holds for each column: arrays in turn, and whether it needs the negatives' scales.

    A guided method holds scores of all nodes and sums them over the workers in every iteration.
    """

    buffers: int
    negatives: bool = False
    guided: bool = False


METHODS = {
    "sgc": Method(3),
    "ssgc": Method(4),
    "ppr": Method(3),
    "ggc": Method(3, negatives=True),
    "ggcm": Method(4, negatives=True),
    "ogc": Method(2, guided=True),
}


@dataclass(frozen=True)
class Job:
    """A run on paper.

    Attributes
    ----------
    nodes, edges : int
        Edges count once, whatever their direction.
    features, depth, classes : int
    method : str
        One of ``METHODS``.
    weighted : bool
        Whether edges have weights.
    """

    nodes: int
    edges: int
    features: int
    depth: int = 16
    classes: int = 40
    method: str = "ggcm"
    weighted: bool = False

    @property
    def kind(self) -> Method:
        """What the method holds."""
        if self.method not in METHODS:
            raise ValueError(f"there is no plan for {self.method!r}: choose one of {', '.join(METHODS)}.")
        return METHODS[self.method]

    @property
    def reserved(self) -> int:
        """Arrays for which there must be room."""
        return self.kind.buffers if self.kind.guided else RESERVED

    @property
    def column_bytes(self) -> int:
        """One number for every node."""
        return self.nodes * _SINGLE

    @property
    def link_bytes(self) -> int:
        """Neighbours, and weights if there are any: what may stay in files."""
        return 2 * self.edges * _SINGLE * (2 if self.weighted else 1)

    @property
    def node_bytes(self) -> int:
        """Row pointers and scales, which are in memory always, and the scores of a guided method."""
        scales = 2 if self.kind.negatives else 1
        scores = self.nodes * self.classes * (_DOUBLE + 2 * _SINGLE) if self.kind.guided else 0
        return (self.nodes + 1) * _DOUBLE + scales * self.column_bytes + scores


@dataclass(frozen=True)
class Estimate:
    """What a job takes on each of some workers.

    Attributes
    ----------
    in_files : bool
        Whether the links stay in files and are read anew in every pass.
    width, n_slabs : int
        Columns of a slab, and slabs that each worker does one after the other.
    memory : int
        The most that a worker holds, in bytes, its process included.
    passes : int
        Over the graph, by each worker.
    gathered : int
        Bytes that each worker reads from memory or writes to it, over all passes.
    from_disk, network, disk : int
        Bytes that each worker reads from its disk; that travel between machines; that the files take.
    seconds : float
        For the passes.
    """

    in_files: bool
    width: int
    n_slabs: int
    memory: int
    passes: int
    gathered: int
    from_disk: int
    network: int
    disk: int
    seconds: float


def estimate(job: Job, workers: int, memory: int, bandwidth: float, disk_bandwidth: float = 5e8) -> Estimate:
    r"""Tell what a job takes on workers of a size, or that it does not fit and what would.

    Each worker does its share of the d columns, cut into slabs of width w. A slab holds, beside the graph,
    b arrays of n × w numbers; a pass over it moves

    .. math:: 2m \cdot \max(4w, 64) + 8m + 8n + 4nw\,(b - 1) \text{ bytes.}

    Parameters
    ----------
    job : Job
    workers : int
    memory : int
        Bytes of each worker.
    bandwidth : float
        Bytes per second of such passes: see :func:`measure_bandwidth`.
    disk_bandwidth : float, default=5e8
        Bytes per second at which links are read where they do not fit in memory.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> job = Job(nodes=10**6, edges=10**7, features=128, depth=16, method="sgc")
    >>> plan = estimate(job, workers=2, memory=2 * 10**9, bandwidth=1e10)
    >>> plan.width, plan.n_slabs, plan.passes, plan.in_files
    (64, 1, 16, False)
    """
    share = -(-job.features // workers)
    found = []
    for in_files in (False, True):
        try:
            width = _width(job, share, memory, _BLOCK if in_files else job.link_bytes)
        except ValueError:
            continue
        found.append(_with_width(job, workers, width, in_files, (bandwidth, disk_bandwidth)))
    if not found:
        raise ValueError(_does_not_fit(job, memory))
    # links in memory may leave room for so few columns that reading them from disk is quicker
    return min(found, key=lambda plan: plan.seconds)


def _with_width(job: Job, workers: int, width: int, in_files: bool, speeds: tuple[float, float]) -> Estimate:
    share = -(-job.features // workers)
    n_slabs = -(-share // width)
    passes = job.depth * n_slabs
    held = (_BLOCK if in_files else job.link_bytes) + job.node_bytes
    one_pass = _pass_bytes(job, width)
    from_disk = passes * job.link_bytes if in_files else 0
    return Estimate(
        in_files=in_files,
        width=width,
        n_slabs=n_slabs,
        memory=PROCESS + held + job.kind.buffers * width * job.column_bytes,
        passes=passes,
        gathered=passes * one_pass,
        from_disk=from_disk,
        network=_network(job, workers),
        disk=_disk(job, n_slabs),
        seconds=max(passes * one_pass / speeds[0], from_disk / speeds[1]),
    )


def _width(job: Job, share: int, memory: int, links: int) -> int:
    load = Load(job.reserved * job.column_bytes, PROCESS + links + job.node_bytes)
    return plan_slabs(share, load, memory).width


def _pass_bytes(job: Job, width: int) -> int:
    """Count what a pass over one slab moves: neighbours' rows by the cache line, links, and rows in order."""
    gathered = 2 * job.edges * max(_SINGLE * width, _LINE)
    rows = (job.kind.buffers - 1) * width * job.column_bytes
    return gathered + job.link_bytes + job.nodes * _DOUBLE + rows


def _network(job: Job, workers: int) -> int:
    """Count what goes to workers and back: the graph to each, columns once, scores in every iteration."""
    if workers == 1:
        return 0
    graph = workers * (job.link_bytes + (job.nodes + 1) * _DOUBLE)
    there = job.features * job.column_bytes
    if job.kind.guided:
        return graph + there + workers * job.depth * job.nodes * job.classes * _DOUBLE
    return graph + 2 * there


def _disk(job: Job, n_slabs: int) -> int:
    """Count the store, the features, the result, and what slabs wait in."""
    columns = job.features * job.column_bytes
    store = job.link_bytes + (job.nodes + 1) * _DOUBLE
    waiting = columns if job.kind.guided and n_slabs > 1 else 0
    return store + 2 * columns + waiting


def _does_not_fit(job: Job, memory: int) -> str:
    column = job.reserved * job.column_bytes
    least = (PROCESS + _BLOCK + job.node_bytes + column) * 16 // 15
    whole = (PROCESS + job.link_bytes + job.node_bytes + column) * 16 // 15
    return (
        f"{write_size(memory)} per worker is too little for {job.nodes:,} nodes: {write_size(least)} would "
        f"do with the links in files, {write_size(whole)} with the whole graph in memory."
    )


def measure_bandwidth(n_nodes: int = 500_000, degree: int = 8, width: int = 16) -> float:
    """Measure, in a second or two, how many bytes per second a pass over a random graph moves here.

    The bytes are counted as :func:`estimate` counts them, so that what caches save or cost is in the number.

    Parameters
    ----------
    n_nodes, degree, width : int
        Of the graph and the slab, whose rows should not fit into a cache.

    Returns
    -------
    float

    Examples
    --------
    >>> measure_bandwidth(n_nodes=1000) > 0
    True
    """
    from gssl.operators import Filters, Mixture, NormalizedAdjacency, mix

    rng = np.random.default_rng(0)
    links = rng.integers(n_nodes, size=n_nodes * degree, dtype=np.int32)
    pointers = np.arange(n_nodes + 1, dtype=np.int64) * degree
    scale = np.full(n_nodes, (1.0 + degree) ** -0.5, np.float32)
    filters = Filters(NormalizedAdjacency(pointers, links, np.empty(0, np.float32), scale))
    U = rng.random((n_nodes, width), dtype=np.float32)
    out, best = np.empty_like(U), np.inf
    for _ in range(3):
        start = perf_counter()
        mix(filters, U, Mixture(smooth=1.0), out=out)
        best = min(best, perf_counter() - start)
    return _pass_bytes(Job(n_nodes, n_nodes * degree // 2, width, method="sgc"), width) / best
