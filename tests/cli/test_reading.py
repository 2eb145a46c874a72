"""Options that name tables and columns; what tables may contain is tested in tests/io."""

from pathlib import Path

import numpy as np
import pytest

import gssl


def test_options_of_tables_reach_the_reader(graph, classify):
    """Every option about columns, of tables that cannot be read without it."""
    edges = [("x", a, "y", b, 1.5) for a, b in graph.edges]
    graph.write("e2.csv", ["junk", "here", "more", "there", "strength"], edges)
    known = [("z", node, graph.truth[node]) for node in graph.ids[:9]]
    graph.write("l2.csv", ["no", "who", "what"], [*known, ("z", "n29", "unclear")])
    words = ("cats purr", "dogs bark", "cows moo")
    texts = [(words[k % 3], "the same", node) for k, node in enumerate(graph.ids)]
    graph.write("f2.csv", ["abstract", "title", "wer"], texts)
    more = ["--edge-columns", "here, there,strength", "--label-columns", "who,what", "--na", "unclear"]
    more += ["--text", "title", "--text", "abstract", "--id-column", "wer", "--normalize", "rows"]
    for links in (["--knn", 4], ["--nodes", "t.csv"]):
        rows = classify("e2.csv", "l2.csv", "f2.csv", more=[*more, *links])
        assert graph.labels(rows) == graph.truth
        assert rows["n29"]["given"] == "false"
    assert graph.labels(classify(None, more=["--knn", 3])) == graph.truth
    graph.write("bare.csv", ["n5", "n8"], graph.edges)
    assert "n5" in classify("bare.csv", "t.csv", None, more=["--no-header"])


def test_what_strict_refuses_is_noted_otherwise(graph, run):
    Path("e.csv").write_text(Path("e.csv").read_text(encoding="utf-8") + "007,\n", encoding="utf-8")
    given = ["--edges", "e.csv", "--labels", "l.csv", "--method", "labelpropagation", "--out", "p.csv"]
    for command in (["classify", *given], ["graph", "build", "--edges", "e.csv", "--out", "web.graph"]):
        refused = run(*command, "--strict", ok=False).stderr
        assert "e.csv, row 61: column 'target' has no id; remove the row or fill it in." in refused
        assert "e.csv: skipped 1 edge without an id, in row 61." in run(*command).stderr


def test_a_graph_on_disk_gives_the_predictions_of_its_tables(graph, run, classify):
    wanted = classify()
    build = ["graph", "build", "--edges", "e.csv", "--nodes", "f.csv", "--out", "web.graph"]
    assert "30 nodes and 60 edges: web.graph" in run(*build, "--memory", "500MB").output
    assert gssl.io.open_graph_store("web.graph").node_ids.tolist() == graph.ids
    assert classify(edges=None, out="q.csv", more=["--graph", "web.graph"]) == wanted
    assert "web.graph already exists" in run(*build, ok=False).stderr


def test_same_nodes_and_two_sided_decide(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("e.csv").write_text("foo,bar\n1,2\n2,3\n")
    build = ["graph", "build", "--edges", "e.csv", "--out"]
    assert "3 nodes and 2 edges" in run(*build, "a", "--same-nodes").output
    assert "4 nodes and 2 edges" in run(*build, "b", "--two-sided").output
    labels = "SELECT '1' AS id, 'x' AS label UNION ALL SELECT '3', 'y'"
    given = ["--edges", "e.csv", "--labels", labels, "--method", "labelpropagation", "--out", "p.csv"]
    for command in ([*build, "c"], ["classify", *given]):
        assert "give --same-nodes or --two-sided" in run(*command, ok=False).stderr
    run("classify", *given, "--two-sided")
    assert "bar:2,x" in Path("p.csv").read_text()
    assert "foo:2,y" in Path("p.csv").read_text()


def test_errors_of_the_reader_name_options(spoiled):
    assert "--graph cannot be combined with --edges: leave one out." in spoiled({"--graph": "web.graph"})
    sentence = spoiled({"--edges": None})
    assert sentence == "gssl: there is no graph: give --edges, or --knn with --features to build one."
    sentence = spoiled({"--features": None, "--knn": "3"})
    assert sentence == "gssl: --knn needs features: give --features."
    assert "nowhere.csv does not exist" in spoiled({"--edges": "nowhere.csv"})
    assert "f.csv has no column 'x'" in spoiled({"--text": "x"})
    sentence = spoiled({"--edges": None, "--graph": "nowhere"})
    assert "nowhere is not a graph store that can be read: build one with gssl graph build." in sentence


def test_never_over_an_input_of_a_query_or_a_glob(graph, spoiled, refused):
    assert "e.csv is an input" in spoiled({"--edges": "SELECT * FROM 'e.csv'", "--out": "e.csv"})
    assert "e.csv is an input" in spoiled({"--edges": "[e].csv", "--out": "e.csv"})
    np.save("x.npy", graph.x)
    np.save("x.ids.npy", np.array(graph.ids))
    sentence = refused("embed", "--edges", "e.csv", "--features", "x.npy", "--out", "x.ids.npy")
    assert "x.ids.npy is an input" in sentence


def test_too_little_memory_is_refused(spoiled):
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


@pytest.fixture
def typed(graph):
    """Write links of two kinds, one of which is within classes, beside the tables of the graph."""
    rows = [(a, b, "same") for a, b in graph.edges]
    rows += [(graph.ids[i], graph.ids[(i + 1) % 30], "other class") for i in range(30)]
    graph.write("k.csv", ["source", "target", "kind"], rows)
    for name in ("same", "other class"):
        graph.write(f"{name}.csv", ["source", "target"], [row[:2] for row in rows if row[2] == name])
    return graph


def test_relations_are_the_same_from_a_column_tables_or_a_store(typed, run):
    tables = ["--labels", "l.csv", "--features", "f.csv"]
    by_column = ["--edges", "k.csv", "--edge-type", "kind"]
    several = ["--edges", "same=same.csv", "--edges", "other class=other class.csv"]
    run("graph", "build", *by_column, "--directed", "--out", "s.graph", "--relation-weight", "same=2")
    outputs = []
    for k, source in enumerate((by_column, several)):
        options = [*source, "--directed", "--relation-weight", "same=2"]
        run("classify", *options, *tables, "--method", "labelpropagation", "--out", f"p{k}.csv")
        outputs.append(typed.labels(typed.read(f"p{k}.csv")))
    run("classify", "--graph", "s.graph", *tables, "--method", "labelpropagation", "--out", "p.csv")
    assert outputs[0] == outputs[1] == typed.labels(typed.read("p.csv"))


def test_check_lists_relations(typed, run):
    edges = ["--edges", "k.csv", "--edge-type", "kind"]
    run("graph", "build", *edges, "--directed", "--out", "s.graph")
    for source in (edges, ["--graph", "s.graph"]):
        output = run("check", *source, "--labels", "l.csv").output
        assert "other class" in output
        assert "0 % of 8" in output
        assert "100 % of" in output
    assert "Relations" not in run("check", "--edges", "e.csv", "--labels", "l.csv").output


def test_a_file_with_an_equals_sign_in_its_name_is_read(typed, run):
    typed.write("a=b.csv", ["source", "target"], typed.edges)
    for name in ("a=b.csv", "a=*.csv", "SELECT * FROM 'a=b.csv' WHERE source = source"):
        assert "60 edges" in run("check", "--edges", name, "--labels", "l.csv").output
    output = run("check", "--edges", "x=a=b.csv", "--edges", "y=e.csv", "--labels", "l.csv").output
    assert "of 2 relations" in output


def test_names_and_weights_of_relations_that_do_not_fit_are_one_sentence(typed, run):
    for options, message in (
        (["--edges", "e.csv", "--edges", "k.csv"], "--edges e.csv needs a name"),
        (["--edges", "a=e.csv", "--edges", "a=k.csv"], "--edges names 'a' twice"),
        (["--edges", "e.csv", "--relation-weight", "a"], "is not a name and a number"),
        (["--edges", "k.csv", "--edge-type", "what"], "has no column 'what'"),
    ):
        result = run("check", *options, "--labels", "l.csv", ok=False)
        assert result.exit_code == 2
        assert message in result.output


def test_features_by_kind_of_node(graph, run):
    pairs = [(i, j) for i in range(8) for j in range(8) if (i + j) % 2]
    graph.write("w.csv", ["author_id", "paper_id"], pairs)
    graph.write("p.csv", ["id", "x"], [(i, float(i % 2)) for i in range(8)])
    graph.write("a.csv", ["id", "age"], [(i, 30.0 + i) for i in range(8)])
    graph.write("l.csv", ["paper_id", "label"], [(i, "ab"[i % 2]) for i in range(4)])
    tables = ["--edges", "w.csv", "--features", "paper=p.csv", "--features", "author=a.csv"]
    run("classify", *tables, "--labels", "l.csv", "--out", "out.csv", "--save", "m.gssl")
    rows = graph.read("out.csv")
    assert len(rows) == 16
    new = ["--edges", "w.csv", "--features", "author=a.csv", "--features", "paper=p.csv"]
    run("predict", "--model", "m.gssl", *new, "--out", "new.csv")
    assert set(graph.read("new.csv")) == set(rows)
