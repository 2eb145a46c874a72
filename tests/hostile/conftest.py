"""Functions to damage files, limit time and memory, and check the errors of readers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.problems import ring

import gssl

SECONDS = 20
KINDS = ("flip", "cut", "drop", "splice", "grow", "lie")
# sizes that a damaged header may claim
LIES = [
    value.to_bytes(8, "little") for value in (0, 1, 2**16, 2**31, 2**32 - 1, 10**12, 2**63 - 1, 2**64 - 1)
]


@contextmanager
def time_limit(seconds: int = SECONDS) -> Iterator[None]:
    """Raise TimeoutError after some seconds of CPU time, or a much longer wall-clock time."""

    def give_up(*_: Any) -> None:
        raise TimeoutError(f"still reading after {seconds} seconds")

    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, seconds),
        signal.SIGALRM: (signal.ITIMER_REAL, 30 * seconds),
    }
    before = {kind: signal.signal(kind, give_up) for kind in timers}
    for timer, length in timers.values():
        signal.setitimer(timer, length)
    try:
        yield
    finally:
        for timer, _ in timers.values():
            signal.setitimer(timer, 0)
        for kind, handler in before.items():
            signal.signal(kind, handler)


def edits() -> st.SearchStrategy[Any]:
    position = st.integers(0, 2**20)
    return st.lists(st.tuples(st.sampled_from(KINDS), position, position, st.binary(max_size=12)), max_size=5)


def damaged(content: bytes, steps: list[tuple[str, int, int, bytes]]) -> bytes:
    """Damage a file step by step; half of the positions are in the first bytes, the header."""
    for kind, first, second, piece in steps:
        size = max(len(content), 1)
        # odd positions are taken within the first 200 bytes
        a, b = (position % (min(size, 200) if position % 2 else size) for position in (first, second))
        a, b = min(a, b), max(a, b)
        if kind == "flip" and content:
            content = content[:a] + bytes([content[a] ^ (1 << second % 8)]) + content[a + 1 :]
        elif kind == "cut":
            content = content[:b]
        elif kind == "drop":
            content = content[:a] + content[b:]
        elif kind == "splice":
            content = content[:a] + content[b : b + 64] + content[a + 64 :]
        elif kind == "grow":
            content = content[:a] + piece + content[a:]
        elif kind == "lie":
            lie = LIES[second % len(LIES)][: (2, 4, 8)[first % 3]]
            content = content[:a] + lie + content[a + len(lie) :]
    return content


@pytest.fixture(scope="session")
def assert_safe() -> Callable[..., None]:
    """Return a function that reads a file in many damaged states: each is read, or refused with its name.

    The error may also name the ``folder`` of the file; ``before`` is called before each read.
    """

    def assert_safe(
        read: Callable[[Path], Any],
        path: Path,
        examples: int,
        folder: str | None = None,
        before: Callable[[], Any] = lambda: None,
    ) -> None:
        whole = path.read_bytes()
        read(path)

        @settings(
            max_examples=examples,
            # time_limit() counts CPU time, not waiting on a busy machine
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(st.one_of(edits().map(lambda steps: damaged(whole, steps)), st.binary(max_size=300)))
        def try_one(content: bytes) -> None:
            before()
            path.write_bytes(content)
            refuses_or_reads(read, path, folder)

        try:
            try_one()
        finally:
            path.write_bytes(whole)

    return assert_safe


def refuses_or_reads(read: Callable[[Path], Any], path: Path, folder: str | None = None) -> None:
    try:
        with time_limit():
            read(path)
    except (ValueError, FileNotFoundError) as error:
        message = str(error)
        assert type(error).__module__ == "builtins"  # noqa: PT017
        assert path.name.partition(".")[0] in message or (folder and folder in message)
        assert "\n" not in message
        assert message.endswith(".")
        assert len(message) < 1000


@pytest.fixture(scope="session")
def assert_read_or_refused() -> Callable[[Callable[[Path], Any], Path], None]:
    return refuses_or_reads


_LIMITED = """
import resource, sys, time
from pathlib import Path
{setup}
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
def reserved():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
before = resident()
resource.setrlimit(resource.RLIMIT_AS, (reserved() + ({megabytes} << 20),) * 2)
try:
    {call}
    told = "read"
except ValueError as error:
    told = "refused: " + str(error)
# getrusage would count what the parent held when this process was started
status = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
print(max(peak - before, 0) >> 20)
print(told)
"""


@pytest.fixture(scope="session")
def read_in_little_memory() -> Callable[..., tuple[int, str]]:
    """Return a function that runs a reader in a separate process with a memory limit in megabytes."""
    if not sys.platform.startswith("linux"):
        pytest.skip("limits on memory are set and measured the Linux way")

    def run(setup: str, call: str, megabytes: int = 256) -> tuple[int, str]:
        code = _LIMITED.format(setup=setup, call=call, megabytes=megabytes)
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == 0, done.stderr[-2000:]
        took, outcome = done.stdout.splitlines()
        return int(took), outcome

    return run


@pytest.fixture(scope="session")
def fit_resumed() -> Callable[[str, Path], None]:
    """Return a function that fits a method in slabs of columns, in a folder from which it is resumed."""
    models = {
        "GGCM": gssl.GGCM(depth=2),
        "OGC": gssl.OGC(max_iter=3, random_state=0),
        "LabelSpreading": gssl.LabelSpreading(spread=0.99),
    }
    X = np.random.default_rng(0).random((40, 12)).astype(np.float32)
    y = np.where(np.arange(40) < 6, np.arange(40) % 3, -1)

    def fit(method: str, folder: Path) -> None:
        with gssl.execution(memory="20kB", resume=folder):
            models[method].fit(X, y, adjacency=ring(40, wraps=False))

    return fit
