"""How long ``import gssl`` and ``gssl --help`` take, beside what a user of gssl starts anyway."""

import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks.row import Measured, Row, ratio

_BASE, _OURS = ([sys.executable, "-c", f"import numpy, scipy{more}"] for more in ("", ", gssl"))
_HELP = [str(Path(sys.executable).with_name("gssl")), "--help"]


def rows(*, quick: bool) -> list[Row]:
    """Return a row for each."""
    settings = (
        ("import", "`import numpy, scipy, gssl` in a new process", _OURS, 1.5, "modules load on first use"),
        ("help", "`gssl --help`", _HELP, 1.0, "the start of Python, and click"),
    )
    return [
        Row(
            name,
            what,
            partial(_measure, command, 5 if quick else 15),
            rival="`import numpy, scipy`",
            package="scipy",
            at_most=goal,
            limit=limit,
        )
        for name, what, command, goal, limit in settings
    ]


def _measure(command: list[str], repeats: int) -> Measured:
    return ratio(partial(_start, command), partial(_start, _BASE), None, repeats, cost=True)


def _start(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
