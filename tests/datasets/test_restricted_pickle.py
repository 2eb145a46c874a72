"""Pickles are opened only if their SHA-256 is listed, and then name only what Planetoid files need."""

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from gssl.datasets.restricted_pickle import read_pickle, read_published


class Attack:
    def __init__(self, call: Any, *args: Any) -> None:
        self.call = call, args

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize(
    ("call", "name"), [(os.system, "system"), (eval, "eval"), (getattr, "getattr"), (np.load, "load")]
)
def test_hostile_pickle_runs_nothing(tmp_path: Path, hashes_in: Any, call: Any, name: str):
    mark, path = tmp_path / "mark", tmp_path / "ind.cora.x"
    path.write_bytes(pickle.dumps(Attack(call, f"touch {mark}"), protocol=2))
    with pytest.raises(ValueError, match=r"ind\.cora\.x was not opened, because its contents are not those"):
        read_pickle(path)
    # not even if somebody lists it
    with pytest.raises(ValueError, match=rf"no Planetoid file needs \w+\.{name}"):
        read_pickle(path, hashes_in(tmp_path))
    assert not mark.exists()


def test_objects_outside_the_file_are_refused(tmp_path: Path, hashes_in: Any):
    path = tmp_path / "ind.cora.x"
    path.write_bytes(b"Pabc\n.")
    with pytest.raises(pickle.UnpicklingError, match="persistent"):
        read_pickle(path, hashes_in(tmp_path))


def test_a_file_without_a_known_hash_is_refused(tmp_path: Path):
    path = tmp_path / "ind.other.x"
    path.write_bytes(pickle.dumps({0: [1], 1: [0]}, protocol=2))
    for hashes in (None, {}, {"ind.cora.x": "0" * 64}):
        with pytest.raises(ValueError, match=r"ind\.other\.x was not opened"):
            read_published(path, hashes)


def test_arrays_matrices_and_dicts_arrive(tmp_path: Path, old_pickle: Any, hashes_in: Any):
    path = tmp_path / "ind.cora.y"
    for value in (np.asfortranarray(np.arange(6).reshape(2, 3)), np.array([1.5, -2], dtype=">f8")):
        path.write_bytes(old_pickle(value))
        np.testing.assert_array_equal(read_pickle(path, hashes_in(tmp_path)), value)
    path.write_bytes(old_pickle(csr_matrix(np.diag([1.0, 2.0]))))
    assert read_pickle(path, hashes_in(tmp_path)).toarray().tolist() == [[1, 0], [0, 2]]
    path.write_bytes(pickle.dumps({0: [1], 1: [0]}, protocol=2))
    assert read_pickle(path, hashes_in(tmp_path)) == {0: [1], 1: [0]}
