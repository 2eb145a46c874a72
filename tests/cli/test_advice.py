import csv
import re
from pathlib import Path

import pytest

import gssl

TABLES = ["--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv"]


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
    for pattern in (r"^.* % of 9 hidden labels are right.*$", r"^.*over features alone.*$"):
        [one], [other] = (re.findall(pattern, text, re.MULTILINE) for text in (checked, classified))
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
    # nodes of the class without labels come first
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


@pytest.mark.parametrize("method", ["auto", "labelspreading", "ogc", "sgc"])
def test_a_saved_model_gives_the_advice_of_a_fit_without_any_table(graph, run, method):
    graph.write("l.csv", ["id", "label"], [(one, graph.truth[one]) for one in graph.ids[:24]])
    run("classify", *TABLES, "--method", method, "--out", "p.csv", "--save", "m.gssl")
    fitted, loaded = [*TABLES, "--method", method], ["--model", "m.gssl"]
    assert run("why", "n20", "naïve", *loaded).stdout == run("why", "n20", "naïve", *fitted).stdout
    for command in (["audit"], ["suggest", "--n", "3", "--target", "50"]):
        outputs = [
            run(*command, *options, "--out", out).stdout.replace(out, "OUT")
            for options, out in ((fitted, "a.csv"), (loaded, "b.csv"))
        ]
        assert outputs[0] == outputs[1]
        assert Path("a.csv").read_text(encoding="utf-8") == Path("b.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "command", [["why", "n20"], ["audit", "--out", "a.csv"], ["suggest", "--out", "a.csv"]]
)
def test_the_tables_of_a_saved_model_may_be_in_another_order(graph, run, refused, command):
    run("classify", *TABLES, "--out", "p.csv", "--save", "m.gssl")
    before = run(*command, "--model", "m.gssl").stdout
    for table in ("e.csv", "l.csv", "f.csv"):
        head, *lines = Path(table).read_text(encoding="utf-8").splitlines()
        Path(table).write_text("\n".join([head, *lines[::-1], ""]), encoding="utf-8")
    assert run(*command, *TABLES, "--model", "m.gssl").stdout == before
    Path("a.csv").unlink(missing_ok=True)
    assert "all tables of its fit, or none" in refused(*command, "--labels", "l.csv", "--model", "m.gssl")
    others = [*TABLES[:3], "t.csv", *TABLES[4:]]
    assert "other nodes or labels than these" in refused(*command, *others, "--model", "m.gssl")


def test_advice_from_a_model_without_its_data_is_refused(graph, run, refused):
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
    assert Path("a.csv").read_text(encoding="utf-8") == Path("b.csv").read_text(encoding="utf-8")
