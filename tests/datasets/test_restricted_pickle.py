"""Pickles are read without executing any code in them."""

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from gssl.datasets.restricted_pickle import ForbiddenPickleError, read_pickle


class Attack:
    def __init__(self, call: Any, *args: Any) -> None:
        self.call = call, args

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize(
    ("call", "name"), [(os.system, "system"), (eval, "eval"), (getattr, "getattr"), (np.load, "load")]
)
def test_hostile_pickle_runs_nothing(tmp_path: Path, call: Any, name: str):
    mark, path = tmp_path / "mark", tmp_path / "ind.cora.x"
    path.write_bytes(pickle.dumps(Attack(call, f"touch {mark}"), protocol=2))
    with pytest.raises(ForbiddenPickleError, match=rf"ind\.cora\.x asks for \w+\.{name}"):
        read_pickle(path)
    assert not mark.exists()


def test_objects_outside_the_file_are_refused(tmp_path: Path):
    path = tmp_path / "ind.cora.x"
    path.write_bytes(b"Pabc\n.")
    with pytest.raises(ForbiddenPickleError, match="refers to an object outside the file"):
        read_pickle(path)


def test_allowed_names_give_inert_records_only(tmp_path: Path):
    """Bare classes, and objects without state, are not accepted as data."""
    for content in (b"cnumpy\nndarray\n.", b"cnumpy\ndtype\n(tR.", b"c__builtin__\nlist\n(tR.", b"I5\n."):
        path = tmp_path / "ind.cora.x"
        path.write_bytes(content)
        with pytest.raises(ValueError, match="not a readable Planetoid file"):
            read_pickle(path)


def test_object_arrays_are_refused(tmp_path: Path, old_pickle: Any):
    path = tmp_path / "ind.cora.y"
    path.write_bytes(old_pickle(np.array([{}, []], dtype=object)))
    with pytest.raises(ValueError, match="an array does not hold plain numbers"):
        read_pickle(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": np.array([0, 9], dtype=np.int32)}, "has a column index outside its 2 columns"),
        ({"indices": np.array([0, -1], dtype=np.int32)}, "has a column index outside its 2 columns"),
        ({"indptr": np.array([0, 2, 1], dtype=np.int32)}, "row pointers"),
        ({"indptr": np.array([0, 1, 9], dtype=np.int32)}, "has 2 values but its row pointers end at 9"),
        ({"data": np.array([1.0, np.nan])}, "NaN or infinity"),
        ({"_shape": (10**12, 2)}, "row pointers"),
        ({"_shape": ("a", 2)}, "not two whole numbers"),
    ],
)
def test_lying_matrix_is_refused(tmp_path: Path, old_pickle: Any, change: dict[str, Any], message: str):
    matrix = csr_matrix(np.eye(2))
    matrix.__dict__.update(change)
    path = tmp_path / "ind.cora.x"
    path.write_bytes(old_pickle(matrix))
    with pytest.raises(ValueError, match=message):
        read_pickle(path)


def test_arrays_keep_order_and_bytes(tmp_path: Path, old_pickle: Any):
    path = tmp_path / "ind.cora.y"
    for value in (np.asfortranarray(np.arange(6).reshape(2, 3)), np.array([1.5, -2], dtype=">f8")):
        path.write_bytes(old_pickle(value))
        np.testing.assert_array_equal(read_pickle(path), value)


def test_dicts_of_lists_arrive(tmp_path: Path):
    path = tmp_path / "ind.cora.graph"
    path.write_bytes(pickle.dumps({0: [1], 1: [0]}, protocol=2))
    assert read_pickle(path) == {0: [1], 1: [0]}
