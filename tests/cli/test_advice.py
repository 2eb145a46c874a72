import csv
import re
from pathlib import Path

import pytest


def test_check_tells_sizes_and_gain(graph, run):
    text = run("check", "--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv").stdout
    assert re.search(r"nodes\s+│\s+30", text)
    assert re.search(r"edges\s+│\s+60", text)
    assert re.search(r"components\s+│\s+3", text)
    assert re.search(r"labels of c1\s+│\s+3", text)
    assert "hidden labels" in text
    assert "Without labels of two classes" in run("check", "--edges", "e.csv").stdout


def test_check_and_classify_give_one_number_for_one_question(graph, run):
    where = ["--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv"]
    checked, classified = run("check", *where).stdout, run("classify", *where, "--out", "p.csv").stdout
    for said in (r"^.* % of 9 hidden labels are right.*$", r"^.*over features alone.*$"):
        [one], [other] = (re.findall(said, text, re.MULTILINE) for text in (checked, classified))
        assert one == other


@pytest.mark.parametrize("out", ["picks.csv", "picks.parquet"])
def test_suggest_names_unlabelled_nodes_once_and_says_why(graph, run, out):
    graph.write("l.csv", ["id", "label"], [("007", "c0"), ("n3", "c0"), ("18446744073709551615", "c1")])
    arguments = ["--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv", "--n", "4"]
    result = run("suggest", *arguments, "--out", out)
    rows = graph.read(out)
    assert 1 <= len(rows) <= 4
    assert not {"007", "n3", "18446744073709551615"} & set(rows)
    first = next(iter(rows.values()))
    assert list(first) == ["id", "label", "model_says", "confidence", "runner_up", "speaks_for", "why"]
    assert first["label"] == ""
    assert {first["model_says"], first["runner_up"]} == {"c0", "c1"}
    assert 0.5 <= float(first["confidence"]) <= 1
    assert "speaks for" in first["why"]
    assert f"{len(rows)} nodes to label next: {out}" in result.stdout
    # nodes of the class that has no label at all come first
    assert graph.truth[next(iter(rows))] == "c2"


def test_suggest_without_features(graph, run):
    run("suggest", "--edges", "e.csv", "--labels", "l.csv", "--n", "3", "--out", "picks.csv")
    with Path("picks.csv").open(encoding="utf-8") as stream:
        assert len(list(csv.DictReader(stream))) <= 3


def test_suggest_wants_labels(graph, run):
    result = run("suggest", "--edges", "e.csv", "--out", "picks.csv", ok=False)
    assert result.exit_code != 0
    assert not Path("picks.csv").exists()


def test_suggest_takes_a_saved_model_of_the_same_tables(graph, run):
    where = ["--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv"]
    run("classify", *where, "--out", "p.csv", "--save", "m.gssl")
    fitted = run("suggest", *where, "--out", "a.csv").stderr
    loaded = run("suggest", *where, "--out", "b.csv", "--model", "m.gssl").stderr
    assert ("choosing" in fitted, "choosing" in loaded) == (True, False)
    assert list(graph.read("a.csv")) == list(graph.read("b.csv"))
    where[3] = "t.csv"
    result = run("suggest", *where, "--out", "c.csv", "--model", "m.gssl", ok=False)
    assert "gssl: m.gssl was fitted to other nodes or labels than these" in result.stderr
