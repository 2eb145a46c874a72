"""A graph store is opened without reading its links, and refused if its files are inconsistent."""

import numpy as np
import pandas as pd
import pytest
from tests.forging import rewrite_json

from gssl.graph import check_adjacency
from gssl.io import assemble, build_graph_store, from_scipy, open_graph_store, read_edges
from gssl.operators import complement_negatives, normalized_adjacency


def test_ids_are_looked_up(write, tmp_path):
    store = build_graph_store(write("e.csv", "source,target\n007,7\nnaïve,7\n"), tmp_path / "store")
    assert store.ids([2, 0]).tolist() == ["naïve", "007"]
    assert store.nodes(["7", "8", "007", "7"]).tolist() == [1, -1, 0, 1]
    with pytest.raises(ValueError, match="node 3 is not one of 0 … 2"):
        store.ids([3])


def test_nothing_is_copied_and_nothing_is_checked_twice(write, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 500, (4000, 2)), columns=["source", "target"])
    store = build_graph_store(frame, tmp_path / "store")
    A = store.adjacency
    assert check_adjacency(A) is A
    A_hat, N = normalized_adjacency(A, np.float32), complement_negatives(A, np.float32)
    for array in (A_hat.indices, N.indices):
        assert np.shares_memory(array, A.indices)
    for array in (A_hat.indptr, N.indptr):
        assert np.shares_memory(array, A.indptr)
    assert not A_hat.weights.size
    # arrays computed from it are checked again
    assert check_adjacency(A + A) is not A
    plain = from_scipy(assemble(read_edges(frame)).adjacency).adjacency
    assert normalized_adjacency(plain, np.float32).scale.tobytes() == A_hat.scale.tobytes()


def test_ids_of_another_graph_are_refused(tmp_path):
    store = build_graph_store("SELECT 'a' AS src, 'b' AS dst", tmp_path / "s")
    other = build_graph_store("SELECT 'a' AS src, 'b' AS dst UNION ALL SELECT 'b', 'c'", tmp_path / "t")
    (other.directory / "ids.parquet").replace(store.directory / "ids.parquet")
    with pytest.raises(ValueError, match=r"ids.parquet is damaged, its checksum does not match"):
        _ = open_graph_store(store.directory).node_ids
    rewrite_json(store.directory / "manifest.json")
    again = open_graph_store(store.directory)
    for look in (lambda: again.node_ids, lambda: again.nodes(["a"]), lambda: again.ids([0])):
        with pytest.raises(ValueError, match=r"ids.parquet has 3 ids for 2 nodes: build the store again\."):
            look()


def test_brackets_in_the_name_of_a_folder_are_no_glob(write, tmp_path):
    for folder, end in (("a1", "x"), ("a[1]", "y")):
        edges = write(f"{folder}/e.csv", f"source,target\ns,{end}\n")
        nodes = write(f"{folder}/n.csv", f"id\n{end}\ns\n")
        build_graph_store(edges, tmp_path / folder / "store", nodes=nodes)
    assert open_graph_store(tmp_path / "a[1]" / "store").node_ids.tolist() == ["y", "s"]


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("indices", np.array([1, 0], dtype=np.int32), "are not those of 3 nodes and 2 edges"),
        ("indices", np.array([1, 0, 7, 1], dtype=np.int32), "are not those of 3 nodes and 2 edges"),
        ("indptr", np.array([0, 3, 1, 4]), "are not those of 3 nodes and 2 edges"),
        ("weights", [2.0, np.nan, 3.0, 3.0], "are not 4 positive numbers: build the store again"),
        ("weights", [2.0], "are not 4 positive numbers: build the store again"),
        ("weights", [2.0, 2.0, 0.0, 3.0], "are not 4 positive numbers: build the store again"),
        ("version", 99, "was made by a newer gssl"),
        ("format", "other", "is not the manifest of a graph store"),
    ],
)
def test_damaged_arrays_and_foreign_manifests_are_refused(write, tmp_path, name, values, message):
    folder = tmp_path / "store"
    build_graph_store(write("e.csv", "source,target,weight\na,b,2\nb,c,3\n"), folder)
    rewrite_json(folder / "manifest.json")
    if (folder / f"{name}.npy").exists():
        np.save(folder / f"{name}.npy", values)
    else:
        rewrite_json(folder / "manifest.json", **{name: values})
    with pytest.raises(ValueError, match=message):
        _ = open_graph_store(folder).adjacency
