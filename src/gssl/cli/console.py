"""Print results on standard output, and stages and notes on standard error."""

import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from textwrap import fill
from time import perf_counter
from typing import Any

from rich.console import Console

from gssl.scale.memory import peak_memory
from gssl.scale.progress import make_bar, observing, watching
from gssl.wording import printable, write_size


class _Log(logging.Handler):
    """Print log messages through the console, so that they do not break the progress bar.

    Only the first message of each kind, such as those about compiled loops, is printed, unless ``every``.
    """

    def __init__(self, console: Console, every: bool) -> None:
        super().__init__()
        self.console, self.every = console, every
        self.kinds: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        # steps are shown by the terminal itself
        if hasattr(record, "step") or (record.msg in self.kinds and not self.every):
            return
        self.kinds.add(str(record.msg))
        self.console.print(f"note: {printable(record.getMessage())}", soft_wrap=True)


@dataclass
class Stage:
    """A stage of a run; ``step`` is shown while it runs, ``detail`` with its seconds at its end."""

    name: str
    detail: str = ""
    step: str = ""
    start: float = field(default_factory=perf_counter)
    refresh: Callable[[], None] = lambda: None

    def show(self, step: str) -> None:
        """Show the current step."""
        self.step = step
        self.refresh()


class Terminal:
    """The output of one run: results, notes, and stages with their seconds.

    In a pipe, a stage prints a line ``every`` few seconds and one at its end. On a terminal, a bar counts
    the finished stages of the ``plan``.
    """

    def __init__(
        self, quiet: bool = False, verbose: bool = False, start: float | None = None, *, every: float = 10.0
    ) -> None:
        # texts from the user's data are never markup or emoji
        plain: Any = {"quiet": quiet, "highlight": False, "markup": False, "emoji": False}
        self.out = Console(**plain)
        self.err = Console(stderr=True, **plain)
        self.notes: list[str] = []
        self.start = perf_counter() if start is None else start
        self.plan: Sequence[str] = ()
        self._stage: Stage | None = None
        self._every = every
        log = logging.getLogger("gssl")
        log.handlers = [_Log(self.err, verbose)]
        log.propagate = False
        log.setLevel(logging.WARNING if quiet else logging.DEBUG if verbose else logging.INFO)

    def say(self, text: str) -> None:
        """Print a result: on one line in a pipe, and broken between words on a terminal."""
        text = printable(text)
        if self.out.is_terminal:
            # paths and other long words stay whole, so that they can be copied
            text = fill(text, self.out.width, break_long_words=False, break_on_hyphens=False)
        self.out.print(text, soft_wrap=True)

    def say_lines(self, text: str) -> None:
        """Print the lines of a result as they are."""
        for line in text.splitlines():
            self.out.print(printable(line), soft_wrap=True)

    def note(self, *texts: str) -> None:
        """Print notes about the data, each once."""
        for text in texts:
            if text not in self.notes:
                self.notes.append(text)
                self.err.print(f"note: {printable(text)}", soft_wrap=True)

    @contextmanager
    def stage(self, name: str) -> Iterator[Stage]:
        """Show a stage while it runs, and print its seconds at its end."""
        stage = self._stage = Stage(name)
        shown = self._bar(stage) if self.err.is_terminal else self._heartbeat(stage)
        try:
            with shown, observing(self):
                yield stage
        finally:
            self._stage = None
        self._print_seconds(name, perf_counter() - stage.start, stage.detail)

    @contextmanager
    def step(self, title: str, *, notes: bool = True) -> Iterator[Callable[[int, int | None], None]]:
        """Show a step of the running stage; fits and the yielded ``move(done, total)`` update its count.

        Warnings in the block become notes, unless ``notes`` is False.
        """
        stage = self._stage or Stage("")
        stage.show(title)

        latest = 0

        def move(done: int, total: int | None) -> None:
            nonlocal latest
            # a count that starts again is one of several, and does not show the progress of the stage
            latest = done if latest <= done else sys.maxsize
            count = f"{done:,}" if total is None else f"{done:,} of {total:,}"
            stage.show(f"{title} {count}".strip() if latest < sys.maxsize else title)

        with warnings.catch_warnings(record=True) as caught, watching(move):
            warnings.simplefilter("always")
            # scikit-learn mistakes many classes for a regression target
            warnings.filterwarnings("ignore", message="The number of unique classes")
            yield move
        for warning in caught if notes else []:
            if issubclass(warning.category, UserWarning):
                self.note(str(warning.message))

    def finish(self) -> None:
        """Print the seconds and the peak memory of the whole run."""
        peak = peak_memory()
        detail = "" if peak is None else f"at most {write_size(peak)} of memory"
        self._print_seconds("total", perf_counter() - self.start, detail)

    def _print_seconds(self, name: str, seconds: float, detail: str) -> None:
        line = f"{name:<10} {seconds:6.1f} s  {printable(detail)}"
        self.err.print(line.rstrip(), soft_wrap=True, style="dim" if self.err.is_terminal else None)

    @contextmanager
    def _bar(self, stage: Stage) -> Iterator[None]:
        with make_bar(console=self.err, disable=self.err.quiet) as progress:
            planned = stage.name in self.plan
            task = progress.add_task(
                stage.name,
                total=len(self.plan) if planned else None,
                completed=list(self.plan).index(stage.name) if planned else 0,
                count="",
            )
            stage.refresh = lambda: progress.update(task, count=stage.step)
            yield
        stage.refresh = lambda: None

    @contextmanager
    def _heartbeat(self, stage: Stage) -> Iterator[None]:
        done = threading.Event()

        def beat() -> None:
            while not done.wait(self._every):
                step = f" {stage.step}" if stage.step else ""
                self._print_seconds(stage.name, perf_counter() - stage.start, f"so far{step}")

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
