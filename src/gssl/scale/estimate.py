"""What a run would take on machines that are not here: memory, slabs, passes, bytes moved, disk, time.

Slabs are cut by the code that cuts those of a run; the formulas of what is held and moved are here and in
:mod:`gssl.scale.job`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gssl.scale.cluster import ClusterExecution
from gssl.scale.job import Job
from gssl.scale.local import LocalExecution
from gssl.scale.plan import MAPPED, Load, guided_load, write_size

# Python with the libraries that a run has loaded, and blocks on their way from files
PROCESS = 320 * 10**6
# of a hundred nodes, those that have a label
_LABELLED = 100
_SINGLE, _DOUBLE = 4, 8


@dataclass(frozen=True)
class Estimate:
    """What a job takes on each of some workers.

    Attributes
    ----------
    cached : bool
        Whether there is memory for the links to stay in, so that they are read from files once.
    budget : int
        The ``memory_budget`` of such a run, in bytes.
    width, n_slabs : int
        Columns of a slab, and slabs that each worker does one after the other.
    memory, client : int
        The most that a worker holds, its process and cached links included; and what whoever asks the
        workers does, 0 where that is the worker itself.
    passes : int
        Over the graph, by each worker.
    moved : int
        Bytes that each worker reads from memory or writes to it, over all passes.
    through_files : int
        Bytes that each worker reads from files or writes to them.
    network, disk : int
        Bytes that travel between machines; that all files take.
    seconds, file_seconds : float
        For the passes, and for the files.
    """

    cached: bool
    budget: int
    width: int
    n_slabs: int
    memory: int
    client: int
    passes: int
    moved: int
    through_files: int
    network: int
    disk: int
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
    """Give the ways in which a job fits on workers of a size, or say that there is none and what would do.

    Parameters
    ----------
    job : Job
    workers : int
    memory : int
        Bytes of each worker.

    Returns
    -------
    list of Layout
        With room for the links to stay in memory, and without.

    Examples
    --------
    >>> job = Job(nodes=10**6, edges=10**7, features=128, method="sgc")
    >>> [(layout.cached, layout.width) for layout in layouts(job, 1, 600 * 10**6)]
    [(True, 13), (False, 15)]
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
    """Tell what a job takes on workers of a size, in the quickest way that fits there.

    Parameters
    ----------
    job : Job
    workers : int
    memory : int
        Bytes of each worker.
    bandwidth : float or callable
        Bytes per second of passes over slabs, or what gives them for a width: see
        :func:`gssl.scale.bandwidth.measure_bandwidth`.
    disk_speed : float, default=5e8
        Bytes per second of files.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> job = Job(nodes=10**6, edges=10**7, features=128, depth=16, method="sgc")
    >>> plan = estimate(job, workers=2, memory=2 * 10**9, bandwidth=1e10)
    >>> plan.width, plan.n_slabs, plan.passes, plan.cached
    (64, 1, 16, True)
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
        width = LocalExecution(budget).plan(share, load).width
        return Layout(cached, budget, width, load, waiting=not in_memory)
    load = _load(job, workers)
    if workers == 1:
        return Layout(cached, budget, LocalExecution(budget).plan(job.features, load).width, load)
    return Layout(
        cached, budget, ClusterExecution(None, budget).plan_for(job.features, load, workers).width, load
    )


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
    # the next columns are sent while a worker has its own
    return Load((job.buffers + (workers > 1)) * job.column_bytes, job.graph_bytes)


def _guided(job: Job, workers: int, budget: int) -> tuple[Load, bool]:
    shape, n_labelled = (job.nodes, _share(job, workers)), -(-job.nodes // _LABELLED)
    return guided_load(shape, job.classes, n_labelled, _SINGLE, job.graph_bytes, budget)


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
