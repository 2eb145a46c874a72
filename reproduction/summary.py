"""From records to lines: ours beside the published number, their difference, and whether it is a miss."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Literal

import numpy as np

from reproduction.spec import Artefact, Cell, Entry
from reproduction.store import Store

Verdict = Literal["hit", "miss", "above", "unjudged", "not run", "published only"]


@dataclass(frozen=True, eq=False)
class Line:
    """An entry with what was measured; ``difference`` is ours less the published number, as shown."""

    entry: Entry
    ours: float | None
    spread: float
    n_seeds: int
    difference: float | None
    verdict: Verdict


@dataclass(frozen=True, eq=False)
class Result:
    """An artefact with its lines, and whether each of its claims holds (None: not measured)."""

    artefact: Artefact
    lines: tuple[Line, ...]
    claims: tuple[tuple[str, bool | None], ...]
    seconds: float

    def having(self, verdict: Verdict) -> list[Line]:
        """Return the lines of one verdict."""
        return [line for line in self.lines if line.verdict == verdict]


@dataclass(frozen=True, eq=False)
class Grid:
    """Lines of one group by row and column."""

    group: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, str, dict[str, Line]], ...]


def summarize(artefact: Artefact, store: Store) -> Result:
    """Average the seeds of each entry and hold the mean against the published number."""
    lines = tuple(_line(entry, store) for entry in artefact.entries)
    means = {line.entry.place: line.ours for line in lines if line.ours is not None}
    claims: list[tuple[str, bool | None]] = []
    for claim in artefact.claims:
        try:
            claims.append((claim.text, bool(claim.holds(means))))
        except KeyError:
            claims.append((claim.text, None))
    seconds = sum(store.seconds(cell, seed) for cell in artefact.cells() for seed in seeds_run(cell, store))
    return Result(artefact, lines, tuple(claims), seconds)


def seeds_run(cell: Cell, store: Store) -> Iterator[int]:
    """List the seeds of a cell that are in the store, from 0 on."""
    for seed in count():
        if store.values(cell, seed) is None:
            return
        yield seed


def grids(result: Result) -> list[Grid]:
    """Arrange lines into tables, one for each group, in the order in which they come."""
    found: dict[str, dict[tuple[str, str], dict[str, Line]]] = {}
    columns: dict[str, dict[str, None]] = {}
    for line in result.lines:
        entry = line.entry
        rows = found.setdefault(entry.group, {})
        rows.setdefault((entry.row, entry.labels), {})[entry.column] = line
        columns.setdefault(entry.group, {})[entry.column] = None
    return [
        Grid(group, tuple(columns[group]), tuple((*name, lines) for name, lines in rows.items()))
        for group, rows in found.items()
    ]


def _line(entry: Entry, store: Store) -> Line:
    values = list(_values(entry, store))
    if not values:
        return Line(entry, None, 0.0, 0, None, "not run" if entry.cells else "published only")
    ours = float(np.mean(values))
    difference = None
    if entry.published is not None and entry.digits >= 0:
        # what is judged is what is shown
        difference = round(round(ours, entry.digits) - entry.published, entry.digits)
    return Line(entry, ours, float(np.std(values)), len(values), difference, _verdict(entry, difference))


def _verdict(entry: Entry, difference: float | None) -> Verdict:
    if difference is None or entry.tolerance is None:
        return "unjudged"
    if abs(difference) <= entry.tolerance + 1e-9:
        return "hit"
    return "above" if difference > 0 and not entry.both_ways else "miss"


def _values(entry: Entry, store: Store) -> Iterator[float]:
    """Return the values of all seeds that every cell of the entry has been run with."""
    # what has been run counts even where it could not be run again, for want of a package or a file
    if entry.cell is None:
        return
    for seed in seeds_run(entry.cell, store):
        value = (store.values(entry.cell, seed) or {}).get(entry.value)
        if value is not None and entry.minus is not None:
            other = store.values(entry.minus, seed if entry.minus.random else 0) or {}
            value = value - other[entry.value] if entry.value in other else None
        if value is None:  # not run, or by a measure that did not tell it
            return
        yield value
