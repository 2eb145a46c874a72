"""Invalid paths, names, numbers and graphs are refused with one sentence; also rare code paths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.graph import clean_adjacency
from gssl.io import read_edges, read_features
from gssl.operators import get_threads, set_threads
from gssl.operators.mixture import add_scaled


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("  ", ValueError, "a table has no name: give a file, a glob or a query"),
        ("s3://bucket/e.csv", ValueError, "s3://bucket/e.csv is not on this machine: download it"),
        ("https://x.org/e.csv", ValueError, "is not on this machine"),
        ("{folder}", ValueError, "is a folder: name a file, or files by"),
        ("{folder}/*.csv", FileNotFoundError, "no file matches .*: check its name and folder"),
        ("{folder}/e.csv", FileNotFoundError, r"e\.csv does not exist: check its name"),
    ],
)
def test_tables_that_are_nowhere(tmp_path: Path, name: str, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        read_edges(name.format(folder=tmp_path))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"format": np.array(b"csc")}, r"not CSR: convert it with \.tocsr\(\)"),
        ({"shape": np.array([2.0, 2.0])}, r"shape is \[2\.0, 2\.0\], not two whole numbers"),
        ({"shape": np.array([2])}, r"shape is \[2\], not two whole numbers"),
        ({"ids": np.array([0.5, 1.5])}, "ids are float64 of shape"),
        ({"ids": np.array(["a", "a"])}, "has more than one row for 'a'; keep one"),
        ({"ids": np.array(["a"])}, "1 ids for 2 rows of features"),
        ({"names": np.array([1, 2])}, "names are int64 of shape"),
    ],
)
def test_features_that_do_not_fit(tmp_path: Path, arrays: dict[str, np.ndarray], message: str):
    M = csr_array(np.eye(2))
    whole = {"data": M.data, "indices": M.indices, "indptr": M.indptr, "shape": np.array([2, 2])}
    np.savez(tmp_path / "x.npz", **{**whole, "ids": np.array(["a", "b"]), **arrays})
    with pytest.raises(ValueError, match=message):
        read_features(tmp_path / "x.npz")


def test_threads_by_the_environment(monkeypatch: pytest.MonkeyPatch):
    set_threads(None)
    monkeypatch.setenv("GSSL_NUM_THREADS", "3")
    assert get_threads() == 3
    monkeypatch.setenv("GSSL_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="GSSL_NUM_THREADS is 'many': give a whole number of threads"):
        get_threads()


def test_weights_that_add_up_to_infinity():
    A = np.full((3, 3), 1.5e308) - np.diag([1.5e308] * 3)
    with pytest.raises(ValueError, match="the weights of row 0 of the adjacency add up to more than float64"):
        clean_adjacency(csr_array(A))


def test_an_entry_named_twice_counts_twice():
    X = csr_array((np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    out = np.ones((2, 2))
    add_scaled(out, 10.0, X)
    assert out.tolist() == [[1.0, 31.0], [51.0, 1.0]]
    assert X.nnz == 3
