import re
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import gssl

WHERE = ["--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv"]
COLUMNS = ["id", "label", "confidence", "model_says", "model_confidence", "runner_up", "given", "reached"]


@pytest.mark.parametrize("out", ["p.csv", "p.tsv", "p.parquet", "p.jsonl", "new/folder/p.csv"])
def test_every_node_has_a_row_with_its_id_in_every_format(graph, classify, out):
    rows = classify(out=out, more=["--threads", 1])
    assert graph.labels(rows) == graph.truth
    assert list(rows) == graph.ids
    assert list(rows["naïve"]) == COLUMNS
    assert (rows["007"]["given"], rows["n20"]["given"]) == ("true", "false")
    assert all(0 < float(row["confidence"]) <= 1 for row in rows.values())
    assert all(row["runner_up"] != row["model_says"] for row in rows.values())


def test_python_gives_the_confidences_of_the_command_line(graph, run):
    problem = gssl.read("e.csv", features="f.csv", labels="l.csv")
    for method in ("auto", "ggcm", "ogc"):
        run("classify", *WHERE, "--method", method, "--out", "p.parquet", "--save", "m.gssl")
        model = gssl.selection.classifier(method).fit(problem)
        table = model.predictions(problem)
        wanted = pq.read_table("p.parquet").to_pydict()
        assert table["id"].tolist() == wanted["id"]
        assert table["label"].tolist() == wanted["label"]
        assert table["confidence"].tolist() == wanted["confidence"]
        assert type(gssl.load("m.gssl")) is type(model)


def test_a_class_that_is_rarely_found_is_warned_of(graph, run):
    """Labels of a fourth class are scattered over the others, so none is predicted when hidden."""
    rows = [
        (node, "odd" if i >= 18 and i % 3 == 0 else graph.truth[node]) for i, node in enumerate(graph.ids)
    ]
    graph.write("l.csv", ["id", "label"], rows)
    output = run("classify", *WHERE, "--method", "sgc", "--out", "p.csv").stdout
    assert "Warning: the model rarely finds 'odd' (0 of 4 hidden labels): label more nodes of them." in output
    assert re.search(r"^\S+ % of 30 hidden labels are right \(\S+ to \S+ %\)", output, re.M)


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        (["--calibrate"], "CalibratedClassifier"),
        (["--abstain", "0.5"], "CalibratedClassifier"),
        (["--abstain", "0.5", "--no-calibrate"], "OGC"),
    ],
)
def test_what_is_calibrated(graph, classify, more, kind):
    classify(more=["--method", "ogc", *more, "--save", "m.gssl"])
    assert type(gssl.load("m.gssl")).__name__ == kind


def test_a_wrong_label_stays_as_given_and_is_said_to_be_doubtful(graph, run):
    labels = dict(list(graph.truth.items())[:15])
    labels["n5"] = "c0"  # its true class is c2
    graph.write("l.csv", ["id", "label"], labels.items())
    result = run("classify", *WHERE, "--out", "p.csv")
    rows = graph.read("p.csv")
    assert {node: rows[node]["label"] for node in labels} == labels
    assert rows["n5"]["model_says"] == "c2"
    assert float(rows["n5"]["confidence"]) < float(rows["n5"]["model_confidence"])
    doubted = [n for n, row in rows.items() if row["given"] == "true" and row["label"] != row["model_says"]]
    assert f"disagrees about {len(doubted)} of 15 labelled nodes" in result.stdout
    assert "rows of p.csv where given is true and model_says is not label" in result.stdout
    # the table counts labels as given
    counts = {name: list(labels.values()).count(name) for name in ("c0", "c1", "c2")}
    for name, count in counts.items():
        assert re.search(rf"│ {name}\s+│\s+{count} │", result.stdout)


def test_labels_that_were_not_hidden_are_not_said_to_have_been(graph, run):
    graph.write("path.csv", ["a", "b"], [("1", "2"), ("2", "3")])
    graph.write("two.csv", ["id", "label"], [("1", "x"), ("2", "y")])
    where = ["--edges", "path.csv", "--labels", "two.csv", "--out", "p.csv"]
    result = run("classify", *where, "--method", "labelspreading", "--no-calibrate")
    assert "Though it has seen their labels, the model disagrees about 1 of 2" in result.stdout
    assert "hidden, the model disagrees" not in result.stdout


def test_probabilities_of_all_classes_add_up_to_one(graph, classify, run):
    rows = classify(more=["--probabilities", "--save", "m.gssl"])
    where = ["--edges", "e.csv", "--features", "f.csv"]
    run("predict", "--model", "m.gssl", *where, "--out", "q.csv", "--probabilities")
    for row in [*rows.values(), *graph.read("q.csv").values()]:
        shares = {name: float(row[f"p_{name}"]) for name in ("c0", "c1", "c2")}
        assert abs(sum(shares.values()) - 1.0) < 2e-4
        assert max(shares, key=shares.get) == row["model_says"]
        assert float(row["model_confidence"]) == max(shares.values())


def test_a_seed_gives_the_same_bytes(graph, classify):
    for out in ("1.csv", "2.csv"):
        classify(out=out, more=["--method", "ogc", "--seed", 3, "--save", f"{out}.gssl"])
    assert Path("1.csv").read_bytes() == Path("2.csv").read_bytes()
    assert Path("1.csv.gssl").read_bytes() == Path("2.csv.gssl").read_bytes()


def test_code_in_a_name_is_not_run(graph, run):
    """Neither by a browser nor by a spreadsheet nor by a terminal."""
    pytest.importorskip("vl_convert")
    bad = ["<script>alert(1)</script>", "=cmd()", "[red]:cat:[/red]", "\x1b[31mred"]
    edges = [(a, b) for a in bad for b in bad if a != b]
    graph.write("e.csv", ["source", "target"], edges)
    graph.write("l.csv", ["id", "label"], [(bad[0], "</script><img src=x>"), (bad[1], "\x1b]0;x\x07")])
    given = ["classify", "--edges", "e.csv", "--labels", "l.csv", "--out"]
    result = run(*given, "p.csv", "--report", "r.html")
    assert "\x1b" not in result.output
    html = Path("r.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in html
    assert "<img src=x>" not in html
    rows = graph.read("p.csv")
    assert "'=cmd()" in rows
    assert "=cmd()" not in rows
    assert "note: 1 text that a spreadsheet would run" in result.stderr
    out = "a folder of a name that is rather long, so that a line of eighty cells is full/[bold]p.parquet"
    assert out in run(*given, out).stdout
    assert set(graph.read(out)) == set(bad)


def test_abstaining_leaves_cells_empty_and_says_how_many(graph, classify, run):
    surely = classify(more=["--method", "ggcm"])
    confidences = sorted(float(row["confidence"]) for row in surely.values() if row["given"] == "false")
    limit = (confidences[7] + confidences[8]) / 2
    result = run("classify", *WHERE, "--method", "ggcm", "--abstain", limit, "--out", "a.csv")
    rows = graph.read("a.csv")
    silent = {node for node, row in rows.items() if row["label"] == ""}
    assert 5 <= len(silent) <= 10
    assert not any(rows[node]["given"] == "true" for node in silent)
    assert all(rows[node]["model_says"] == surely[node]["label"] for node in silent)
    assert all(rows[node]["label"] == surely[node]["label"] for node in set(rows) - silent)
    assert f"{len(silent)} nodes have no label: the confidence is below" in result.stderr
    assert "(none: unsure)" in result.stdout


def test_labels_that_teach_nothing(graph, spoiled):
    graph.write("two.csv", ["id", "label"], [("007", "a"), ("n3", "b"), ("007", "b")])
    graph.write("one.csv", ["id", "label"], [("007", "a"), ("n3", "a")])
    graph.write("none.csv", ["id", "label"], [("007", ""), ("n3", "")])
    assert "id '007' has two labels, 'a' and 'b'" in spoiled({"--labels": "two.csv"})
    for features in ("f.csv", None):
        assert "one.csv has only the label 'a'" in spoiled({"--labels": "one.csv", "--features": features})
        assert "none.csv has no label" in spoiled({"--labels": "none.csv", "--features": features})
    assert "give --labels" in spoiled({"--labels": None})


def test_places_that_cannot_be_written_are_refused(spoiled):
    Path("file").write_text("in the way")
    Path("folder.csv").mkdir()
    for option, name in (("--out", "p.csv"), ("--report", "r.html"), ("--save", "m.gssl")):
        assert "file is not a folder" in spoiled({option: f"file/{name}"})
    assert "folder.csv is a folder" in spoiled({"--out": "folder.csv"})
    assert "too long" in spoiled({"--out": "p" * 300 + ".csv"})
    assert "must end in .csv, .tsv, .parquet or .jsonl" in spoiled({"--out": "p.xlsx"})
    assert "is the path of two outputs" in spoiled({"--report": "out/p.csv"})


@pytest.mark.parametrize("target", ["--out", "--report", "--save"])
def test_never_over_an_input(spoiled, target):
    changed = {"--truth": "t.csv", "--report": "r.html"}
    for source in ("e.csv", "l.csv", "f.csv", "t.csv"):
        assert f"{source} is an input" in spoiled(changed | {target: source})


def test_what_a_report_needs_is_told(spoiled, monkeypatch):
    assert "give --report" in spoiled({"--truth": "t.csv"})
    assert "give --report" in spoiled({"--report-data": "r.json"})
    page = {"--report": "r.html"}
    assert "nowhere.csv does not exist" in spoiled(page | {"--truth": "nowhere.csv"})
    assert "l.csv has no true label of a node without a given label" in spoiled(page | {"--truth": "l.csv"})
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert "pip install gssl[report]" in spoiled(page)
