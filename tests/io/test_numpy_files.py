"""NumPy files are read as written; tests/hostile has invalid files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gssl.io.numpy_files import csr_from_parts, map_npy, npz_shapes, read_npz


@pytest.mark.parametrize(
    "array",
    [
        np.array([1.5, 2.5]),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array(["a", "bc"]),
        np.empty((0, 3), dtype=np.float32),
    ],
)
def test_an_array_is_what_was_written_and_stays_in_its_file(tmp_path: Path, array: np.ndarray):
    np.save(tmp_path / "x.npy", array)
    mapped = map_npy(tmp_path / "x.npy")
    np.testing.assert_array_equal(mapped, array)
    assert (mapped.dtype, mapped.shape) == (array.dtype, array.shape)
    assert not mapped.flags.writeable
    assert isinstance(mapped, np.memmap) or not array.size


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_an_archive(tmp_path: Path, save: Any):
    path = tmp_path / "x.npz"
    save(path, a=[1, 2], b=3)
    assert npz_shapes(path) == {"a": (2,), "b": ()}
    assert {name: array.tolist() for name, array in read_npz(path).items()} == {"a": [1, 2], "b": 3}
    assert list(read_npz(path, {"a"})) == ["a"]


def test_a_matrix_of_parts_has_its_repeats_added():
    M = csr_from_parts(np.array([5.0, 1.0]), np.array([1, 1]), np.array([0, 2, 2]), (2, 2))
    np.testing.assert_array_equal(M.toarray(), [[0, 6], [0, 0]])
