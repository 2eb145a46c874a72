"""Texts from files are never long or unprintable in an error, whatever field of the file holds them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from safetensors import safe_open
from scipy.sparse import csr_array
from tests.forging import without_checksums

import gssl
from gssl.datasets.npz_graphs import load_npz
from gssl.io import (
    build_graph_store,
    from_scipy,
    open_graph_store,
    open_table,
    read_features,
    read_nodes,
    read_settings,
)
from gssl.io.models import FORMAT
from gssl.scale.run_folder import RunFolder

HOSTILE = "\x1b[2J" + "x" * 1_000_000
LONGEST = 700


def refused_briefly(read: Callable[[Any], Any], path: Path) -> str | None:
    """Read a file; return the error, which must be short and printable, or None."""
    try:
        read(path)
    except (ValueError, OSError) as error:
        message = str(error).replace(str(path), "")
        assert message.isprintable(), ascii(message[:LONGEST])
        assert len(message) < LONGEST, message[:LONGEST]
        return message
    return None


def with_hostile_texts(value: Any) -> Iterator[Any]:
    """Yield copies of nested lists and dicts, in each of which one value or name is hostile."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield {**{key: other for key, other in value.items() if key != name}, HOSTILE: part}
            for changed in with_hostile_texts(part):
                yield {**value, name: changed}
    elif isinstance(value, list):
        for k, part in enumerate(value[:2]):
            for changed in with_hostile_texts(part):
                yield [*value[:k], changed, *value[k + 1 :]]
    else:
        yield HOSTILE
        yield [HOSTILE]


@pytest.fixture(scope="module")
def parts() -> tuple[Any, csr_array, np.ndarray]:
    n = np.arange(12)
    A = csr_array(((n[:, None] - n) % 12 % 4 == 2).astype(float))
    return np.eye(2)[n % 2] + 0.1 * np.random.default_rng(0).random((12, 2)), A, np.where(n < 8, n % 2, -1)


@pytest.mark.parametrize("name", ["auto", "calibrated"])
def test_no_text_of_a_model_is_long_or_unprintable_in_an_error(tmp_path: Path, parts: Any, name: str):
    X, A, y = parts
    problem = from_scipy(A, y, X)
    model: Any = gssl.AutoClassifier(depth=1)
    if name == "calibrated":
        model = gssl.CalibratedClassifier(gssl.EmbeddingClassifier(gssl.SGC(), gssl.RidgeHead()))
    path = tmp_path / "m.gssl"
    gssl.save(model.fit(X, y, adjacency=A), path, problem=problem, settings={"preparation": "{}"})
    with safe_open(path, framework="np") as stored:
        header = without_checksums(json.loads(stored.metadata()[FORMAT]))
        tensors = {key: stored.get_tensor(key) for key in stored.keys()}  # noqa: SIM118
    # a few entries of the leaderboard are like all others
    board = header["model"]["fitted"].get("leaderboard_", [])
    del board[1:]
    for changed in [*with_hostile_texts(header), {**deepcopy(header), "version": 99, "gssl": HOSTILE}]:
        safetensors.numpy.save_file(tensors, path, metadata={FORMAT: json.dumps(changed)})
        refused_briefly(gssl.load, path)
    refused_briefly(read_settings, path)
    assert "written by gssl" in str(refused_briefly(gssl.load, path))


def test_no_text_of_a_graph_store_is_long_or_unprintable(tmp_path: Path):
    (tmp_path / "e.csv").write_text("source,target\na,b\nb,c\nc,c\n")
    build_graph_store(tmp_path / "e.csv", tmp_path / "store")
    manifest = tmp_path / "store" / "manifest.json"
    whole = without_checksums(json.loads(manifest.read_text()))
    for changed in with_hostile_texts(whole):
        manifest.write_text(json.dumps(changed))
        if refused_briefly(open_graph_store, tmp_path / "store") is None:
            notes = open_graph_store(tmp_path / "store").notes
            assert all(len(note) < 2 * LONGEST and note.isprintable() for note in notes)


@pytest.mark.parametrize("name", ["labels", "num_nodes", "edges", "train_masks", "feat_shape", "features"])
def test_no_text_of_an_archive_is_long_or_unprintable_in_an_error(tmp_path: Path, name: str):
    good = {"labels": np.array([0, 1]), "num_nodes": np.array(2), "edges": np.array([[0, 1]])}
    long_field = np.zeros(1, dtype=[("\x1b[2J" + "x" * 5000, "<i4")])
    for value in (np.array(HOSTILE), np.array([HOSTILE]), np.array(HOSTILE.encode()), long_field):
        np.savez(tmp_path / "g.npz", **{**good, name: value})
        assert refused_briefly(load_npz, tmp_path / "g.npz")
        refused_briefly(read_features, tmp_path / "g.npz")
    np.savez(tmp_path / "g.npz", data=np.ones(1), indices=[0], indptr=[0, 1], shape=np.zeros(100_000))
    assert refused_briefly(read_features, tmp_path / "g.npz")
    for text in ("\x1b[2J" + "x" * 3000, "<f8'\x1b]0;x"):
        header = f"{{'descr': '{text}', 'fortran_order': False, 'shape': (1,), }}\n".encode()
        content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(8)
        (tmp_path / "x.npy").write_bytes(content)
        assert refused_briefly(lambda path: read_features(path, ids=["a"]), tmp_path / "x.npy")


def test_no_text_of_a_run_folder_is_long_or_unprintable_in_an_error(tmp_path: Path, parts: Any):
    X, A, y = parts

    def fit(folder: Path) -> None:
        with gssl.execution(resume=folder):
            gssl.OGC(random_state=0, max_iter=3).fit(X, y, adjacency=A)

    fit(tmp_path / "run")
    files = [file for file in sorted((tmp_path / "run").rglob("*")) if file.suffix in (".json", ".npy")]
    assert files
    for file in files:
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        shutil.copytree(tmp_path / "run", tmp_path / "copy")
        target = tmp_path / "copy" / file.relative_to(tmp_path / "run")
        changes = [HOSTILE] if file.suffix == ".npy" else []
        if file.suffix == ".json":
            changes = [
                json.dumps(one) for one in with_hostile_texts(without_checksums(json.loads(file.read_text())))
            ]
        for change in changes:
            target.write_text(change)
            refused_briefly(fit, tmp_path / "copy")
            refused_briefly(lambda folder: RunFolder(folder).read_json("none.json"), tmp_path / "copy")


@pytest.mark.parametrize("cells", ["[1]", "1e300::DOUBLE"])
def test_names_of_columns_in_errors_are_short_and_printable(tmp_path: Path, cells: str):
    name = HOSTILE[:2000]
    message = refused_briefly(read_nodes, f'SELECT {cells} AS "{name}"')  # type: ignore[arg-type]
    assert message is not None
    assert "…' holds" in message
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text(f"a,{name},c,d\n1,2,3,4\n")
    message = refused_briefly(open_table, tmp_path / "*.csv")
    assert message is not None
    assert "but" in message
