"""Run the fast tests with the oldest versions that pyproject.toml allows.

``python scripts/oldest.py`` makes ``.venv-oldest`` with this Python; ``--only-list`` prints the versions. The
tests' own tools have the versions of constraints.txt.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
# optional libraries whose objects users pass to gssl, and what runs the tests
LIBRARIES = ("networkx", "pandas", "polars", "pyarrow")
TOOLS = ("editables", "hatchling", "hypothesis", "pytest", "pytest-timeout", "pytest-xdist")
TESTS = tuple(f"tests/{room}" for room in ("methods", "operators", "graph", "selection", "io", "cli"))


def oldest(requirement: str) -> str:
    """Return the pin of the lower bound of a requirement: ``numpy>=2.2`` gives ``numpy==2.2``."""
    bound = re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement)
    if bound is None:
        raise ValueError(f"{requirement!r} in pyproject.toml has no lower bound, or more than that.")
    return f"{bound[1]}=={bound[2]}"


def oldest_versions(libraries: tuple[str, ...] = LIBRARIES) -> list[str]:
    """Return the oldest versions of what gssl and its reports need, and of libraries of its tests."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = table["optional-dependencies"]
    used = [each for each in extras["dev"] if each.split(">=")[0] in libraries]
    return [oldest(each) for each in [*table["dependencies"], *extras["report"], *used]]


def make_environment(folder: Path) -> Path:
    """Make an environment with nothing but pip, and return its Python."""
    venv.create(folder, clear=True, with_pip=True)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def pip_install(python: Path, *packages: object) -> list[str]:
    """Return the command that installs packages in the environment of this Python."""
    return [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *map(str, packages)]


def install(folder: Path) -> Path:
    """Make the environment for the tests, and return its Python."""
    python = make_environment(folder)
    tools = ["-c", ROOT / "constraints.txt", *TOOLS]
    # the last one also checks that the versions go together
    for packages in (oldest_versions(), tools, ["--no-build-isolation", *oldest_versions(), "-e", ROOT]):
        subprocess.run(pip_install(python, *packages), check=True)
    return python


def main() -> int:
    """Install, test, and return the exit status of the tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only-list", action="store_true", help="print the versions, and install nothing")
    parser.add_argument("--folder", type=Path, default=ROOT / ".venv-oldest", help="the environment to make")
    parser.add_argument("tests", nargs="*", default=TESTS, help="what pytest runs")
    told = parser.parse_args()
    if told.only_list:
        sys.stdout.write("\n".join(oldest_versions()) + "\n")
        return 0
    command = [install(told.folder), "-m", "pytest", "-q", "-n", "2", "-m", "not slow", *told.tests]
    return subprocess.run(
        command, cwd=ROOT, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"}
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
