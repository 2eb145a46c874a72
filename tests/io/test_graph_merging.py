"""Relations on disk are those in memory, and a damaged store is refused."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from tests.forging import rewrite_json

import gssl
import gssl.io.graph_merging as graph_merging
from gssl.graph import TypedAdjacency, check_adjacency
from gssl.graph.adjacency import relations_of
from gssl.io import assemble, build_graph_store, open_graph_store, read_edges, read_labels


def random_links(weighted, n_nodes=30, n_links=400):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, n_nodes, (n_links, 2)), columns=["src", "dst"]).astype(str)
    frame["kind"] = rng.choice(["a", "b", ""], n_links)
    if weighted:
        frame["weight"] = rng.integers(0, 5, n_links) / 2
    return frame


def same(A, B):
    pairs = [(A, B), *zip(relations_of(A).values(), relations_of(B).values(), strict=True)]
    return list(relations_of(A)) == list(relations_of(B)) and all((x != y).nnz == 0 for x, y in pairs)


# the last has so many links that relations are merged in several parts
SIZES = [(weighted, directed, (30, 400)) for weighted in (False, True) for directed in (False, True)]
SIZES.append((True, True, (700, 200_000)))


@pytest.mark.parametrize(("weighted", "directed", "size"), SIZES)
def test_a_store_has_the_relations_of_the_graph_in_memory(tmp_path, weighted, directed, size):
    frame, weight = random_links(weighted, *size), {"a": 2.0, "other": 0.5}
    options = {"edge_type": "kind", "directed": directed, "relation_weight": weight}
    store = build_graph_store(frame, tmp_path / "store", **options)
    problem = assemble(read_edges(frame, **options))
    assert isinstance(store.adjacency, TypedAdjacency)
    assert same(store.adjacency, problem.adjacency)
    assert store.notes == problem.notes
    assert store.node_ids.tolist() == problem.node_ids.tolist()
    assert "relations=3" in repr(store)
    assert not list((tmp_path / "store" / "relations").glob("both*"))
    # against dense algebra: weights of a direction are summed unless all are 1, and the union is the largest
    frame, n = frame[frame.src != frame.dst], len(store.node_ids)
    number = {node: k for k, node in enumerate(store.node_ids)}
    matrices = {}
    for name, part in frame.assign(kind=frame.kind.replace("", "other")).groupby("kind"):
        R = np.zeros((n, n))
        np.add.at(R, (part.src.map(number), part.dst.map(number)), part.weight if weighted else 1.0)
        R = R if weighted else (R > 0).astype(float)
        matrices[name] = R if directed else np.maximum(R, R.T)
    dense = check_adjacency(matrices, directed=directed, relation_weight=weight)
    assert same(store.adjacency, dense)


def test_arrays_of_relations_stay_in_files_and_labels_of_new_ids_join_them(tmp_path):
    store = build_graph_store(random_links(False), tmp_path / "store", edge_type="kind", directed=True)
    labels = read_labels(pd.DataFrame({"id": ["0", "new"], "label": ["x", "y"]}))
    problem = assemble(open_graph_store(tmp_path / "store"), labels=labels)
    n = store.n_nodes + 1
    assert problem.adjacency.shape == (n, n)
    for name, relation in problem.adjacency.relations.items():
        assert relation.shape == (n, n)
        assert not relation.indices.flags.writeable
        assert (relation[: n - 1, : n - 1] != store.adjacency.relations[name]).nnz == 0
    with pytest.raises(ValueError, match="those it was built with: leave out `directed`"):
        gssl.read(graph=tmp_path / "store", directed=True)


def test_a_store_keeps_kinds_of_nodes_and_drops_relations_of_self_loops(tmp_path):
    wrote = pd.DataFrame({"author_id": [1, 1, 2], "paper_id": [1, 2, 1]})
    cites = pd.DataFrame({"paper_id": [1, 2], "cited_paper_id": [2, 1]})
    itself = pd.DataFrame({"paper_id": [1, 2], "cited_paper_id": [1, 2]})
    edges = {"wrote": wrote, "cites": cites, "itself": itself}
    store = build_graph_store(edges, tmp_path / "store")
    problem = assemble(read_edges(edges))
    assert same(store.adjacency, problem.adjacency)
    assert store.node_ids.tolist() == problem.node_ids.tolist()
    assert store.notes == problem.notes
    assert store.kind_columns == ("paper_id", "author_id")
    assert store.node_kinds.kinds == problem.kinds.kinds
    assert [one.name for one in store.relations] == ["cites", "wrote"]
    assert {path.name for path in (tmp_path / "store" / "relations").iterdir()} == {"0", "1"}


def test_a_plain_store_is_as_before_and_one_relation_is_plain(tmp_path):
    frame = random_links(False)
    build_graph_store(frame[["src", "dst"]], tmp_path / "plain")
    manifest = json.loads((tmp_path / "plain" / "manifest.json").read_text())
    assert manifest["version"] == 1
    assert "relations" not in manifest
    one = build_graph_store(
        {"knows": frame[["src", "dst"]]}, tmp_path / "one", relation_weight={"knows": 2.0}
    )
    assert type(one.adjacency) is csr_array
    assert set(one.adjacency.data) == {2.0}
    assert not (tmp_path / "one" / "relations").exists()


@pytest.mark.parametrize("damage", ["missing", "short", "wild", "name"])
def test_damaged_relations_are_refused(tmp_path, damage):
    build_graph_store(random_links(True), tmp_path / "store", edge_type="kind", directed=True)
    folder, manifest = tmp_path / "store" / "relations" / "0", tmp_path / "store" / "manifest.json"
    indices = np.load(folder / "indices.npy")
    rewrite_json(manifest)
    if damage == "missing":
        shutil.rmtree(folder)
    elif damage == "short":
        np.save(folder / "indices.npy", indices[:-1])
    elif damage == "wild":
        np.save(folder / "indices.npy", indices + 1)
    else:
        text = json.loads(manifest.read_text())
        text["relations"][1]["name"] = text["relations"][0]["name"]
        manifest.write_text(json.dumps(text))
    with pytest.raises((ValueError, FileNotFoundError)):
        open_graph_store(tmp_path / "store").adjacency  # noqa: B018


def test_a_build_that_stops_leaves_nothing_and_the_next_one_is_whole(tmp_path, monkeypatch):
    file, store = tmp_path / "e.csv", tmp_path / "store"
    random_links(True).to_csv(file, index=False)
    options = {"edge_type": "kind", "directed": True}
    with monkeypatch.context() as patch:
        patch.setattr(graph_merging, "write_union", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            build_graph_store(file, store, **options)
    assert not store.exists()
    build_graph_store(file, store, **options)
    assert same(open_graph_store(store).adjacency, assemble(read_edges(file, **options)).adjacency)
    assert {path.name for path in store.iterdir()} >= {"manifest.json", "ids.parquet", "relations"}
    assert {path.name for path in (store / "relations").iterdir()} == {"0", "1", "2"}
