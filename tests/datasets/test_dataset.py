import copy
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.datasets import Dataset, draw_random, draw_split
from gssl.datasets.dataset import adjacency_from_edges, default_names
from gssl.operators import dense

LABELS = np.array([0] * 30 + [1] * 40 + [2] * 20 + [-1] * 10)


def make(**changes: Any) -> Dataset:
    fields: dict[str, Any] = {
        "name": "path",
        "adjacency": csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])),
        "features": np.array([[1, 3], [0, 0], [-2, 2]]),
        "labels": np.array([0, -1, 1]),
        "node_ids": np.array(["007", "b", "c"]),
        "class_names": ("x", "y"),
        "splits": {"public": {"train": np.array([0]), "val": np.array([], dtype=int), "test": np.array([2])}},
    }
    return Dataset(**(fields | changes))


def test_sizes_count_each_edge_once():
    data = make()
    assert (data.n_nodes, data.n_edges, data.n_features, data.n_classes) == (3, 2, 2, 2)
    assert data.adjacency.dtype == np.float64
    assert data.labels.dtype == np.int64
    assert data.node_ids.tolist() == ["007", "b", "c"]
    assert repr(data) == "Dataset('path', nodes=3, edges=2, features=2, classes=2, splits=public)"


def test_mask_labels_shows_the_asked_parts_only():
    data = make()
    assert data.mask_labels("public").tolist() == [0, -1, -1]
    assert data.mask_labels("public", ("train", "test")).tolist() == [0, -1, 1]
    assert data.mask_labels("public", "test").tolist() == [-1, -1, 1]
    assert data.mask_labels("public", ()).tolist() == [-1, -1, -1]
    data.mask_labels("public")[0] = 1
    assert data.labels[0] == 0
    with pytest.raises(ValueError, match=r"path has no split 'random'; it has public\."):
        data.mask_labels("random")
    with pytest.raises(ValueError, match=r"split 'public' has no part 'tset'; it has train, val, test\."):
        data.mask_labels("public", ("tset",))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.array, csr_array])
def test_normalized_rows_have_norm_one_and_zero_rows_stay(kind: Any, dtype: Any):
    data = make(features=kind(np.array([[1, 3], [0, 0], [-2, 2]], dtype=dtype)))
    normal = data.normalized().features
    assert type(normal) is type(data.features)
    assert normal.dtype == dtype
    np.testing.assert_array_equal(dense(normal), [[0.25, 0.75], [0, 0], [-0.5, 0.5]])
    np.testing.assert_array_equal(dense(data.features), [[1, 3], [0, 0], [-2, 2]])


def test_nothing_can_be_changed():
    data = make(features=csr_array(np.eye(3)))
    with pytest.raises(FrozenInstanceError):
        data.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        data.splits["mine"] = {}  # type: ignore[index]
    with pytest.raises(TypeError):
        data.splits["public"]["train"] = np.array([1])  # type: ignore[index]
    arrays = [data.labels, data.node_ids, data.adjacency.data, data.adjacency.indices, data.features.data]
    for array in [*arrays, data.splits["public"]["train"]]:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]


def through_pickle(data: Dataset) -> Any:
    return pickle.loads(pickle.dumps(data))  # noqa: S301 - made in the same line


@pytest.mark.parametrize("duplicate", [copy.deepcopy, through_pickle])
def test_copies_travel_between_processes(duplicate: Any):
    data = duplicate(make())
    assert data.splits["public"]["test"].tolist() == [2]
    np.testing.assert_array_equal(data.adjacency @ np.eye(3), make().adjacency.toarray())
    np.testing.assert_array_equal((data.adjacency @ data.adjacency).diagonal(), [1, 2, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": np.array([0, 1])}, r"labels has shape \(2,\) but the graph has 3 nodes"),
        ({"labels": np.array([[0], [1], [1]])}, r"labels has shape \(3, 1\)"),
        ({"labels": np.array([0, 1, 2])}, "node 2 has label 2, which is not one of the 2 classes"),
        ({"labels": np.array([0, -2, 1])}, "node 1 has label -2"),
        ({"labels": np.array([0.5, 1, 1])}, "labels are float64, not whole numbers"),
        ({"features": np.ones((4, 2))}, r"features has shape \(4, 2\)"),
        ({"features": np.ones(3)}, "features have 1 dimensions, not 2"),
        ({"node_ids": np.array(["a"])}, "node_ids has shape"),
        ({"adjacency": csr_array(np.ones((3, 2)))}, r"must be square, got shape \(3, 2\)"),
        ({"adjacency": csr_array(np.triu(np.ones((3, 3)), 1))}, "not symmetric without self loops"),
        ({"adjacency": csr_array(np.eye(3))}, "not symmetric without self loops"),
        ({"splits": {"s": {"train": [3]}}}, "path, split 's': a node number is outside 0 to 2"),
        ({"splits": {"s": {"train": [-1]}}}, "a node number is outside 0 to 2"),
        ({"splits": {"s": {"dev": [0]}}}, "part 'dev' is not one of train, val, test"),
        ({"splits": {"s": {"train": [0], "test": [0]}}}, "a node appears twice"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(change: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        make(**change)


def test_a_split_has_the_asked_sizes_and_the_rest_is_tested():
    split = draw_split(LABELS, per_class=5, n_val=10, n_test=20)
    assert np.bincount(LABELS[split["train"]]).tolist() == [5, 5, 5]
    assert [split[part].size for part in ("train", "val", "test")] == [15, 10, 20]
    together = np.concatenate(list(split.values()))
    assert np.unique(together).size == together.size
    assert (LABELS[together] >= 0).all()
    split = draw_split(LABELS, per_class=20, n_val=7)
    assert split["test"].size == 90 - 60 - 7
    assert np.array_equal(np.sort(np.concatenate(list(split.values()))), np.arange(90))
    first, again, other = (draw_split(LABELS, 5, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(first["train"], again["train"])
    assert not np.array_equal(first["train"], other["train"])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((21, 0, None), "Class 2 has 20 labelled nodes but per_class=21"),
        ((20, 20, 11), "20 validation and 11 test nodes were asked for but 30 labelled nodes are left"),
        ((20, 31, None), "31 validation"),
        ((-1, 0, None), "fewer than 0"),
    ],
)
def test_too_much_is_refused(sizes: tuple[int, int, int | None], message: str):
    with pytest.raises(ValueError, match=message):
        draw_split(LABELS, *sizes)


def test_random_training_nodes_are_of_any_class():
    split = draw_random(LABELS, n_train=50, random_state=1)
    assert np.array_equal(np.sort(np.concatenate(list(split.values()))), np.arange(90))
    assert np.array_equal(split["train"], draw_random(LABELS, n_train=50, random_state=1)["train"])
    with pytest.raises(ValueError, match="91 training nodes were asked for but 90 nodes have a label"):
        draw_random(LABELS, n_train=91)


def test_an_edge_list_becomes_a_simple_graph():
    A = adjacency_from_edges(np.array([[0, 1], [1, 0], [2, 2]]), 3)
    np.testing.assert_array_equal(A.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert default_names(3).tolist() == ["0", "1", "2"]
