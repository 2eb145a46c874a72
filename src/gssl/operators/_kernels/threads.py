"""A thread pool that splits a pass by rows.

The loops release the GIL and run on Python's own thread pool, because numba's threading layers either abort
under concurrent callers or do not survive a fork. The split of the rows depends only on the problem, so the
number of threads does not change results.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from itertools import count
from threading import Lock
from typing import Any

import numpy as np
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

# smallest part worth a thread: about 0.1 ms of work
_WORK_PER_PART = 1 << 17
_MOST_PARTS = 256

_pool: ThreadPoolExecutor | None = None
_n_threads: int | None = None
_small_lock, _small_depth = Lock(), 0
_limits: Any = None


def get_threads() -> int:
    """Return the number of threads that the kernels use.

    Set by :func:`set_threads` or ``GSSL_NUM_THREADS``; otherwise the number of CPUs this process may use.

    Examples
    --------
    >>> get_threads() >= 1
    True
    """
    told = _n_threads
    if told is not None:
        return told
    named = os.environ.get("GSSL_NUM_THREADS", "")
    if named and not named.isdecimal():
        raise ValueError(f"GSSL_NUM_THREADS is {named!r}: give a whole number of threads.")
    return int(named or 0) or _cpus()


@cache
def _cpus() -> int:
    """Return the number of CPUs of this process or container; cached because it reads system files."""
    return int(cpu_count())


def set_threads(n_threads: int | None) -> None:
    """Set the number of threads that the kernels use; None restores the default.

    Parameters
    ----------
    n_threads : int or None

    Examples
    --------
    >>> set_threads(1)
    >>> get_threads()
    1
    >>> set_threads(None)
    """
    global _n_threads
    if n_threads is not None and n_threads < 1:
        raise ValueError(f"the number of threads must be at least 1, not {n_threads}.")
    _n_threads = n_threads
    _forget_pool()


def split_rows(indptr: np.ndarray, width: int) -> np.ndarray:
    """Split rows into consecutive parts of about equal work, so that hubs do not delay one thread."""
    n = len(indptr) - 1
    # an empty row has a cost, too
    n_parts = min(int(indptr[-1] + n) * width // _WORK_PER_PART, _MOST_PARTS)
    if n_parts <= 1:
        return np.array([0, n])
    work = indptr + np.arange(n + 1)
    cuts = np.searchsorted(work, np.linspace(0, work[-1], n_parts + 1)[1:-1])
    return np.concatenate([[0], cuts, [n]]).astype(np.int64)


def run_parts(task: Callable[[int], Any], n_parts: int) -> None:
    """Run ``task(0)``, …, ``task(n_parts − 1)`` on the threads, each part once."""
    n_threads = min(get_threads(), n_parts)
    if n_threads == 1:
        for part in range(n_parts):
            task(part)
        return
    todo = count()
    failed = False
    # cleared at the end, so that cancelled work in the pool's queue does not keep the task's arrays alive
    held = [task]

    def work() -> None:
        nonlocal failed
        try:
            # next() on a counter is atomic under the GIL
            while not failed and (part := next(todo)) < n_parts:
                held[0](part)
        except BaseException:
            # also on Ctrl-C: stop the other threads from starting another part
            failed = True
            raise

    pool = _get_pool()
    others = [pool.submit(work) for _ in range(n_threads - 1)]
    try:
        work()
    finally:
        # cancel threads that have not started; wait for the others, which still use the buffers
        wait([other for other in others if not other.cancel()])
        held.clear()
    for other in others:
        if not other.cancelled():
            other.result()


@contextmanager
def small_algebra() -> Iterator[None]:
    """Limit BLAS to one thread within a block: on small matrices, more threads only wait for each other.

    Examples
    --------
    >>> with small_algebra():
    ...     np.eye(2) @ np.eye(2)
    array([[1., 0.],
           [0., 1.]])
    """
    global _small_depth, _limits
    # the limit is process-wide: the first block to start sets it, the last one to end lifts it
    with _small_lock:
        if _small_depth == 0:
            _limits = _libraries().limit(limits=1, user_api="blas")
        _small_depth += 1
    try:
        yield
    finally:
        with _small_lock:
            _small_depth -= 1
            if _small_depth == 0:
                _limits.restore_original_limits()


@cache
def _libraries() -> Any:
    """Return the BLAS libraries; cached because the search takes as long as a small fit."""
    return ThreadpoolController()


def _get_pool() -> ThreadPoolExecutor:
    global _pool
    pool = _pool
    if pool is None:
        pool = _pool = ThreadPoolExecutor(max(1, get_threads() - 1), thread_name_prefix="gssl")
    return pool


def _forget_pool() -> None:
    global _pool
    _pool = None


# a forked child has none of the pool's threads
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
