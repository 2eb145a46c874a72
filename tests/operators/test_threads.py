"""Work that is given up ends soon, and features with repeated entries count them all."""

import threading
import time
import weakref
from concurrent.futures import wait

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.operators import add_scaled, set_threads
from gssl.operators._kernels import threads
from gssl.operators._kernels.threads import run_parts


@pytest.fixture
def two_threads():
    set_threads(2)
    yield
    set_threads(None)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_pass_begins_no_further_part(two_threads, error):
    """Ctrl-C reaches the thread that asked; the other one ends the part it is at, not all that are left."""
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


def test_entries_named_twice_are_added_twice():
    X = csr_array((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    before = X.data.copy()
    U = np.zeros((2, 2))
    add_scaled(U, 0.5, X)
    np.testing.assert_array_equal(U, [[0.0, 1.5], [2.0, 0.0]])
    np.testing.assert_array_equal(X.data, before)


def test_a_pass_keeps_nothing_of_its_task_in_the_queue_of_a_busy_pool(monkeypatch):
    """Parts that nobody began are cancelled, but stay in the queue until a thread is free."""
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
