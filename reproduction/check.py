"""Compute some stored runs again and compare: whether the present code still gives the kept numbers."""

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest

from reproduction.runner import Job, compute
from reproduction.spec import Artefact
from reproduction.store import Store
from reproduction.summary import seeds_run

# measures of CPU time, which no second run repeats exactly
_TIMES = frozenset({"race", "time"})
# networks compute in float32, so another order of summation changes the last digits
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Repeat:
    """A run that was computed again; ``difference`` is empty if all its values are the same."""

    job: Job
    difference: str


def draw_jobs(artefacts: Iterable[Artefact], store: Store, count: int, longest: float) -> list[Job]:
    """Draw stored runs of at most ``longest`` seconds, one of each measure before a second of any."""
    cells = {cell.key(0): cell for artefact in artefacts for cell in artefact.cells()}
    jobs = [
        Job(cell, seed)
        for cell in cells.values()
        if cell.measure not in _TIMES
        for seed in seeds_run(cell, store)
        if store.seconds(cell, seed) <= longest
    ]
    by_measure: dict[str, list[Job]] = {}
    for job in random.SystemRandom().sample(jobs, len(jobs)):
        by_measure.setdefault(job.cell.measure, []).append(job)
    rounds = zip_longest(*by_measure.values())
    return [job for turn in rounds for job in turn if job is not None][:count]


def repeat(job: Job, store: Store) -> Repeat:
    """Compute a stored run again and compare all its values."""
    return Repeat(job, _difference(store.values(job.cell, job.seed) or {}, compute(job)))


def _difference(kept: Mapping[str, float], computed: Mapping[str, float]) -> str:
    """Name the first value that differs; empty if none does."""
    if kept.keys() != computed.keys():
        return f"values {', '.join(sorted(kept.keys() ^ computed.keys()))} are in one of the runs only"
    for name, value in kept.items():
        if not math.isclose(value, computed[name], rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            return f"{name} was {value:.10g} and is {computed[name]:.10g}"
    return ""
