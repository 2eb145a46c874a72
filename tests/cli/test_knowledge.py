import re

import pytest

TABLES = ["--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv"]


@pytest.mark.parametrize("method", ["auto", "labelspreading"])
def test_why_prints_a_sum_with_the_names_of_nodes(graph, run, method):
    text = run("why", "n20", "naïve", *TABLES, "--method", method).stdout
    assert re.search(rf"^n20: {graph.truth['n20']} \(\d+%\) rather than c\d$", text, re.M)
    assert re.search(rf"^naïve: {graph.truth['naïve']} ", text, re.M)
    assert "its own label" in text
    lead = float(re.search(r"^ *([+-][\d.e-]+)  lead of", text, re.M)[1])
    parts = re.findall(r"^ *([+-][\d.e-]+)  (?:by|whatever)", text.split("naïve:")[0], re.M)
    assert sum(map(float, parts)) == pytest.approx(lead, abs=0.02 * abs(lead) + 0.02)


def test_why_names_features(graph, run):
    text = run("why", "n20", *TABLES, "--method", "sgc").stdout
    assert "no closed form" in text
    assert re.search(r"[+-][\d.]+  a$", text, re.M)


def test_why_refuses_an_unknown_id(refused):
    assert "there is no node 'nobody'" in refused("why", "nobody", *TABLES)


def test_audit_writes_every_label_and_prints_the_doubtful(graph, run):
    rows = [(one, graph.truth[one]) for one in graph.ids[:24]]
    wrong = "c0" if rows[7][1] != "c0" else "c1"
    graph.write("l.csv", ["id", "label"], [*rows[:7], (rows[7][0], wrong), *rows[8:]])
    result = run("audit", *TABLES, "--out", "doubts.csv")
    table = graph.read("doubts.csv")
    assert len(table) == 24
    first = next(iter(table.values()))
    assert list(first) == [
        "id",
        "given",
        "says",
        "probability",
        "p_given",
        "p_wrong",
        "changes_if_removed",
        "changes_if_flipped",
    ]
    assert (first["id"], first["given"], first["says"]) == (rows[7][0], wrong, rows[7][1])
    assert re.search(rf"^{rows[7][0]}: given {wrong}, the model says {rows[7][1]}", result.stdout, re.M)
    assert "of 24 labels are wrong" in result.stdout
    assert len(re.findall(r": given ", result.stdout)) == 10


def test_audit_without_labels_and_over_an_input_is_refused(refused):
    assert "give --labels" in refused("audit", "--edges", "e.csv", "--out", "d.csv")
    assert "e.csv" in refused("audit", *TABLES, "--out", "e.csv")


def test_suggest_with_a_target_says_how_many_more(graph, run):
    graph.write("l.csv", ["id", "label"], [(one, graph.truth[one]) for one in graph.ids[:24]])
    text = run("suggest", *TABLES, "--target", "50", "--out", "p.csv").stdout
    assert "50 % is reached already" in text
    assert "labels would add about" in text


def test_suggest_with_a_target_and_few_labels_says_why_not(graph, run):
    text = run("suggest", *TABLES, "--target", "85", "--out", "p.csv").stdout
    assert "gssl cannot say how many labels 85 % needs: 9 labels in 3 classes are too few" in text


def test_a_target_is_a_percentage(refused):
    assert "--target" in refused("suggest", *TABLES, "--target", "0.85", "--out", "p.csv")
