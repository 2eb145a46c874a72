"""What a command prints: results on standard output, everything else on standard error."""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from gssl.report import printable
from gssl.scale.execution import watching


class _Log(logging.Handler):
    """Print what the library logs through the console, so that it does not break the progress bar."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.console = console

    def emit(self, record: logging.LogRecord) -> None:
        self.console.print(f"note: {printable(record.getMessage())}", soft_wrap=True)


class Terminal:
    """The output of one run: results, notes, and steps with progress bars on a terminal."""

    def __init__(self, quiet: bool = False, verbose: bool = False) -> None:
        # texts from the user's data are never markup or emoji
        plain: Any = {"quiet": quiet, "highlight": False, "markup": False, "emoji": False}
        self.out = Console(**plain)
        self.err = Console(stderr=True, **plain)
        self.notes: list[str] = []
        self.start = perf_counter()
        log = logging.getLogger("gssl")
        log.handlers = [_Log(self.err)]
        log.propagate = False
        log.setLevel(logging.WARNING if quiet else logging.DEBUG if verbose else logging.INFO)

    def say(self, text: str) -> None:
        """Print a result on one line, however long."""
        self.out.print(printable(text), soft_wrap=True)

    def note(self, text: str) -> None:
        """Print a note about the data, once."""
        if text not in self.notes:
            self.notes.append(text)
            self.err.print(f"note: {printable(text)}", soft_wrap=True)

    @contextmanager
    def step(self, title: str, *, notes: bool = True) -> Iterator[Callable[[int, int | None], None]]:
        """Show a progress bar for a block; fits move it, and so does the function ``move(done, total)``.

        Warnings in the block become notes, unless ``notes`` is False.
        """
        columns: Any = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        shown = self.err.is_terminal and not self.err.quiet
        with Progress(*columns, console=self.err, transient=True, disable=not shown) as progress:
            task = progress.add_task(title, total=None)

            def move(done: int, total: int | None) -> None:
                progress.update(task, completed=done, total=total)

            with warnings.catch_warnings(record=True) as caught, watching(move):
                warnings.simplefilter("always")
                # scikit-learn takes many classes for a regression target
                warnings.filterwarnings("ignore", message="The number of unique classes")
                yield move
        for warning in caught if notes else []:
            if issubclass(warning.category, UserWarning):
                self.note(str(warning.message))
