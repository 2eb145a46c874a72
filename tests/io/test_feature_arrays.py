"""Features in NumPy files, and errors for bad files."""

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from gssl.io import read_features
from gssl.operators import dense


def test_arrays(tmp_path):
    X = np.array([[1.0, 0.0], [0.5, 2.0]])
    np.savez(tmp_path / "x.npz", ids=np.array(["007", "naïve"]), features=X, names=np.array(["p", "q"]))
    features = read_features(tmp_path / "x.npz")
    assert (features.ids.tolist(), features.names) == (["007", "naïve"], ("p", "q"))
    np.testing.assert_array_equal(features.matrix, X)

    S = csr_array(X)
    parts = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "shape": np.array(S.shape)}
    np.savez(tmp_path / "s.npz", ids=np.array([7, 2**63 - 1]), **parts)
    features = read_features(tmp_path / "s.npz")
    assert features.ids.tolist() == ["7", str(2**63 - 1)]
    np.testing.assert_array_equal(features.matrix.toarray(), X)

    save_npz(tmp_path / "t.npz", S)
    np.testing.assert_array_equal(read_features(tmp_path / "t.npz", ids=["a", "b"]).matrix.toarray(), X)
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(ValueError, match=r"has no ids: put them into x\.ids\.npy"):
        read_features(tmp_path / "x.npy")
    np.save(tmp_path / "x.ids.npy", np.array(["a", "b"]))
    assert read_features(tmp_path / "x.npy").ids.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"features": np.eye(2)}, "no array 'ids'; it has features"),
        ({"ids": np.array(["a", "b"])}, "neither 'features' nor the parts"),
        ({"ids": np.array(["a"]), "features": np.eye(2)}, "1 ids for 2 rows"),
        ({"ids": np.array(["a", "a"]), "features": np.eye(2)}, "has more than one row for 'a'; keep one"),
        (
            {"ids": np.array(["a", "b"]), "features": np.array([[1], [np.inf]])},
            "column 0 of id 'b' is not fin",
        ),
        (
            {"ids": np.array(["a", "b"]), "features": np.array([["x"], ["y"]])},
            "not a row of numbers per node",
        ),
        (
            {
                "ids": np.array(["a"]),
                "data": np.ones(1),
                "indices": np.array([9]),
                "indptr": np.array([0, 1]),
                "shape": np.array([1, 2]),
            },
            "has a column index outside its 2 columns",
        ),
        ({"ids": np.array(["a"], dtype=object), "features": np.eye(1)}, "Python objects"),
        ({"ids": np.array([2**31], dtype="<u4").view("<U1"), "features": np.eye(1)}, "that do not exist"),
        ({"ids": np.array([2**31], dtype=">u4").view(">U1"), "features": np.eye(1)}, "that do not exist"),
    ],
)
def test_bad_arrays(tmp_path, arrays, message):
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read_features(tmp_path / "x.npz")


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04broken"])
def test_a_broken_array_file(write, content):
    for name in ("x.npy", "x.npz"):
        with pytest.raises(ValueError, match=r"not a whole NumPy file|Python objects"):
            read_features(write(name, content), ids=["a"])


def test_an_array_file_is_found_by_a_glob_or_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    arrays = {"ids": np.array(["a", "b"]), "features": np.eye(2)}
    np.savez(tmp_path / "x1.npz", **arrays)
    for source in ("~/x1.npz", str(tmp_path / "x*.npz")):
        assert read_features(source).ids.tolist() == ["a", "b"]
    np.savez(tmp_path / "x2.npz", **arrays)
    with pytest.raises(ValueError, match=r"x\*\.npz matches 2 files: name one\."):
        read_features(str(tmp_path / "x*.npz"))


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_columns_of_an_array_are_chosen_by_name(tmp_path, kind):
    X = kind(np.arange(6.0).reshape(2, 3))
    parts = {"features": X}
    if kind is csr_array:
        parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    np.savez(tmp_path / "x.npz", ids=np.array(["a", "b"]), names=np.array(["p", "q", "r"]), **parts)
    features = read_features(tmp_path / "x.npz", columns=["r", "p"])
    assert features.names == ("r", "p")
    np.testing.assert_array_equal(dense(features.matrix), [[2, 0], [5, 3]])
    with pytest.raises(ValueError, match=r"x\.npz has no column 's'; it has 'p', 'q', 'r'\."):
        read_features(tmp_path / "x.npz", columns=["s"])


def test_an_array_has_neither_texts_nor_a_column_of_ids(tmp_path):
    np.savez(tmp_path / "x.npz", ids=np.array(["a", "b"]), features=np.eye(2))
    with pytest.raises(ValueError, match=r"is an array, which has no column of texts: leave out `text`\."):
        read_features(tmp_path / "x.npz", text="0")
    with pytest.raises(ValueError, match=r"is an array, which has its ids apart: name no id column\."):
        read_features(tmp_path / "x.npz", id="id")
