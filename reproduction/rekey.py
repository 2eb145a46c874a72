"""Carry records over to new code that computes the same, as after a renaming.

The key of a record includes a hash of the code, so any edit of that code marks the record as old. Here some
records are drawn at random and computed again. If all of them agree, the others are given the new key too.
"""

import math
import random
from collections.abc import Iterable, Mapping
from itertools import zip_longest

from gssl.cli.console import Terminal
from reproduction.runner import Job, compute
from reproduction.spec import Artefact
from reproduction.store import Store
from reproduction.summary import seeds_run

# measures of CPU time, which no second run repeats exactly
_TIMES = frozenset({"race", "time"})
# networks compute in float32, so another order of summation changes the last digits
_TOLERANCE = 1e-6


def rekey(
    artefacts: Iterable[Artefact],
    store: Store,
    terminal: Terminal,
    *,
    sample: int = 10,
    longest: float = 30.0,
) -> int:
    """Give records by earlier code the current key if a sample of them agrees; return how many.

    ``sample`` records that took at most ``longest`` seconds are drawn. Times are neither drawn nor changed.
    If a number differs, ValueError is raised and the store is left as it was.
    """
    jobs = old_jobs(artefacts, store)
    if not jobs:
        return 0
    drawn = draw([job for job in jobs if store.seconds(job.cell, job.seed) <= longest], sample)
    if len(drawn) < min(sample, len(jobs)):
        raise ValueError(
            f"only {len(drawn)} runs took at most {longest:g} s, too few for a sample of {sample}: "
            "allow longer ones."
        )
    differing = []
    with terminal.step("repeating", notes=False) as move:
        for k, job in enumerate(drawn, start=1):
            difference = _difference(store.values(job.cell, job.seed) or {}, compute(job))
            if difference:
                differing.append(f"{job.cell.title}, seed {job.seed}: {difference}")
            move(k, len(drawn))
    if differing:
        raise ValueError(
            f"{len(differing)} of {len(drawn)} repeated runs differ, so no key was changed "
            f"({'; '.join(differing)}): repeat the runs with python -m reproduction all --renew."
        )
    store.rekey((job.cell, job.seed) for job in jobs)
    return len(jobs)


def old_jobs(artefacts: Iterable[Artefact], store: Store) -> list[Job]:
    """List the stored runs by earlier code, except measured times."""
    cells = {cell.key(0): cell for artefact in artefacts for cell in artefact.cells()}
    return [
        Job(cell, seed)
        for cell in cells.values()
        if cell.measure not in _TIMES
        for seed in seeds_run(cell, store)
        if not store.is_current(cell, seed)
    ]


def draw(jobs: list[Job], count: int) -> list[Job]:
    """Draw jobs at random, one of each measure before a second of any."""
    by_measure: dict[str, list[Job]] = {}
    for job in random.SystemRandom().sample(jobs, len(jobs)):
        by_measure.setdefault(job.cell.measure, []).append(job)
    rounds = zip_longest(*by_measure.values())
    return [job for turn in rounds for job in turn if job is not None][:count]


def _difference(kept: Mapping[str, float], computed: Mapping[str, float]) -> str:
    """Name the first value that differs; empty if none does."""
    if kept.keys() != computed.keys():
        return f"values {', '.join(sorted(kept.keys() ^ computed.keys()))} are in one of the runs only"
    for name, value in kept.items():
        if not math.isclose(value, computed[name], rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            return f"{name} was {value:.10g} and is {computed[name]:.10g}"
    return ""
