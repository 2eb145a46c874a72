"""Fit one method on a graph in files, within a budget or not, and print peak memory and seconds.

``python -m benchmarks.scale_child FOLDER METHOD BUDGET``, where BUDGET is ``none`` for a plain fit and METHOD
may be ``nothing``, for what the process takes before it fits.
"""

import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.sparse import csr_array

import gssl
from benchmarks.memory_child import _peak_bytes, _tiny

# as few iterations as show the peak: all buffers are there from the second on
METHODS = {
    "OGC": lambda: gssl.OGC(max_iter=2, patience=9, random_state=0),
    "SGC": lambda: gssl.SGC(depth=2),
    "GGCM": lambda: gssl.GGCM(depth=2),
}


def main(folder: str, method: str, budget: str) -> None:
    """Do it."""
    warnings.simplefilter("ignore")
    gssl.OGC._label_space_pays = lambda *_: False  # the form whose memory is in question
    A, X, y = _tiny()
    for make in METHODS.values():  # kernels are loaded before anything is measured
        make().fit(X.astype(np.float32), y, adjacency=A)
    names = ("indptr", "indices", "data", "X", "y")
    indptr, indices, data, X, y = (np.load(Path(folder) / f"{name}.npy", mmap_mode="r") for name in names)
    A = csr_array((data, indices, indptr), shape=(len(X), len(X)))
    start = perf_counter()
    if method != "nothing":
        # labels are few, and are written to while they are read
        settings = {} if budget == "none" else {"memory_budget": budget}
        METHODS[method]().fit(X if settings else np.array(X), np.array(y), adjacency=A, **settings)
    print(_peak_bytes(), perf_counter() - start)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
