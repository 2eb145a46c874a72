"""The cost of ``import gssl`` in addition to numpy and scipy."""

import subprocess
import sys
from statistics import median

from benchmarks.entry import Figure, Reading
from benchmarks.measure import interleaved, seconds


def entries(*, quick: bool) -> list[Figure]:
    """Return the import benchmark."""
    repeats = 5 if quick else 15
    return [
        Figure(
            "import",
            '`python -c "import gssl"` beyond importing numpy and scipy',
            lambda: _measure(repeats),
            unit="s",
            at_most=0.15,
        )
    ]


def _measure(repeats: int) -> Reading:
    codes = {"gssl": "import numpy, scipy, gssl", "base": "import numpy, scipy"}
    calls = {name: lambda code=code: _start(code) for name, code in codes.items()}
    interleaved(calls, 1)  # reads the files into the page cache
    times = interleaved(calls, repeats)
    beyond = [ours - base for ours, base in zip(times["gssl"], times["base"], strict=True)]
    note = f"whole processes; median of {repeats} differences {median(beyond):.3f} s"
    return Reading(beyond, seconds(times["gssl"]), f"numpy and scipy: {seconds(times['base'])}", note)


def _start(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)
