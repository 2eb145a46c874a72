"""What comes out: tables, models, embeddings, pages."""

import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from gssl.io import read_features

EMBEDDERS = ["g2cn", "ggc", "ggcm", "ndls", "nograph", "ppr", "sgc", "ssgc"]
METHODS = ["auto", "ogc", *EMBEDDERS, "labelpropagation", "labelspreading"]
METHODS += ["manifoldregularization", "correctandsmooth"]


@pytest.mark.parametrize("out", ["p.csv", "p.tsv", "p.parquet", "p.jsonl", "new/folder/p.csv"])
def test_ids_survive_in_every_form(graph, classify, out):
    rows = classify(out=out)
    assert list(rows) == graph.ids
    assert {"007", "18446744073709551615", "naïve"} <= set(rows)
    assert list(rows["naïve"]) == ["id", "label", "confidence", "runner_up", "given", "reached"]
    assert rows["007"]["given"] == "true"
    assert rows["n20"]["given"] == "false"
    assert all(0 < float(row["confidence"]) <= 1 for row in rows.values())
    assert all(row["runner_up"] != row["label"] for row in rows.values())


def test_parquet_keeps_types(graph, classify):
    classify(out="p.parquet")
    kinds = {field.name: str(field.type) for field in pq.read_schema("p.parquet")}
    assert (kinds["id"], kinds["given"]) == ("string", "bool")
    assert kinds["confidence"] in ("float", "double")


@pytest.mark.parametrize("method", METHODS)
def test_every_method(graph, classify, method):
    assert graph.labels(classify(more=["--method", method])) == graph.truth


def test_the_help_lists_every_method(run):
    from gssl.cli.choice import classifier_names

    assert sorted(METHODS[1:]) == sorted(classifier_names())
    text = run("classify", "--help").stdout
    assert all(name in text for name in METHODS)
    assert "Examples:" in text


def test_a_node_that_no_label_reaches(graph, classify):
    graph.write("e.csv", ["source", "target"], [*graph.edges, ("far", "away")])
    rows = classify(features=None)
    assert (rows["far"]["reached"], rows["n20"]["reached"]) == ("false", "true")


@pytest.mark.parametrize("method", ["ogc", "ggcm"])
def test_a_seed_gives_the_same_bytes(graph, classify, method):
    for out in ("1.csv", "2.csv"):
        classify(out=out, more=["--method", method, "--seed", 3, "--save", f"{out}.gssl"])
    assert Path("1.csv").read_bytes() == Path("2.csv").read_bytes()
    assert Path("1.csv.gssl").read_bytes() == Path("2.csv.gssl").read_bytes()


@pytest.mark.parametrize("method", ["ogc", "ggcm", "labelpropagation"])
def test_threads_change_nothing(graph, classify, method):
    one, two = (classify(more=["--method", method, "--threads", t]) for t in (1, 2))
    assert one == two


@pytest.mark.parametrize("method", ["auto", "ogc", "sgc"])
def test_a_saved_model_labels_a_new_graph(graph, classify, run, method):
    """New ids, columns in another order and one more: the model finds its own."""
    fitted = classify(more=["--method", method, "--save", "m.gssl"])
    new = [f"new {i}" for i in graph.ids]
    name = dict(zip(graph.ids, new, strict=True))
    graph.write("e2.csv", ["source", "target"], [(name[a], name[b]) for a, b in graph.edges])
    x = np.column_stack([np.full(30, 0.0), graph.x[:, [2, 0, 1]]])
    rows = [[i, *row] for i, row in zip(new, x.tolist(), strict=True)]
    graph.write("f2.csv", ["id", "zero", "c", "a", "b"], rows)
    result = run(
        "predict", "--model", "m.gssl", "--edges", "e2.csv", "--features", "f2.csv", "--out", "p2.csv"
    )
    assert "1 features that the model does not know" in result.stderr
    found = graph.read("p2.csv")
    assert {node: found[name[node]]["label"] for node in graph.ids} == graph.truth
    if method != "ogc":  # which moves its embeddings by the labels of fit
        assert all(found[name[i]]["confidence"] == fitted[i]["confidence"] for i in graph.ids)


def test_scaling_of_fit_is_that_of_predict(graph, classify, run):
    """One negative number in the new table does not turn scaling off."""
    fitted = classify(more=["--save", "m.gssl"])
    text = Path("f.csv").read_text(encoding="utf-8").splitlines()
    text[-1] = "n29,-0.000001,0.1,0.7"
    Path("f2.csv").write_text("\n".join(text), encoding="utf-8")
    run("predict", "--model", "m.gssl", "--edges", "e.csv", "--features", "f2.csv", "--out", "p2.csv")
    assert abs(float(graph.read("p2.csv")["007"]["confidence"]) - float(fitted["007"]["confidence"])) < 0.01


@pytest.mark.parametrize("out", ["u.parquet", "u.csv", "u.npy", "u.npz"])
def test_embeddings(graph, run, out):
    run("embed", "--edges", "e.csv", "--features", "f.csv", "--method", "sgc", "--depth", 0, "--out", out)
    back = read_features(out)
    assert back.ids.tolist() == graph.ids
    np.testing.assert_allclose(back.matrix, graph.x / graph.x.sum(axis=1, keepdims=True), rtol=1e-5)


def test_check_tells_sizes_and_gain(graph, run):
    text = run("check", "--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv").stdout
    assert re.search(r"nodes\s+│\s+30", text)
    assert re.search(r"edges\s+│\s+60", text)
    assert re.search(r"components\s+│\s+3", text)
    assert re.search(r"labels of c1\s+│\s+3", text)
    assert "hidden labels" in text
    assert "Without labels" in run("check", "--edges", "e.csv").stdout


def test_datasets_list(run):
    assert "karate" in run("datasets", "list").stdout.splitlines()


def test_the_page_has_the_command_and_the_confusion(graph, classify):
    pytest.importorskip("altair")
    classify(more=["--report", "r.html", "--truth", "t.csv", "--method", "ogc"])
    page = Path("r.html").read_text(encoding="utf-8")
    assert "gssl classify --edges e.csv --labels l.csv" in page
    assert "21 labels of t.csv" in page
    assert "http-equiv" in page
    assert len(page) < 3_000_000


def test_hostile_names(graph, run):
    """Code in a name runs neither in a browser, nor in a spreadsheet, nor in a terminal."""
    pytest.importorskip("altair")
    bad = ["<script>alert(1)</script>", "=cmd()", "[red]:cat:[/red]", "\x1b[31mred"]
    edges = [(a, b) for a in bad for b in bad if a != b]
    graph.write("e.csv", ["source", "target"], edges)
    graph.write("l.csv", ["id", "label"], [(bad[0], "</script><img src=x>"), (bad[1], "\x1b]0;x\x07")])
    result = run("classify", "--edges", "e.csv", "--labels", "l.csv", "--out", "p.csv", "--report", "r.html")
    assert "\x1b" not in result.output
    html = Path("r.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in html
    assert "<img src=x>" not in html
    rows = graph.read("p.csv")
    assert "'=cmd()" in rows
    assert "=cmd()" not in rows
    assert "note: 1 text that a spreadsheet would run" in result.stderr
    run("classify", "--edges", "e.csv", "--labels", "l.csv", "--out", "p.parquet")
    assert set(graph.read("p.parquet")) == set(bad)


def test_a_feature_that_drowns_the_others_is_told(graph, run):
    rows = [[i, *row, 1990 + k] for k, (i, row) in enumerate(zip(graph.ids, graph.x.tolist(), strict=True))]
    graph.write("f.csv", ["id", "a", "b", "c", "year"], rows)
    result = run("embed", "--edges", "e.csv", "--features", "f.csv", "--out", "u.npy")
    assert "feature 'year' makes up" in result.stderr


def test_home_is_home_in_outputs(graph, run, monkeypatch):
    monkeypatch.setenv("HOME", str(graph.folder / "home"))
    run("embed", "--edges", "e.csv", "--features", "f.csv", "--out", "~/u.npy")
    assert Path("home/u.npy").is_file()
    assert Path("home/u.ids.npy").is_file()


def test_a_name_of_a_file_is_no_markup(graph, classify, run):
    out = "a folder of a name that is rather long, so that a line of eighty cells is full/[bold]p.csv"
    arguments = ["--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv", "--out", out]
    assert out in run("classify", *arguments).stdout
