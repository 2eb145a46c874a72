"""Threads share rows evenly, give the same results as one thread, and stop soon after an interrupt."""

import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import wait
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.problems import random_graph
from threadpoolctl import threadpool_info

from gssl.operators import normalized_adjacency, set_threads, small_algebra
from gssl.operators._kernels import threads
from gssl.operators._kernels.threads import run_parts, split_rows


@pytest.fixture
def two_threads():
    set_threads(2)
    yield
    set_threads(None)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_pass_begins_no_further_part(two_threads, error):
    """Ctrl-C interrupts the calling thread; the other thread finishes its current part only."""
    begun, main = [], threading.main_thread()

    def task(part):
        begun.append(part)
        if threading.current_thread() is main:
            raise error
        time.sleep(0.01)

    with pytest.raises(error):
        run_parts(task, 200)
    assert len(begun) < 20
    done = []
    run_parts(done.append, 5)
    assert sorted(done) == [0, 1, 2, 3, 4]


def test_a_pass_keeps_nothing_of_its_task_in_the_queue_of_a_busy_pool(monkeypatch):
    """Cancelled parts stay in the pool's queue until a thread is free."""
    monkeypatch.setattr(threads, "get_threads", lambda: 3)
    busy = threading.Event()
    pool = threads._get_pool()
    waiting = [pool.submit(busy.wait) for _ in range(pool._max_workers)]
    try:

        class Task:
            def __call__(self, part):
                pass

        task = Task()
        alive = weakref.ref(task)
        run_parts(task, 8)
        del task
        assert alive() is None
    finally:
        busy.set()
        wait(waiting)


def test_concurrent_callers_get_their_own_results(two_threads):
    A_hat = normalized_adjacency(csr_array(random_graph(1500, 0.05, weighted=True)))
    inputs = [np.random.default_rng(seed).random((1500, 64)) for seed in range(8)]
    expected = [A_hat @ U for U in inputs]
    results = [None] * 8

    def call(k):
        for _ in range(5):
            results[k] = A_hat @ inputs[k]

    callers = [threading.Thread(target=call, args=(k,)) for k in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for ours, theirs in zip(results, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_an_error_in_a_part_reaches_the_caller(two_threads):
    def fail(part):
        raise RuntimeError(f"part {part}")

    with pytest.raises(RuntimeError, match="part"):
        run_parts(fail, 4)


def test_work_is_split_by_entries_and_a_hub_stands_alone():
    counts = np.ones(100_000, dtype=np.int64)
    counts[50_000] = 1_000_000
    bounds = split_rows(np.concatenate([[0], np.cumsum(counts)]), width=64)
    assert bounds[0] == 0
    assert bounds[-1] == 100_000
    assert (np.diff(bounds) >= 0).all()
    part = np.searchsorted(bounds, 50_000, side="right") - 1
    work = [counts[a:b].sum() for a, b in pairwise(bounds)]
    assert max(np.delete(work, part)) < 20_000


def test_row_pointers_past_two_to_the_31_are_split_without_overflow():
    indptr = np.array([0, 2**31, 2**32, 2**32 + 5], dtype=np.int64)
    bounds = split_rows(indptr, width=600)
    assert bounds[0] == 0
    assert bounds[-1] == 3
    assert set(bounds.tolist()) >= {0, 1, 3}


def test_a_child_that_was_forked_computes_too():
    code = """
import os, numpy as np
from scipy.sparse import csr_array
from gssl.operators import normalized_adjacency, set_threads
set_threads(2)
n = 20_000
A = csr_array((np.ones(n - 1), (np.arange(n - 1), np.arange(1, n))), shape=(n, n))
A_hat, U = normalized_adjacency(A + A.T), np.ones((n, 64))
before = A_hat @ U
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(A_hat @ U, before) else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=60, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("n_threads", [0, -1])
def test_no_threads_are_an_error(n_threads):
    with pytest.raises(ValueError, match="at least 1"):
        set_threads(n_threads)


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blocks_of_small_algebra_that_overlap_leave_blas_as_it_was():
    before = blas_threads()
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def first():
        with small_algebra():
            first_in.set()
            second_in.wait(5)
        first_out.set()

    def second():
        first_in.wait(5)
        with small_algebra():
            second_in.set()
            first_out.wait(5)

    callers = [threading.Thread(target=target) for target in (first, second)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert blas_threads() == before


def test_parts_may_run_parts():
    done = []
    run_parts(lambda outer: run_parts(lambda inner: done.append((outer, inner)), 3), 3)
    assert sorted(done) == [(outer, inner) for outer in range(3) for inner in range(3)]
