"""What a benchmark is, and what it leaves behind: a row of the table."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class Skipped(Exception):  # noqa: N818 - it is no error
    """Something that a benchmark needs is absent; the message says what."""


@dataclass(frozen=True)
class Rival:
    """Somebody else's way to the same result.

    ``check`` takes our output and the rival's and gives a note for the table; it raises ValueError if the two
    did not do the same work, and then nothing is timed.
    """

    name: str
    run: Callable[[], Any]
    at_least: float | None = None
    check: Callable[[Any, Any], str] | None = None
    note: str = ""


@dataclass(frozen=True)
class Contest:
    """Our call and the rivals', ready to run."""

    ours: Callable[[], Any]
    rivals: tuple[Rival, ...]


@dataclass(frozen=True)
class Race:
    """Time of a rival's call over the time of ours: one row for each rival."""

    name: str
    what: str
    prepare: Callable[[], Contest]
    repeats: int = 5
    # what keeps it from more, for the rows that miss their goal
    limit: str = ""


@dataclass(frozen=True)
class Reading:
    """Repeated values of one figure, and what the table says beside them."""

    values: list[float]
    ours: str = ""
    rival: str = ""
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A number that is no race: a share of a bound, a slope, seconds, memory."""

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
        """The value that is held against the goal."""
        ordered = sorted(self.values)
        middle = len(ordered) // 2
        if not ordered:
            return None
        return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2

    @property
    def goal(self) -> str:
        """The goal in words."""
        if self.at_least is not None:
            return f"≥ {self.at_least:g} {self.unit}"
        return "–" if self.at_most is None else f"≤ {self.at_most:g} {self.unit}"

    @property
    def status(self) -> str:
        """Reached, MISS, skipped, failed, or info where there is no goal."""
        if self.skipped or self.failed:
            return "skipped" if self.skipped else "FAILED"
        if self.at_least is None and self.at_most is None:
            return "info"
        assert self.median is not None
        low = self.at_least is None or self.median >= self.at_least
        high = self.at_most is None or self.median <= self.at_most
        return "reached" if low and high else "MISS"
