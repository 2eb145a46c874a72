"""Cleaning changes what it says it changes, and nothing else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from gssl.graph import CleaningReport, clean_adjacency

weights = st.integers(1, 7).flatmap(
    lambda n: arrays(np.float64, (n, n), elements=st.sampled_from([0.0, 0.0, 0.5, 1.0, 3.0]))
)


@st.composite
def entry_lists(draw):
    """Entries with loops, duplicates and zeros, as (n, row, column, value)."""
    n = draw(st.integers(1, 6))
    node = st.integers(0, n - 1)
    entries = draw(st.lists(st.tuples(node, node, st.sampled_from([0.0, 1.0, 2.5])), max_size=25))
    row, column, value = zip(*entries, strict=True) if entries else ((), (), ())
    return n, np.array(row, dtype=int), np.array(column, dtype=int), np.array(value, dtype=float)


def assert_canonical(graph):
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    codes = rows * graph.shape[0] + graph.indices
    assert (np.diff(codes) > 0).all()
    assert (graph.data > 0).all()
    assert (rows != graph.indices).all()


def unsorted_csr(n, row, column, value):
    """A CSR with the entries in the order given, so unsorted and with duplicates."""
    order = np.argsort(row, kind="stable")
    pointers = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
    return sparse.csr_array((value[order], column[order], pointers), shape=(n, n))


@settings(deadline=None)
@given(entry_lists())
def test_clean_against_a_dense_sum(entries):
    n, row, column, value = entries
    dense = np.zeros((n, n))
    np.add.at(dense, (row, column), value)
    np.fill_diagonal(dense, 0)
    if np.isin(value, [0, 1]).all():
        dense = np.minimum(dense, 1)
    off = (row != column) & (value != 0)
    expected = CleaningReport(
        self_loops=int(((row == column) & (value != 0)).sum()),
        duplicates=int(off.sum() - np.count_nonzero(dense)),
        asymmetric=int(np.count_nonzero(dense != dense.T) // 2),
        zeros=int((value == 0).sum()),
    )
    for given_as in (sparse.coo_array((value, (row, column)), shape=(n, n)), unsorted_csr(*entries)):
        parts = {name: part.copy() for name, part in vars(given_as).items() if isinstance(part, np.ndarray)}
        cleaned, report = clean_adjacency(given_as)
        np.testing.assert_array_equal(cleaned.toarray(), np.maximum(dense, dense.T))
        assert report == expected
        assert_canonical(cleaned)
        for name, part in parts.items():
            np.testing.assert_array_equal(vars(given_as)[name], part)


@settings(deadline=None)
@given(weights)
def test_cleaning_twice_changes_nothing(dense):
    once, _ = clean_adjacency(dense)
    twice, report = clean_adjacency(once)
    assert not report.changed
    assert report.messages() == []
    np.testing.assert_array_equal(twice.toarray(), once.toarray())


@settings(deadline=None)
@given(weights)
def test_dense_and_sparse_agree_and_stay_untouched(dense):
    before = dense.copy()
    reference, reference_report = clean_adjacency(dense)
    np.testing.assert_array_equal(reference.toarray(), reference.toarray().T)
    for fmt in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia"):
        matrix = sparse.csr_array(before).asformat(fmt)
        cleaned, report = clean_adjacency(matrix)
        np.testing.assert_array_equal(cleaned.toarray(), reference.toarray())
        assert report == reference_report
        np.testing.assert_array_equal(matrix.toarray(), before)
    np.testing.assert_array_equal(dense, before)


@pytest.mark.parametrize(("value", "merged"), [(1.0, 1.0), (2.0, 4.0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
def test_duplicates_add_up_only_in_a_weighted_graph(value, merged, dtype):
    row, column = [0, 1, 0, 1], [1, 0, 1, 0]
    cleaned, report = clean_adjacency(
        sparse.coo_array((np.full(4, value, dtype), (row, column)), shape=(2, 2))
    )
    np.testing.assert_array_equal(cleaned.toarray(), [[0, merged], [merged, 0]])
    assert report.duplicates == 2


def test_small_integers_do_not_overflow_when_added():
    row, column = [0, 1, 0, 1], [1, 0, 1, 0]
    cleaned, _ = clean_adjacency(sparse.coo_array((np.full(4, 100, np.int8), (row, column)), shape=(2, 2)))
    np.testing.assert_array_equal(cleaned.toarray(), [[0, 200], [200, 0]])


def test_a_clean_csr_is_not_copied():
    graph = sparse.csr_array(np.array([[0.0, 2], [2, 0]]))
    cleaned, report = clean_adjacency(graph)
    assert not report.changed
    assert np.shares_memory(cleaned.data, graph.data)


def test_read_only_arrays_are_enough():
    graph = sparse.csr_array(np.array([[1.0, 2], [0, 0]]))
    for part in (graph.data, graph.indices, graph.indptr):
        part.flags.writeable = False
    cleaned, _ = clean_adjacency(graph)
    np.testing.assert_array_equal(cleaned.toarray(), [[0, 2], [2, 0]])


def test_rounding_is_not_counted_among_directions():
    """One pair has a direction; another differs in its last bit, which says nothing."""
    A = np.array([[0, 1.0, 0, 2], [np.nextafter(1, 2), 0, 3, 0], [0, 3, 0, 5], [2, 0, 4, 0]])
    cleaned, report = clean_adjacency(A)
    assert report == CleaningReport(self_loops=0, duplicates=0, asymmetric=1, zeros=0)
    np.testing.assert_array_equal(cleaned.toarray(), np.maximum(A, A.T))
