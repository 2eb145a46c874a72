"""Rows of length one without a copy, and operators without links of their own, against dense algebra."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize

from gssl.selection import graph_features
from gssl.selection.graph_features import Features, gram_of_columns, operators, polynomial


@pytest.fixture(params=["dense", "sparse", "file", "file by columns"])
def X(request, tmp_path, monkeypatch):
    monkeypatch.setattr(graph_features, "_BLOCK_BYTES", 1)  # as few rows as may be
    monkeypatch.setattr("gssl.graph.mapped._BLOCK_BYTES", 2000)
    X = np.random.default_rng(0).normal(size=(200, 7))
    X[3] = 0.0
    X[4] *= 1e200  # squares would leave the range of the type
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
    V, W = rng.normal(size=(7, 3)), rng.normal(size=(200, 3))
    nodes = np.array([199, 3, 4])
    np.testing.assert_allclose(unit.rows(nodes), expected[nodes], rtol=1e-14)
    np.testing.assert_allclose(unit.times(V), expected @ V, atol=1e-13)
    np.testing.assert_allclose(unit.transposed_times(W), expected.T @ W, atol=1e-12)
    if not hasattr(X, "toarray"):
        np.testing.assert_allclose(unit.scaled(given[:, 2:5]), expected[:, 2:5], rtol=1e-14)
    after = X.toarray() if hasattr(X, "toarray") else np.array(X)
    np.testing.assert_array_equal(after, given)


def test_features_as_they_are_given(X):
    given = X.toarray() if hasattr(X, "toarray") else np.array(X)
    V, W = np.eye(7)[:, :3], np.eye(200)[:, [0, 3, 9]]
    np.testing.assert_array_equal(Features(X).times(V), given[:, :3])
    np.testing.assert_array_equal(Features(X).transposed_times(W), given[[0, 3, 9]].T)


def test_a_gram_matrix_by_blocks_of_rows(monkeypatch):
    monkeypatch.setattr(graph_features, "_BLOCK_BYTES", 1)
    G = np.random.default_rng(0).normal(size=(300, 5))
    np.testing.assert_allclose(gram_of_columns(np.asfortranarray(G)), G.T @ G, atol=1e-12)
    single = G.astype(np.float32)
    precise = single.T.astype(np.float64) @ single.astype(np.float64)
    np.testing.assert_allclose(gram_of_columns(single), precise, atol=1e-12)


def test_operators_on_weighted_links():
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((30, 30)) * (rng.random((30, 30)) < 0.2), k=1)
    A[:, 5] = A[5] = 0.0
    A[0, 6], A[0, 1:6], A[0, 7:], A[1:, 6], A[6] = 1e-9, 0.0, 0.0, 0.0, 0.0  # a tiny degree
    A = A + A.T
    degree = A.sum(axis=1)
    s = np.divide(1.0, np.sqrt(degree), out=np.zeros(30), where=degree > 0)
    t = 1.0 / np.sqrt(2.0 + degree)
    T = operators(csr_array(A), np.float64)
    hop, high = s[:, None] * A * s, t[:, None] * (2 * np.eye(30) - A) * t
    np.testing.assert_allclose(T["hop"](np.eye(30)), hop, atol=1e-14)
    np.testing.assert_allclose(T["high"](np.eye(30)), high, atol=1e-14)
    V, powers = rng.normal(size=(30, 2)), np.array([0.5, 2.0, -1.0])
    for name, dense in (("hop", hop), ("high", high)):
        expected = 0.5 * V + 2.0 * dense @ V - dense @ dense @ V
        np.testing.assert_allclose(polynomial(T[name], powers, V), expected, atol=1e-13)
