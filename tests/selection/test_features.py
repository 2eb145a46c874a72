"""Unit rows and standardised columns without a copy agree with dense algebra."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize

from gssl.selection.features import Features


@pytest.fixture(params=["dense", "sparse", "file", "file by columns"])
def X(request, tmp_path):
    """17 MB, which are more than a block of a file and than the rows copied at a time."""
    X = np.random.default_rng(0).normal(size=(2200, 1000))
    X[3] = 0.0
    X[4] *= 1e200  # squares would overflow
    if request.param == "sparse":
        return csr_array(X)
    if request.param == "dense":
        return X
    np.save(tmp_path / "X.npy", np.asfortranarray(X) if request.param.endswith("columns") else X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def test_rows_of_length_one(X):
    given = X.toarray() if hasattr(X, "toarray") else np.array(X)
    expected = normalize(normalize(given, norm="max"))
    unit, rng = Features.unit(X), np.random.default_rng(1)
    V, nodes = rng.normal(size=(1000, 3)), np.array([2199, 3, 4])
    rows = unit.rows(nodes)
    np.testing.assert_allclose(
        rows.toarray() if hasattr(rows, "toarray") else rows, expected[nodes], rtol=1e-14
    )
    np.testing.assert_allclose(unit.times(V), expected @ V, atol=1e-13)
    after = X.toarray() if hasattr(X, "toarray") else np.array(X)
    np.testing.assert_array_equal(after, given)


def test_features_as_they_are_given(X):
    given = X.toarray() if hasattr(X, "toarray") else np.array(X)
    np.testing.assert_array_equal(Features(X).times(np.eye(1000)[:, :3]), given[:, :3])


def test_standardised_columns():
    X = np.random.default_rng(0).normal(2.0, 3.0, size=(50, 4))
    scales = np.stack([X.mean(axis=0), X.std(axis=0)])
    expected = (X - scales[0]) / scales[1]
    standard = Features.standardized(X, scales)
    np.testing.assert_allclose(standard.rows(np.array([7, 1])), expected[[7, 1]], atol=1e-13)
    V = np.random.default_rng(1).normal(size=(4, 2))
    np.testing.assert_allclose(standard.times(V), expected @ V, atol=1e-12)


def test_columns_with_large_means_are_standardised_before_products():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).astype(np.float32)
    X[:, 0] += 1e5
    exact = (X.astype(float) - X.mean(axis=0, dtype=float)) / X.std(axis=0, dtype=float)
    standard = Features.standardized(X, np.stack([X.mean(axis=0, dtype=float), X.std(axis=0, dtype=float)]))
    V = rng.normal(size=(3, 2)).astype(np.float32)
    np.testing.assert_allclose(standard.times(V), exact @ V, atol=0.02)
    np.testing.assert_allclose(standard.transposed_times(exact.astype(np.float32)), exact.T @ exact, atol=2.0)
