"""Definitions of benchmarks and of the rows of the result table."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class Skipped(Exception):  # noqa: N818 - not an error
    """A requirement of a benchmark is missing; the message names it."""


@dataclass(frozen=True)
class Rival:
    """Another implementation of the same computation.

    ``check`` takes our output and the rival's and returns a note for the table. It raises ValueError if the
    outputs differ; then the rival is not timed.
    """

    name: str
    run: Callable[[], Any]
    at_least: float | None = None
    check: Callable[[Any, Any], str] | None = None
    note: str = ""


@dataclass(frozen=True)
class Contest:
    """Our call and those of the rivals, ready to run."""

    ours: Callable[[], Any]
    rivals: tuple[Rival, ...]


@dataclass(frozen=True)
class Race:
    """The time of a rival's call divided by ours: one row for each rival."""

    name: str
    what: str
    prepare: Callable[[], Contest]
    repeats: int = 5
    # what limits the speed, shown if a goal is missed
    limit: str = ""


@dataclass(frozen=True)
class Reading:
    """Repeated measurements of one figure, and the texts beside them in the table."""

    values: list[float]
    ours: str = ""
    rival: str = ""
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A number other than a ratio to a rival: a share of a bound, a slope, seconds, memory."""

    name: str
    what: str
    measure: Callable[[], Reading]
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    limit: str = ""


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    name: str
    what: str
    ours: str = "–"
    rival: str = "–"
    values: list[float] = field(default_factory=list)
    unit: str = "×"
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""
    skipped: bool = False
    failed: bool = False
    limit: str = ""

    @property
    def median(self) -> float | None:
        """The median value, which is compared with the goal."""
        ordered = sorted(self.values)
        middle = len(ordered) // 2
        if not ordered:
            return None
        return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2

    @property
    def goal(self) -> str:
        """The goal as text."""
        if self.at_least is not None:
            return f"≥ {self.at_least:g} {self.unit}"
        return "–" if self.at_most is None else f"≤ {self.at_most:g} {self.unit}"

    @property
    def status(self) -> str:
        """One of reached, MISS, skipped, FAILED, or info if there is no goal."""
        if self.skipped or self.failed:
            return "skipped" if self.skipped else "FAILED"
        if self.at_least is None and self.at_most is None:
            return "info"
        assert self.median is not None
        low = self.at_least is None or self.median >= self.at_least
        high = self.at_most is None or self.median <= self.at_most
        return "reached" if low and high else "MISS"
