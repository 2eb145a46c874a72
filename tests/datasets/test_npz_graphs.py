from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gssl.datasets import load
from gssl.datasets.npz_graphs import load_npz

GOOD: dict[str, Any] = {
    "edges": np.array([[0, 1], [1, 2]]),
    "num_nodes": 3,
    "labels": np.array([0, -1, 1]),
    "feat_data": np.array([2.0, 3.0], dtype=np.float32),
    "feat_indices": np.array([1, 0], dtype=np.int32),
    "feat_indptr": np.array([0, 1, 1, 2]),
    "feat_shape": np.array([3, 2]),
    "class_names": np.array(["cat", "dog"]),
    "train_masks": np.array([[1, 0, 0], [0, 0, 1]], dtype=bool),
    "val_masks": np.zeros((2, 3), dtype=bool),
    "test_masks": np.array([[0, 0, 1], [1, 0, 0]], dtype=bool),
}


def write(folder: Path, **changes: Any) -> Path:
    path = folder / "small.npz"
    np.savez(path, **{key: value for key, value in (GOOD | changes).items() if value is not None})
    return path


def test_every_array_arrives(tmp_path: Path):
    data = load(write(tmp_path))
    assert data.name == "small"
    assert data.adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert data.features.toarray().tolist() == [[0, 2], [0, 0], [3, 0]]
    assert data.labels.tolist() == [0, -1, 1]
    assert data.class_names == ("cat", "dog")
    assert list(data.splits) == ["fold0", "fold1"]
    assert {part: nodes.tolist() for part, nodes in data.splits["fold1"].items()} == {
        "train": [2],
        "val": [],
        "test": [0],
    }


SPARSE = dict.fromkeys(["feat_data", "feat_indices", "feat_indptr", "feat_shape"])


@pytest.mark.parametrize(
    ("dtype", "read_as"), [("f4", "f4"), ("f8", "f8"), ("f2", "f4"), ("i8", "f8"), ("u1", "f4"), ("?", "f4")]
)
def test_dense_features_are_read(tmp_path: Path, dtype: str, read_as: str):
    rows = np.array([[0, 1], [1, 0], [1, 1]], dtype=dtype)
    data = load(write(tmp_path, **SPARSE, features=rows))
    assert isinstance(data.features, np.ndarray)
    assert data.features.dtype == read_as
    assert data.features.tolist() == [[0, 1], [1, 0], [1, 1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.ones((2, 2))}, r"features are float64 of shape \(2, 2\)"),
        ({"features": np.ones(3)}, r"features are float64 of shape \(3,\)"),
        ({"features": np.full((3, 1), "a")}, "features are <U1"),
        ({"features": np.full((3, 1), np.nan)}, "NaN at row 0, column 0"),
        ({"features": np.ones((3, 1)), **{key: GOOD[key] for key in SPARSE}}, "keep one of them"),
    ],
)
def test_dense_features_that_do_not_fit_are_refused(tmp_path: Path, change: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        load_npz(write(tmp_path, **(SPARSE | change)))


def test_without_features_or_names(tmp_path: Path):
    data = load_npz(write(tmp_path, **SPARSE, class_names=None))
    assert np.array_equal(data.features.toarray(), np.eye(3))
    assert data.class_names == ("0", "1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edges": None}, "the array 'edges' is missing"),
        ({"labels": None}, "the array 'labels' is missing"),
        ({"feat_shape": None}, "the array 'feat_shape' is missing"),
        ({"edges": np.array([[0, 3]])}, r"edge 0 is \[0, 3\] but nodes run from 0 to 2"),
        ({"edges": np.array([[-1, 0]])}, r"edge 0 is \[-1, 0\]"),
        ({"edges": np.array([0, 1])}, "not m × 2 whole numbers"),
        ({"edges": np.array([[0.5, 1]])}, "not m × 2 whole numbers"),
        ({"num_nodes": 10**15}, "num_nodes is 1000000000000000 but there are 3 labels"),
        ({"num_nodes": "three"}, "num_nodes is three"),
        ({"labels": np.array([0.0, 1, 1])}, "labels are float64"),
        ({"labels": np.array([0, 1, 2])}, "node 2 has label 2"),
        ({"labels": np.array([0, 1, 10**15]), "class_names": None}, "has label 1000000000000000"),
        ({"feat_shape": np.array([4, 2])}, r"feat_shape is \[4, 2\] but there are 3 nodes"),
        ({"feat_shape": np.array([3, -2])}, "feat_shape"),
        ({"feat_shape": np.array([3, 1])}, "has a column index outside its 1 columns"),
        ({"feat_indptr": np.array([0, 1, 2])}, "row pointers"),
        ({"feat_indptr": np.array([0, 2, 1, 2])}, "row pointers"),
        ({"feat_data": np.array([1.0])}, "has 1 values but its row pointers end at 2"),
        ({"feat_data": np.array([1.0, np.inf])}, "NaN or infinity"),
        ({"feat_data": np.array(["a", "b"])}, "not lists of numbers"),
        ({"feat_indices": np.array([0.5, 1])}, "not whole numbers"),
        ({"class_names": np.array([1, 2])}, "class_names are int64"),
        ({"train_masks": np.ones((2, 4), dtype=bool)}, "train_masks are bool of shape"),
        ({"train_masks": np.ones((1, 3), dtype=bool)}, "train_masks are bool of shape"),
        ({"val_masks": np.ones((2, 3))}, "val_masks are float64"),
        ({"val_masks": GOOD["train_masks"]}, "a node appears twice"),
    ],
)
def test_lies_are_refused_in_a_sentence_that_names_the_file(
    tmp_path: Path, change: dict[str, Any], message: str
):
    path = write(tmp_path, **change)
    with pytest.raises(ValueError, match=message) as error:
        load_npz(path)
    assert str(error.value).startswith(f"{path}: ")
    assert str(error.value).endswith("; correct the file.")


@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\x03\x04garbage", b"\x80\x02cos\nsystem\n."])
def test_other_files_are_refused(tmp_path: Path, content: bytes):
    path = tmp_path / "small.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"small\.npz is not a readable \.npz file of plain arrays"):
        load_npz(path)
    with pytest.raises(FileNotFoundError, match=r"There is no file .*none\.npz"):
        load(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("name", "sizes", "homophily", "folds"),
    [
        ("amazon_photo", (7650, 119081, 745, 8), 0.83, 0),
        ("coauthor_cs", (18333, 81894, 6805, 15), 0.81, 0),
        ("cora_ml", (2995, 8158, 2879, 7), 0.79, 0),
        ("polblogs", (1490, 16715, 1490, 2), 0.91, 0),
        ("minesweeper", (10000, 39402, 7, 2), 0.68, 10),
        ("actor", (7600, 26659, 932, 5), 0.22, 10),
        ("chameleon_filtered", (890, 8854, 2325, 5), 0.24, 10),
        ("squirrel_filtered", (2223, 46998, 2089, 5), 0.21, 10),
        ("cornell", (183, 277, 1703, 5), 0.12, 10),
        ("texas", (183, 279, 1703, 5), 0.06, 10),
        ("wisconsin", (251, 450, 1703, 5), 0.18, 10),
    ],
)
def test_real_graphs(data_dir: Path, name: str, sizes: tuple[int, ...], homophily: float, folds: int):
    data = load(f"graphs/{name}", data_dir=data_dir)
    assert data.name == f"graphs/{name}"
    assert (data.n_nodes, data.n_edges, data.n_features, data.n_classes) == sizes
    rows, columns = data.adjacency.nonzero()
    assert np.mean(data.labels[rows] == data.labels[columns]) == pytest.approx(homophily, abs=0.0051)
    assert list(data.splits) == [f"fold{fold}" for fold in range(folds)]
    for split in data.splits.values():
        assert sum(nodes.size for nodes in split.values()) == data.n_nodes
    if name == "polblogs":
        assert (data.features - np.eye(1490)).sum() == 0
        assert data.class_names == ("liberal", "conservative")
