"""Columns are read from arrays and files alike, and products do not depend on how columns are split."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.scale.columns import ColumnSource, add_product, read_columns, transposed_product
from gssl.scale.memory import SlabPlan


@pytest.fixture
def X():
    return np.random.default_rng(0).random((50, 7)).astype(np.float32)


@pytest.fixture(params=["array", "Fortran", "file", "columns in a file", "part of a file"])
def given(request, X, tmp_path):
    """The same numbers as different kinds of arrays and files."""
    if request.param == "array":
        return X
    if request.param == "Fortran":
        return np.asfortranarray(X)
    stored = {"file": X, "columns in a file": np.asfortranarray(X)}
    np.save(tmp_path / "x.npy", stored.get(request.param, np.vstack([X, X])))
    return np.load(tmp_path / "x.npy", mmap_mode="r")[: len(X)]


@pytest.mark.parametrize("wanted", [slice(0, 7), slice(2, 5), slice(6, 7)])
@pytest.mark.parametrize("block", [1 << 23, 60])
def test_columns_are_the_same_wherever_they_are(X, given, wanted, block):
    found = read_columns(given, wanted, block_bytes=block)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, X[:, wanted])
    out = np.empty((50, wanted.stop - wanted.start), np.float32)
    found = read_columns(given, wanted, out, block)
    assert found is out or wanted == slice(0, 7)
    np.testing.assert_array_equal(found, X[:, wanted])


def test_columns_of_a_sparse_matrix_stay_sparse(X):
    sparse = csr_array(X)
    assert read_columns(sparse, slice(0, 7)) is sparse
    np.testing.assert_array_equal(read_columns(sparse, slice(1, 3)).toarray(), X[:, 1:3])


@pytest.mark.parametrize("width", [1, 3, 7])
def test_slabs_are_read_in_any_order(X, given, width):
    source = ColumnSource(given, SlabPlan(7, width))
    for s, wanted in reversed(list(enumerate(SlabPlan(7, width).slabs))):
        np.testing.assert_array_equal(source.read(s), X[:, wanted])
        out = np.empty((50, wanted.stop - wanted.start), np.float32)
        np.testing.assert_array_equal(source.read(s, out), X[:, wanted])


def test_a_file_that_became_shorter_is_told_of(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    with (tmp_path / "x.npy").open("r+b") as opened:
        opened.truncate(300)
    with pytest.raises(OSError, match="became shorter while it was read: write it again"):
        read_columns(mapped, slice(1, 3))


@pytest.mark.parametrize("n_rows", [1, 511, 512, 1300])
def test_products_are_in_double_precision(n_rows):
    rng = np.random.default_rng(0)
    U, W = rng.random((n_rows, 9)).astype(np.float32), rng.random((9, 4)).astype(np.float32)
    R = rng.random((n_rows, 4)).astype(np.float32)
    exact = U.astype(np.float64) @ W.astype(np.float64)
    for columns_of_U in (U, csr_array(U)):
        total = np.ones((n_rows, 4))
        add_product(total, columns_of_U, W)
        np.testing.assert_allclose(total, 1 + exact, rtol=1e-14)
    product = transposed_product(U, R)
    np.testing.assert_allclose(product, U.astype(np.float64).T @ R.astype(np.float64), rtol=1e-13)
