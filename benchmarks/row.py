"""A row of the table: something measured beside one rival, with one goal."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import Any


class Skipped(Exception):  # noqa: N818 - not an error
    """A requirement of a row is missing; the message names it."""


@dataclass(frozen=True)
class Measured:
    """Repeated measurements and the texts beside them; without any, ``problem`` is "skipped" or "FAILED"."""

    values: tuple[float, ...] = ()
    ours: str = "–"
    theirs: str = "–"
    note: str = ""
    problem: str = ""

    @property
    def median(self) -> float | None:
        """The median, which is compared with the goal."""
        return median(self.values) if self.values else None


@dataclass(frozen=True)
class Row:
    """What is computed, how it is measured, the rival, the goal, and what bounds the speed.

    ``package`` is the distribution whose version is shown beside the rival. The goal is either ``at_least``
    or ``at_most``, for the median in ``unit``. A ``long`` row is run only if it is named.
    """

    name: str
    what: str
    measure: Callable[[], Measured]
    rival: str
    limit: str
    package: str = ""
    unit: str = "×"
    at_least: float | None = None
    at_most: float | None = None
    long: bool = False

    def __post_init__(self) -> None:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError(f"{self.name} needs one goal: give either at_least or at_most.")

    @property
    def goal(self) -> str:
        """The goal as text."""
        sign, value = ("≤", self.at_most) if self.at_least is None else ("≥", self.at_least)
        return f"{sign} {value:g} {self.unit}"

    @property
    def version(self) -> str:
        """The version of the rival's package; empty if it has none, or is not installed."""
        try:
            return version(self.package) if self.package else ""
        except PackageNotFoundError:
            return ""

    @property
    def versioned_rival(self) -> str:
        """The rival with the version of its package."""
        return f"{self.rival} ({self.package} {self.version})" if self.version else self.rival

    def status(self, measured: Measured, *, quick: bool = False) -> str:
        """Return reached, MISS, skipped or FAILED; info in quick runs, whose sizes have no goals."""
        value = measured.median
        if value is None:
            return measured.problem
        if quick:
            return "info"
        low, high = self.at_least, self.at_most
        reached = (low is None or value >= low) and (high is None or value <= high)
        return "reached" if reached else "MISS"


def run(row: Row) -> Measured:
    """Measure a row; a missing requirement or an error is a result, too, and does not end the run."""
    try:
        return row.measure()
    except Skipped as reason:
        return Measured(note=str(reason), problem="skipped")
    except ImportError as missing:
        note = f"{missing.name} is not installed: pip install 'gssl[bench]'"
        return Measured(note=note, problem="skipped")
    except Exception as error:
        return Measured(note=f"{type(error).__name__}: {error}", problem="FAILED")
    finally:
        gc.collect()


def ratio(
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    check: Callable[[Any, Any], str] | None = None,
    repeats: int = 5,
    *,
    cost: bool = False,
    note: str = "",
) -> Measured:
    """Time two calls in turn, after a warm-up: theirs / ours, or ours / theirs if ``cost``.

    ``check`` takes both outputs and returns a note; it raises ValueError if they differ too much to compare.
    """
    outputs = ours(), theirs()
    checked = check(*outputs) if check else ""
    del outputs
    times = interleaved({"ours": ours, "theirs": theirs}, repeats)
    pairs = zip(times["ours"], times["theirs"], strict=True)
    values = tuple(our / their if cost else their / our for our, their in pairs)
    text = "; ".join(part for part in (note, checked) if part)
    return Measured(values, seconds(times["ours"]), seconds(times["theirs"]), text)


def interleaved(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Time calls in turn, without a warm-up, so that load on the machine affects all of them."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for repeat in range(repeats):
        # rotate the order, because each call changes the caches for the next
        for name in names[repeat % len(names) :] + names[: repeat % len(names)]:
            start = time.perf_counter()
            calls[name]()
            times[name].append(time.perf_counter() - start)
    return times


def seconds(values: list[float]) -> str:
    """Format the median of some times."""
    value = median(values)
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.3g} ms"
