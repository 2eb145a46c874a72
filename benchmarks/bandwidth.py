"""Measure how fast this machine gathers random rows, which bounds the speed of a hop."""

import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from benchmarks import THREADS


@numba.njit(nogil=True, fastmath=True, cache=True)
def _read_rows(U: np.ndarray, rows: np.ndarray) -> float:
    """Sum the entries of some rows, so that the compiler cannot optimize the reads away."""
    total = np.float32(0)
    for row in rows:
        for column in range(U.shape[1]):
            total += U[row, column]
    return total


def gather_bandwidth(U: np.ndarray, n_rows: int = 2_000_000) -> float:
    """Measure bytes per second when all threads read random rows of U.

    Parameters
    ----------
    U : float32 ndarray of shape (n, d)
        Much larger than the caches.
    n_rows : int
        How many rows are read, over all threads.
    """
    rows = np.random.default_rng(0).integers(len(U), size=(THREADS, n_rows // THREADS))
    _read_rows(U[:1], rows[:, :0][0])  # compiles
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda part: _read_rows(U, part[:1000]), rows))  # starts the threads
        start = time.perf_counter()
        list(pool.map(lambda part: _read_rows(U, part), rows))
        elapsed = time.perf_counter() - start
    return rows.size * U.shape[1] * U.itemsize / elapsed
