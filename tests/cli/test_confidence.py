"""Confidence on the command line: abstaining, calibrating, and what to label next."""

import csv
from pathlib import Path

import pytest

import gssl


def test_abstaining_leaves_cells_empty_and_says_how_many(graph, classify, run):
    surely = classify(more=["--method", "ggcm"])
    limit = sorted(float(row["confidence"]) for row in surely.values() if row["given"] == "false")[10]
    result = run(
        "classify", "--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv", "--out", "a.csv",
        "--method", "ggcm", "--abstain", limit,
    )  # fmt: skip
    rows = graph.read("a.csv")
    silent = {node for node, row in rows.items() if row["label"] == ""}
    below = {
        node for node, row in surely.items() if float(row["confidence"]) < limit and row["given"] == "false"
    }
    assert silent == below
    assert 5 <= len(silent) <= 10
    assert all(rows[node]["runner_up"] == "" for node in silent)
    assert all(rows[node]["label"] == surely[node]["label"] for node in set(rows) - silent)
    assert f"{len(silent)} nodes have no label: the confidence is below" in result.stderr
    assert "(none: unsure)" in result.stdout


def test_a_given_label_is_never_withheld(graph, classify):
    rows = classify(more=["--abstain", "1", "--method", "ogc"])
    assert {row["label"] == "" for row in rows.values() if row["given"] == "false"} == {True}
    assert {row["label"] for row in rows.values() if row["given"] == "true"} == {"c0", "c1", "c2"}


@pytest.mark.parametrize("method", ["ggcm", "ogc"])
def test_a_saved_model_abstains_on_a_new_graph(graph, classify, run, method):
    classify(more=["--method", method, "--save", "m.gssl"])
    arguments = ["predict", "--model", "m.gssl", "--edges", "e.csv", "--features", "f.csv"]
    run(*arguments, "--out", "all.csv")
    everything = graph.read("all.csv")
    said = sorted(float(row["confidence"]) for row in everything.values())
    place = max(range(5, 20), key=lambda k: said[k + 1] - said[k])
    limit = (said[place] + said[place + 1]) / 2  # confidences are written rounded
    result = run(*arguments, "--out", "some.csv", "--abstain", limit)
    rows = graph.read("some.csv")
    silent = {node for node, row in rows.items() if row["label"] == ""}
    assert silent == {node for node, row in everything.items() if float(row["confidence"]) < limit}
    assert len(silent) == place + 1
    assert all(rows[node]["label"] == everything[node]["label"] for node in set(rows) - silent)
    assert f"{len(silent)} nodes have no label: the confidence is below" in result.stderr
    # OGC must be fitted again to hide labels, so it is calibrated only where that is asked for
    assert ("is not calibrated" in result.stderr) == (method == "ogc")


def test_a_saved_model_that_could_not_be_calibrated_says_so(graph, run):
    text = Path("l.csv").read_text(encoding="utf-8")
    head, *lines = text.splitlines()
    first = {line.rsplit(",", 1)[1]: line for line in reversed(lines)}
    Path("l.csv").write_text("\n".join([head, *first.values(), ""]), encoding="utf-8")
    given = ["--edges", "e.csv", "--features", "f.csv"]
    run("classify", *given, "--labels", "l.csv", "--method", "ggcm", "--out", "o.csv", "--save", "m.gssl")
    assert type(gssl.load("m.gssl")).__name__ == "CalibratedClassifier"
    result = run("predict", "--model", "m.gssl", *given, "--out", "some.csv", "--abstain", "0.5")
    said = " ".join(result.stderr.split())
    assert "is not calibrated: every class had one label only when it was fitted" in said


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        (["--method", "ogc"], "OGC"),
        (["--method", "ogc", "--calibrate"], "CalibratedClassifier"),
        (["--method", "ogc", "--abstain", "0.5"], "CalibratedClassifier"),
        (["--method", "ggcm"], "CalibratedClassifier"),
        (["--method", "ggcm", "--no-calibrate"], "EmbeddingClassifier"),
    ],
)
def test_what_is_calibrated(graph, classify, more, kind):
    classify(more=[*more, "--save", "m.gssl"])
    assert type(gssl.load("m.gssl")).__name__ == kind


@pytest.mark.parametrize("out", ["picks.csv", "picks.parquet"])
def test_suggest_names_unlabelled_nodes_once_and_says_why(graph, run, out):
    graph.write("l.csv", ["id", "label"], [("007", "c0"), ("n3", "c0"), ("18446744073709551615", "c1")])
    arguments = ["--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv", "--n", "4"]
    result = run("suggest", *arguments, "--out", out)
    rows = graph.read(out)
    assert 1 <= len(rows) <= 4
    assert not {"007", "n3", "18446744073709551615"} & set(rows)
    first = next(iter(rows.values()))
    assert list(first) == ["id", "label", "confidence", "runner_up", "speaks_for", "why"]
    assert {first["label"], first["runner_up"]} == {"c0", "c1"}
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


@pytest.mark.parametrize("more", [[], ["--no-calibrate"]])
def test_what_was_found_is_said(graph, run, more):
    arguments = ["--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv", "--out", "p.csv"]
    result = run("classify", *arguments, *more)
    said = " ".join(result.stdout.split())
    assert "each hidden when it was asked for" in said
    assert " predicts (" in said
