"""All accepted forms of graphs, features and labels, and the tables that are refused."""

import gzip
import json
import sqlite3
from pathlib import Path

import duckdb
import networkx as nx
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


def as_sqlite(graph):
    connection = sqlite3.connect("e.db")
    connection.execute("CREATE TABLE links (a TEXT, b TEXT)")
    connection.executemany("INSERT INTO links VALUES (?, ?)", graph.edges)
    connection.commit()
    connection.close()
    return "e.db::SELECT b AS source, a AS target FROM links"


def as_duckdb(graph):
    with duckdb.connect("e.duckdb") as connection:
        connection.execute("CREATE TABLE links AS SELECT * FROM read_csv('e.csv', all_varchar=true)")
    return "e.duckdb"


def as_graph_file(graph):
    nx.write_graphml(nx.Graph(graph.edges), "e.graphml")
    return "e.graphml"


def with_weights(graph):
    return graph.write("e3.csv", ["source", "target", "weight"], [(*pair, 2) for pair in graph.edges])


def as_src_and_dst(graph):
    return graph.write("sd.csv", ["year", "dst", "src"], [(1999, *pair) for pair in graph.edges])


def without_header(graph):
    # a leading number shows that the first line is an edge, not a header
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
        as_sqlite,
        as_duckdb,
        as_graph_file,
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
    """A node between two labels gets that of the heavier edge."""
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
    # a column of long distinct texts is recognised
    assert classify(None, features="docs.csv", more=["--knn", 4]) == rows


def test_several_text_columns_count(graph, classify):
    texts = [(i, "all the same", f"{WORDS[k % 3]} number {k}") for k, i in enumerate(graph.ids)]
    graph.write("docs.csv", ["id", "title", "abstract"], texts)
    for order in (["title", "abstract"], ["abstract", "title"]):
        more = [part for column in order for part in ("--text", column)]
        rows = classify(None, features="docs.csv", more=[*more, "--knn", 4])
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


def test_a_feature_that_drowns_the_others_is_told(graph, run):
    rows = [[i, *row, 1990 + k] for k, (i, row) in enumerate(zip(graph.ids, graph.x.tolist(), strict=True))]
    graph.write("f.csv", ["id", "a", "b", "c", "year"], rows)
    given = ["embed", "--edges", "e.csv", "--features", "f.csv", "--out", "u.npy"]
    assert "feature 'year' makes up" in run(*given, "--normalize", "none").stderr
    notes = run(*given).stderr
    assert "feature 'year'" not in notes
    assert "f.csv: 4 columns of measurements are standardised (mean 0, deviation 1)." in notes


@pytest.mark.parametrize("method", ["labelpropagation", "sgc"])
def test_a_graph_on_disk_gives_the_predictions_of_its_tables(graph, run, classify, method):
    features = "f.csv" if method == "sgc" else None
    more = ["--method", method]
    wanted = classify(features=features, more=more)
    result = run("graph", "build", "--edges", "e.csv", "--out", "web.graph", "--memory", "500MB")
    assert "30 nodes and 60 edges: web.graph" in result.output
    more += ["--graph", "web.graph"]
    assert classify(edges=None, features=features, out="q.csv", more=more) == wanted


@pytest.mark.parametrize("stored", [False, True])
def test_users_and_items_with_the_same_ids_are_labelled_apart(run, tmp_path, monkeypatch, stored):
    monkeypatch.chdir(tmp_path)
    Path("e.csv").write_text("user_id,item_id\n1,1\n1,2\n2,1\n3,3\n3,4\n4,3\n")
    Path("l.csv").write_text("item_id,label\n1,old\n3,new\n")
    Path("t.csv").write_text("user_id,label\n1,old\n4,new\n")
    given = ["--edges", "e.csv"]
    if stored:
        run("graph", "build", "--edges", "e.csv", "--out", "web.graph")
        given = ["--graph", "web.graph"]
    given += ["--report", "r.html", "--truth", "t.csv"]
    rest = ["--labels", "l.csv", "--method", "labelpropagation", "--out", "p.csv"]
    notes = run("classify", *given, *rest).stderr
    assert "e.csv: columns 'user_id' and 'item_id' share 4 ids; each is two nodes" in notes
    labels = dict(line.split(",")[:2] for line in Path("p.csv").read_text().splitlines()[1:])
    ids = [f"{kind}:{i}" for kind in ("item_id", "user_id") for i in range(1, 5)]
    assert labels == dict(zip(ids, ["old", "old", "new", "new"] * 2, strict=True))


def test_same_nodes_and_two_sided_decide(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("e.csv").write_text("foo,bar\n1,2\n2,3\n")
    build = ["graph", "build", "--edges", "e.csv", "--out"]
    assert "give --same-nodes or --two-sided" in run(*build, "a", ok=False).stderr
    assert "3 nodes and 2 edges" in run(*build, "a", "--same-nodes").output
    assert "4 nodes and 2 edges" in run(*build, "b", "--two-sided").output
    labels = "SELECT '1' AS id, 'x' AS label UNION ALL SELECT '3', 'y'"
    given = ["--edges", "e.csv", "--labels", labels, "--method", "labelpropagation", "--out", "p.csv"]
    assert "give --same-nodes or --two-sided" in run("classify", *given, ok=False).stderr
    run("classify", *given, "--two-sided")
    labels = Path("p.csv").read_text()
    assert "bar:2,x" in labels
    assert "foo:2,y" in labels


def test_an_edge_without_an_id_is_noted_and_strict_refuses_it(graph, run, classify):
    Path("e.csv").write_text(Path("e.csv").read_text() + "007,\n")
    given = ["--edges", "e.csv", "--labels", "l.csv", "--method", "labelpropagation", "--out", "p.csv"]
    for command in (["classify", *given], ["graph", "build", "--edges", "e.csv", "--out", "web.graph"]):
        refused = run(*command, "--strict", ok=False).stderr
        assert "e.csv, row 61: column 'target' has no id; remove the row or fill it in." in refused
        assert "e.csv: skipped 1 edge without an id, in row 61." in run(*command).stderr


def test_nodes_in_the_order_of_a_table(graph, run):
    run("graph", "build", "--edges", "e.csv", "--nodes", "f.csv", "--out", "web.graph")
    from gssl.io import open_graph_store

    assert open_graph_store("web.graph").node_ids.tolist() == graph.ids


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--graph", "nowhere"], "nowhere is not a graph store: build one with gssl graph build."),
        (
            ["--graph", "web.graph", "--edges", "e.csv"],
            "--graph cannot be combined with --edges: leave one out.",
        ),
        (
            ["--graph", "web.graph", "--labels", "x.csv", "--strict"],
            "x.csv has labels for 1 id that web.graph does not",
        ),
        (
            ["--graph", "web.graph", "--features", "g.csv", "--strict"],
            "g.csv has no features for 28 ids of web.graph",
        ),
        (["--graph", "web.graph", "--features", "h.csv"], "h.csv names 1 id that web.graph does not have"),
    ],
)
def test_bad_use_of_a_store_is_one_sentence(graph, run, arguments, message):
    run("graph", "build", "--edges", "e.csv", "--out", "web.graph")
    graph.write("x.csv", ["id", "label"], [("stranger", "c0"), ("007", "c1")])
    graph.write("g.csv", ["id", "a"], [("007", 1), ("naïve", 2)])
    graph.write("h.csv", ["id", "a"], [("stranger", 1)])
    result = run("classify", "--labels", "l.csv", "--out", "p.csv", *arguments, ok=False)
    assert result.exit_code == 2
    assert message in result.stderr
    again = run("graph", "build", "--edges", "e.csv", "--out", "web.graph", ok=False)
    assert "web.graph already exists" in again.stderr


@pytest.mark.parametrize("option", ["--edges", "--labels", "--features"])
def test_files_that_cannot_be_read(spoiled, option):
    Path("empty.csv").write_bytes(b"")
    Path("latin.csv").write_bytes("id,label\nnaïve,a\n".encode("latin-1"))
    Path("latin.jsonl").write_bytes('{"id": "naïve", "label": "a"}'.encode("latin-1"))
    Path("wide.csv").write_bytes("id,label\nnaïve,a\n".encode("utf-16"))
    Path("bad.parquet").write_bytes(b"PAR1 and nothing behind")
    Path("bad.csv.gz").write_bytes(b"id,label")
    Path("ragged.csv").write_text("id,x\na,b\na\n")
    assert "nowhere.csv does not exist" in spoiled({option: "nowhere.csv"})
    assert "no file matches none-*.csv" in spoiled({option: "none-*.csv"})
    assert "empty.csv is empty" in spoiled({option: "empty.csv"})
    assert "latin.csv, line 2 is not UTF-8" in spoiled({option: "latin.csv"})
    assert "latin.jsonl is not UTF-8" in spoiled({option: "latin.jsonl"})
    assert "wide.csv is UTF-16" in spoiled({option: "wide.csv"})
    assert "bad.parquet cannot be read" in spoiled({option: "bad.parquet"})
    assert "not a whole gzip file" in spoiled({option: "bad.csv.gz"})
    assert "ragged.csv, line 3 has 1 cell where there should be 2" in spoiled({option: "ragged.csv"})
    assert "download it" in spoiled({option: "https://example.org/e.csv"})
    assert "a table has no name" in spoiled({option: ""})
    assert "/dev/null is not a regular file" in spoiled({option: "/dev/null"})
    assert ". is a folder" in spoiled({option: "."})


def test_columns_that_are_not_there(spoiled):
    assert "e.csv has no column 'x'; it has 'source', 'target'" in spoiled({"--edge-columns": "x,y"})
    assert "two column names" in spoiled({"--edge-columns": "source"})
    assert "f.csv has no column 'x'" in spoiled({"--id-column": "x"})
    assert "f.csv has no column 'x'" in spoiled({"--text": "x"})
    Path("one.csv").write_text("id\n007\n")
    assert "one.csv has only 1 column" in spoiled({"--edges": "one.csv"})
    assert "one.csv has only 1 column" in spoiled({"--labels": "one.csv"})
    assert "no features beside" in spoiled({"--features": "one.csv"})


def test_queries(spoiled):
    assert "the query cannot be read: syntax error" in spoiled({"--edges": "SELECT * FRM x"})
    assert "one SELECT and nothing else" in spoiled({"--edges": "SELECT 1; DROP TABLE x"})
    assert '"nope" not found' in spoiled({"--edges": "SELECT nope FROM 'e.csv'"})


def test_ids_that_do_not_meet_are_refused_if_strict(graph, spoiled):
    unknown = [(f"x{i}", "007") for i in range(8)]
    graph.write("x.csv", ["source", "target"], unknown)
    five = "'x0', 'x1', 'x2', 'x3', 'x4' and 3 more"
    assert f"x.csv names 8 ids that the features do not have: {five}" in spoiled(
        {"--edges": "x.csv"}, "--strict"
    )
    graph.write("x.csv", ["id", "label"], unknown)
    for features in ("f.csv", None):
        sentence = spoiled({"--labels": "x.csv", "--features": features})
        assert f"x.csv has labels for 8 ids that the graph does not have: {five}" in sentence
    graph.write("z.csv", ["id", "label"], [("7", "a"), ("n4", "b")])
    assert "leading zeros" in spoiled({"--labels": "z.csv"}, "--strict")


def test_ids_that_a_table_lacks_are_filled_in(graph, run):
    graph.write("x.csv", ["source", "target"], [*graph.edges, *((f"x{i}", "007") for i in range(8))])
    graph.write("n.csv", ["id"], [("lonely",), ("naïve",)])
    given = ["--edges", "x.csv", "--features", "f.csv", "--labels", "l.csv", "--method", "sgc"]
    result = run("classify", *given, "--nodes", "n.csv", "--out", "p.csv")
    rows = graph.read("p.csv")
    assert list(rows)[:3] == ["lonely", "naïve", "007"]
    assert rows["x7"]["label"] == "c0"
    assert {node: rows[node]["label"] for node in graph.ids} == graph.truth
    assert (
        "f.csv: 9 nodes without a row got zeros: 'lonely', 'x0', 'x1', 'x2', 'x3' and 4 more."
        in result.stderr
    )
    assert "x.csv: added 8 ids that n.csv does not list: 'x0'" in result.stderr


def test_a_first_edge_that_looks_like_names_is_told(graph, run):
    graph.write("bare.csv", *(("naïve", "n5"), [("n5", "n8"), ("n8", "n11")]))
    graph.write("few.csv", ["id", "label"], [("naïve", "a"), ("n8", "b")])
    given = ["classify", "--edges", "bare.csv", "--labels", "few.csv", "--out", "p.csv"]
    result = run(*given)
    assert "note: bare.csv: the first line is taken as data." in result.stderr
    assert set(graph.read("p.csv")) == {"naïve", "n5", "n8", "n11"}
    graph.write("bare.csv", *(("naïve", "ann"), [("n5", "n8"), ("n8", "n11")]))
    assert "note: bare.csv: the first line names the columns." in run(*given).stderr
    assert "note: bare.csv" not in run(*given, "--no-header").stderr
    assert "ann" in graph.read("p.csv")


@pytest.mark.parametrize("value", ["inf", "1e99", "oops"])
def test_features_that_are_no_numbers(graph, spoiled, value):
    rows = [[i, *row] for i, row in zip(graph.ids, graph.x.tolist(), strict=True)]
    rows[2][3] = value
    graph.write("f.csv", ["id", "a", "b", "c"], rows)
    # one text among thirty cells is missing unless --strict is given
    assert "column 'c' of id 'naïve' is" in spoiled({}, *(["--strict"] if value == "oops" else []))


def test_what_strict_refuses_in_features_is_noted_otherwise(graph, spoiled, run):
    rows = [[i, *row] for i, row in zip(graph.ids, graph.x.tolist(), strict=True)]
    rows[2][3] = "12 kg"
    given = ["classify", "--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv", "--method", "sgc"]
    graph.write("f.csv", ["id", "a", "b", "c"], [*rows, rows[5]])
    notes = run(*given, "--out", "p.csv").stderr
    assert "f.csv: merged 1 row with an equal one of the same id: 'n5'." in notes
    assert "f.csv: 1 cell among numbers taken as missing, such as '12 kg': 'c' (1)." in notes
    assert graph.labels(graph.read("p.csv")) == graph.truth
    assert "f.csv has more than one row for 'n5'; keep one" in spoiled({}, "--strict")
    graph.write("f.csv", ["id", "a", "b", "c"], rows)
    assert "column 'c' of id 'naïve' is '12 kg', not a finite number" in spoiled({}, "--strict")


def test_arrays_that_are_not_finite(graph, spoiled):
    x = graph.x.copy()
    x[2, 1] = np.inf
    np.savez("x.npz", ids=np.array(graph.ids), features=x)
    assert "column 1 of id 'naïve' is not finite" in spoiled({"--features": "x.npz"})
    Path("y.npy").write_bytes(b"no array")
    assert "not a whole NumPy file" in spoiled({"--features": "y.npy"})
    np.save("z.npy", x)
    assert "z.npy has no ids" in spoiled({"--features": "z.npy"})


@pytest.mark.parametrize("weight", ["nan", "-1", "", "heavy"])
def test_weights(graph, spoiled, weight):
    graph.write("w.csv", ["source", "target", "weight"], [("007", "n3", 1), ("n3", "naïve", weight)])
    assert "w.csv, row 2: column 'weight' is" in spoiled({"--edges": "w.csv"})


def test_never_over_an_input_of_a_query_or_a_glob(graph, spoiled, refused):
    assert "e.csv is an input" in spoiled({"--edges": "SELECT * FROM 'e.csv'", "--out": "e.csv"})
    assert "e.csv is an input" in spoiled({"--edges": "[e].csv", "--out": "e.csv"})
    np.save("x.npy", graph.x)
    np.save("x.ids.npy", np.array(graph.ids))
    sentence = refused("embed", "--edges", "e.csv", "--features", "x.npy", "--out", "x.ids.npy")
    assert "x.ids.npy is an input" in sentence


def test_memory(spoiled):
    sentence = spoiled({}, env={"GSSL_MEMORY": "1000"})
    assert "needs about" in sentence
    assert "1.0 kB are free: use fewer features" in sentence
    assert "smaller graph" in spoiled({"--features": None}, env={"GSSL_MEMORY": "1000"})
    assert "GSSL_MEMORY is '2 GB'" in spoiled({}, env={"GSSL_MEMORY": "2 GB"})


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder that nobody can write to")
@pytest.mark.parametrize("option", ["--out", "--report", "--save", "--resume"])
def test_outputs_are_tried_before_anything_is_read(spoiled, option):
    target = "/proc/p.csv"
    sentence = spoiled({"--edges": "not-there.csv", option: target}, "--method", "ogc")
    assert sentence.startswith(f"gssl: {target}")
    assert "cannot be written: no such file or directory; " in sentence
