"""The code behind a result, named by the commit of its last change that can matter."""

import hashlib
import subprocess
from functools import cache
from pathlib import Path

# what computes results; the rest of the project reads files, schedules fits or shows results
_PLACES = (
    *(
        f"src/gssl/{room}"
        for room in ("datasets", "evaluation", "graph", "methods", "operators", "selection", "torch")
    ),
    "benchmarks/accuracy/*.py",
    "benchmarks/rivals/*.py",
    "reproduction/*.py",
)
UNKNOWN = "unknown"


@cache
def code_commit() -> str:
    """Return the last commit that changed code which computes results.

    Uncommitted changes add ``+`` and a hash of them. Outside a git checkout it is ``unknown``.
    """
    commit = _git("log", "-1", "--format=%h", "--abbrev=10", "--", *_PLACES)
    changes = _git("diff", "HEAD", "--", *_PLACES)
    if not commit:
        return UNKNOWN
    return f"{commit}+{hashlib.sha256(changes.encode()).hexdigest()[:6]}" if changes else commit


def _git(*arguments: str) -> str:
    """Return what git prints in the folder of the project; empty if it fails or is not installed."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
