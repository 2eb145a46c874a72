"""Files whose doctests need an extra are left out where it is missing, and the header of a run says so."""

from importlib.util import find_spec

_WITHOUT_TORCH = find_spec("torch") is None

collect_ignore_glob = ["src/gssl/torch/*.py"] if _WITHOUT_TORCH else []


def pytest_report_header() -> list[str]:
    """Say which doctests do not run."""
    return ["gssl.torch: not tested, for torch is not installed"] if _WITHOUT_TORCH else []
