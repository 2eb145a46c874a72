"""The arrays of a sparse matrix are checked before SciPy reads them."""

import numpy as np
import pytest
from scipy import sparse

from gssl.graph import check_adjacency, check_finite, clean_adjacency
from gssl.graph.negatives import pair_codes
from gssl.graph.validate import check_compressed, read_matrix, row_pointers

PATH = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
CONTAINERS = [np.asarray, sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.lil_matrix]


def broken(fmt, **arrays):
    """Return the path graph in a format, with some arrays replaced after construction."""
    matrix = sparse.csr_array(PATH).asformat(fmt)
    for name, values in arrays.items():
        setattr(matrix, name, np.asarray(values))
    return matrix


@pytest.mark.parametrize("fmt", ["csr", "csc"])
@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"indices": [1, 0, 3, 1]}, r"index 3 at position 2, outside 0 … 2"),
        ({"indices": [1, -1, 2, 1]}, r"index -1 at position 1, outside 0 … 2"),
        ({"indices": [1, 0, 2**40, 1]}, r"index 1099511627776 at position 2"),
        ({"indices": [1.0, 0.0, 2.0, 1.0]}, r"dtype float64: indices must be whole numbers"),
        ({"indptr": [0, 1, 4]}, r"indptr of length 3, not 4"),
        ({"indptr": [1, 1, 3, 4]}, r"starts at 1, not 0"),
        ({"indptr": [0, 3, 1, 4]}, r"decreases after position 1"),
        ({"indptr": [0, 1, 3, 3]}, r"ends at 3, not at its 4 entries"),
        ({"indptr": [0, 1, 3, 9]}, r"ends at 9, not at its 4 entries"),
        ({"data": [1.0, 1.0, 1.0]}, r"3 values for 4 indices"),
    ],
)
def test_broken_compressed_arrays(fmt, arrays, message):
    for check in (check_adjacency, clean_adjacency, check_finite):
        with pytest.raises((ValueError, TypeError), match=message):
            check(broken(fmt, **arrays))


@pytest.mark.parametrize(
    ("name", "position", "value", "message"),
    [
        ("row", 3, 7, "row index 7 at position 3, outside 0 … 2"),
        ("col", 1, -5, "column index -5 at position 1"),
    ],
)
def test_broken_coordinates_are_refused(name, position, value, message):
    matrix = sparse.coo_array(PATH)
    getattr(matrix, name)[position] = value
    with pytest.raises(ValueError, match=message):
        check_adjacency(matrix)
    matrix = sparse.coo_array(PATH)
    matrix.data = matrix.data[:2]
    with pytest.raises(ValueError, match="4 row indices, 4 column indices and 2 values"):
        check_adjacency(matrix)


def test_broken_blocks_lists_and_diagonals():
    blocks = sparse.bsr_array(np.kron(PATH, np.ones((2, 2))), blocksize=(2, 2))
    blocks.indices = np.array([1, 0, 3, 1], dtype=blocks.indices.dtype)
    with pytest.raises(ValueError, match="index 3 at position 2"):
        check_adjacency(blocks)

    lists = sparse.lil_array(PATH)
    lists.data[1] = [1.0]
    with pytest.raises(ValueError, match="row 1 of the adjacency has 1 values for 2 indices"):
        check_adjacency(lists)
    lists = sparse.lil_array(PATH)
    lists.rows[1] = [0, 9]
    with pytest.raises(ValueError, match=r"the adjacency cannot be read .*index 9.*rebuild"):
        check_adjacency(lists)

    diagonals = sparse.dia_array(PATH)
    diagonals.data = diagonals.data[:1]
    with pytest.raises(ValueError, match="1 values for 2 indices"):
        check_adjacency(diagonals)


def test_lying_flags_are_not_believed():
    # row 0 has column 1 twice and row 1 is not sorted
    matrix = sparse.csr_array(
        (np.array([2.0, 1, 4, 3, 4]), np.array([1, 1, 2, 0, 1]), np.array([0, 2, 4, 5]))
    )
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    cleaned, report = clean_adjacency(matrix)
    np.testing.assert_array_equal(cleaned.toarray(), [[0, 3, 0], [3, 0, 4], [0, 4, 0]])
    np.testing.assert_array_equal(cleaned.indices, [1, 0, 2, 1])
    assert (report.duplicates, report.asymmetric) == (1, 0)


def test_zeros_that_pad_a_block_are_no_entries():
    padded = sparse.bsr_array(sparse.csr_array(np.pad(PATH, (0, 1))), blocksize=(2, 2))
    cleaned, report = clean_adjacency(padded)
    np.testing.assert_array_equal(cleaned.toarray(), np.pad(PATH, (0, 1)))
    assert report.zeros == 0


def test_row_pointers_pass_two_to_the_31():
    counts = np.full(3, 2**30, dtype=np.int32)
    pointers = row_pointers(counts)
    assert pointers.dtype == np.int64
    np.testing.assert_array_equal(pointers, [0, 2**30, 2**31, 3 * 2**30])
    np.testing.assert_array_equal(row_pointers([]), [0])


def test_index_arithmetic_beyond_two_to_the_31_is_checked_in_64_bits():
    indptr = np.array([0, 2**31 + 5], dtype=np.int64)
    with pytest.raises(ValueError, match=f"ends at {2**31 + 5}, not at its 1 entries"):
        check_compressed(indptr, np.array([0], dtype=np.int64), 1, 1, "the adjacency")
    n = 3_000_000_000
    last = np.array([n - 2], dtype=np.int64)
    assert pair_codes(last + 1, last, n)[0] == (n - 2) * n + n - 1


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_bad_features_name_the_first_place(container, value, what):
    X = np.arange(12.0).reshape(4, 3)
    X[2, 1] = X[3, 0] = value
    with pytest.raises(ValueError, match=f"^features contains {what} at row 2, column 1: "):
        check_finite(container(X), "features")


def test_finite_features_pass():
    check_finite(np.full((2, 2), np.finfo(np.float32).max, dtype=np.float32))
    check_finite([[1, 2], [3, 4]])
    check_finite(sparse.csr_array((3, 2)))
    check_finite(np.array([[True, False]]))


def test_numbers_become_floats_and_single_precision_stays():
    assert read_matrix([[0, 1], [1, 0]], "adjacency").dtype == np.float64
    assert read_matrix(PATH.astype(np.float32), "adjacency").dtype == np.float32
