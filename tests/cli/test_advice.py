import re
from pathlib import Path

import pytest

import gssl

TABLES = ["--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv"]


def text(path):
    return Path(path).read_text(encoding="utf-8")


def label_most(graph):
    graph.write("l.csv", ["id", "label"], [(one, graph.truth[one]) for one in graph.ids[:24]])


def test_check_tells_sizes_and_the_accuracy_of_classify(graph, run):
    checked = run("check", *TABLES).stdout
    assert re.search(r"nodes\s+│\s+30", checked)
    assert re.search(r"edges\s+│\s+60", checked)
    assert re.search(r"components\s+│\s+3", checked)
    assert re.search(r"labels of c1\s+│\s+3", checked)
    classified = run("classify", *TABLES, "--out", "p.csv").stdout
    for pattern in (r"^.* % of 9 hidden labels are right.*$", r"^.*over features alone.*$"):
        [one], [other] = (re.findall(pattern, output, re.MULTILINE) for output in (checked, classified))
        assert one == other
    assert "Without labels of two classes" in run("check", "--edges", "e.csv").stdout


@pytest.mark.parametrize("features", [(), ("--features", "f.csv")])
def test_suggest_names_unlabelled_nodes_and_says_why(graph, run, features):
    graph.write("l.csv", ["id", "label"], [("007", "c0"), ("n3", "c0"), ("18446744073709551615", "c1")])
    given = ["--edges", "e.csv", "--labels", "l.csv", *features, "--n", "4"]
    result = run("suggest", *given, "--out", "picks.parquet")
    rows = graph.read("picks.parquet")
    assert 1 <= len(rows) <= 4
    assert not {"007", "n3", "18446744073709551615"} & set(rows)
    first = next(iter(rows.values()))
    assert list(first) == ["id", "label", "model_says", "confidence", "runner_up", "speaks_for", "why"]
    assert first["label"] == ""
    assert {first["model_says"], first["runner_up"]} == {"c0", "c1"}
    assert "like" in first["why"]
    assert f"{len(rows)} nodes to label next: picks.parquet" in result.stdout
    # nodes of the class without labels come first
    assert graph.truth[next(iter(rows))] == "c2"


def test_suggest_with_a_target_says_how_many_more_labels_or_why_not(graph, run, refused):
    given = ["suggest", *TABLES, "--out", "p.csv", "--target"]
    few = run(*given, "85").stdout
    assert "gssl cannot say how many labels 85 % needs: 9 labels in 3 classes are too few" in few
    Path("p.csv").unlink()
    assert "--target" in refused(*given, "0.85")
    label_most(graph)
    many = run(*given, "50").stdout
    assert "50 % is reached already" in many
    assert "labels would add" in many


def test_why_prints_a_sum_with_the_names_of_nodes_and_features(graph, run, refused):
    shown = run("why", "n20", "naïve", *TABLES).stdout
    assert re.search(rf"^n20: {graph.truth['n20']} \((\d+|over 99) %\) rather than c\d$", shown, re.M)
    assert re.search(rf"^naïve: {graph.truth['naïve']} ", shown, re.M)
    assert "its own label" in shown
    lead = float(re.search(r"^ *([+-][\d.e-]+)  lead of", shown, re.M)[1])
    parts = re.findall(r"^ *([+-][\d.e-]+)  (?:by|whatever)", shown.split("naïve:")[0], re.M)
    assert sum(map(float, parts)) == pytest.approx(lead, abs=0.02 * abs(lead) + 0.02)
    assert re.search(r"[+-][\d.]+  a$", run("why", "n20", *TABLES, "--method", "sgc").stdout, re.M)
    assert "there is no node 'nobody'" in refused("why", "nobody", *TABLES)


def test_audit_writes_every_label_and_prints_the_doubtful(graph, run):
    rows = [(one, graph.truth[one]) for one in graph.ids[:24]]
    wrong = "c0" if rows[7][1] != "c0" else "c1"
    graph.write("l.csv", ["id", "label"], [*rows[:7], (rows[7][0], wrong), *rows[8:], ("n29", "alone")])
    result = run("audit", *TABLES, "--out", "doubts.csv")
    table = graph.read("doubts.csv")
    assert len(table) == 24
    assert "note: 1 label is the only one of a class and cannot be judged" in result.stderr
    first = next(iter(table.values()))
    columns = "id given says probability p_given p_wrong changes_if_removed changes_if_flipped"
    assert list(first) == columns.split()
    assert (first["id"], first["given"], first["says"]) == (rows[7][0], wrong, rows[7][1])
    assert re.search(rf"^{rows[7][0]}: given {wrong}, the model says {rows[7][1]}", result.stdout, re.M)
    assert "of 24 labels are wrong" in result.stdout
    assert len(re.findall(r": given ", result.stdout)) == 10


def test_advice_without_labels_and_over_an_input_is_refused(refused):
    for command in (["audit", "--out", "d.csv"], ["suggest", "--out", "d.csv"], ["why", "n3"]):
        assert "give --labels" in refused(*command, "--edges", "e.csv")
    assert "e.csv is an input" in refused("audit", *TABLES, "--out", "e.csv")


@pytest.mark.parametrize("method", ["auto", "labelspreading", "sgc"])
def test_a_saved_model_gives_the_advice_of_a_fit_without_any_table(graph, run, method):
    label_most(graph)
    run("classify", *TABLES, "--method", method, "--out", "p.csv", "--save", "m.gssl")
    fitted, loaded = [*TABLES, "--method", method], ["--model", "m.gssl"]
    assert run("why", "n20", "naïve", *loaded).stdout == run("why", "n20", "naïve", *fitted).stdout
    for command in (["audit"], ["suggest", "--n", "3", "--target", "50"]):
        outputs = [
            run(*command, *options, "--out", out).stdout.replace(out, "OUT")
            for options, out in ((fitted, "a.csv"), (loaded, "b.csv"))
        ]
        assert outputs[0] == outputs[1]
        assert text("a.csv") == text("b.csv")


def test_the_tables_of_a_saved_model_may_be_in_another_order(graph, run, refused):
    run("classify", *TABLES, "--out", "p.csv", "--save", "m.gssl")
    command = ["why", "n20", "--model", "m.gssl"]
    before = run(*command).stdout
    for table in ("e.csv", "l.csv", "f.csv"):
        head, *lines = text(table).splitlines()
        Path(table).write_text("\n".join([head, *lines[::-1], ""]), encoding="utf-8")
    assert run(*command, *TABLES).stdout == before
    assert "all tables of its fit, or none" in refused(*command, "--labels", "l.csv")
    sentence = refused(*command, *TABLES[:3], "t.csv", *TABLES[4:])
    assert sentence == (
        "gssl: m.gssl was fitted to other nodes or labels than these: give those of fit, or leave "
        "out --model."
    )


def test_advice_from_a_model_without_its_data_needs_tables(graph, run, refused):
    run("classify", *TABLES, "--out", "p.csv", "--save", "m.gssl")
    gssl.save(gssl.load("m.gssl"), "bare.gssl")
    assert "bare.gssl was saved without its data" in refused("why", "n20", *TABLES, "--model", "bare.gssl")
    assert "give --edges" in refused("suggest", "--model", "bare.gssl", "--out", "a.csv")


def test_a_model_of_a_graph_in_files_is_saved_without_its_data(graph, run):
    run("graph", "build", "--edges", "e.csv", "--out", "g.graph")
    tables = ["--graph", "g.graph", *TABLES[2:]]
    result = run("classify", *tables, "--out", "p.csv", "--save", "m.gssl")
    assert "m.gssl is without its data, which stay in files" in result.stderr
    assert re.search(r"^model: m\.gssl \(\d+\.\d kB\)$", result.stdout, re.M)
    run("suggest", *tables, "--out", "a.csv")
    run("suggest", *tables, "--out", "b.csv", "--model", "m.gssl")
    assert text("a.csv") == text("b.csv")
