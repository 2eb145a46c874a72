"""The numba loops give what their NumPy twins give, in every combination of their switches."""

import os
import subprocess
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from gssl.operators import (
    Filters,
    Mixture,
    column_sums,
    complement_negatives,
    mix,
    multiply,
    multiply_transposed,
    normalized_adjacency,
    set_threads,
)
from gssl.operators._kernels import rows_numpy
from gssl.operators._kernels.threads import run_parts, split_rows

CARRIED, GATHERED = Mixture(0.3, 0.2, 0.4), Mixture(-0.5, 0.7, 0.1)


def make_graph(n, weighted, seed=0):
    """A random graph with a hub, isolated nodes, and weights if asked for."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < 0.05, k=1).astype(float)
    upper[0, 1 : n // 2] = 1
    upper[:, -3:] = 0
    if weighted:
        upper *= rng.random((n, n)) * 5
    return csr_array(upper + upper.T)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sharp", [False, True])
@pytest.mark.parametrize("gather", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("width", "past"), [(13, 0.0), (13, -0.6), (3, -0.6)])
def test_mix_is_its_twin(dtype, weighted, sharp, gather, sparse, width, past):
    A = make_graph(80, weighted)
    X = random_array((80, width), density=0.3, rng=np.random.default_rng(1), format="csr").astype(dtype)
    U = csr_array(X) if sparse else X.toarray()
    A_hat, N_hat = normalized_adjacency(A, dtype), complement_negatives(A, dtype)
    carried = (CARRIED if sharp else Mixture(0.3, 0.0, 0.4)) + Mixture(past=past)
    gathered = (GATHERED if sharp else Mixture(-0.5, 0.0, 0.1)) if gather else None
    total = np.ones((80, width), dtype) if gather else None
    # without a past, what is in out must not be read
    before = np.full((80, width), 2.0 if past else np.nan, dtype)
    ours = mix(Filters(A_hat, N_hat), U, carried, out=before.copy(), gathered=gathered, total=total)

    t = N_hat.scale if sharp else np.empty(0, dtype)
    sums = rows_numpy.sum_rows(t, X.toarray()).astype(dtype) if sharp else t
    graph = (A_hat.indptr, A_hat.indices, A_hat.weights, A_hat.scale, t, sums)
    out, expected = before, np.ones((80, width), dtype) if gather else np.empty((0, 0), dtype)
    q = (gathered or Mixture()).coefficients
    rows_numpy.mix(graph, U, carried.coefficients, q, out, expected)
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    assert ours.dtype == dtype
    np.testing.assert_allclose(ours, out, atol=tolerance)
    if gather:
        np.testing.assert_allclose(total, expected, atol=tolerance)


def test_a_past_needs_an_output_that_holds_it():
    filters = Filters(normalized_adjacency(make_graph(30, False)))
    with pytest.raises(ValueError, match="past needs out"):
        mix(filters, np.ones((30, 2)), Mixture(smooth=1.0, past=1.0))


@pytest.mark.parametrize(("n", "width"), [(300, 4), (4000, 60)])
def test_transposed_products_are_their_twin_on_any_number_of_threads(n, width):
    rng = np.random.default_rng(3)
    X = csr_array(random_array((n, 50), density=0.2, rng=rng, format="csr"))
    V = rng.random((n, width))
    expected = rows_numpy.multiply_transposed(X, V)
    found = multiply_transposed(X, V)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(multiply_transposed(X.toarray(), V), expected, rtol=1e-12)
    set_threads(1)
    alone = multiply_transposed(X, V)
    set_threads(None)
    np.testing.assert_array_equal(alone, found)


def test_narrow_products_and_column_sums_are_their_twins():
    rng = np.random.default_rng(2)
    X = csr_array(random_array((300, 50), density=0.1, rng=rng, format="csr"))
    V, t = rng.random((50, 4)), rng.random(300)
    np.testing.assert_allclose(multiply(X, V), rows_numpy.multiply(X, V), atol=1e-14)
    np.testing.assert_allclose(multiply(X.toarray(), V), rows_numpy.multiply(X, V), atol=1e-14)
    np.testing.assert_allclose(column_sums(t, X.toarray()), rows_numpy.sum_rows(t, X.toarray()), rtol=1e-14)
    np.testing.assert_allclose(column_sums(t, X), rows_numpy.sum_rows(t, X.toarray()), rtol=1e-14)


def test_inputs_may_be_read_only_and_in_column_order():
    A_hat = normalized_adjacency(make_graph(30, False))
    U = np.asfortranarray(np.random.default_rng(0).random((30, 4)))
    U.flags.writeable = False
    expected = A_hat.toarray() @ U
    np.testing.assert_allclose(A_hat @ U, expected, atol=1e-14)


@pytest.fixture
def threads():
    yield set_threads
    set_threads(None)


def test_the_number_of_threads_changes_no_bit(threads):
    A = make_graph(2000, False)
    U = np.random.default_rng(0).random((2000, 64), dtype=np.float32)
    filters = Filters(normalized_adjacency(A, U.dtype), complement_negatives(A, U.dtype))
    results = []
    for n_threads in (1, 2, 5):
        threads(n_threads)
        total = np.zeros_like(U)
        out = mix(filters, U, CARRIED, gathered=GATHERED, total=total)
        results.append((out.tobytes(), total.tobytes()))
    assert results[0] == results[1] == results[2]


def test_concurrent_callers_get_their_own_results(threads):
    threads(2)
    A_hat = normalized_adjacency(make_graph(1500, True))
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


def test_an_error_in_a_part_reaches_the_caller(threads):
    threads(2)

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


def test_compiling_is_said_once_and_only_the_first_time(tmp_path):
    code = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout)
from gssl.operators._kernels.rows import sum_rows
sum_rows("d")
sum_rows("d")
"""
    said = []
    for _ in range(2):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        said.append(done.stdout.count("compiled add_scaled_rows"))
    assert said == [1, 0]


@pytest.mark.parametrize("n_threads", [0, -1])
def test_no_threads_are_an_error(n_threads):
    with pytest.raises(ValueError, match="at least 1"):
        set_threads(n_threads)
