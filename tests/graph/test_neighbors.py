"""Nearest neighbours agree with a full sort of all distances."""

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from gssl.graph import knn_graph, nearest_rows
from gssl.graph.neighbors import cheaper_method, exact_neighbors


def sorted_neighbours(query, fitted, k, same=False):
    """Return the k nearest points by brute force; ties go to the lowest index."""
    squared = ((query[:, None, :] - fitted[None, :, :]) ** 2).sum(axis=2)
    if same:
        np.fill_diagonal(squared, np.inf)
    return np.argsort(squared, axis=1, kind="stable")[:, :k]


def graph_of(chosen, n):
    dense = np.zeros((n, n))
    dense[np.arange(n)[:, None], chosen] = 1
    return np.maximum(dense, dense.T)


# few integer values, so most distances are tied and all are exact
tied_points = st.tuples(st.integers(1, 12), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-1, 1).map(float))
)


@settings(deadline=None, max_examples=50)
@given(X=tied_points, k=st.integers(1, 14), as_sparse=st.booleans())
def test_ties_go_to_the_lowest_index(X, k, as_sparse):
    n = len(X)
    given_as = sparse.csr_array(X) if as_sparse else X
    graph = knn_graph(given_as, k)
    assert graph.has_canonical_format
    np.testing.assert_array_equal(
        graph.toarray(), graph_of(sorted_neighbours(X, X, min(k, n - 1), same=True), n)
    )
    np.testing.assert_array_equal(nearest_rows(given_as, given_as, k), sorted_neighbours(X, X, min(k, n)))


@pytest.mark.parametrize("n_features", [2, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_points_in_general_position(n_features, dtype):
    X = np.random.default_rng(0).normal(size=(200, n_features)).astype(dtype)
    wide = X.astype(np.float64)
    np.testing.assert_array_equal(
        knn_graph(X, 5).toarray(), graph_of(sorted_neighbours(wide, wide, 5, same=True), 200)
    )
    np.testing.assert_array_equal(nearest_rows(X[:50], X[50:], 7), sorted_neighbours(wide[:50], wide[50:], 7))


def test_equal_points_do_not_lose_a_neighbour_to_themselves():
    X = np.zeros((6, 3))
    graph = knn_graph(X, 2).toarray()
    # the neighbours of each point are the two lowest other indices
    np.testing.assert_array_equal(graph, graph_of([[1, 2], [0, 2], [0, 1], [0, 1], [0, 1], [0, 1]], 6))


def test_ties_are_broken_in_several_blocks():
    X = np.random.default_rng(0).integers(0, 2, size=(50, 20)).astype(float)
    found = exact_neighbors(X, X, 4, same=True, most_distances=150)
    np.testing.assert_array_equal(found, sorted_neighbours(X, X, 4, same=True))


def test_a_far_outlier_does_not_blur_the_others():
    X = np.array([[1e8, 0.0], [0.0, 0.0], [0.3, 0.0], [0.1, 0.0]])
    np.testing.assert_array_equal(nearest_rows(X[1:2], X, 4), [[1, 3, 2, 0]])


def test_cosine_ignores_length():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [100.0, 1.0], [1.0, 90.0]])
    np.testing.assert_array_equal(
        knn_graph(X, 1, metric="cosine").toarray(), [[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]]
    )
    np.testing.assert_array_equal(nearest_rows([[0.1, 0.0]], X, 2, metric="cosine"), [[0, 2]])


def test_one_point_has_no_edges():
    graph = knn_graph([[1.0, 2.0]], 3)
    assert graph.shape == (1, 1)
    assert graph.nnz == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: knn_graph([[1.0], [np.nan]]), "X contains NaN at row 1, column 0"),
        (lambda: knn_graph(np.empty((0, 2))), "X has no rows"),
        (lambda: knn_graph([[1.0], [2.0]], 0), "at least 1, got 0"),
        (lambda: knn_graph([[1.0], [2.0]], metric="hamming"), '"euclidean" or "cosine"'),
        (lambda: knn_graph([[1.0], [2.0]], method="fast"), '"auto", "exact" or "approximate"'),
        (lambda: nearest_rows([[1.0]], [[1.0, 2.0]]), "X_query has 1 features but X_fit has 2"),
        (lambda: nearest_rows([[np.inf]], [[1.0]]), "X_query contains infinity at row 0, column 0"),
    ],
)
def test_bad_points_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(ImportError, match=r"pip install gssl\[knn\]"):
        knn_graph(np.eye(4), 2, method="approximate")


@pytest.mark.parametrize("installed", [True, False])
def test_auto_is_approximate_only_when_large_and_installed(monkeypatch, installed):
    module = ModuleType("pynndescent")
    module.__spec__ = ModuleSpec("pynndescent", None)
    monkeypatch.setitem(sys.modules, "pynndescent", module if installed else None)
    assert cheaper_method(50_000) == "exact"
    assert cheaper_method(50_001) == ("approximate" if installed else "exact")


def test_approximate_leaves_out_the_point_itself(monkeypatch):
    class Descent:
        """A result in which row 1 lacks itself, as among equal points, and row 3 has others first."""

        def __init__(self, points, n_neighbors, random_state, n_jobs):
            self.neighbor_graph = (np.array([[0, 1, 2], [0, 2, 3], [2, 1, -1], [3, 2, 1]]), None)

    module = ModuleType("pynndescent")
    module.NNDescent = Descent
    monkeypatch.setitem(sys.modules, "pynndescent", module)
    graph = knn_graph(np.zeros((4, 1)), 2, method="approximate").toarray()
    expected = np.zeros((4, 4))
    for i, row in enumerate([[1, 2], [0, 2], [1], [1, 2]]):
        expected[i, row] = 1
    np.testing.assert_array_equal(graph, np.maximum(expected, expected.T))


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("pynndescent") is None, reason="needs the knn extra")
def test_approximate_finds_nearly_all_neighbours():
    X = np.random.default_rng(0).normal(size=(1000, 8))
    exact, approximate = knn_graph(X, 10), knn_graph(X, 10, method="approximate")
    assert approximate.multiply(exact).nnz / exact.nnz > 0.95
    assert (approximate != approximate.T).nnz == 0
