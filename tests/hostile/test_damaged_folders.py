"""Run folders with any damaged file are read, or refused with one sentence."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gssl
from gssl.scale.run_folder import RunFolder

# contents for which NumPy and Python raise all kinds of errors
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
    "GGCM": ["run.json", "run-*/run.json", "run-*/finished.npy", "run-*/embedding.npy"],
    "OGC": ["run.json", "step-000002.npz"],
    "LabelSpreading": ["run.json", "step-000001.npz"],
}


@pytest.mark.parametrize(("method", "part"), [(method, part) for method in RUNS for part in RUNS[method]])
def test_folders_of_runs(problem: Any, tmp_path: Path, fuzz: Any, method: str, part: str):
    X, A, y = problem
    folder, kept = tmp_path / "resumed", tmp_path / "kept"

    models = {
        "GGCM": gssl.GGCM(depth=2),
        "OGC": gssl.OGC(max_iter=3, random_state=0),
        "LabelSpreading": gssl.LabelSpreading(spread=0.99),
    }

    def fit(_: Path) -> None:
        with gssl.execution(memory="20kB", resume=folder):
            models[method].fit(X, y, adjacency=A)

    def renew() -> None:
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)

    fit(folder)
    shutil.copytree(folder, kept)
    (damaged_file,) = folder.glob(part)
    for content in KNOWN.values():
        renew()
        damaged_file.write_bytes(content)
        with pytest.raises(ValueError, match=r"resumed.*\.$"):
            fit(folder)
    renew()
    fuzz(fit, damaged_file, 8, folder="resumed", before=renew)


def test_arrays_of_a_run_that_are_none(tmp_path: Path):
    folder = RunFolder(tmp_path)
    for content in KNOWN.values():
        (tmp_path / "u.npy").write_bytes(content)
        with pytest.raises(ValueError, match=r"u\.npy is damaged: remove"):
            folder.read_array("u.npy")
    folder.write_array("u.npy", np.eye(2))
    assert folder.read_array("u.npy").tolist() == [[1, 0], [0, 1]]
