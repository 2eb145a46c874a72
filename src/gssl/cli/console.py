"""How the command line talks: results on standard output, everything else on standard error."""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

from gssl.methods._base import watching


class Talk:
    """One run's words: steps with progress bars on a terminal, notes, and a table at the end.

    Parameters
    ----------
    quiet : bool
        Nothing but errors.
    verbose : bool
        Also what the library logs.
    """

    def __init__(self, quiet: bool = False, verbose: bool = False) -> None:
        self.out = Console(quiet=quiet, highlight=False)
        self.err = Console(stderr=True, quiet=quiet, highlight=False)
        self.notes: list[str] = []
        logging.basicConfig(format="gssl: %(message)s", level=logging.WARNING if quiet else logging.INFO)
        logging.getLogger().setLevel(logging.WARNING)
        logging.getLogger("gssl").setLevel(
            logging.WARNING if quiet else logging.DEBUG if verbose else logging.INFO
        )

    def note(self, text: str) -> None:
        """Say something odd about the data, once."""
        if text not in self.notes:
            self.notes.append(text)
            self.err.print(f"note: {text}", markup=False)

    @contextmanager
    def step(self, title: str, *, notes: bool = True) -> Iterator[Callable[[int, int | None], None]]:
        """Show a bar for one step of the work; iterations of methods move it by themselves.

        Parameters
        ----------
        title : str
        notes : bool, default=True
            Whether warnings given in this step are said as notes.

        Yields
        ------
        callable
            Takes how much is done and how much there is, for steps that count by themselves.
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
                yield move
        for warning in caught if notes else []:
            if issubclass(warning.category, UserWarning):
                self.note(str(warning.message))
