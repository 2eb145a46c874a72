"""Many fits, fits in other processes and interrupted fits leave the process unchanged."""

import gc
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import gssl
from gssl.operators import set_threads

MODELS = [
    gssl.OGC(max_iter=8, random_state=0),
    gssl.EmbeddingClassifier(gssl.GGCM(depth=3), head="logistic"),
    gssl.EmbeddingClassifier(gssl.SGC(), head="ridge"),
    gssl.EmbeddingClassifier(gssl.NDLS(depth=2), head="ridge"),
    gssl.CorrectAndSmooth(depth=5),
    gssl.ManifoldRegularization(),
    gssl.LabelPropagation(),
    gssl.LabelSpreading(),
]


@pytest.fixture(scope="module")
def data():
    """Four hundred nodes on a ring with chords, and enough columns to be split between threads."""
    rng = np.random.default_rng(0)
    n = 400
    ring = np.arange(n)
    row, column = np.concatenate([ring, ring]), np.concatenate([(ring + 1) % n, (ring * 7 + 3) % n])
    A = csr_array((np.ones(2 * n), (row, column)), shape=(n, n))
    A = ((A + A.T) > 0).astype(float)
    A.setdiag(0)
    A.eliminate_zeros()
    truth = (ring * 3) // n
    X = rng.random((n, 300)) + np.eye(3)[truth].repeat(100, axis=1)
    return X, csr_array(A), np.where(ring % 9 == 0, truth, -1)


@pytest.fixture
def two_threads():
    set_threads(2)
    yield
    set_threads(None)


def fitted(model, data):
    X, A, y = data
    return clone(model).fit(X, y, adjacency=A).label_distributions_


@pytest.mark.parametrize("n_fits", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_fits_leave_neither_memory_nor_threads_behind(data, two_threads, n_fits):
    def run(rounds):
        for k in range(rounds):
            fitted(MODELS[k % len(MODELS)], data)
        gc.collect()
        return threading.active_count()

    threads = run(2 * len(MODELS))
    tracemalloc.start()
    try:
        # fill caches, such as that of local depths, in a first round
        run(len(MODELS))
        before, _ = tracemalloc.get_traced_memory()
        assert run(n_fits) == threads
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # a leak of one array of features would be a megabyte per fit
    assert after - before < 300_000


def test_other_numbers_of_threads_end_the_old_ones(data):
    for n_threads in (4, 2, 3, 2):
        set_threads(n_threads)
        fitted(MODELS[0], data)
    set_threads(None)
    gc.collect()
    deadline = threading.Event()
    for _ in range(100):
        left = [thread for thread in threading.enumerate() if thread.name.startswith("gssl")]
        if not left:
            break
        deadline.wait(0.1)
    assert left == []


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_one_thread_and_two_give_the_same_bits(data, model):
    results = []
    for n_threads in (1, 2):
        set_threads(n_threads)
        results.append(fitted(model, data).tobytes())
    set_threads(None)
    assert results[0] == results[1]


def run_script(tmp_path, text):
    script = tmp_path / "script.py"
    script.write_text(text)
    return subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=900)


SPAWNED = """
import multiprocessing as mp
import numpy as np
import gssl

def fit(seed):
    data = gssl.datasets.load("karate")
    model, y = gssl.OGC(random_state=seed), data.mask_labels("default")
    model.fit(data.features, y, adjacency=data.adjacency)
    return model.label_distributions_.tobytes()

if __name__ == "__main__":
    here = [fit(seed) for seed in (0, 1)]
    with mp.get_context("spawn").Pool(1) as pool:
        assert pool.map(fit, (0, 1)) == here
    assert here[0] != here[1]
    print("equal")
"""


def test_fits_in_spawned_processes_are_those_of_their_parent(tmp_path):
    done = run_script(tmp_path, SPAWNED)
    assert done.stdout == "equal\n", done.stderr


INTERRUPTED = """
import os, signal, threading
import numpy as np
from scipy.sparse import csr_array
from gssl.operators import normalized_adjacency, set_threads

set_threads(2)
rng = np.random.default_rng(0)
n = 20_000
A = csr_array((np.ones(20 * n), (rng.integers(n, size=20 * n), rng.integers(n, size=20 * n))), shape=(n, n))
A = A.maximum(A.T)
A_hat, U = normalized_adjacency(A), rng.random((n, 64))
before = A_hat @ U
signals = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
signals.start()
try:
    while True:
        A_hat @ U
except KeyboardInterrupt:
    print("interrupted")
assert np.array_equal(A_hat @ U, before)
print("and well")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
def test_ctrl_c_in_a_kernel_is_an_interrupt_and_the_process_lives_on(tmp_path):
    done = run_script(tmp_path, INTERRUPTED)
    assert done.stdout == "interrupted\nand well\n", done.stderr
    assert done.returncode == 0


LIMITED = """
import resource
from pathlib import Path
import numpy as np
from scipy.sparse import csr_array, random_array
import gssl
from gssl.methods.base import refuse_if_too_large
from gssl.io import Problem

def problem(n, d):
    X = csr_array(random_array((n, d), density=2 / d, rng=np.random.default_rng(0), format="csr"))
    A = csr_array((np.ones(n), (np.arange(n), np.roll(np.arange(n), 1))), shape=(n, n))
    ids = np.arange(n).astype(str).astype(object)
    return Problem(ids, A + A.T, X, np.full(n, None))

small, large = problem(2_000, 100), problem(20_000, 2_000)
model = gssl.SGC(depth=2)
refuse_if_too_large(model, small)
model.fit(small.features, adjacency=small.adjacency)  # compiled, and its threads started
refuse_if_too_large(model, problem(2_000, 2_000))
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 400 * 10**6,) * 2)
refuse_if_too_large(model, small)
try:
    refuse_if_too_large(model, large)
except ValueError as error:
    print(error)
try:
    model.fit(large.features, adjacency=large.adjacency)
except MemoryError:
    print("it would have failed")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit on the address space")
def test_what_the_limits_of_a_process_forbid_is_refused_before_it_fails(tmp_path):
    done = run_script(tmp_path, LIMITED)
    refusal, *rest = done.stdout.splitlines() or [""]
    assert "SGC on 20,000 nodes × 2,000 numbers needs about 960" in refusal, done.stderr
    assert rest == ["it would have failed"]
