"""Fit one method on a graph in files, within a budget or not, and print peak memory and seconds.

``python -m benchmarks.scale_child FOLDER METHOD BUDGET [LIMIT]``, where BUDGET is ``none`` for a plain fit
and METHOD may be ``nothing`` to measure the process without a fit. It prints peak resident memory, that
before the fit, both in bytes, and the seconds of the fit. LIMIT is a number: the fit may allocate at most
LIMIT times the budget in addition to the memory of the process, enforced by the system.
"""

import re
import resource
import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.sparse import csr_array

import gssl
from benchmarks.memory_child import _peak_bytes, _tiny

# two iterations show the peak: all buffers are allocated by then
METHODS = {
    "OGC": lambda: gssl.OGC(max_iter=2, patience=9, random_state=0),
    "SGC": lambda: gssl.SGC(depth=2),
    "GGCM": lambda: gssl.GGCM(depth=2),
    # so deep that label space pays with the few labels below
    "EmbeddingClassifier": lambda: gssl.EmbeddingClassifier(gssl.GGCM(depth=16)),
    "LabelSpreading": lambda: gssl.LabelSpreading(max_iter=3),
    "AutoClassifier": lambda: gssl.AutoClassifier(),
}
_FEW = 40


def main(folder: str, method: str, budget: str, limit: str = "none") -> None:
    """Fit and print the measurements."""
    warnings.simplefilter("ignore")
    gssl.OGC._label_space_pays = lambda *_: False  # measure the fit on all features
    A, X, y = _tiny()
    for make in METHODS.values():  # loads kernels before anything is measured
        make().fit(X.astype(np.float32), y, adjacency=A)
    for kind in (np.float32, np.float64):  # allocates the buffers of BLAS
        np.ones((8192, 256), kind) @ np.ones((256, 8), kind)
    names = ("indptr", "indices", "data", "X", "y")
    indptr, indices, data, X, y = (np.load(Path(folder) / f"{name}.npy", mmap_mode="r") for name in names)
    A = csr_array((data, indices, indptr), shape=(len(X), len(X)))
    y = np.array(y)  # a copy in memory, because some labels are removed below
    if method == "EmbeddingClassifier":
        y[np.flatnonzero(y != -1)[_FEW:]] = -1
    base, start = _peak_bytes(), perf_counter()
    if limit != "none":
        # memory mapped from files does not count, because the system can drop it at any time
        most = _status("VmData") + int(float(limit) * int(budget))
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    if method != "nothing":
        settings = {} if budget == "none" else {"memory": budget}
        with gssl.execution(**settings):
            METHODS[method]().fit(X if settings else np.array(X), y, adjacency=A)
    print(_peak_bytes(), base, perf_counter() - start)  # noqa: T201


def _status(name: str) -> int:
    """Return one of the sizes in /proc/self/status, in bytes."""
    return 1024 * int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1])


if __name__ == "__main__":
    main(*sys.argv[1:])
