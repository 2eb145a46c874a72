"""Load inputs, fit one method (or none), and print this process's peak memory in bytes.

``python -m benchmarks.memory_child FOLDER METHOD``
"""

import re
import resource
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

import gssl

_METHODS = {"OGC": lambda: gssl.OGC(max_iter=3, random_state=0), "GGCM": lambda: gssl.GGCM(depth=3)}


def main(folder: str, method: str) -> None:
    """Fit and print the peak."""
    warnings.simplefilter("ignore")
    for make in _METHODS.values():  # load kernels first, so that both peaks include them
        _fit(make(), *_tiny())
    np.ones((65536, 602), np.float32) @ np.ones((602, 41), np.float32)  # and the buffers of BLAS
    indptr, indices, data, U, y = (
        np.load(Path(folder) / f"{name}.npy") for name in ("indptr", "indices", "data", "U", "y")
    )
    A = csr_array((data, indices, indptr), shape=(len(U), len(U)))
    if method != "nothing":
        _fit(_METHODS[method](), A, U, y)
    print(_peak_bytes())  # noqa: T201


def _fit(model: object, A: csr_array, X: np.ndarray, y: np.ndarray) -> None:
    model.fit(X, y, adjacency=A)


def _tiny() -> tuple[csr_array, np.ndarray, np.ndarray]:
    data = gssl.datasets.make_block_graph(200, 1000, 8, 2, features="dense")
    return data.adjacency, np.array(data.features), data.mask_labels("default")


def _peak_bytes() -> int:
    """Return the peak resident memory of this process.

    On Linux it is read from /proc, because ``ru_maxrss`` of a child starts at the memory of its parent.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


if __name__ == "__main__":
    main(*sys.argv[1:])
