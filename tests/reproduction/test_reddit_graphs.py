"""The public files of Reddit, tested on small ones, and the stand-in."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix, save_npz

from reproduction.reddit_graphs import load_graph, make_synthetic_reddit

# a self-loop at 3, the link 0–1 in both directions, and 1–2 in one direction with a weight
LINKS = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 7, 0, 0], [0, 0, 0, 1.0]])
NODES: dict[str, Any] = {
    "feats": np.arange(8.0).reshape(4, 2),
    "y_train": np.array([1, 0]),
    "y_val": np.array([2]),
    "y_test": np.array([], dtype=np.int64),
    "train_index": np.array([2, 0]),
    "val_index": np.array([3]),
    "test_index": np.array([], dtype=np.int64),
}


def write(folder: Path, form: Any = csr_matrix, **changes: Any) -> Path:
    (folder / "reddit").mkdir(exist_ok=True)
    save_npz(folder / "reddit/reddit_adj.npz", form(LINKS))
    arrays = {key: value for key, value in (NODES | changes).items() if value is not None}
    np.savez(folder / "reddit/reddit.npz", **arrays)
    return folder


@pytest.mark.parametrize("form", [csr_array, coo_array])
def test_the_form_of_fastgcn_and_sgc(tmp_path: Path, form: Any):
    data = load_graph("reddit", data_dir=write(tmp_path, form))
    assert data.name == "reddit"
    assert data.adjacency.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert data.features.dtype == np.float32
    assert data.features.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert data.labels.tolist() == [0, -1, 1, 2]
    split = data.splits["public"]
    assert {part: nodes.tolist() for part, nodes in split.items()} == {
        "train": [2, 0],
        "val": [3],
        "test": [],
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feats": None}, "the array 'feats' is missing"),
        ({"y_val": None}, "the array 'y_val' is missing"),
        ({"feats": np.zeros((3, 2))}, "feats has 3 rows but there are 4 nodes"),
        ({"feats": np.full((4, 2), np.nan)}, "NaN"),
        ({"y_train": np.array([1])}, "y_train has 1 labels for 2 nodes of train_index"),
        ({"y_train": np.array([[1, 0], [0, 1]])}, r"y_train is int64 of shape \(2, 2\)"),
        ({"y_train": np.array([0, 10**12])}, "has label 1000000000000"),
        ({"train_index": np.array([0, 9])}, "train_index names a node outside 0 to 3"),
        ({"train_index": np.array([0, 3])}, "a node appears twice"),
    ],
)
def test_lies_are_refused_in_a_sentence_that_names_the_file(
    tmp_path: Path, change: dict[str, Any], message: str
):
    with pytest.raises(ValueError, match=message) as error:
        load_graph("reddit", data_dir=write(tmp_path, **change))
    assert str(error.value).startswith(f"{tmp_path / 'reddit/reddit.npz'}: ")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"shape": [4, 3], "data": [1.0], "row": [0], "col": [1]}, r"shape \(4, 3\), which is not square"),
        ({"shape": [4, 4], "data": [1.0], "row": [0], "col": [4]}, "nodes run from 0 to 3"),
        ({"shape": [4, 4], "data": [1.0], "row": [0, 1], "col": [1, 2]}, "2 rows and 2 columns for 1 links"),
        ({"shape": [4, 4], "data": [1.0], "indices": [1], "indptr": [0, 1]}, "row pointers"),
        ({"shape": [4, 4], "data": ["x"], "row": [0], "col": [1]}, "data is <U1"),
        ({"data": [1.0]}, "the array 'shape' is missing"),
    ],
)
def test_links_are_checked_before_they_are_followed(tmp_path: Path, parts: dict[str, Any], message: str):
    write(tmp_path)
    np.savez(tmp_path / "reddit/reddit_adj.npz", **parts)
    with pytest.raises(ValueError, match=message) as error:
        load_graph("reddit", data_dir=tmp_path)
    assert "reddit_adj.npz" in str(error.value)


def test_objects_are_not_unpickled(tmp_path: Path):
    write(tmp_path, y_train=np.array([{}, {}], dtype=object))
    with pytest.raises(ValueError, match=r"not a readable \.npz file of plain arrays"):
        load_graph("reddit", data_dir=tmp_path)


def test_other_graphs_are_those_of_gssl(tmp_path: Path):
    assert load_graph("karate").n_edges == 78
    with pytest.raises(FileNotFoundError, match=r"reddit/reddit\.npz is not in"):
        load_graph("reddit", data_dir=tmp_path)


def test_the_stand_in_has_reddits_proportions_and_says_that_it_is_drawn():
    data = make_synthetic_reddit(10_000, n_features=16, random_state=1)
    assert data.name == "synthetic/reddit-10000"
    assert data.n_classes == 41
    assert {part: nodes.size for part, nodes in data.splits["public"].items()} == {
        "train": 6600,
        "val": 1000,
        "test": 2400,
    }
    assert data.n_edges == 500_000
    u, v = data.adjacency.nonzero()
    assert np.mean(data.labels[u] == data.labels[v]) == pytest.approx(0.75, abs=1e-3)
    again = make_synthetic_reddit(10_000, n_features=16, random_state=1)
    assert np.array_equal(again.features, data.features)
    assert np.array_equal(again.splits["public"]["test"], data.splits["public"]["test"])
