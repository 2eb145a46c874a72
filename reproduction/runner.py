"""The one loop: every cell that is not in the store yet is computed and kept."""

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter

from gssl.graph import GraphWarning
from reproduction.measures import MEASURES
from reproduction.spec import Artefact, Cell
from reproduction.store import Store

QUICK_SEEDS = 2
SEEDS = 10


@dataclass(frozen=True, eq=False)
class Job:
    """A cell and a seed."""

    cell: Cell
    seed: int


@dataclass(frozen=True, eq=False)
class Failure:
    """A job that could not be done, and why."""

    job: Job
    reason: str


def missing_jobs(
    artefacts: Iterable[Artefact], store: Store, *, seeds: int = SEEDS, quick: bool = False
) -> list[Job]:
    """List what is still to be computed, each once, all seeds of a cell together.

    Parameters
    ----------
    artefacts : iterable of Artefact
    store : Store
    seeds : int
        Seeds 0, 1, … for each cell that depends on one.
    quick : bool
        Leave slow cells out.

    Returns
    -------
    list of Job

    Examples
    --------
    >>> from reproduction.spec import Entry
    >>> cell = Cell("classifier", "karate", {"method": "OGC"}, split="default")
    >>> artefact = Artefact("tiny", "", "", (Entry("OGC", "karate", cell=cell),))
    >>> [job.seed for job in missing_jobs([artefact], Store("nowhere.jsonl"), seeds=3)]
    [0, 1, 2]
    """
    jobs: dict[str, Job] = {}
    for artefact in artefacts:
        for cell in artefact.cells(quick):
            for seed in cell.seeds(seeds):
                key = cell.key(seed)
                if key not in store:
                    jobs.setdefault(key, Job(cell, seed))
    return list(jobs.values())


def kept_runs(artefacts: Iterable[Artefact], store: Store, *, seeds: int = SEEDS) -> int:
    """Count the runs of some artefacts that the store has; those of other versions and settings do not count.

    Examples
    --------
    >>> kept_runs([], Store("nowhere.jsonl"))
    0
    """
    cells = [cell for artefact in artefacts for cell in artefact.cells()]
    keys = {cell.key(seed) for cell in cells for seed in cell.seeds(seeds)}
    return sum(key in store for key in keys)


def run(
    jobs: Iterable[Job], store: Store, on_job: Callable[[Job, float], None] | None = None
) -> list[Failure]:
    """Compute each job and keep its values before the next one starts.

    A job that fails, or yields a number that is none, is put aside and the others go on. One that another
    process has done meanwhile is left out.

    Parameters
    ----------
    jobs : iterable of Job
    store : Store
    on_job : callable, optional
        Called with each job when it is over and its seconds, for progress.

    Returns
    -------
    list of Failure

    Examples
    --------
    >>> import tempfile
    >>> cell = Cell("classifier", "karate", {"method": "LabelPropagation"}, split="default")
    >>> store = Store(tempfile.mkdtemp() + "/records.jsonl")
    >>> run([Job(cell, 0)], store)
    []
    >>> sorted(store.values(cell, 0))
    ['accuracy', 'iterations']
    """
    failures = []
    for job in jobs:
        start = perf_counter()
        store.refresh()
        if job.cell.key(job.seed) not in store:
            try:
                values = _values(job)
            # whatever a method or its libraries raise, the jobs behind it can still be done
            except Exception as error:
                failures.append(Failure(job, " ".join(str(error).split()) or type(error).__name__))
            else:
                store.add(job.cell, job.seed, values, perf_counter() - start)
        if on_job is not None:
            on_job(job, perf_counter() - start)
    return failures


def _values(job: Job) -> dict[str, float]:
    with warnings.catch_warnings():
        # the citation graphs are known to have nodes that no label reaches
        warnings.simplefilter("ignore", GraphWarning)
        values = MEASURES[job.cell.measure](job.cell, job.seed)
    for name, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"its {name} is {float(value)}, not a number.")
    return values
