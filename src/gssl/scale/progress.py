"""Signs of life of long calls: their steps and counts, for logs, progress bars and the command line.

The logger ``gssl`` has a line at level INFO for each step, and one every few seconds while it runs.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

_log = logging.getLogger("gssl")
# seconds between lines about one step, and the least for which its end is logged
_EVERY, _SHORT = 5.0, 0.5

Watcher = Callable[[int, int | None], None]


class Observer(Protocol):
    """Something that shows the steps of a call, such as a progress bar or a terminal."""

    def step(self, title: str) -> AbstractContextManager[Any]:
        """Show a step while it runs."""

    def note(self, *texts: str) -> None:
        """Show notes about the data."""


@dataclass
class _Running:
    """The step that runs now, and when it was last logged."""

    title: str
    start: float = field(default_factory=lambda: perf_counter())
    logged: float = field(default_factory=lambda: perf_counter())


_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
_observer: ContextVar[Observer | None] = ContextVar("observer", default=None)
_running: ContextVar[_Running | None] = ContextVar("running", default=None)


def report_progress(done: int, total: int | None) -> None:
    """Report the number of rounds done in a loop, and the most that there will be."""
    watcher, running = _watcher.get(), _running.get()
    if watcher is not None:
        watcher(done, total)
    if running is not None and perf_counter() - running.logged > _EVERY:
        running.logged = perf_counter()
        count = f"{done:,}" if total is None else f"{done:,} of {total:,}"
        _say("%s: %s, %.0f s so far", running.title, count, running.logged - running.start)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Call ``watcher(done, total)`` after each round of the loops in this block."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def observing(observer: Observer | None) -> Iterator[None]:
    """Show the steps of this block to an observer."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


@contextmanager
def step(title: str) -> Iterator[None]:
    """Run a step of a call: show it to the observer, if there is one, and log it."""
    observer, running = _observer.get(), _Running(title)
    token = _running.set(running)
    try:
        with nullcontext() if observer is None else observer.step(title):
            yield
    finally:
        _running.reset(token)
    seconds = perf_counter() - running.start
    if seconds >= _SHORT or _log.isEnabledFor(logging.DEBUG):
        _say("%s: %.1f s", title, seconds)


def note(*texts: str) -> None:
    """Show notes about the data to the observer, if there is one."""
    observer = _observer.get()
    if observer is not None:
        observer.note(*texts)


def _say(message: str, *values: Any) -> None:
    # the command line shows steps by itself
    _log.info(message, *values, extra={"step": True})


def make_bar(**options: Any) -> Any:
    """Return rich's bar, which disappears at its end; tasks have a field ``count``, a text."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns: Any = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[count]}", markup=False, style="dim"),
        TimeElapsedColumn(),
    )
    return Progress(*columns, transient=True, **options)


class ProgressBar:
    """Show the steps of calls as a bar, in a terminal or a notebook; see :func:`gssl.execution`."""

    def __init__(self) -> None:
        self.progress = make_bar()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the bar while a block runs."""
        with self.progress, observing(self), self.step("running"):
            yield

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Show a step, and its count if it reports one."""
        task = self.progress.add_task(title, total=None, count="")

        def move(done: int, total: int | None) -> None:
            count = f"{done:,}" if total is None else f"{done:,} of {total:,}"
            self.progress.update(task, completed=done, total=total, count=count)

        try:
            with watching(move):
                yield
        finally:
            self.progress.remove_task(task)

    def note(self, *texts: str) -> None:
        """Print notes above the bar."""
        for text in texts:
            self.progress.console.print(f"note: {text}", markup=False, highlight=False)
