"""Comparable timings: after a warm-up, interleaved and repeated."""

import gc
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from benchmarks.entry import Contest, Figure, Race, Rival, Row, Skipped


def run(entry: Race | Figure, *, quick: bool = False) -> Iterator[Row]:
    """Run one benchmark and yield its rows; missing requirements and errors become rows too."""
    try:
        if isinstance(entry, Figure):
            reading = entry.measure()
            yield Row(
                entry.name, entry.what, reading.ours, reading.rival, reading.values, entry.unit,
                entry.at_least, entry.at_most, reading.note, limit=entry.limit,
            )  # fmt: skip
        else:
            yield from _race(entry, min(entry.repeats, 3) if quick else entry.repeats)
    except Skipped as reason:
        yield Row(entry.name, entry.what, note=str(reason), skipped=True)
    except ImportError as missing:
        note = f"{missing.name} is not installed: pip install 'gssl[bench]'"
        yield Row(entry.name, entry.what, note=note, skipped=True)
    except Exception as error:  # one failing benchmark must not end the whole run
        yield Row(entry.name, entry.what, note=f"{type(error).__name__}: {error}", failed=True)
    gc.collect()


def clock(call: Callable[[], Any]) -> float:
    """Time one call in seconds."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def interleaved(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Time the calls in turn, so that load on the machine affects all of them.

    There is no warm-up round; callers run one themselves.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for repeat in range(repeats):
        # rotate the order, because each call changes the caches for the next
        for name in names[repeat % len(names) :] + names[: repeat % len(names)]:
            times[name].append(clock(calls[name]))
    return times


def seconds(values: list[float]) -> str:
    """Format the median of some times."""
    value = median(values)
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.3g} ms"


def _race(race: Race, repeats: int) -> Iterator[Row]:
    contest: Contest = race.prepare()
    notes, failures = {}, {}
    output = contest.ours()
    for rival in contest.rivals:
        theirs = rival.run()
        try:
            notes[rival.name] = rival.check(output, theirs) if rival.check else ""
        except ValueError as difference:
            failures[rival.name] = str(difference)
        del theirs
    del output
    fair = [rival for rival in contest.rivals if rival.name not in failures]
    calls = {"": contest.ours, **{rival.name: rival.run for rival in fair}}
    times = interleaved(calls, repeats)
    for rival in contest.rivals:
        if rival.name in failures:
            yield Row(race.name, race.what, rival=rival.name, note=failures[rival.name], failed=True)
        else:
            yield _row(race, rival, times, notes[rival.name])


def _row(race: Race, rival: Rival, times: dict[str, list[float]], note: str) -> Row:
    ratios = [theirs / ours for ours, theirs in zip(times[""], times[rival.name], strict=True)]
    return Row(
        race.name,
        race.what,
        ours=seconds(times[""]),
        rival=f"{rival.name}: {seconds(times[rival.name])}",
        values=ratios,
        at_least=rival.at_least,
        note="; ".join(part for part in (rival.note, note) if part),
        limit=race.limit,
    )
