"""Summarize records: our mean and the published number of each entry, their difference, and a verdict."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal

import numpy as np
from scipy.stats import ttest_1samp

from reproduction.spec import Artefact, Cell, Claim, Entry, Position
from reproduction.store import Store

Verdict = Literal["hit", "miss", "above", "unjudged", "not run", "published only"]


# p-value below which a claim counts as shown, or as refuted
SIGNIFICANT = 0.05


@dataclass(frozen=True, eq=False)
class Line:
    """An entry with its measured values; ``difference`` is ours minus the published number, as displayed.

    ``commits`` are those of the code that computed it. ``reason`` says why it was not run.
    """

    entry: Entry
    ours: float | None
    spread: float
    n_seeds: int
    difference: float | None
    verdict: Verdict
    values: tuple[float, ...] = ()
    commits: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Judgement:
    """A claim, whether it holds (None if not measured or not decided), and the evidence."""

    text: str
    holds: bool | None
    evidence: str


@dataclass(frozen=True, eq=False)
class Result:
    """An artefact with its lines and the judgement of each claim."""

    artefact: Artefact
    lines: tuple[Line, ...]
    claims: tuple[Judgement, ...]
    seconds: float

    def having(self, verdict: Verdict) -> list[Line]:
        """Return the lines with a given verdict."""
        return [line for line in self.lines if line.verdict == verdict]


@dataclass(frozen=True, eq=False)
class Grid:
    """Lines of one group by row and column."""

    group: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, str, dict[str, Line]], ...]

    @property
    def has_budgets(self) -> bool:
        """Whether rows name the labels that they use."""
        return any(budget for _, budget, _ in self.rows)


def summarize(artefact: Artefact, store: Store) -> Result:
    """Average each entry over seeds and compare the mean with the published number."""
    lines = tuple(_line(entry, store) for entry in artefact.entries)
    values, fixed = measured(lines)
    claims = tuple(judge(claim, values, fixed) for claim in artefact.claims)
    seconds = sum(store.seconds(cell, seed) for cell in artefact.cells() for seed in seeds_run(cell, store))
    return Result(artefact, lines, claims, seconds)


def measured(lines: Sequence[Line]) -> tuple[dict[Position, tuple[float, ...]], set[Position]]:
    """Return the values by position, and the positions of deterministic ones, equal for all seeds."""
    values = {line.entry.position: line.values for line in lines if line.values}
    cells = {line.entry.position: (line.entry.cell, line.entry.minus) for line in lines}
    fixed = {position for position in values if not any(cell and cell.random for cell in cells[position])}
    return values, fixed


def judge(
    claim: Claim, values: Mapping[Position, tuple[float, ...]], fixed: Collection[Position] = ()
) -> Judgement:
    """Judge a claim by paired tests over seeds, or by the means and the number of seeds that satisfy it.

    One seed of a random method decides nothing. Positions in ``fixed`` are deterministic.
    """
    try:
        if claim.pairs:
            return _judge_pairs(claim, values, fixed)
        means = _Means({position: float(np.mean(samples)) for position, samples in values.items()})
        holds = claim.holds(means)
    except KeyError:
        return Judgement(claim.text, None, "not measured")
    counts = [len(values[position]) for position in means.used if position not in fixed]
    if not counts:
        return Judgement(claim.text, holds, "one run each")
    if min(counts) == 1:
        return Judgement(claim.text, None, _one_seed(holds))
    n = min(counts)
    same = [
        claim.holds({position: _of_seed(samples, k) for position, samples in values.items()})
        for k in range(n)
    ]
    return Judgement(claim.text, holds, f"judged by the means; true for {sum(same)} of {n} seeds")


class _Means(dict[Position, float]):
    """Means by position that record which of them a rule uses."""

    def __init__(self, means: Mapping[Position, float]) -> None:
        super().__init__(means)
        self.used: set[Position] = set()

    def __getitem__(self, position: Position) -> float:
        self.used.add(position)
        return super().__getitem__(position)


def _judge_pairs(
    claim: Claim, values: Mapping[Position, tuple[float, ...]], fixed: Collection[Position]
) -> Judgement:
    """Test every pair, one-sided: the claim holds if all pairs do, and one reversed pair refutes it."""
    # the p-value of each pair, and its number of seeds: those that both have, 0 if both are deterministic
    tests: list[tuple[float, int]] = []
    for more, less in claim.pairs:
        n = min((len(values[position]) for position in (more, less) if position not in fixed), default=0)
        gaps = np.array([_of_seed(values[more], k) - _of_seed(values[less], k) for k in range(max(n, 1))])
        if n < 2 or np.ptp(gaps) == 0.0:
            # without variation the sign decides, and equal numbers show nothing
            tests.append((0.5 - 0.5 * float(np.sign(gaps.mean())), n))
        else:
            tests.append((float(ttest_1samp(gaps, 0.0, alternative="greater").pvalue), n))
    opposite, n = max(((p, n) for p, n in tests if n != 1), default=(0.0, 1))
    if 1.0 - opposite < SIGNIFICANT:
        test = f"paired t-test over {n} seeds, p < {SIGNIFICANT} for the opposite" if n else "one run each"
        return Judgement(claim.text, False, test)
    p, fewest = max(p for p, _ in tests), min((n for _, n in tests if n), default=0)
    if fewest == 0:
        return Judgement(claim.text, p < SIGNIFICANT, "one run each")
    if fewest == 1:
        return Judgement(claim.text, None, _one_seed(p < SIGNIFICANT))
    evidence = f"paired t-test over {fewest} seeds, p = {max(p, 1e-4):.2g}"
    if p < SIGNIFICANT:
        return Judgement(claim.text, True, evidence)
    return Judgement(claim.text, None, f"not decided: {evidence}")


def _one_seed(agrees: bool) -> str:
    return f"not decided: one seed, which {'agrees' if agrees else 'disagrees'}"


def _of_seed(values: tuple[float, ...], seed: int) -> float:
    """Return the value for a seed; deterministic cells have one value for all seeds."""
    return values[min(seed, len(values) - 1)]


def seeds_run(cell: Cell, store: Store) -> Iterator[int]:
    """Yield the seeds of a cell that are in the store, from 0 up to the first gap."""
    for seed in count():
        if store.values(cell, seed) is None:
            return
        yield seed


def grids(result: Result) -> list[Grid]:
    """Arrange lines into tables, one for each group, in order of appearance."""
    groups: dict[str, dict[tuple[str, str], dict[str, Line]]] = {}
    columns: dict[str, dict[str, None]] = {}
    for line in result.lines:
        entry = line.entry
        rows = groups.setdefault(entry.group, {})
        rows.setdefault((entry.row, entry.labels), {})[entry.column] = line
        columns.setdefault(entry.group, {})[entry.column] = None
    return [
        Grid(group, tuple(columns[group]), tuple((*name, lines) for name, lines in rows.items()))
        for group, rows in groups.items()
    ]


def _line(entry: Entry, store: Store) -> Line:
    values = tuple(_values(entry, store))
    if not values:
        verdict: Verdict = "not run" if entry.cells else "published only"
        return Line(entry, None, 0.0, 0, None, verdict, reason=_reason(entry, store))
    ours = float(np.mean(values))
    difference = None
    if entry.published is not None and entry.digits >= 0:
        # judge the rounded number, which is the one displayed
        difference = round(round(ours, entry.digits) - entry.published, entry.digits)
    return Line(
        entry,
        ours,
        float(np.std(values)),
        len(values),
        difference,
        _verdict(entry, difference),
        values,
        commits=tuple(store.commit(entry.cell, seed) for seed in range(len(values)) if entry.cell),
    )


def _reason(entry: Entry, store: Store) -> str:
    """Return why a number is missing."""
    wanted = [cell for cell in (entry.cell, entry.minus) if cell is not None]
    if not wanted:
        return entry.absent or "not implemented"
    reasons = [text for cell in wanted for text in (cell.obstacle, store.reason(cell)) if text]
    return reasons[0] if reasons else "not run yet"


def _verdict(entry: Entry, difference: float | None) -> Verdict:
    if difference is None or entry.tolerance is None:
        return "unjudged"
    if abs(difference) <= entry.tolerance + 1e-9:
        return "hit"
    return "above" if difference > 0 and not entry.both_ways else "miss"


def _values(entry: Entry, store: Store) -> Iterator[float]:
    """Yield the values of all seeds for which every cell of the entry has been run."""
    # stored runs count even if a missing package or file keeps them from being repeated here
    if entry.cell is None:
        return
    for seed in seeds_run(entry.cell, store):
        value = (store.values(entry.cell, seed) or {}).get(entry.value)
        if value is not None and entry.minus is not None:
            other = store.values(entry.minus, seed if entry.minus.random else 0) or {}
            value = value - other[entry.value] if entry.value in other else None
        if value is None:  # not run, or by an earlier measure without this value
            return
        yield value
