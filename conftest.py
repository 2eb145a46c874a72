"""Skip doctests that need a missing extra, and set a timeout for every test."""

from importlib.util import find_spec

import pytest

_NEEDS = {
    "torch": ["src/gssl/torch/*.py"],
    "distributed": ["src/gssl/scale/cluster.py"],
}
_WITHOUT = [package for package in _NEEDS if find_spec(package) is None]

collect_ignore_glob = [pattern for package in _WITHOUT for pattern in _NEEDS[package]]


def pytest_report_header() -> list[str]:
    """Report which doctests are skipped."""
    return [f"{package} is not installed: {', '.join(_NEEDS[package])} not tested" for package in _WITHOUT]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Set a timeout for each test, which fails a hanging test and prints the stacks of its threads."""
    if config.pluginmanager.hasplugin("timeout"):
        for item in items:
            item.add_marker(pytest.mark.timeout(300 if item.get_closest_marker("slow") is None else 3600))
