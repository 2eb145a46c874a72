"""Files whose doctests need an extra are left out where it is missing, and the header of a run says so."""

from importlib.util import find_spec

_NEEDS = {
    "torch": ["src/gssl/torch/*.py"],
    "distributed": ["src/gssl/scale/cluster.py"],
}
_WITHOUT = [package for package in _NEEDS if find_spec(package) is None]

collect_ignore_glob = [pattern for package in _WITHOUT for pattern in _NEEDS[package]]


def pytest_report_header() -> list[str]:
    """Say which doctests do not run."""
    return [f"{package} is not installed: {', '.join(_NEEDS[package])} not tested" for package in _WITHOUT]
