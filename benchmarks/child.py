"""Fits in a process of their own, whose peak memory is measured, and the problems that they read.

``python -m benchmarks.child fit FOLDER METHOD BUDGET [LIMIT]``, where BUDGET is ``none`` for a plain fit of
inputs in memory, and METHOD may be ``nothing``. It prints peak resident memory, that before the fit, both in
bytes, and the seconds of the fit. LIMIT is a number: the fit may allocate at most LIMIT times the budget in
addition to the memory of the process, enforced by the system.

``python -m benchmarks.child plan FOLDER METHOD DEPTH CLASSES BUDGET`` fits on a graph store within a budget
and prints what :mod:`benchmarks.rows.plans` compares, in CPU time.

``python -m benchmarks.child case NAME METHOD`` fits a case of :mod:`benchmarks.rows.limits`.
"""

import json
import re
import resource
import subprocess
import sys
import warnings
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import gssl


def direct_ogc(n_iter: int) -> gssl.OGC:
    """Return OGC with so many iterations on all features: for as many as 10,000, label space never pays."""
    return gssl.OGC(max_iter=10_000, agreement=0.0, patience=n_iter - 1, random_state=0)


# two iterations show the peak: all buffers are allocated by then
METHODS = {
    "OGC": lambda: direct_ogc(2),
    "SGC": lambda: gssl.SGC(depth=2),
    "GGCM": lambda: gssl.GGCM(depth=2),
    # so deep that label space pays with the few labels below
    "EmbeddingClassifier": lambda: gssl.EmbeddingClassifier(gssl.GGCM(depth=16)),
    "LabelSpreading": lambda: gssl.LabelSpreading(max_iter=3),
    "AutoClassifier": lambda: gssl.AutoClassifier(),
}
_FEW = 40
# one in this many nodes has a label, as plans assume
_LABELLED = 100


def fit_apart(folder: str, method: str, budget: str, limit: str = "none") -> tuple[int, int, float]:
    """Run :func:`fit` in a process; return peak memory, that before the fit, and seconds."""
    peak, base, duration = in_child("fit", folder, method, budget, limit).split()
    return int(peak), int(base), float(duration)


def in_child(*arguments: str, timeout: float | None = None) -> str:
    """Run this module in a process and return what it prints."""
    command = [sys.executable, "-m", "benchmarks.child", *arguments]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=root, timeout=timeout)
    if done.returncode:
        raise RuntimeError(f"{arguments[2]} has failed: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


def write_problem(folder: Path, n_nodes: int, n_edges: int, n_features: int) -> None:
    """Write a graph, features and labels as arrays for memory mapping, with little memory and time.

    Nodes are on a ring, and all have neighbours at the same random distances.
    """
    rng = np.random.default_rng(0)
    distances = rng.choice(np.arange(1, n_nodes // 2), n_edges // n_nodes, replace=False)
    around = np.concatenate([distances, -distances])
    degree = len(around)
    nodes = np.arange(n_nodes, dtype=np.int64)
    np.save(folder / "indptr.npy", np.arange(0, n_nodes * degree + 1, degree, dtype=np.int32))
    np.save(folder / "data.npy", np.ones(n_nodes * degree, dtype=np.float32))
    np.save(folder / "y.npy", np.where(nodes % 10_000 == 0, nodes // 10_000 % 4, -1))
    neighbours = ((nodes[:, None] + around) % n_nodes).astype(np.int32)
    np.save(folder / "indices.npy", np.sort(neighbours, axis=1).ravel())
    write_features(folder / "X.npy", n_nodes, n_features)


def write_features(path: Path, n_nodes: int, n_features: int) -> None:
    """Write random features a block at a time; the file has its name only once it is complete."""
    block = np.random.default_rng(0).random((10_000, n_features), dtype=np.float32)
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_nodes, n_features)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n_nodes, len(block)):
            np.roll(block, start // len(block), axis=1)[: n_nodes - start].tofile(file)
    part.replace(path)


def fit(folder: str, method: str, budget: str, limit: str = "none") -> None:
    """Fit one method and print the measurements."""
    for make in METHODS.values():  # loads kernels before anything is measured
        _fit_tiny(make())
    for kind in (np.float32, np.float64):  # allocates the buffers of BLAS
        np.ones((8192, 256), kind) @ np.ones((256, 8), kind)
    names, mode = ("indptr", "indices", "data", "X"), None if budget == "none" else "r"
    indptr, indices, data, X = (np.load(Path(folder) / f"{name}.npy", mmap_mode=mode) for name in names)
    A = csr_array((data, indices, indptr), shape=(len(X), len(X)))
    y = np.load(Path(folder) / "y.npy")
    if method == "EmbeddingClassifier":
        y[np.flatnonzero(y != -1)[_FEW:]] = -1
    base, start = _status("VmHWM"), perf_counter()
    if limit != "none":
        # memory mapped from files does not count, because the system can drop it at any time
        most = _status("VmData") + int(float(limit) * int(budget))
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    if method != "nothing":
        with gssl.execution(**({} if budget == "none" else {"memory": budget})):
            METHODS[method]().fit(X, y, adjacency=A)
    print(_status("VmHWM"), base, perf_counter() - start)  # noqa: T201


def _fit_tiny(model: Any) -> None:
    data = gssl.datasets.make_block_graph(200, 1000, 8, 2, features="dense")
    model.fit(np.array(data.features, np.float32), data.mask_labels("default"), adjacency=data.adjacency)


def _status(name: str) -> int:
    """Return one of the sizes in /proc/self/status, in bytes."""
    return 1024 * int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1])


class Clock:
    """The number of columns of each pass of a run, and their total CPU seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.widths: list[int] = []

    def watch(self, owner: Any, name: str, *, passes: bool) -> None:
        """Replace a function of an owner by one that times its calls; ``passes`` also records widths."""
        plain = getattr(owner, name)

        def timed(*arguments: Any, **settings: Any) -> Any:
            start = process_time()
            answer = plain(*arguments, **settings)
            self.seconds += process_time() - start
            if passes:
                self.widths.append(arguments[1].shape[1])
            return answer

        setattr(owner, name, timed)


def plan(folder: str, method: str, depth: str, classes: str, budget: str) -> None:
    """Fit one method on a graph store, and print the measurements beside the planned time as JSON."""
    from gssl.io.graph_store import open_graph_store
    from gssl.operators import Filters
    from gssl.scale import estimate, slabs

    _fit_tiny(_planned_model(method, 2))
    store = open_graph_store(folder)
    X = np.load(Path(folder) / "X.npy", mmap_mode="r")
    y = np.full(len(X), -1)
    y[::_LABELLED] = np.arange(len(y[::_LABELLED])) % int(classes)
    clock = Clock()
    estimate.perf_counter = process_time
    clock.watch(Filters, "mix", passes=True)
    clock.watch(slabs, "add_product", passes=False)
    start = process_time()
    with gssl.execution(memory=budget):
        model = _planned_model(method, int(depth)).fit(X, y, adjacency=store.adjacency)
    measured = {
        "fit": process_time() - start,
        "peak": _status("VmHWM"),
        "seconds": clock.seconds,
        "passes": len(clock.widths),
        "width": max(clock.widths),
    }
    del model
    from gssl.cli.plan_command import measure_method  # after the run, because it takes memory

    job = estimate.Job(store.n_nodes, store.n_edges, X.shape[1], int(depth), int(classes), method)
    layout = estimate.layouts(job, 1, estimate.PROCESS + int(budget))[-1]
    print(json.dumps(measured | {"planned": measure_method(layout, store.adjacency)}))  # noqa: T201


def _planned_model(method: str, depth: int) -> Any:
    return direct_ogc(depth) if method == "ogc" else getattr(gssl, method.upper())(depth=depth)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    from benchmarks.rows import limits

    {"fit": fit, "plan": plan, "case": limits.fit}[sys.argv[1]](*sys.argv[2:])
