"""A graph store has the same graph and notes as reading the same tables in memory."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from gssl.io import assemble, build_graph_store, open_graph_store, read_edges, read_features
from gssl.io.edge_coding import EdgeCoding
from gssl.io.graph_building import check_count


def assert_same(store, problem):
    """Assert that ids, notes and, bit for bit, arrays are the same."""
    A = store.adjacency
    assert store.node_ids.tolist() == problem.node_ids.tolist()
    assert A.indptr.tolist() == problem.adjacency.indptr.tolist()
    assert A.indices.tolist() == problem.adjacency.indices.tolist()
    assert A.data.tobytes() == problem.adjacency.data.tobytes()
    assert (A.indptr.dtype, A.indices.dtype, A.data.dtype) == (np.int64, np.int32, np.float64)
    assert store.notes == problem.notes
    assert store.n_edges == problem.adjacency.nnz // 2


FILES = [
    ("e.csv", 'source,target\n007,naïve\n18446744073709551615,007\nnaïve,"a,b"\n007,7\n'),
    ("e.csv", "a,b\nx,y\nx,y\ny,x\nx,x\nz,z\ny,z\n"),
    ("e.csv", "1,2\n2,1\n2,3\n1,2\n"),
    ("e.tsv", "target\tsource\tyear\nnaïve\t007\t1\n007\tÄ\t2\n日本\tnaïve\t3\n"),
    ("e.csv.gz", 'source,target\n"say ""hi""",b\nb,"say ""hi"""\n'),
    ("e.csv", "source,target,weight\na,b,0.1\na,b,0.2\na,b,0.3\nb,a,0.6\nc,a,0\nd,d,5\nb,c,2\nc,b,1\n"),
    ("e.csv", "source,target,weight\na,b,1\na,b,1\nb,a,1\nc,a,0\nb,c,1\n"),
    ("e.csv", "source,target,weight\na,b,0.5\na,b,0.5\nb,c,1\n"),
    ("e.csv", "source,target,weight\na,b,0\nb,b,1\n"),
    ("e.csv", "source,target\na,a\n"),
    ("e.csv", "alice,bob\nbob,carol\n"),
    ("e.jsonl", '{"source":"007","target":"x"}\n{"source":18446744073709551615,"target":"007"}\n'),
]


# files whose rows are not all taken as they are
ODD_FILES = [
    ("e.csv", "source,target\na,b\nb,\n,c\n,\nc,a\n"),
    ("e.csv", "source,target,weight\n,,\na,b,0.5\n\nonly,,much\nb,c,2\n"),
    ("e.txt", "1\t2\n2\t\n\t\n2\t3\n"),
    # users and items: with the same ids, with ids of their own, and with missing ones
    ("e.csv", "user_id,item_id\n1,1\n1,2\n2,1\n3,9\n10,2\n"),
    ("e.csv", "user_id,item_id,rating\n1,1,5\n1,2,4\n2,1,5\n2,1,1\n"),
    ("e.csv", "user,item\na,x\nb,x\nb,y\n"),
    ("e.csv", "user_id,item_id\n1,1\n,2\n2,\n2,1\n"),
    ("e.csv", "source,target,x\n1,2,1082040961\n2,3,1098777142\n"),
]


@pytest.mark.parametrize(("name", "text"), [*FILES, *ODD_FILES])
def test_a_store_and_memory_have_the_same_graph(write, tmp_path, name, text):
    file = write(name, text)
    assert_same(build_graph_store(file, tmp_path / "store"), assemble(read_edges(file)))


def test_many_files_and_parquet(write, tmp_path):
    write("part-1.csv", "source,target\n1,2\n2,3\n")
    write("part-2.csv", "source,target\n3,4\n2,1\n")
    source = str(tmp_path / "part-*.csv")
    assert_same(build_graph_store(source, tmp_path / "csv"), assemble(read_edges(source)))
    frame = pd.DataFrame({"src": [7, 2**63, 7], "dst": [7.0, 12.0, 12.0], "weight": [1.0, 0.25, 3]})
    frame = frame.astype({"src": np.uint64})
    frame.to_parquet(tmp_path / "e.parquet")
    stored = build_graph_store(tmp_path / "e.parquet", tmp_path / "parquet")
    assert_same(stored, assemble(read_edges(tmp_path / "e.parquet")))
    assert_same(build_graph_store(frame, tmp_path / "frame"), assemble(read_edges(frame)))


@pytest.mark.parametrize("ids", [["10", "9", "-3", "0"], ["10", "09", "9", "x"], ["10", "9", "1e1", "+9"]])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_store_that_is_merged_in_parts_has_the_graph_in_memory(tmp_path, ids, weighted):
    rng, n = np.random.default_rng(0), 300_000
    names = np.array(ids + [str(node) for node in range(100, 900)])
    frame = pd.DataFrame({"source": rng.choice(names, n), "target": rng.choice(names, n)})
    if weighted:
        frame["weight"] = rng.choice([0.0, 0.1, 0.2, 0.7], n)
    assert_same(build_graph_store(frame, tmp_path / "store"), assemble(read_edges(frame)))


def test_a_node_with_most_links_is_merged_in_parts(tmp_path):
    star = "SELECT 0 AS source, range + 1 AS target FROM range(500000)"
    store = build_graph_store(star, tmp_path / "store", memory_budget="400MB")
    assert store.adjacency.nnz == 10**6
    assert np.diff(store.adjacency.indptr).tolist() == [500000, *[1] * 500000]
    assert store.facts.isolated == 0


def test_the_order_of_a_table_of_nodes_and_its_lonely_nodes(write, tmp_path):
    edges = write("e.csv", "source,target\nb,a\na,007\n")
    nodes = write("f.csv", "id,x\n007,1\nlonely,2\nb,3\na,4\n")
    store = build_graph_store(edges, tmp_path / "store", nodes=nodes)
    assert_same(store, assemble(read_edges(edges), read_features(nodes)))
    assert store.notes == ["1 node without any edge."]
    fewer = write("g.csv", "id,x\n007,1\na,4\n")
    with pytest.raises(ValueError, match=r"e\.csv names 1 id that the table of nodes does not have: 'b'"):
        build_graph_store(edges, tmp_path / "other", nodes=fewer)
    twice = write("h.csv", "id,x\n007,1\na,4\nb,1\na,2\n")
    with pytest.raises(ValueError, match=r"h\.csv has more than one row for 'a'"):
        build_graph_store(edges, tmp_path / "other", nodes=twice)
    assert {path.name for path in tmp_path.iterdir()} == {"e.csv", "f.csv", "g.csv", "h.csv", "store"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("source,target\na,\n,b\n", r"e\.csv, row 1: column 'target' has no id"),
        ("source,target\n,b\n", r"e\.csv, row 1: column 'source' has no id"),
        ("source,target,weight\na,b,1\nb,c,-2\n", r"e\.csv, row 2: column 'weight' is '-2', but a weight"),
        ("source,target\n", r"e\.csv has no edges"),
        ("source,target\na,b\nc\n", r"e\.csv, line 3 has 1 cell where there should be 2"),
        ("source,target,weight\na,b,1e308\na,b,1e308\n", "more than float64 can hold"),
    ],
)
def test_bad_tables_are_refused_as_in_memory_and_leave_nothing(write, tmp_path, text, message):
    file = write("e.csv", text)
    with pytest.raises(ValueError, match=message):
        build_graph_store(file, tmp_path / "store")
    assert [path.name for path in tmp_path.iterdir()] == ["e.csv"]


def test_a_store_holds_fewer_nodes_than_two_to_the_31():
    check_count("e.csv", 2**31 - 1)
    with pytest.raises(ValueError, match=r"e\.csv names 2,147,483,648 nodes, and a graph store holds fewer"):
        check_count("e.csv", 2**31)


def test_bad_places_and_budgets_are_refused(write, tmp_path):
    file = write("e.csv", "source,target\na,b\nb,a\nb,b\nb,\n")
    with pytest.raises(ValueError, match=r"10\.0 MB is too small: give at least 400 MB"):
        build_graph_store(file, tmp_path / "store", memory_budget="10MB")
    with pytest.raises(ValueError, match=r"e\.csv, row 4: column 'target' has no id; remove the row or fill"):
        build_graph_store(file, tmp_path / "store", strict=True)
    build_graph_store(file, tmp_path / "store")
    with pytest.raises(FileExistsError, match="store already exists"):
        build_graph_store(file, tmp_path / "store")
    manifest = tmp_path / "store" / "manifest.json"
    stored = json.loads(manifest.read_text())
    assert (stored["nodes"], stored["edges"], stored["weighted"]) == (2, 1, False)
    assert (stored["facts"]["self_loops"], stored["facts"]["two_way"]) == (1, 1)
    manifest.write_text("{}")
    with pytest.raises(ValueError, match="is not the manifest of a graph store"):
        open_graph_store(tmp_path / "store")


KILLED = """
import sys, time
import gssl.io.graph_building as building
stage = sys.argv[3]
module = building if stage == "merge_sorted" else building.EdgeCoding
plain = getattr(module, stage)
def stop(*arguments):
    if stage != "merge_sorted":
        plain(*arguments)
    print("there", flush=True)
    time.sleep(60)
setattr(module, stage, stop)
building.build_graph_store(sys.argv[1], sys.argv[2])
"""


def kill_at(stage, file, store):
    """Build a store in another process, which is killed at a stage."""
    command = [sys.executable, "-c", KILLED, str(file), str(store), stage]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"there\n"
    with pytest.raises(OSError, match="is being built by another process"):
        build_graph_store(file, store)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert not store.exists()


@pytest.mark.parametrize("stage", ["number_nodes", "merge_sorted"])
@pytest.mark.parametrize("text", ["source,target\nb,a\na,007\n007,007\n", "user,item\n1,1\n2,\n3,1\n"])
def test_a_kill_leaves_no_store_and_the_next_build_goes_on(write, tmp_path, monkeypatch, stage, text):
    file = write("e.csv", text)
    store = tmp_path / "store"
    kill_at(stage, file, store)
    stages = []
    plain = EdgeCoding.store

    def noted(coding, name, query, **options):
        stages.extend([name] if coding.database == "build" else [])
        plain(coding, name, query, **options)

    monkeypatch.setattr(EdgeCoding, "store", noted)
    assert_same(build_graph_store(file, store), assemble(read_edges(file)))
    assert stages == (["coded", "sorted"] if stage == "number_nodes" else ["sorted"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.csv", "store"]
    files = ["ids.parquet", "indices.npy", "indptr.npy", "manifest.json"]
    assert sorted(path.name for path in store.iterdir()) == files


def test_an_unreadable_or_foreign_database_of_a_killed_build_is_removed(write, tmp_path):
    file = write("e.csv", "source,target\nb,a\na,007\n")
    store = tmp_path / "store"
    kill_at("number_nodes", file, store)
    part = tmp_path / ".store.part"
    kept = {path.name: path.read_bytes() for path in part.iterdir()}
    for left in (b"", bytes(100), bytes(4096), b"DUCK" * 3072):
        part.mkdir(exist_ok=True)
        for name, content in (kept | {"build.duckdb": left}).items():
            (part / name).write_bytes(content)
        assert_same(build_graph_store(file, store), assemble(read_edges(file)))
        assert sorted(path.name for path in tmp_path.iterdir()) == ["e.csv", "store"]
        shutil.rmtree(store)
    kill_at("merge_sorted", file, store)
    time.sleep(0.01)
    file.write_text("source,target\nx,y\ny,z\n")
    assert_same(build_graph_store(file, store), assemble(read_edges(file)))


BOUNDED = """
import re, sys
from pathlib import Path
from gssl.io import build_graph_store
build_graph_store(sys.argv[1], sys.argv[2], memory_budget="400MB", threads=2)
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_millions_of_edges_are_built_within_the_budget(tmp_path):
    import duckdb

    file = tmp_path / "e.csv"
    duckdb.execute(
        "COPY (SELECT 'user-' || hash(i) % 500000 AS source, 'user-' || hash(7 * i + 3) % 500000 AS target, "
        f"1 + i % 3 AS weight FROM range(4000000) AS t(i)) TO '{file}'"
    )
    command = [sys.executable, "-c", BOUNDED, str(file), str(tmp_path / "store")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 1024 * int(done.stdout) < 400e6
    assert_same(open_graph_store(tmp_path / "store"), assemble(read_edges(file)))


def test_a_query_that_returns_other_rows_each_time_runs_once(tmp_path):
    one, other = (f"'{end}' || (random() * 1e9)::BIGINT AS {end}" for end in ("src", "dst"))
    store = build_graph_store(f"SELECT {one}, {other} FROM range(100)", tmp_path / "store")
    assert store.n_edges == 100
