"""What the runs say: scores averaged over draws, ranks, and where gssl is not the best."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.leaderboard.methods import AS_ONE, AUTO
from benchmarks.leaderboard.problems import Task, family
from benchmarks.leaderboard.runs import Records, Run

# gaps of scores below this are no difference
_CLOSE = 0.05
_RESAMPLES = 2000


@dataclass(frozen=True, eq=False)
class Contest:
    """One problem and budget: the score that counts, and the mean values of each method over its draws.

    ``stopped`` has the reason for each method without values.
    """

    name: str
    budget: str
    measure: str
    draws: int
    values: Mapping[str, Mapping[str, float]]
    stopped: Mapping[str, str]

    @property
    def family(self) -> str:
        """Classes, numbers, labelsets or relations."""
        return family(self.name)

    @property
    def scores(self) -> dict[str, float]:
        """The score of each method that has one."""
        return {method: values[self.measure] for method, values in self.values.items()}

    @property
    def rivals(self) -> dict[str, float]:
        """The scores of what is not gssl's automatic model."""
        return {method: score for method, score in self.scores.items() if method not in (AUTO, AS_ONE)}

    @property
    def lead(self) -> float:
        """By how much gssl's automatic model is above the best alternative, in points; negative if below."""
        return self.scores.get(AUTO, -np.inf) - max(self.rivals.values())

    def ranks(self) -> dict[str, float]:
        """Return the rank of each method, 1 for the best; methods without a score share the last ranks."""
        names = [name for name in (*self.values, *self.stopped) if name != AS_ONE]
        scores = [self.scores.get(name, -np.inf) for name in names]
        return dict(zip(names, rankdata([-score for score in scores]), strict=True))


def contests(runs: Iterable[Run], records: Records) -> list[Contest]:
    """Average the runs of each problem and budget over the draws that every method was run on."""
    grouped: dict[tuple[str, str], dict[str, dict[int, dict[str, Any]]]] = {}
    for run in runs:
        record = records.find(run)
        by_method = grouped.setdefault((run.task.name, run.task.budget), {}).setdefault(run.method, {})
        if record is not None:
            by_method[run.task.draw] = record
    return [_contest(*key, group) for key, group in grouped.items() if all(group.values())]


def _contest(name: str, budget: str, group: dict[str, dict[int, dict[str, Any]]]) -> Contest:
    common = sorted(set.intersection(*(set(by_draw) for by_draw in group.values())))
    values, stopped, measure = {}, {}, ""
    for method, by_draw in group.items():
        reasons = [by_draw[draw]["reason"] for draw in common if "reason" in by_draw[draw]]
        if reasons:
            stopped[method] = reasons[0]
            continue
        measure = by_draw[common[0]]["measure"]
        rows = [by_draw[draw]["values"] for draw in common]
        values[method] = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    return Contest(name, budget, measure, len(common), values, stopped)


def left_out(tasks: Iterable[Task], given: Iterable[Contest]) -> list[str]:
    """Name the problems and budgets that are in no contest, those of one problem together."""
    done = {(contest.name, contest.budget) for contest in given}
    missing: dict[str, list[str]] = {}
    for task in tasks:
        if task[:2] not in done and task.budget not in missing.setdefault(task.name, []):
            missing[task.name].append(task.budget)
    return [f"{name} ({', '.join(budgets)})" for name, budgets in missing.items() if budgets]


def mean_ranks(given: list[Contest]) -> dict[str, tuple[float, float, float]]:
    """Return the mean rank of each method that was run in all contests, with an interval of 95 %.

    The interval resamples graphs, because budgets of one graph depend on each other.
    """
    ranks = [contest.ranks() for contest in given]
    methods = [
        m for m in dict.fromkeys(m for rank in ranks for m in rank) if all(m in rank for rank in ranks)
    ]
    # the attributes of one table depend on each other, too
    names = np.array([contest.name.split(": ")[0] for contest in given])
    table = np.array([[rank[method] for method in methods] for rank in ranks])
    by_graph = np.array([table[names == name].sum(axis=0) for name in dict.fromkeys(names)])
    counts = np.array([np.count_nonzero(names == name) for name in dict.fromkeys(names)])
    rng = np.random.default_rng(0)
    picks = rng.integers(len(counts), size=(_RESAMPLES, len(counts)))
    means = by_graph[picks].sum(axis=1) / counts[picks].sum(axis=1)[:, None]
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    bounds = zip(methods, table.mean(axis=0), low, high, strict=True)
    return {
        method: (float(mean), float(a), float(b)) for method, mean, a, b in sorted(bounds, key=lambda r: r[1])
    }


def behind(given: list[Contest]) -> list[Contest]:
    """Return the contests in which an alternative is better, the largest gap first."""
    lost = [contest for contest in given if contest.lead < -_CLOSE]
    return sorted(lost, key=lambda contest: contest.lead)


def mean_of(given: list[Contest], method: str, key: str) -> float | None:
    """Return the mean of a value of a method over contests; None where any of them lacks it."""
    values = [contest.values.get(method, {}).get(key) for contest in given]
    return None if not values or None in values else float(np.mean([v for v in values if v is not None]))
