"""Run cells that are not in the store yet, and store their results."""

import math
import signal
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import process_time
from typing import Any

from gssl.cli.console import Terminal
from gssl.graph import GraphWarning
from gssl.scale.progress import watching
from reproduction.spec import Artefact, Cell, find_measure
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
    """A job that failed, and why."""

    job: Job
    reason: str


class _TooLongError(Exception):
    """A run has exceeded its time limit."""


def missing_jobs(
    artefacts: Iterable[Artefact],
    store: Store,
    *,
    seeds: int = SEEDS,
    quick: bool = False,
    rows: Collection[str] = (),
    columns: Collection[str] = (),
    limit: float | None = None,
    renew: bool = False,
) -> list[Job]:
    """List the runs still to be done, all seeds of a cell together; ``quick`` skips slow cells.

    Runs by earlier code are kept unless ``renew`` is true. A cell that exceeded its time limit is tried again
    only with a larger limit, or none.
    """
    jobs: dict[str, Job] = {}
    for artefact in artefacts:
        for cell in artefact.cells(quick, rows, columns):
            if store.reason(cell) and limit is not None and limit <= store.seconds(cell, 0):
                continue
            for seed in cell.seeds(seeds):
                kept = store.is_current(cell, seed) if renew else store.values(cell, seed) is not None
                if not kept:
                    jobs.setdefault(cell.key(seed), Job(cell, seed))
    return list(jobs.values())


def kept_runs(artefacts: Iterable[Artefact], store: Store, *, seeds: int = SEEDS) -> int:
    """Count the stored runs of some artefacts."""
    cells = {cell.key(0): cell for artefact in artefacts for cell in artefact.cells()}
    return sum(store.values(cell, seed) is not None for cell in cells.values() for seed in cell.seeds(seeds))


def run(
    jobs: Iterable[Job],
    store: Store,
    on_job: Callable[[Job, float], None] | None = None,
    limit: float | None = None,
) -> list[Failure]:
    """Run the jobs, storing the values of each before the next starts; ``on_job`` is called after each.

    A job that raises or returns a non-finite number becomes a failure, and the others go on. Jobs that
    another process has finished meanwhile are skipped. A job that takes more than ``limit`` seconds of CPU
    time is stopped and recorded as such.
    """
    failures = []
    waiting = [(job, store.values(job.cell, job.seed)) for job in jobs]
    for job, before in waiting:
        start = process_time()
        store.refresh()
        if store.values(job.cell, job.seed) == before:
            try:
                with _limited(limit):
                    values = compute(job)
            except _TooLongError as error:
                store.add(job.cell, job.seed, {}, max(limit or 0.0, process_time() - start), str(error))
            # whatever a method or its libraries raise, the remaining jobs can still run
            except Exception as error:
                failures.append(Failure(job, " ".join(str(error).split()) or type(error).__name__))
            else:
                store.add(job.cell, job.seed, values, process_time() - start)
        if on_job is not None:
            on_job(job, process_time() - start)
    return failures


@contextmanager
def _limited(seconds: float | None) -> Iterator[None]:
    """Raise _TooLongError in the block after so many seconds of CPU time, if the system supports it."""
    if not seconds or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise _TooLongError(f"more than {seconds:g} s of CPU time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def run_watched(
    jobs: list[Job], store: Store, terminal: Terminal, limit: float | None = None
) -> list[Failure]:
    """Run jobs with a progress bar."""
    done = 0
    with terminal.step("running", notes=False) as move:

        def on_job(job: Job, seconds: float) -> None:
            nonlocal done
            done += 1
            move(done, len(jobs))

        # the bar counts runs: iterations within a run must not move it
        with watching(lambda *_: None):
            return run(jobs, store, on_job, limit)


def failure_texts(failures: Iterable[Failure]) -> list[str]:
    """Return a sentence for each cell and reason of failure, with the seeds that failed."""
    seeds: dict[tuple[str, str], list[str]] = {}
    for failure in failures:
        seeds.setdefault((failure.job.cell.title, failure.reason), []).append(str(failure.job.seed))
    return [
        f"failed: {title}, seed{'s' if len(failed) > 1 else ''} {', '.join(failed)}: {reason}"
        for (title, reason), failed in seeds.items()
    ]


def compute(job: Job) -> dict[str, float]:
    """Compute the values of a run; raise ValueError if one is not finite."""
    with warnings.catch_warnings():
        # the citation graphs are known to have nodes that no label reaches
        warnings.simplefilter("ignore", GraphWarning)
        values = find_measure(job.cell.measure)(job.cell, job.seed)
    for name, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"its {name} is {float(value)}, not a finite number.")
    return values
