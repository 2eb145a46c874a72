"""Memory-mapped arrays: finding their file, and iterating over blocks."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.graph.mapped import FileArray, iterate_blocks, mapped_file, nonzero_rows, release_pages, take_rows

X = np.arange(12.0).reshape(4, 3)


# two rows or columns
BLOCK = 2 * 4 * X.itemsize


@pytest.fixture(params=["C", "F"])
def mapped(request, tmp_path):
    """X in a file in row or column order."""
    np.save(tmp_path / "x.npy", np.asarray(X, order=request.param))
    return np.load(tmp_path / "x.npy", mmap_mode="r")


def test_a_contiguous_view_is_found_in_its_file(mapped):
    by_rows = mapped.flags.c_contiguous
    file = mapped_file(mapped[1:] if by_rows else mapped[:, 1:])
    assert file.shape == ((3, 3) if by_rows else (4, 2))
    assert file.n_bytes == (72 if by_rows else 64)
    np.testing.assert_array_equal(file.open(), X[1:] if by_rows else X[:, 1:])


def test_memory_gaps_and_private_copies_are_in_no_file(mapped):
    assert mapped_file(X) is None
    assert mapped_file(None) is None
    assert mapped_file(mapped[::2, ::2]) is None
    assert mapped_file(np.load(mapped.filename, mmap_mode="c")) is None


def test_an_empty_array_opens(tmp_path):
    file = FileArray(tmp_path / "none.npy", 128, (0, 3), np.dtype("f4"), "C")
    assert (file.n_bytes, file.open().shape) == (0, (0, 3))


def test_blocks_cover_a_matrix_once(mapped):
    assert list(iterate_blocks(X)) == [(slice(0, 4), slice(0, 3))]
    seen = np.zeros(X.shape, dtype=int)
    blocks = list(iterate_blocks(mapped, BLOCK))
    for rows, columns in blocks:
        seen[rows, columns] += 1
    np.testing.assert_array_equal(seen, 1)
    assert len(blocks) == 2


def test_released_pages_are_read_again(mapped):
    release_pages(X)
    release_pages(mapped)
    np.testing.assert_array_equal(mapped, X)


def test_rows_are_taken_in_the_order_asked(mapped):
    for matrix in (X, mapped):
        np.testing.assert_array_equal(take_rows(matrix, np.array([2, 0, 2]), BLOCK), X[[2, 0, 2]])


def test_rows_of_zeros_have_no_entry(mapped):
    np.testing.assert_array_equal(nonzero_rows(mapped, BLOCK), [True] * 4)
    dense = np.array([[0.0, 1.0], [0.0, 0.0], [1.0, -1.0]])
    np.testing.assert_array_equal(nonzero_rows(dense), [True, False, True])
    stored_zero = csr_array((np.array([0.0, 2.0]), np.array([0, 1]), np.array([0, 1, 2])))
    np.testing.assert_array_equal(nonzero_rows(stored_zero), [False, True])
