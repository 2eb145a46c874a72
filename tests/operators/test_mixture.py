"""The numba loops agree with their NumPy versions for every combination of options."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from gssl.operators import (
    Filters,
    Mixture,
    add_scaled,
    complement_negatives,
    mix,
    multiply,
    normalized_adjacency,
    set_threads,
)
from gssl.operators._kernels import rows_numpy
from gssl.operators.mixture import column_sums

CARRIED, GATHERED = Mixture(0.3, 0.2, 0.4), Mixture(-0.5, 0.7, 0.1)


def make_graph(n, weighted, seed=0):
    """Return a random graph with a hub, isolated nodes, and optional weights."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < 0.05, k=1).astype(float)
    upper[0, 1 : n // 2] = 1
    upper[:, -3:] = 0
    if weighted:
        upper *= rng.random((n, n)) * 5
    return csr_array(upper + upper.T)


def path_graph(nodes):
    """Return the path through the nodes in this order."""
    A = np.zeros((len(nodes), len(nodes)))
    A[nodes[:-1], nodes[1:]] = A[nodes[1:], nodes[:-1]] = 1
    return csr_array(A)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sharp", [False, True])
@pytest.mark.parametrize("gather", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("restart", [0.0, 0.8])
@pytest.mark.parametrize(("width", "past"), [(13, 0.0), (13, -0.6), (3, 0.0), (3, -0.6)])
def test_mix_is_its_twin(dtype, weighted, sharp, gather, sparse, restart, width, past):
    A = make_graph(80, weighted)
    X = random_array((80, width), density=0.3, rng=np.random.default_rng(1), format="csr").astype(dtype)
    U = csr_array(X) if sparse else X.toarray()
    A_hat, N_hat = normalized_adjacency(A, dtype), complement_negatives(A, dtype)
    carried = (CARRIED if sharp else Mixture(0.3, 0.0, 0.4)) + Mixture(past=past, restart=restart)
    gathered = (GATHERED if sharp else Mixture(-0.5, 0.0, 0.1)) if gather else None
    total = np.ones((80, width), dtype) if gather else None
    # without a past, the content of out must not be read
    before = np.full((80, width), 2.0 if past else np.nan, dtype)
    # without a restart, there are no features to read
    B = np.random.default_rng(2).random((80, width)).astype(dtype) if restart else None
    ours = mix(Filters(A_hat, N_hat), U, carried, out=before.copy(), gathered=gathered, total=total, X=B)

    t = N_hat.scale if sharp else np.empty(0, dtype)
    sums = rows_numpy.sum_rows(t, X.toarray()).astype(dtype) if sharp else t
    graph = (A_hat.indptr, A_hat.indices, A_hat.weights, A_hat.scale, t, sums)
    out, expected = before, np.ones((80, width), dtype) if gather else np.empty((0, 0), dtype)
    q = (gathered or Mixture()).coefficients
    rows_numpy.mix(graph, U, carried.coefficients, q, out, expected, restart, B)
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    assert ours.dtype == dtype
    np.testing.assert_allclose(ours, out, atol=tolerance)
    if gather:
        np.testing.assert_allclose(total, expected, atol=tolerance)


def test_complements_of_graphs_with_as_many_links_are_told_apart():
    A, other = path_graph([0, 1, 2, 3, 4, 5]), path_graph([5, 0, 3, 1, 4, 2])
    U = np.random.default_rng(0).random((6, 4))
    A_hat, N_hat = normalized_adjacency(A), complement_negatives(other)
    assert len(A_hat.indices) == len(N_hat.indices)
    mixed = mix(Filters(A_hat, N_hat), U, Mixture(smooth=0.3, sharp=0.7))
    np.testing.assert_allclose(mixed, 0.3 * (A_hat @ U) + 0.7 * (N_hat @ U), atol=1e-14)


def test_the_complement_of_the_same_graph_shares_the_pass_over_its_links():
    A = path_graph([0, 1, 2, 3, 4, 5])
    A_hat, N_hat = normalized_adjacency(A), complement_negatives(A)
    assert Filters(A_hat, N_hat).shares_links
    assert Filters(A_hat, complement_negatives(A.copy())).shares_links
    assert not Filters(A_hat, complement_negatives(path_graph([5, 0, 3, 1, 4, 2]))).shares_links
    assert not Filters(A_hat).shares_links


def test_a_past_needs_an_output_that_holds_it():
    filters = Filters(normalized_adjacency(make_graph(30, False)))
    with pytest.raises(ValueError, match="past needs out"):
        mix(filters, np.ones((30, 2)), Mixture(smooth=1.0, past=1.0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [4, 9])
def test_products_and_column_sums_are_their_twins(dtype, width):
    rng, close = np.random.default_rng(2), {"rtol": 1e-5 if dtype == np.float32 else 1e-13, "atol": 1e-14}
    X = csr_array(random_array((300, 50), density=0.1, rng=rng, format="csr").astype(dtype))
    V, t = rng.random((50, width)).astype(dtype), rng.random(300).astype(dtype)
    np.testing.assert_allclose(multiply(X, V), rows_numpy.multiply(X, V), **close)
    np.testing.assert_allclose(multiply(X.toarray(), V), rows_numpy.multiply(X, V), **close)
    np.testing.assert_allclose(column_sums(t, X.toarray()), rows_numpy.sum_rows(t, X.toarray()), **close)
    np.testing.assert_allclose(column_sums(t, X), rows_numpy.sum_rows(t, X.toarray()), **close)


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


def test_entries_named_twice_are_added_twice():
    X = csr_array((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    before = X.data.copy()
    U = np.zeros((2, 2))
    add_scaled(U, 0.5, X)
    np.testing.assert_array_equal(U, [[0.0, 1.5], [2.0, 0.0]])
    np.testing.assert_array_equal(X.data, before)
