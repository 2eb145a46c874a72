"""Whatever is wrong: exit code 2, one sentence that names the place and the remedy, and no output."""

import sys
from pathlib import Path

import numpy as np
import pytest

GOOD = {"--edges": "e.csv", "--labels": "l.csv", "--features": "f.csv", "--out": "out/p.csv"}


@pytest.fixture
def refused(graph, run):
    """Run a command that must be refused, and give its sentence."""

    def refused(*arguments, env=None):
        before = {path: path.read_bytes() for path in graph.folder.rglob("*") if path.is_file()}
        result = run(*arguments, env=env, ok=False)
        assert result.exit_code == 2, result.output
        assert "Traceback" not in result.output
        assert result.stdout == ""
        *notes, sentence = result.stderr.splitlines()
        assert all(note.startswith("note: ") for note in notes), result.stderr
        assert sentence.startswith("gssl: ")
        assert sentence.endswith(".")
        assert before == {path: path.read_bytes() for path in graph.folder.rglob("*") if path.is_file()}
        return sentence

    return refused


@pytest.fixture
def spoiled(refused):
    """Classify with some options replaced; None leaves one out."""

    def spoiled(changed, *more, env=None):
        options = GOOD | changed
        given = [part for name, value in options.items() if value is not None for part in (name, value)]
        return refused("classify", *given, *more, env=env)

    return spoiled


@pytest.mark.parametrize("option", ["--edges", "--labels", "--features"])
def test_files_that_cannot_be_read(spoiled, option):
    Path("empty.csv").write_bytes(b"")
    Path("latin.csv").write_bytes("id,label\nnaïve,a\n".encode("latin-1"))
    Path("latin.jsonl").write_bytes('{"id": "naïve", "label": "a"}'.encode("latin-1"))
    Path("wide.csv").write_bytes("id,label\nnaïve,a\n".encode("utf-16"))
    Path("bad.parquet").write_bytes(b"PAR1 and nothing behind")
    Path("bad.csv.gz").write_bytes(b"id,label")
    Path("ragged.csv").write_text("id,x\na,b\na\n")
    assert "nowhere.csv is not there" in spoiled({option: "nowhere.csv"})
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
    assert "/dev/null is no plain file" in spoiled({option: "/dev/null"})
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


def test_ids_that_do_not_meet(graph, spoiled):
    unknown = [(f"x{i}", "007") for i in range(8)]
    graph.write("x.csv", ["source", "target"], unknown)
    five = "'x0', 'x1', 'x2', 'x3', 'x4' and 3 more"
    assert f"x.csv names 8 ids that the features do not have: {five}" in spoiled({"--edges": "x.csv"})
    graph.write("x.csv", ["id", "label"], unknown)
    for features in ("f.csv", None):
        sentence = spoiled({"--labels": "x.csv", "--features": features})
        assert f"x.csv has labels for 8 ids that the graph does not have: {five}" in sentence
    graph.write("z.csv", ["id", "label"], [("7", "a"), ("n4", "b")])
    assert "leading zeros" in spoiled({"--labels": "z.csv"})


def test_labels_that_teach_nothing(graph, spoiled):
    graph.write("two.csv", ["id", "label"], [("007", "a"), ("n3", "b"), ("007", "b")])
    graph.write("one.csv", ["id", "label"], [("007", "a"), ("n3", "a")])
    graph.write("none.csv", ["id", "label"], [("007", ""), ("n3", "")])
    assert "id '007' has two labels, 'a' and 'b'" in spoiled({"--labels": "two.csv"})
    for features in ("f.csv", None):
        assert "one.csv has only the label 'a'" in spoiled({"--labels": "one.csv", "--features": features})
        assert "none.csv has no label" in spoiled({"--labels": "none.csv", "--features": features})
    assert "give --labels" in spoiled({"--labels": None})
    graph.write("minus.csv", ["id", "label"], [("007", "1"), ("n3", "2"), ("n4", "-1")])
    assert "the label of id 'n4' is '-1', which looks like none" in spoiled({"--labels": "minus.csv"})


def test_a_first_edge_taken_for_names_is_told(graph, run):
    """Nothing tells a header from an edge here, so the note must stand before the error."""
    graph.write("bare.csv", *(("naïve", "n5"), [("n5", "n8"), ("n8", "n11")]))
    graph.write("few.csv", ["id", "label"], [("naïve", "a"), ("n8", "b")])
    result = run("classify", "--edges", "bare.csv", "--labels", "few.csv", "--out", "p.csv", ok=False)
    assert result.exit_code == 2
    assert result.stderr.startswith("note: bare.csv: the first line names the columns.")


@pytest.mark.parametrize("value", ["NaN", "", "inf", "1e99", "oops"])
def test_features_that_are_no_numbers(graph, spoiled, value):
    rows = [[i, *row] for i, row in zip(graph.ids, graph.x.tolist(), strict=True)]
    rows[2][3] = value
    graph.write("f.csv", ["id", "a", "b", "c"], rows)
    assert "column 'c' of id 'naïve' is" in spoiled({})


def test_arrays_with_gaps(graph, spoiled):
    x = graph.x.copy()
    x[2, 1] = np.nan
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


def test_places_that_cannot_be_written(spoiled):
    Path("file").write_text("in the way")
    Path("folder.csv").mkdir()
    assert "file is no folder" in spoiled({"--out": "file/p.csv"})
    assert "file is no folder" in spoiled({"--report": "file/r.html"})
    assert "file is no folder" in spoiled({"--save": "file/m.gssl"})
    assert "folder.csv is a folder" in spoiled({"--out": "folder.csv"})
    assert "too long" in spoiled({"--out": "p" * 300 + ".csv"})
    assert "must end in .csv, .tsv, .parquet or .jsonl" in spoiled({"--out": "p.xlsx"})
    assert "named for two outputs" in spoiled({"--report": "out/p.csv"})


@pytest.mark.parametrize("target", ["--out", "--report", "--save"])
@pytest.mark.parametrize("source", ["e.csv", "l.csv", "f.csv", "t.csv"])
def test_never_over_an_input(spoiled, target, source):
    Path("link.csv").symlink_to(source)
    changed = {"--truth": "t.csv", "--report": "r.html"}
    for name in (source, "link.csv", f"../{Path.cwd().name}/{source}"):
        assert f"{name} is an input" in spoiled(changed | {target: name})


def test_never_over_an_input_of_a_query_or_a_glob(graph, spoiled, refused):
    assert "e.csv is an input" in spoiled({"--edges": "SELECT * FROM 'e.csv'", "--out": "e.csv"})
    assert "e.csv is an input" in spoiled({"--edges": "[e].csv", "--out": "e.csv"})
    np.save("x.npy", graph.x)
    np.save("x.ids.npy", np.array(graph.ids))
    sentence = refused("embed", "--edges", "e.csv", "--features", "x.npy", "--out", "x.ids.npy")
    assert "x.ids.npy is an input" in sentence


def test_truth(spoiled):
    assert "give --report" in spoiled({"--truth": "t.csv"})
    page = {"--report": "r.html"}
    assert "nowhere.csv is not there" in spoiled(page | {"--truth": "nowhere.csv"})
    assert "l.csv names no node" in spoiled(page | {"--truth": "l.csv"})


def test_memory(spoiled):
    sentence = spoiled({}, env={"GSSL_MEMORY": "1000"})
    assert "needs about" in sentence
    assert "1.0 kB are free: use fewer features" in sentence
    assert "smaller graph" in spoiled({"--features": None}, env={"GSSL_MEMORY": "1000"})
    assert "GSSL_MEMORY is '2 GB'" in spoiled({}, env={"GSSL_MEMORY": "2 GB"})


def test_without_the_extra_of_the_report(spoiled, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "altair"]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("document", "charts", "canvas", "map_chart"):
        monkeypatch.delitem(sys.modules, f"gssl.report.{name}", raising=False)
    monkeypatch.delattr("gssl.report.document", raising=False)
    monkeypatch.setitem(sys.modules, "altair", None)
    assert "pip install gssl[report]" in spoiled({"--report": "r.html"})


def test_options(spoiled, refused):
    assert "Missing option '--out'" in spoiled({"--out": None})
    assert "--edges, or --knn" in spoiled({"--edges": None})
    assert "--knn works on features" in spoiled({"--edges": None, "--features": None, "--knn": "3"})
    assert "--method ogc learns from features" in spoiled({"--features": None, "--method": "ogc"})
    assert "'magic' is not one of" in spoiled({"--method": "magic"})
    assert "-1 is not in the range" in spoiled({"--seed": "-1"})
    assert "No such option" in spoiled({"--colour": "red"})
    assert "No such command 'clasify'" in refused("clasify")
    assert "No such option" in refused("--colour")
    assert "no dataset 'nope'" in refused("datasets", "fetch", "nope")
    assert "give --features" in refused("embed", "--edges", "e.csv", "--out", "u.npy")
    deep = ["embed", "--edges", "e.csv", "--features", "f.csv", "--out", "u.npy", "--depth", 2, "--method"]
    assert "--depth counts iterations, of which nograph has none" in refused(*deep, "nograph")


def test_models(graph, run, refused):
    where = ["--edges", "e.csv", "--features", "f.csv"]
    run("classify", *where, "--labels", "l.csv", "--out", "p.csv", "--save", "m.gssl")
    by_nodes = ["labelpropagation", "correctandsmooth"]
    for method in by_nodes:
        save = ["--save", f"{method}.gssl", "--method", method]
        run("classify", *where, "--labels", "l.csv", "--out", "p.csv", *save)
    Path("cut.gssl").write_bytes(Path("m.gssl").read_bytes()[:-9])
    predict = ["predict", "--out", "p2.csv", "--model"]
    assert "nowhere.gssl is not there" in refused(*predict, "nowhere.gssl", *where)
    assert "e.csv is not a saved model" in refused(*predict, "e.csv", *where)
    assert "cut.gssl is not a saved model, or not a whole one" in refused(*predict, "cut.gssl", *where)
    for method in by_nodes:
        assert "labels belong to the nodes it was fitted to" in refused(*predict, f"{method}.gssl", *where)
    assert "give those of the new graph" in refused(*predict, "m.gssl", "--edges", "e.csv")
    graph.write("fewer.csv", ["id", "a", "b"], [(i, 1, 2) for i in graph.ids])
    sentence = refused(*predict, "m.gssl", "--edges", "e.csv", "--features", "fewer.csv")
    assert "not in the table, the first of them 'c'" in sentence
