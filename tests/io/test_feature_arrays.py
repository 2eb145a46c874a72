"""Features in NumPy files, and errors for bad files."""

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from gssl.io import read_features
from gssl.operators import dense


def test_arrays_of_every_form_are_read(tmp_path):
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


# the parts of [[1, 2], [0, 3]]
PARTS = {"data": [1.0, 2.0, 3.0], "indices": [0, 1, 1], "indptr": [0, 2, 3], "shape": (2, 2)}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"features": np.eye(2)}, "no array 'ids'; it has features"),
        ({"ids": ["a", "b"]}, "neither 'features' nor the parts"),
        ({"ids": ["a"], "features": np.eye(2)}, "1 ids for 2 rows"),
        ({"ids": ["a", "a"], "features": np.eye(2)}, "has more than one row for 'a'; keep one"),
        ({"ids": ["a", "b"], "features": [[1], [np.inf]]}, "column 0 of id 'b' is not fin"),
        ({"ids": ["a", "b"], "features": [["x"], ["y"]]}, "not a row of numbers per node"),
        ({"ids": np.array(["a"], dtype=object), "features": np.eye(1)}, "Python objects"),
        ({"ids": np.array([2**31], dtype="<u4").view("<U1"), "features": np.eye(1)}, "that do not exist"),
        ({"ids": np.array([2**31], dtype=">u4").view(">U1"), "features": np.eye(1)}, "that do not exist"),
        (PARTS | {"ids": ["a", "b"], "indices": [0, 1, 9]}, "has a column index outside its 2 columns"),
        (PARTS | {"ids": ["a", "b"], "format": np.array(b"csc")}, r"not CSR: convert it with \.tocsr\(\)"),
        (PARTS | {"ids": ["a", "b"], "shape": [2.0, 2.0]}, r"shape is \[2\.0, 2\.0\], not two whole numbers"),
        (PARTS | {"ids": ["a", "b"], "shape": [2]}, r"shape is \[2\], not two whole numbers"),
        (PARTS | {"ids": [0.5, 1.5]}, "ids are float64 of shape"),
        (PARTS | {"ids": ["a", "a"]}, "has more than one row for 'a'; keep one"),
        (PARTS | {"ids": ["a"]}, "1 ids for 2 rows of features"),
        (PARTS | {"ids": ["a", "b"], "names": [1, 2]}, "names are int64 of shape"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read_features(tmp_path / "x.npz")


def test_an_array_file_is_found_by_a_glob_or_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    arrays = {"ids": np.array(["a", "b"]), "features": np.eye(2)}
    np.savez(tmp_path / "x1.npz", **arrays)
    for source in ("~/x1.npz", str(tmp_path / "x*.npz")):
        assert read_features(source).ids.tolist() == ["a", "b"]
    np.savez(tmp_path / "x2.npz", **arrays)
    with pytest.raises(ValueError, match=r"x\*\.npz matches 2 files: name one\."):
        read_features(str(tmp_path / "x*.npz"))


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_of_an_array_are_chosen_by_name(tmp_path, sparse):
    X = np.array([[1.0, 2.0], [0.0, 3.0]])
    parts = PARTS if sparse else {"features": X}
    np.savez(tmp_path / "x.npz", ids=["a", "b"], names=["p", "q"], **parts)
    features = read_features(tmp_path / "x.npz", columns=["q", "p"])
    assert features.names == ("q", "p")
    np.testing.assert_array_equal(dense(features.matrix), X[:, ::-1])
    with pytest.raises(ValueError, match=r"x\.npz has no column 's'; it has 'p', 'q'\."):
        read_features(tmp_path / "x.npz", columns=["s"])
    with pytest.raises(ValueError, match=r"is an array, which has no column of texts: leave out `text`\."):
        read_features(tmp_path / "x.npz", text="0")
    with pytest.raises(ValueError, match=r"is an array, which has its ids apart: name no id column\."):
        read_features(tmp_path / "x.npz", id="id")
