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


def test_citeseer_has_15_nodes_without_features_or_label(data_dir: Path):
    data = load("planetoid/citeseer", data_dir=data_dir)
    unknown = np.flatnonzero(data.labels < 0)
    assert unknown.size == 15
    assert unknown.min() == 2407
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


def test_rows_go_where_the_test_index_says(tiny: Path):
    data = load_planetoid("cora", data_dir=tiny)
    assert data.features[[502, 503, 504]].toarray().tolist() == [[0, 8, 0], [0, 0, 0], [7, 0, 0]]
    assert data.labels[502:].tolist() == [0, -1, 1]
    assert data.splits["public"]["test"].tolist() == [502, 504]
    assert data.n_edges == 505


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("graph", {0: [5]}, "names a node outside 0 to 0"),
        ("graph", {0: (0,)}, "not a dict of neighbour lists"),
        ("graph", {0: ["0"]}, "names a node outside"),
        ("graph", np.zeros(3), "not a dict of neighbour lists"),
        ("allx", np.zeros((502, 3)), "not a CSR matrix"),
        ("ally", np.ones((502, 2)), "more than one class"),
        ("ty", np.eye(3, dtype=np.int32)[:2], "have sizes that do not match"),
        ("tx", csr_matrix(np.eye(2)), "have sizes that do not match"),
        ("ty", np.zeros((2, 2), dtype=np.int32), "a node of the public split has no label"),
        ("y", np.eye(2, dtype=np.int32)[[1, 1]], "have sizes that do not match"),
    ],
)
def test_files_that_do_not_fit_are_refused(tiny: Path, old_pickle: Any, part: str, value: Any, message: str):
    (tiny / "planetoid" / f"ind.cora.{part}").write_bytes(old_pickle(value))
    with pytest.raises(ValueError, match=message):
        load_planetoid("cora", data_dir=tiny)


@pytest.mark.parametrize(
    "index", ["", "502\n502", "502\nx", "-1\n502", "502\n99999999999999999999", "1\n502"]
)
def test_bad_test_index_is_refused(tiny: Path, index: str):
    (tiny / "planetoid" / "ind.cora.test.index").write_text(index)
    with pytest.raises(ValueError, match=r"ind\.cora"):
        load_planetoid("cora", data_dir=tiny)


@pytest.mark.parametrize("part", ["allx", "ally", "graph"])
@pytest.mark.parametrize("keep", [0.0, 0.5, 0.99])
def test_cut_off_file_is_named(tiny: Path, part: str, keep: float):
    path = tiny / "planetoid" / f"ind.cora.{part}"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(ValueError, match=rf"ind\.cora\.{part} is not a readable Planetoid file"):
        load_planetoid("cora", data_dir=tiny)


def test_damaged_bytes_never_escape_as_another_error(tiny: Path):
    path = tiny / "planetoid" / "ind.cora.ty"
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(content)
        damaged[rng.integers(len(content))] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            load_planetoid("cora", data_dir=tiny)
        except ValueError as error:
            assert "ind.cora" in str(error)  # noqa: PT017 - a lucky byte may also do no harm
