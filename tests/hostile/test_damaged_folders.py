"""Folders of runs, any file of which was damaged: read, or refused in one sentence."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gssl.scale.kept_slabs import read_slab, slab_name

import gssl
from gssl.scale.columns import read_file
from gssl.scale.run_folder import RunFolder

# what NumPy and Python answer with errors of every kind
KNOWN = {
    "nothing": b"",
    "an archive that is none": b"PK\x03\x04" + bytes(40),
    "a header that never ends": b"\x93NUMPY\x01\x00v\x00{'descr': '<i4', 'fortran_order': Fals" + b" " * 99,
    "objects": b"\x93NUMPY\x01\x00F\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
    "brackets without end": b"[" * 100_000,
    "a list": b"[1, 2]",
    "a number": b"7",
    "another encoding": b"\xff\xfe{\x00",
}


@pytest.fixture(scope="module")
def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = 40
    A = np.zeros((n, n))
    A[np.arange(n - 1), np.arange(1, n)] = 1
    y = np.full(n, -1)
    y[:6] = [0, 1, 2, 0, 1, 2]
    return np.random.default_rng(0).random((n, 12)).astype(np.float32), A + A.T, y


RUNS = {
    "GGCM": ["run.json", "run-*/run.json", "run-*/done.json", "run-*/embedding.npy"],
    "OGC": [
        "run.json",
        "slabs/slab-000000-000002.000003.npy",
        "scores-000003.npy",
        "step-000002.safetensors",
    ],
}


@pytest.mark.parametrize(("method", "part"), [(method, part) for method in RUNS for part in RUNS[method]])
def test_folders_of_runs(problem: Any, tmp_path: Path, fuzz: Any, method: str, part: str):
    X, A, y = problem
    place, kept = tmp_path / "resumed", tmp_path / "kept"

    def fit(_: Path) -> None:
        given = {"adjacency": A, "resume": place}
        if method == "GGCM":
            gssl.GGCM(depth=2).fit(X, memory_budget="20kB", **given)
        else:
            gssl.OGC(max_iter=3, random_state=0).fit(X, y, memory_budget="6kB", **given)

    def renew() -> None:
        shutil.rmtree(place)
        shutil.copytree(kept, place)

    fit(place)
    shutil.copytree(place, kept)
    (found,) = place.glob(part)
    for content in KNOWN.values():
        renew()
        found.write_bytes(content)
        with pytest.raises(ValueError, match=r"resumed.*\.$"):
            fit(place)
    renew()
    fuzz(fit, found, 8, folder="resumed", before=renew)


def test_slabs_of_a_run_that_are_none(tmp_path: Path):
    folder, into = RunFolder(tmp_path), np.empty((2, 2))
    for content in KNOWN.values():
        (tmp_path / "u.npy").write_bytes(content)
        with pytest.raises(ValueError, match=r"u\.npy is damaged: remove"):
            folder.read_array("u.npy")
        with pytest.raises(ValueError, match=r"u\.npy is not the array that this run has written"):
            read_file(tmp_path / "u.npy", into)
    folder.write_array("u.npy", np.eye(2))
    read_file(tmp_path / "u.npy", into)
    assert into.tolist() == folder.read_array("u.npy").tolist() == [[1, 0], [0, 1]]


def test_slabs_of_another_width_that_are_none(tmp_path: Path):
    folder, into = RunFolder(tmp_path), np.empty((2, 2))
    left, right = slab_name(slice(0, 2), 1), slab_name(slice(2, 4), 1)
    folder.write_array(left, np.eye(2))
    for content in KNOWN.values():
        (tmp_path / right).write_bytes(content)
        with pytest.raises(ValueError, match=r"000001\.npy is not the array that this run has written"):
            read_slab(folder, 1, slice(1, 3), into)
    for wrong in (np.eye(2, dtype=np.float32), np.eye(3)):
        folder.write_array(right, wrong)
        with pytest.raises(ValueError, match=r"000001\.npy is not the array that this run has written"):
            read_slab(folder, 1, slice(1, 3), into)
    (tmp_path / right).unlink()
    with pytest.raises(ValueError, match="lacks column 2 of step 1: remove it and run again"):
        read_slab(folder, 1, slice(1, 3), into)
    folder.write_array(right, 2 * np.eye(2))
    assert read_slab(folder, 1, slice(1, 3), into).tolist() == [[0, 2], [1, 0]]
