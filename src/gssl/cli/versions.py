"""What ``gssl --version`` prints."""

import platform
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

import gssl

_COLUMNS = 3


def list_versions() -> str:
    """Return the versions of gssl, of Python and of what gssl needs, in lines of at most 80 characters."""
    cells = [f"{name:<14}{number:<10}" for name, number in _dependencies()]
    rows = ["  ".join(cells[i : i + _COLUMNS]).rstrip() for i in range(0, len(cells), _COLUMNS)]
    python = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    return "\n".join([f"gssl {gssl.__version__}", python, *rows])


def _dependencies() -> Iterator[tuple[str, str]]:
    """Yield the name and the version of each requirement, without extras, in order of names."""
    try:
        wanted = [each for each in requires("gssl") or [] if "extra ==" not in each]
    except PackageNotFoundError:
        # run from its sources, without being installed
        return
    for name in sorted(re.split(r"[^\w.-]", each)[0] for each in wanted):
        try:
            yield name, version(name)
        except PackageNotFoundError:
            yield name, "missing"
