"""Every reader, on randomly damaged files and on random bytes.

A damaged file is read, or refused with one of gssl's own messages that names it, in limited time. ``make
test`` tries a few of each; ``make test-slow`` thousands.
"""

from __future__ import annotations

import gzip
import json
import pickle
import sqlite3
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix, save_npz
from tests.forging import strip_model

import gssl
from gssl.datasets.npz_graphs import load_npz
from gssl.datasets.planetoid import load_planetoid
from gssl.io import read_edges, read_features, read_labels, write_columns, write_embeddings
from reproduction.reddit_graphs import read_reddit

FEW, MANY = 40, 3000
# fewer, because opening a table takes a hundred times as long as opening an array
FEW_TABLES, MANY_TABLES = 6, 1000

IDS = ["007", "8", "naïve", "=x"]
EDGES = {"source": IDS, "target": IDS[1:] + IDS[:1], "weight": np.array([1.0, 2.0, 0.5, 1.5])}
FEATURES = {"id": IDS, "age": np.array([1.0, 2.0, 3.0, 4.0]), "job": ["spy", "cook", "spy", "cook"]}
LABELS = {"id": IDS, "label": ["a", "b", "a", "b"]}
TABLES: dict[str, tuple[Callable[[Path], Any], dict[str, Any]]] = {
    "edges": (read_edges, EDGES),
    "features": (read_features, FEATURES),
    "labels": (read_labels, LABELS),
}


def often(few: int, many: int) -> Any:
    return pytest.mark.parametrize(
        "examples", [pytest.param(few, id="few"), pytest.param(many, id="many", marks=pytest.mark.slow)]
    )


def old_pickle(value: Any) -> bytes:
    content = pickle.dumps(value, protocol=3)
    return content.replace(b"numpy._core.", b"numpy.core.").replace(b"scipy.sparse._csr", b"scipy.sparse.csr")


@often(FEW, MANY)
@pytest.mark.parametrize("part", ["graph", "allx", "y", "test.index"])
def test_damaged_planetoid_files_are_refused(tmp_path: Path, assert_safe: Any, part: str, examples: int):
    ally = np.eye(2, dtype=np.int32)[np.arange(502) % 2]
    parts = {
        "allx": csr_matrix((np.ones(502, dtype=np.float32), np.arange(502) % 3, np.arange(503)), (502, 3)),
        "ally": ally,
        "tx": csr_matrix(np.eye(2, 3, dtype=np.float32)),
        "ty": np.eye(2, dtype=np.int32),
        "y": ally[:2],
        "graph": {node: [(node + 1) % 504] for node in range(504)},
    }
    folder = tmp_path / "planetoid"
    folder.mkdir()
    for name, value in parts.items():
        (folder / f"ind.cora.{name}").write_bytes(old_pickle(value))
    (folder / "ind.cora.test.index").write_text("503\n502\n")
    hashes = {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}

    def read(_: Path) -> Any:
        return load_planetoid("cora", data_dir=tmp_path, hashes=hashes)

    assert_safe(read, folder / f"ind.cora.{part}", examples)


@often(FEW, MANY)
@pytest.mark.parametrize("packed", [False, True])
def test_damaged_npz_graphs_are_refused(tmp_path: Path, assert_safe: Any, packed: bool, examples: int):
    path = tmp_path / "graph.npz"
    S = csr_array(np.eye(3, 2, dtype=np.float32))
    (np.savez_compressed if packed else np.savez)(
        path,
        edges=np.array([[0, 1], [1, 2]]),
        num_nodes=3,
        labels=np.array([0, -1, 1]),
        feat_data=S.data,
        feat_indices=S.indices,
        feat_indptr=S.indptr,
        feat_shape=np.array(S.shape),
        class_names=np.array(["cat", "dog"]),
        train_masks=np.array([[1, 0, 0]], dtype=bool),
        test_masks=np.array([[0, 0, 1]], dtype=bool),
    )
    assert_safe(load_npz, path, examples)


@often(FEW, MANY)
@pytest.mark.parametrize("file", ["reddit.npz", "reddit_adj.npz"])
def test_damaged_reddit_files_are_refused(tmp_path: Path, assert_safe: Any, file: str, examples: int):
    nodes, links = tmp_path / "reddit.npz", tmp_path / "reddit_adj.npz"
    index = {"train_index": np.array([0]), "val_index": np.array([1]), "test_index": np.array([2])}
    known = {"y_train": np.array([0]), "y_val": np.array([1]), "y_test": np.array([1])}
    np.savez(nodes, feats=np.eye(3), **index, **known)
    save_npz(links, csr_array(np.ones((3, 3))))
    assert_safe(lambda _: read_reddit(nodes, links), tmp_path / file, examples)


@often(FEW, MANY)
@pytest.mark.parametrize("name", ["u.npy", "u.npz", "u.ids.npy", "s.npz"])
def test_damaged_arrays_are_refused(tmp_path: Path, assert_safe: Any, name: str, examples: int):
    U = np.arange(8.0, dtype=np.float32).reshape(4, 2)
    if name == "s.npz":
        save_npz(tmp_path / name, csr_array(U))
        assert_safe(lambda path: read_features(path, ids=IDS), tmp_path / name, examples)
        return
    whole = tmp_path / name.replace(".ids", "")
    write_embeddings(whole, IDS, U)
    assert_safe(lambda _: read_features(whole), tmp_path / name, examples)


@often(FEW, MANY)
@pytest.mark.parametrize("name", ["OGC", "EmbeddingClassifier"])
def test_damaged_models_are_refused(tmp_path: Path, assert_safe: Any, name: str, examples: int):
    model = gssl.OGC(random_state=0) if name == "OGC" else gssl.EmbeddingClassifier(gssl.SGC())
    A = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    gssl.save(
        model.fit(np.eye(3), np.array(["a", "b", None], dtype=object), adjacency=A), tmp_path / "m.gssl"
    )
    # a forger leaves checksums out, so that what is behind them is tried
    strip_model(tmp_path / "m.gssl")
    assert_safe(gssl.load, tmp_path / "m.gssl", examples)


@often(FEW_TABLES, MANY_TABLES)
@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "csv.gz"])
@pytest.mark.parametrize("kind", TABLES)
def test_damaged_tables_are_refused(tmp_path: Path, assert_safe: Any, kind: str, form: str, examples: int):
    read, columns = TABLES[kind]
    path = tmp_path / f"{kind}.{form}"
    if form == "csv.gz":
        write_columns(tmp_path / "plain.csv", columns)
        path.write_bytes(gzip.compress((tmp_path / "plain.csv").read_bytes()))
    else:
        write_columns(path, columns)
    assert_safe(read, path, examples)


@often(FEW_TABLES, MANY_TABLES)
@pytest.mark.parametrize("connect", [sqlite3.connect, duckdb.connect], ids=["sqlite", "duckdb"])
def test_damaged_databases_are_refused(tmp_path: Path, assert_safe: Any, connect: Any, examples: int):
    connection = connect(str(tmp_path / "d.db"))
    connection.execute("CREATE TABLE t (source TEXT, target TEXT, weight REAL)")
    connection.executemany(
        "INSERT INTO t VALUES (?, ?, ?)", [list(row) for row in zip(*EDGES.values(), strict=True)]
    )
    connection.commit()
    connection.close()
    assert_safe(read_edges, tmp_path / "d.db", examples)


@often(FEW_TABLES, MANY_TABLES)
@pytest.mark.parametrize("form", ["graphml", "gexf", "gml", "json"])
def test_damaged_graph_files_are_refused(tmp_path: Path, assert_safe: Any, form: str, examples: int):
    graph = nx.Graph(list(zip(EDGES["source"], EDGES["target"], strict=True)), name="g")
    nx.set_node_attributes(graph, dict(zip(IDS, LABELS["label"], strict=True)), "label")
    path = tmp_path / f"g.{form}"
    if form == "json":
        path.write_text(json.dumps(nx.node_link_data(graph, edges="links")))
    else:
        getattr(nx, f"write_{form}")(graph, path)
    assert_safe(read_labels if form == "graphml" else read_edges, path, examples)
