"""Peak memory on a graph of Reddit's size, each fit in a separate process."""

import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks import graphs
from benchmarks.entry import Figure, Reading

_GOALS = {"OGC": 2.2, "GGCM": 3.2}
# a few iterations show the peak: all buffers are allocated after two
CALLS = {"OGC": "OGC(max_iter=3)", "GGCM": "GGCM(depth=3)"}


def entries(*, quick: bool) -> list[Figure]:
    """Return a figure for each method; goals apply to the full size."""
    shape = graphs.SMALL_SHAPE if quick else graphs.REDDIT_SHAPE
    return [
        Figure(
            f"memory-{method.lower()}",
            f"peak memory of {CALLS[method]} beyond features and graph, {shape[0]:,} nodes × "
            f"{graphs.REDDIT_FEATURES}, in units of n·d·4 bytes",
            partial(_measure, method, quick),
            unit="n·d·4",
            at_most=None if quick else goal,
        )
        for method, goal in _GOALS.items()
    ]


def _measure(method: str, quick: bool, repeats: int = 2) -> Reading:
    A, U, y = graphs.reddit(quick)
    with TemporaryDirectory(prefix="gssl-bench-") as folder:
        # plain .npy arrays are read in place, so that loading needs no extra memory
        for name, array in {"indptr": A.indptr, "indices": A.indices, "data": A.data, "U": U, "y": y}.items():
            np.save(Path(folder) / f"{name}.npy", array)
        unit = U.size * 4
        base = [_peak(folder, "nothing") for _ in range(repeats)]
        peaks = [_peak(folder, method) for _ in range(repeats)]
    beyond = [(peak - low) / unit for peak, low in zip(peaks, base, strict=True)]
    size = f"n·d·4 bytes = {unit / 1e6:.0f} MB"
    note = f"{size}; both processes have loaded gssl, its kernels and the buffers of BLAS"
    return Reading(beyond, f"{max(peaks) / 1e9:.2f} GB", f"inputs only: {max(base) / 1e9:.2f} GB", note)


def _peak(folder: str, method: str) -> int:
    command = [sys.executable, "-m", "benchmarks.memory_child", folder, method]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root)
    return int(done.stdout)
