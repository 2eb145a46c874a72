"""Cleaning changes only what it reports; invalid graphs raise one clear error."""

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from gssl.graph import CleaningReport, GraphWarning, check_adjacency, clean_adjacency
from gssl.graph.simplify import declare_simple, is_declared

PATH = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
CONTAINERS = [np.asarray, sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.lil_matrix]

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
    """Return a CSR array with entries in the given order, unsorted and with duplicates."""
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
    for fmt, make in product(
        ("csr", "csc", "coo", "bsr", "lil", "dok", "dia"), (sparse.csr_array, sparse.csr_matrix)
    ):
        matrix = make(before).asformat(fmt)
        cleaned, report = clean_adjacency(matrix)
        np.testing.assert_array_equal(cleaned.toarray(), reference.toarray())
        assert report == reference_report
        np.testing.assert_array_equal(matrix.toarray(), before)
    np.testing.assert_array_equal(dense, before)


# sums of 100 and 100 would overflow in eight bits
@pytest.mark.parametrize(("value", "merged"), [(1.0, 1.0), (100.0, 200.0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
def test_duplicates_add_up_only_in_a_weighted_graph(value, merged, dtype):
    row, column = [0, 1, 0, 1], [1, 0, 1, 0]
    cleaned, report = clean_adjacency(
        sparse.coo_array((np.full(4, value, dtype), (row, column)), shape=(2, 2))
    )
    np.testing.assert_array_equal(cleaned.toarray(), [[0, merged], [merged, 0]])
    assert report.duplicates == 2


def test_a_clean_csr_is_not_copied():
    graph = sparse.csr_array(np.array([[0.0, 2], [2, 0]]))
    cleaned, report = clean_adjacency(graph)
    assert not report.changed
    assert np.shares_memory(cleaned.data, graph.data)


def frozen(graph):
    for part in (graph.data, graph.indices, graph.indptr):
        part.flags.writeable = False
    return graph


def test_read_only_arrays_are_enough():
    cleaned, _ = clean_adjacency(frozen(sparse.csr_array(np.array([[1.0, 2], [0, 0]]))))
    np.testing.assert_array_equal(cleaned.toarray(), [[0, 2], [2, 0]])


def test_rounding_is_not_counted_among_directions():
    """One pair is asymmetric; another differs only in its last bit and does not count."""
    A = np.array([[0, 1.0, 0, 2], [np.nextafter(1, 2), 0, 3, 0], [0, 3, 0, 5], [2, 0, 4, 0]])
    cleaned, report = clean_adjacency(A)
    assert report == CleaningReport(self_loops=0, duplicates=0, asymmetric=1, zeros=0)
    np.testing.assert_array_equal(cleaned.toarray(), np.maximum(A, A.T))


def caught(*args, **kwargs):
    """Return the result of check_adjacency and the messages of its warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = check_adjacency(*args, **kwargs)
    assert all(issubclass(warning.category, GraphWarning) for warning in seen)
    return result, [str(warning.message) for warning in seen]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    ("value", "what"),
    [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity"), (-2, "negative weight -2.0")],
)
def test_bad_weights_name_the_first_place(container, value, what):
    weights = PATH.copy()
    weights[1, 2] = weights[2, 0] = value
    with pytest.raises(ValueError, match=rf"{what} at row 1, column 2"):
        check_adjacency(container(weights))


def test_the_first_place_is_first_by_row_then_column():
    matrix = sparse.csr_array((np.array([-1.0, -2.0, 1.0]), np.array([2, 0, 1]), np.array([0, 0, 2, 3])))
    with pytest.raises(ValueError, match=r"weight -2.0 at row 1, column 0"):
        check_adjacency(matrix)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_shapes(container):
    with pytest.raises(ValueError, match=r"square, got shape \(2, 3\)"):
        check_adjacency(container(PATH[:2]))
    with pytest.raises(ValueError, match="3 nodes but 4 are expected"):
        check_adjacency(container(PATH), n_nodes=4)
    np.testing.assert_array_equal(check_adjacency(container(PATH), n_nodes=3).toarray(), PATH)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weights", [np.zeros((3, 3)), np.eye(3)])
def test_a_graph_without_edges(container, weights):
    with pytest.raises(ValueError, match="the graph has no edges"):
        check_adjacency(container(weights))
    empty, _ = caught(container(weights), allow_empty=True)
    np.testing.assert_array_equal(empty.toarray(), np.zeros((3, 3)))


def test_zero_nodes():
    with pytest.raises(ValueError, match="zero nodes"):
        check_adjacency(np.zeros((0, 0)), allow_empty=True)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (PATH.astype(complex), ValueError, "Complex data not supported"),
        (sparse.csr_array(PATH.astype(complex)), ValueError, "Complex data not supported"),
        (PATH.astype(object), TypeError, "dtype object"),
        (PATH.astype(str), TypeError, "convert it to numbers"),
        (None, TypeError, "got NoneType"),
        ([[0, 1], [1]], ValueError, "different lengths"),
        (np.ones(3), ValueError, "Reshape your data"),
        (sparse.coo_array(np.ones(3)), ValueError, "must be 2-D"),
    ],
)
def test_what_is_no_adjacency(given, error, message):
    with pytest.raises(error, match=message):
        check_adjacency(given)


def test_clean_input_passes_in_silence():
    for dtype in (bool, np.int8, np.uint64, np.float16, np.float64):
        result, messages = caught(PATH.astype(dtype))
        assert (messages, result.dtype) == ([], np.float64)
        np.testing.assert_array_equal(result.toarray(), PATH)
    assert check_adjacency(sparse.csr_array(PATH.astype(np.float32))).dtype == np.float32


def test_one_warning_for_each_kind_of_change():
    row, column = [0, 0, 1, 1, 2, 2], [1, 1, 0, 1, 0, 1]
    _, messages = caught(sparse.coo_array(([2.0, 2, 4, 9, 0, 1], (row, column)), shape=(3, 3)))
    assert [message.split(":")[0].split(" (")[0] for message in messages] == [
        "removed 1 self-loop",
        "merged 1 duplicate edge",
        "the adjacency is not symmetric in 1 pair of nodes",
        "removed 1 stored zero",
    ]
    assert "larger" in messages[2]


@pytest.fixture
def read_only():
    """Return a graph with read-only arrays."""
    return frozen(sparse.csr_array(PATH))


def test_a_declared_graph_is_not_checked_again(read_only):
    assert not is_declared(read_only)
    assert declare_simple(read_only) is read_only
    cleaned, report = clean_adjacency(read_only)
    assert cleaned is read_only
    assert not report.changed
    assert not is_declared(read_only + read_only)


def test_only_read_only_graphs_can_be_declared():
    with pytest.raises(ValueError, match="the arrays of the adjacency are writeable"):
        declare_simple(sparse.csr_array(PATH))
