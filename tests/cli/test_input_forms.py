"""Every form in which a graph, its features and its labels may come: the same predictions each time."""

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array, save_npz


def as_tsv(graph):
    return graph.write("e.tsv", ["source", "target"], graph.edges, delimiter="\t")


def as_gz(graph):
    Path("e.csv.gz").write_bytes(gzip.compress(Path("e.csv").read_bytes()))
    return "e.csv.gz"


def as_parquet(graph):
    source, target = zip(*graph.edges, strict=True)
    pq.write_table(pa.table({"source": source, "target": target}), "e.parquet")
    return "e.parquet"


def as_json_lines(graph):
    rows = [json.dumps({"source": a, "target": b}, ensure_ascii=False) for a, b in graph.edges]
    Path("e.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return "e.jsonl"


def as_glob(graph):
    for part in range(3):
        graph.write(f"part-{part}.csv", ["source", "target"], graph.edges[part::3])
    return "part-*.csv"


def as_query(graph):
    return "SELECT source, target FROM read_csv('e.csv', all_varchar=true)"


def with_weights(graph):
    return graph.write("e3.csv", ["source", "target", "weight"], [(*pair, 2) for pair in graph.edges])


def as_src_and_dst(graph):
    return graph.write("sd.csv", ["year", "dst", "src"], [(1999, *pair) for pair in graph.edges])


def without_header(graph):
    # a number in front says that the first line is an edge
    assert graph.edges[0][0] == "007"
    Path("plain.txt").write_text("\n".join(" ".join(pair) for pair in graph.edges), encoding="utf-8")
    return "plain.txt"


@pytest.mark.parametrize(
    "form",
    [
        as_tsv,
        as_gz,
        as_parquet,
        as_json_lines,
        as_glob,
        as_query,
        with_weights,
        as_src_and_dst,
        without_header,
    ],
)
def test_edges(graph, classify, form):
    assert graph.labels(classify(form(graph))) == graph.truth


def test_edges_with_named_columns(graph, classify):
    junk = [("x", a, "y", b, 1.5) for a, b in graph.edges]
    graph.write("named.csv", ["junk", "here", "more", "there", "strength"], junk)
    rows = classify("named.csv", more=["--edge-columns", "here,there,strength"])
    assert graph.labels(rows) == graph.truth


def test_weights_count(graph, classify):
    """A node between two labels goes where the heavier edge leads."""
    graph.write("w.csv", ["source", "target", "weight"], [("a", "m", 1), ("m", "b", 9)])
    graph.write("wl.csv", ["id", "label"], [("a", "A"), ("b", "B")])
    assert classify("w.csv", "wl.csv", None)["m"]["label"] == "b"


def long_table(graph):
    rows = [
        (i, name, v)
        for i, row in zip(graph.ids, graph.x, strict=True)
        for name, v in zip("abc", row, strict=True)
    ]
    return graph.write("long.csv", ["id", "feature", "value"], rows)


def list_column(graph):
    pq.write_table(pa.table({"id": graph.ids, "x": graph.x.tolist()}), "list.parquet")
    return "list.parquet"


def npy(graph):
    np.save("x.npy", graph.x)
    np.save("x.ids.npy", np.array(graph.ids))
    return "x.npy"


def npz(graph):
    np.savez("x.npz", ids=np.array(graph.ids), features=graph.x)
    return "x.npz"


def sparse_npz(graph):
    save_npz("s.npz", csr_array(graph.x))
    with np.load("s.npz") as parts:
        np.savez("sparse.npz", ids=np.array(graph.ids), **parts)
    return "sparse.npz"


def categories(graph):
    rows = [(i, ("red", "green", "blue")[k % 3], k % 2 == 0) for k, i in enumerate(graph.ids)]
    return graph.write("cat.csv", ["id", "colour", "even"], rows)


def parquet(graph):
    columns = {name: graph.x[:, j] for j, name in enumerate("abc")}
    pq.write_table(pa.table({"node": graph.ids, **columns}), "f.parquet")
    return "f.parquet"


@pytest.mark.parametrize("form", [long_table, list_column, npy, npz, sparse_npz, categories, parquet])
def test_features(graph, classify, form):
    assert graph.labels(classify(features=form(graph))) == graph.truth


WORDS = ("cats purr", "dogs bark", "cows moo")


def test_text_alone_with_neighbours_in_place_of_edges(graph, classify):
    texts = [(i, f"{WORDS[k % 3]} number {k}") for k, i in enumerate(graph.ids)]
    graph.write("docs.csv", ["id", "abstract"], texts)
    rows = classify(None, features="docs.csv", more=["--text", "abstract", "--knn", 4])
    assert graph.labels(rows) == graph.truth


def test_neighbours_in_place_of_edges(graph, classify):
    assert graph.labels(classify(None, more=["--knn", 3])) == graph.truth


def test_an_id_column_may_be_named(graph, classify):
    rows = [(*row, i) for row, i in zip(graph.x.tolist(), graph.ids, strict=True)]
    graph.write("odd.csv", ["a", "b", "c", "wer"], rows)
    assert graph.labels(classify(features="odd.csv", more=["--id-column", "wer"])) == graph.truth


@pytest.mark.parametrize(
    "form", ["l.parquet", "l.jsonl", "l.tsv", "SELECT * FROM read_csv('l.csv', all_varchar=true)"]
)
def test_labels(graph, classify, form):
    known = {node: graph.truth[node] for node in graph.ids[:9]}
    if form.endswith(".parquet"):
        pq.write_table(pa.table({"node": list(known), "class": list(known.values())}), form)
    elif form.endswith(".jsonl"):
        Path(form).write_text("\n".join(json.dumps({"id": i, "label": c}) for i, c in known.items()))
    elif form.endswith(".tsv"):
        graph.write(form, ["id", "label"], [*known.items(), ("n29", "")], delimiter="\t")
    rows = classify(labels=form)
    assert graph.labels(rows) == graph.truth
    assert {node for node, row in rows.items() if row["given"] == "true"} == set(known)
