"""Graph stores, feature arrays and run folders with damaged files are read, or refused with one sentence."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.forging import rewrite_json

from gssl.io import build_graph_store, open_graph_store, read_features
from gssl.scale.run_folder import RunFolder

FEW, MANY = 25, 1000

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


RUNS = {
    "GGCM": ["run.json", "run-*/run.json", "run-*/finished.npy", "run-*/embedding.npy"],
    "OGC": ["run.json", "step-000002.npz"],
    "LabelSpreading": ["run.json", "step-000001.npz"],
}


@pytest.mark.parametrize(("method", "part"), [(method, part) for method in RUNS for part in RUNS[method]])
def test_damaged_folders_of_runs_are_refused(
    fit_resumed: Any, tmp_path: Path, assert_safe: Any, method: str, part: str
):
    folder, kept = tmp_path / "resumed", tmp_path / "kept"

    def fit(_: Path) -> None:
        fit_resumed(method, folder)

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
    assert_safe(fit, damaged_file, 8, folder="resumed", before=renew)


def test_arrays_of_a_run_that_are_none(tmp_path: Path):
    folder = RunFolder(tmp_path)
    for content in KNOWN.values():
        (tmp_path / "u.npy").write_bytes(content)
        with pytest.raises(ValueError, match=r"u\.npy is damaged: remove"):
            folder.read_array("u.npy")
    folder.write_array("u.npy", np.eye(2))
    assert folder.read_array("u.npy").tolist() == [[1, 0], [0, 1]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "e.csv").write_text("source,target,weight\na,b,1\nb,c,2\nc,d,0.5\nd,a,1.5\n")
    build_graph_store(folder / "e.csv", folder / "store")
    # a forger leaves checksums out, so that what is behind them is tried
    rewrite_json(folder / "store" / "manifest.json")
    return folder / "store"


def look_at(place: Path) -> None:
    store = open_graph_store(place)
    A = store.adjacency
    assert A.shape == (store.n_nodes, store.n_nodes)
    assert A.indices.max() < store.n_nodes
    store.ids([0, 1])
    store.nodes(["a", "nobody"])
    assert repr(store)


PARTS = ["manifest.json", "indptr.npy", "indices.npy", "weights.npy", "ids.parquet"]


@pytest.mark.parametrize(
    "examples", [pytest.param(FEW, id="few"), pytest.param(MANY, id="many", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("part", PARTS)
def test_damaged_graph_stores_are_refused(store: Path, assert_safe: Any, part: str, examples: int):
    assert_safe(lambda path: look_at(path.parent), store / part, examples, folder="store")


@pytest.mark.parametrize("damage", KNOWN)
@pytest.mark.parametrize("part", PARTS)
def test_graph_stores_with_files_of_another_kind(store: Path, part: str, damage: str):
    whole = (store / part).read_bytes()
    (store / part).write_bytes(KNOWN[damage])
    try:
        # the file may be valid by itself, but never matches the graph
        with pytest.raises(ValueError, match=rf"store.*({part}|again)"):
            look_at(store)
    finally:
        (store / part).write_bytes(whole)
    look_at(store)


@pytest.mark.parametrize(
    "damage", ["nothing", "an archive that is none", "a header that never ends", "objects"]
)
def test_feature_arrays_that_are_none(tmp_path: Path, damage: str):
    for bad in (tmp_path / "x.npz", tmp_path / "x.npy"):
        bad.write_bytes(KNOWN[damage])
        with pytest.raises(ValueError, match=rf"{bad.name} (is not a whole NumPy file|holds Python objects)"):
            read_features(bad)
    np.save(bad, np.ones((4, 2)))
    (tmp_path / "x.ids.npy").write_bytes(KNOWN[damage])
    with pytest.raises(ValueError, match=r"x\.ids\.npy (is not a whole NumPy file|holds Python objects)"):
        read_features(bad)
    np.save(tmp_path / "x.ids.npy", np.array([["a", "b"], ["c", "d"]]))
    with pytest.raises(ValueError, match=r"x\.npy: ids are <U1 of shape \(2, 2\), not a list"):
        read_features(bad)
