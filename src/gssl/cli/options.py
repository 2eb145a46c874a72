"""What options of several commands have in common."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


class Place(click.Path):
    """A path; ``~`` is the user's home here too, where the shell left it as it is."""

    def convert(self, *arguments: Any) -> Path:
        """Give the path."""
        return Path(str(super().convert(*arguments))).expanduser()


def options(*listed: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Put several options on a command, in the order in which they are listed."""

    def decorate(command: Any) -> Any:
        for option in reversed(listed):
            command = option(command)
        return command

    return decorate


TALK = options(
    click.option("--threads", type=click.IntRange(min=1), metavar="T", help="All CPUs if not given."),
    click.option("-q", "--quiet", is_flag=True, help="Nothing but errors."),
    click.option("-v", "--verbose", is_flag=True, help="Also what the library logs."),
)


def set_threads(threads: int | None) -> None:
    """Limit the kernels and the linear algebra to so many threads; None leaves them alone."""
    if threads is not None:
        from threadpoolctl import threadpool_limits

        from gssl.operators import set_threads

        set_threads(threads)
        threadpool_limits(threads)
