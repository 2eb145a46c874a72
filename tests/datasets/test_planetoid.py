from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from gssl.datasets import load
from gssl.datasets.planetoid import load_planetoid


@pytest.fixture
def tiny(tmp_path: Path, old_pickle: Any) -> Path:
    """A complete Planetoid dataset with 2 training, 500 validation and 2 test nodes, and one missing id."""
    rng = np.random.default_rng(0)
    one_hot = np.eye(2, dtype=np.int32)
    ally = one_hot[np.arange(502) % 2]
    graph = {node: [(node + 1) % 505] for node in range(505)}
    graph[0] = [1, 1, 0]
    parts = {
        "allx": csr_matrix(rng.integers(2, size=(502, 3)).astype(np.float32)),
        "ally": ally,
        "tx": csr_matrix(np.array([[7, 0, 0], [0, 8, 0]], dtype=np.float32)),
        "ty": one_hot[[1, 0]],
        "y": ally[:2],
        "graph": graph,
    }
    folder = tmp_path / "planetoid"
    folder.mkdir()
    for part, value in parts.items():
        (folder / f"ind.cora.{part}").write_bytes(old_pickle(value))
    (folder / "ind.cora.test.index").write_text("504\n502\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "sizes", "train", "class_sizes"),
    [
        ("cora", (2708, 5278, 1433, 7), 140, [351, 217, 418, 818, 426, 298, 180]),
        ("citeseer", (3327, 4552, 3703, 6), 120, [249, 590, 668, 701, 596, 508]),
        ("pubmed", (19717, 44324, 500, 3), 60, [4103, 7739, 7875]),
    ],
)
def test_public_files(data_dir: Path, name: str, sizes: tuple[int, ...], train: int, class_sizes: list[int]):
    data = load(f"planetoid/{name}", data_dir=data_dir)
    assert (data.n_nodes, data.n_edges, data.n_features, data.n_classes) == sizes
    assert np.bincount(data.labels[data.labels >= 0]).tolist() == class_sizes
    split = data.splits["public"]
    assert np.array_equal(split["train"], np.arange(train))
    assert np.array_equal(split["val"], np.arange(train, train + 500))
    listed = np.loadtxt(data_dir / "planetoid" / f"ind.{name}.test.index", dtype=int)
    assert np.array_equal(split["test"], np.sort(listed))
    assert np.bincount(data.mask_labels("public")[:train]).tolist() == [20] * sizes[3]
    assert (data.mask_labels("public", ("train", "val", "test")) >= 0).sum() == train + 1500
    assert (data.adjacency.data == 1).all()
    unknown = np.flatnonzero(data.labels < 0)
    assert unknown.size == (15 if name == "citeseer" else 0)
    assert unknown.min(initial=2407) == 2407
    assert data.features[unknown].nnz == 0


def test_planetoid_cora_is_the_embedded_cora_in_another_order(data_dir: Path):
    """Citations between named classes agree, so the order of the class names is right too."""
    planetoid, embedded = load("planetoid/cora", data_dir=data_dir), load("cora")

    def citations(data: Any) -> dict[tuple[str, str], float]:
        membership = np.eye(7)[data.labels]
        between = membership.T @ (data.adjacency @ membership)
        names = data.class_names
        return {(names[i], names[j]): between[i, j] for i in range(7) for j in range(7)}

    assert citations(planetoid) == citations(embedded)
    assert planetoid.features.nnz == embedded.features.nnz


def test_rows_go_where_the_test_index_says(tiny: Path, hashes_in: Any):
    data = load_planetoid("cora", data_dir=tiny, hashes=hashes_in(tiny / "planetoid"))
    assert data.features[[502, 503, 504]].toarray().tolist() == [[0, 8, 0], [0, 0, 0], [7, 0, 0]]
    assert data.labels[502:].tolist() == [0, -1, 1]
    assert data.splits["public"]["test"].tolist() == [502, 504]
    assert data.n_edges == 505


@pytest.mark.parametrize("part", ["allx", "ally", "tx", "ty", "y", "graph", "test.index"])
def test_any_change_of_a_file_is_refused(tiny: Path, hashes_in: Any, part: str):
    path, hashes = tiny / "planetoid" / f"ind.cora.{part}", hashes_in(tiny / "planetoid")
    content = path.read_bytes()
    other = (path.parent / f"ind.cora.{'y' if part == 'ty' else 'ty'}").read_bytes()
    rng = np.random.default_rng(0)
    flipped = bytearray(content)
    flipped[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    for damaged in (b"", content[: len(content) // 2], content[:-1], content + b"\n", bytes(flipped), other):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"ind\.cora\.{part} was not opened, .* get it again\.$"):
            load_planetoid("cora", data_dir=tiny, hashes=hashes)
    with pytest.raises(ValueError, match=r"ind\.cora\.test\.index was not opened, because its contents"):
        load_planetoid("cora", data_dir=tiny)
