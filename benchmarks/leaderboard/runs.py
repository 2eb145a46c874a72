"""Run each method on each task in a process of its own, on one thread, and keep what is finished."""

import gc
import json
import re
import resource
import signal
import time
import warnings
from collections.abc import Callable, Iterable
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from benchmarks.leaderboard.methods import METHODS, applies
from benchmarks.leaderboard.problems import LARGE, Problem, Task, load_problem, score
from gssl.graph import check_adjacency


class Run(NamedTuple):
    """A task and a method."""

    task: Task
    method: str

    @property
    def key(self) -> str:
        """The task and the method as text."""
        return f"{self.task.name}, {self.task.budget}, draw {self.task.draw}: {self.method}"


def list_runs(tasks: Iterable[Task], methods: Iterable[str]) -> list[Run]:
    """Return the runs of some tasks, first draws and small graphs first, so that a stop loses little."""
    methods = tuple(methods)
    return [
        Run(task, method)
        for task in sorted(tasks, key=lambda task: (task.draw, task.name in LARGE))
        for method in methods
        if applies(method, task.name)
    ]


class Records:
    """Finished runs in a file, one line of JSON each; the latest line of a run counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: dict[str, dict[str, Any]] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            record = json.loads(line)
            self._found[record["run"]] = record

    @property
    def seconds(self) -> float:
        """The CPU seconds of all runs that have values."""
        return sum(record.get("values", {}).get("seconds", 0.0) for record in self._found.values())

    def find(self, run: Run) -> dict[str, Any] | None:
        """Return what a run has given: values, or the reason why it has none; None if it is not done."""
        return self._found.get(run.key)

    def add(self, run: Run, record: dict[str, Any]) -> None:
        """Keep a finished run."""
        self._found[run.key] = {"run": run.key, **record}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self._found[run.key]) + "\n")


def run_missing(
    runs: list[Run], records: Records, processes: int, limit: int, on_run: Callable[[Run], None]
) -> None:
    """Run what is not in the records; a run that takes more CPU seconds than the limit is given up."""
    missing = [(run, limit) for run in runs if records.find(run) is None]
    # a new process for each run, so that its peak of memory is its own; forked, so that imports are shared
    with get_context("fork").Pool(processes, maxtasksperchild=1) as pool:
        for run, record in pool.imap_unordered(measure, missing):
            records.add(run, record)
            on_run(run)


def warm_up(methods: Iterable[str]) -> None:
    """Load libraries and compiled loops on a tiny problem, so that no run pays for it."""
    X, y = np.random.default_rng(0).normal(size=(40, 5)), np.arange(40) % 2
    ring = csr_array((np.ones(40), (np.arange(40), np.roll(np.arange(40), 1))), shape=(40, 40))
    shown = np.where(np.arange(40) < 20, y, -1)
    tiny = Problem("classes", "accuracy", X, shown, check_adjacency(ring + ring.T), np.arange(20, 40), y)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for method in methods:
            METHODS[method](tiny, 0)


def measure(job: tuple[Run, int]) -> tuple[Run, dict[str, Any]]:
    """Return the scores, CPU seconds and additional megabytes of a run, or the reason why there are none."""
    run, limit = job
    warnings.simplefilter("ignore")
    try:
        problem = load_problem(run.task)
        # memory of loading is given back, so that the peak is that of the fit
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")
        before, start = _memory("VmRSS"), time.process_time()
        signal.signal(signal.SIGXCPU, _give_up)
        resource.setrlimit(resource.RLIMIT_CPU, (round(start) + limit, -1))
        with threadpool_limits(1):
            answers, beliefs = METHODS[run.method](problem, run.task.draw)
        seconds, peak = time.process_time() - start, _memory("VmHWM") - before
        resource.setrlimit(resource.RLIMIT_CPU, (-1, -1))
        values = score(problem, answers, beliefs)
        values = {name: round(value, 2) for name, value in values.items()}
        values |= {"seconds": round(seconds, 2), "megabytes": round(peak / 2**20, 1)}
        return run, {"measure": problem.measure, "values": values}
    except _TooLongError:
        return run, {"reason": f"more than {limit} s"}
    # whatever a method raises, the others go on
    except Exception as error:
        return run, {"reason": " ".join(str(error).split())[:200] or type(error).__name__}


class _TooLongError(Exception):
    """A run has taken too much CPU time."""


def _give_up(*_: Any) -> None:
    # the system would send the signal again each second
    resource.setrlimit(resource.RLIMIT_CPU, (-1, -1))
    raise _TooLongError


def _memory(name: str) -> int:
    """Return one of the sizes in /proc/self/status, in bytes."""
    return 1024 * int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1])  # type: ignore[index]
