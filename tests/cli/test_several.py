"""``--several``: advice about several labels per node, from files."""

import re

import numpy as np
import pytest

WHERE = ["--edges", "e.csv", "--labels", "s.csv", "--features", "f.csv"]


@pytest.fixture
def topics(graph):
    """Write two labels of 21 of the 30 nodes, which two features tell."""
    given = graph.x[:, :2] > np.median(graph.x[:, :2], axis=0)
    given[~given.any(axis=1), 0] = True
    rows = [(node, name) for node, row in zip(graph.ids[:21], given, strict=False)
            for name, has in zip("pq", row, strict=True) if has]  # fmt: skip
    graph.write("s.csv", ["id", "label"], rows)
    return given


def test_audit_lists_doubtful_cells(graph, topics, run):
    result = run("audit", "--several", *WHERE, "--out", "a.csv")
    told = r"^About \d+ of \d+ given labels are wrong, and about \d+ are missing\."
    assert re.search(told, result.stdout, re.M)
    assert re.search(r"^\d+ doubtful cells, the most doubtful first: a\.csv$", result.stdout, re.M)
    rows = graph.read("a.csv")
    assert all(row["label"] in "pq" and row["given"] in ("yes", "no") for row in rows.values())


def test_suggest_and_a_saved_model(graph, topics, run):
    run("classify", "--several", *WHERE, "--out", "p.csv", "--save", "m.gssl")
    fitted = run("suggest", "--several", *WHERE, "--n", "3", "--out", "s1.csv")
    assert "nodes to label next: s1.csv" in fitted.stdout
    loaded = run("suggest", "--model", "m.gssl", "--n", "3", "--out", "s2.csv", "--target", "90")
    assert "gssl cannot say how many labels 90 % needs: learning_curve supports one class" in loaded.stdout
    first, second = graph.read("s1.csv"), graph.read("s2.csv")
    assert list(first) == list(second)
    assert set(first) <= set(graph.ids[21:])
    assert list(next(iter(first.values()))) == ["id", "labels", "model_says", "unsure", "speaks_for", "why"]
    run("audit", "--model", "m.gssl", "--out", "a.csv")


def test_check_tells_how_good_labels_are(topics, run):
    result = run("check", "--several", *WHERE)
    assert re.search(r"labelled nodes.*21", result.stdout)
    assert "hidden" in result.stdout


def test_other_methods_predict_one_label(topics, refused):
    given = ["audit", "--several", *WHERE, "--out", "a.csv", "--method", "ogc"]
    assert "--method ogc predicts one label: leave it out" in refused(*given)
