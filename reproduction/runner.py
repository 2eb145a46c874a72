"""The one loop: every cell that is not in the store yet is computed and kept."""

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
from gssl.scale.execution import watching
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
    """A job that could not be done, and why."""

    job: Job
    reason: str


class _TooLongError(Exception):
    """A run has used up its time."""


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
    """List what is still to be computed, each once, all seeds of a cell together; quick: nothing slow.

    Runs by earlier code are kept unless they are to be renewed. A cell that was given up is tried again only
    if it now has more time, or no limit.
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
    """Count the runs of some artefacts that the store has."""
    cells = {cell.key(0): cell for artefact in artefacts for cell in artefact.cells()}
    return sum(store.values(cell, seed) is not None for cell in cells.values() for seed in cell.seeds(seeds))


def run(
    jobs: Iterable[Job],
    store: Store,
    on_job: Callable[[Job, float], None] | None = None,
    limit: float | None = None,
) -> list[Failure]:
    """Compute each job and keep its values before the next one starts; ``on_job`` is called after each.

    A job that fails, or yields a number that is none, is put aside and the others go on. One that another
    process has done meanwhile is left out. One that takes more than ``limit`` seconds of CPU time is given
    up, which is kept, too.
    """
    failures = []
    for job in jobs:
        start = process_time()
        store.refresh()
        if not store.is_current(job.cell, job.seed):
            try:
                with _limited(limit):
                    values = _values(job)
            except _TooLongError as error:
                store.add(job.cell, job.seed, {}, max(limit or 0.0, process_time() - start), str(error))
            # whatever a method or its libraries raise, the jobs behind it can still be done
            except Exception as error:
                failures.append(Failure(job, " ".join(str(error).split()) or type(error).__name__))
            else:
                store.add(job.cell, job.seed, values, process_time() - start)
        if on_job is not None:
            on_job(job, process_time() - start)
    return failures


@contextmanager
def _limited(seconds: float | None) -> Iterator[None]:
    """Stop what is inside after so many seconds of CPU time, where the system can."""
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
    """Do jobs behind a bar that counts them."""
    done = 0
    with terminal.step("running", notes=False) as move:

        def on_job(job: Job, seconds: float) -> None:
            nonlocal done
            done += 1
            move(done, len(jobs))

        # the bar counts runs; iterations inside of one would pull it back and forth
        with watching(lambda *_: None):
            return run(jobs, store, on_job, limit)


def failure_texts(failures: Iterable[Failure]) -> list[str]:
    """Say in a sentence for each cell what failed, and with which seeds."""
    seeds: dict[tuple[str, str], list[str]] = {}
    for failure in failures:
        seeds.setdefault((failure.job.cell.title, failure.reason), []).append(str(failure.job.seed))
    return [
        f"failed: {title}, seed{'s' if len(found) > 1 else ''} {', '.join(found)}: {reason}"
        for (title, reason), found in seeds.items()
    ]


def _values(job: Job) -> dict[str, float]:
    with warnings.catch_warnings():
        # the citation graphs are known to have nodes that no label reaches
        warnings.simplefilter("ignore", GraphWarning)
        values = find_measure(job.cell.measure)(job.cell, job.seed)
    for name, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"its {name} is {float(value)}, not a number.")
    return values
