"""The one loop: every cell that is not in the store yet is computed and kept."""

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter

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


def missing_jobs(
    artefacts: Iterable[Artefact], store: Store, *, seeds: int = SEEDS, quick: bool = False
) -> list[Job]:
    """List what is still to be computed, each once, all seeds of a cell together; quick: nothing slow."""
    jobs: dict[str, Job] = {}
    for artefact in artefacts:
        for cell in artefact.cells(quick):
            for seed in cell.seeds(seeds):
                key = cell.key(seed)
                if key not in store:
                    jobs.setdefault(key, Job(cell, seed))
    return list(jobs.values())


def kept_runs(artefacts: Iterable[Artefact], store: Store, *, seeds: int = SEEDS) -> int:
    """Count the runs of some artefacts that the store has; those of other code and settings do not count."""
    cells = [cell for artefact in artefacts for cell in artefact.cells()]
    keys = {cell.key(seed) for cell in cells for seed in cell.seeds(seeds)}
    return sum(key in store for key in keys)


def run(
    jobs: Iterable[Job], store: Store, on_job: Callable[[Job, float], None] | None = None
) -> list[Failure]:
    """Compute each job and keep its values before the next one starts; ``on_job`` is called after each.

    A job that fails, or yields a number that is none, is put aside and the others go on. One that another
    process has done meanwhile is left out.
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


def run_watched(jobs: list[Job], store: Store, terminal: Terminal) -> list[Failure]:
    """Do jobs behind a bar that counts them."""
    done = 0
    with terminal.step("running", notes=False) as move:

        def on_job(job: Job, seconds: float) -> None:
            nonlocal done
            done += 1
            move(done, len(jobs))

        # the bar counts runs; iterations inside of one would pull it back and forth
        with watching(lambda *_: None):
            return run(jobs, store, on_job)


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
