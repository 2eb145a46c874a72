"""Fit one method on a graph store within a memory budget; print peak memory and times as JSON.

``python -m benchmarks.plan_child FOLDER METHOD DEPTH CLASSES BUDGET CLOCK``, where FOLDER was written by
:func:`benchmarks.plan_check.prepare`, and CLOCK is ``wall`` or ``cpu``.
"""

import json
import sys
import warnings
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

import gssl
from benchmarks.memory_child import _peak_bytes, _tiny
from gssl.io.graph_store import open_graph_store
from gssl.operators import Filters
from gssl.scale import estimate, slabs
from gssl.scale.estimate import PROCESS, Job, layouts

# one in this many nodes has a label, as plans assume
_LABELLED = 100


class Clock:
    """The number of columns of each pass of a run, and their total seconds."""

    def __init__(self, read: Any) -> None:
        self.read = read
        self.seconds = 0.0
        self.widths: list[int] = []

    def watch(self, owner: Any, name: str, *, passes: bool) -> None:
        """Replace a function of an owner by one that times its calls; ``passes`` also records widths."""
        plain = getattr(owner, name)

        def timed(*arguments: Any, **settings: Any) -> Any:
            start = self.read()
            answer = plain(*arguments, **settings)
            self.seconds += self.read() - start
            if passes:
                self.widths.append(arguments[1].shape[1])
            return answer

        setattr(owner, name, timed)


def main(folder: str, method: str, depth: str, classes: str, budget: str, clock_name: str) -> None:
    """Fit and print the measurements."""
    warnings.simplefilter("ignore")
    gssl.OGC._label_space_pays = lambda *_: False  # plans are for fits on all features
    A, X, y = _tiny()
    _model(method, 2).fit(X.astype(np.float32), y, adjacency=A)  # loads kernels before anything is timed
    store = open_graph_store(folder)
    X = np.load(Path(folder) / "X.npy", mmap_mode="r")
    y = np.full(len(X), -1)
    y[::_LABELLED] = np.arange(len(y[::_LABELLED])) % int(classes)
    read = process_time if clock_name == "cpu" else perf_counter
    estimate.perf_counter = read  # type: ignore[attr-defined]
    clock = Clock(read)
    clock.watch(Filters, "mix", passes=True)
    clock.watch(slabs, "add_product", passes=False)
    start = read()
    with gssl.execution(memory=budget):
        model = _model(method, int(depth)).fit(X, y, adjacency=store.adjacency)
    duration, peak, seconds, widths = read() - start, _peak_bytes(), clock.seconds, clock.widths[:]
    del model
    from gssl.cli.plan_command import measure_method  # after the run, because it takes memory

    job = Job(store.n_nodes, store.n_edges, X.shape[1], int(depth), int(classes), method)
    measured = {
        "peak": peak,
        "fit": duration,
        "seconds": seconds,
        "passes": len(widths),
        "width": max(widths),
        "planned": measure_method(layouts(job, 1, PROCESS + int(budget))[-1], store.adjacency),
    }
    print(json.dumps(measured))  # noqa: T201


def _model(method: str, depth: int) -> Any:
    if method == "ogc":
        return gssl.OGC(max_iter=depth, patience=depth, random_state=0)
    return getattr(gssl, method.upper())(depth=depth)


if __name__ == "__main__":
    main(*sys.argv[1:])
