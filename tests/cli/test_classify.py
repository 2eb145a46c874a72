import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import gssl

COLUMNS = ["id", "label", "confidence", "model_says", "model_confidence", "runner_up", "given", "reached"]


@pytest.mark.parametrize("out", ["p.csv", "p.tsv", "p.parquet", "p.jsonl", "new/folder/p.csv"])
def test_ids_survive_in_every_form(graph, classify, out):
    rows = classify(out=out)
    assert list(rows) == graph.ids
    assert {"007", "18446744073709551615", "naïve"} <= set(rows)
    assert list(rows["naïve"]) == COLUMNS
    assert rows["007"]["given"] == "true"
    assert rows["n20"]["given"] == "false"
    assert all(0 < float(row["confidence"]) <= 1 for row in rows.values())
    assert all(row["runner_up"] != row["model_says"] for row in rows.values())


def test_a_wrong_label_stays_as_given_and_is_said_to_be_doubtful(graph, run):
    labels = dict(list(graph.truth.items())[:15])
    labels["n5"] = "c0"  # its true class is c2
    graph.write("l.csv", ["id", "label"], labels.items())
    arguments = ["--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv", "--out", "p.csv"]
    result = run("classify", *arguments)
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
    result = run("classify", "--edges", "path.csv", "--labels", "two.csv", "--out", "p.csv")
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


def test_parquet_keeps_types(graph, classify):
    classify(out="p.parquet")
    kinds = {field.name: str(field.type) for field in pq.read_schema("p.parquet")}
    assert (kinds["id"], kinds["given"]) == ("string", "bool")
    assert kinds["confidence"] in ("float", "double")


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


def test_hostile_names(graph, run):
    """Code in a name is not executed by a browser, a spreadsheet or a terminal."""
    pytest.importorskip("vl_convert")
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


def test_a_name_of_a_file_is_no_markup(graph, classify, run):
    out = "a folder of a name that is rather long, so that a line of eighty cells is full/[bold]p.csv"
    arguments = ["--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv", "--out", out]
    assert out in run("classify", *arguments).stdout


def test_abstaining_leaves_cells_empty_and_says_how_many(graph, classify, run):
    surely = classify(more=["--method", "ggcm"])
    confidences = sorted(float(row["confidence"]) for row in surely.values() if row["given"] == "false")
    k_gap = max(range(4, 10), key=lambda k: confidences[k + 1] - confidences[k])
    limit = (confidences[k_gap] + confidences[k_gap + 1]) / 2  # inside a gap, because confidences are rounded
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
    assert all(rows[node]["model_says"] == surely[node]["label"] for node in silent)
    assert all(rows[node]["label"] == surely[node]["label"] for node in set(rows) - silent)
    assert f"{len(silent)} nodes have no label: the confidence is below" in result.stderr
    assert "(none: unsure)" in result.stdout


def test_a_given_label_is_never_withheld(graph, classify):
    rows = classify(more=["--abstain", "1", "--method", "ogc"])
    assert {row["label"] == "" for row in rows.values() if row["given"] == "false"} == {True}
    assert {row["label"] for row in rows.values() if row["given"] == "true"} == {"c0", "c1", "c2"}


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


@pytest.mark.parametrize("more", [[], ["--no-calibrate"]])
def test_what_was_found_is_said(graph, run, more):
    arguments = ["--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv", "--out", "p.csv"]
    result = run("classify", *arguments, *more)
    output = " ".join(result.stdout.split())
    assert "hidden labels are right" in output
    assert " predicts (" in output


def test_a_model_that_is_no_better_than_the_largest_class_is_said_to_be_so(graph, run):
    """Links and features say nothing about these labels."""
    rng = np.random.default_rng(0)
    labels = [(node, "rare" if i % 10 == 0 else "common") for i, node in enumerate(graph.ids)]
    graph.write("l.csv", ["id", "label"], labels)
    pairs = [(graph.ids[a], graph.ids[b]) for a, b in rng.integers(0, 30, (60, 2)) if a != b]
    graph.write("e.csv", ["source", "target"], pairs)
    where = ["--edges", "e.csv", "--labels", "l.csv"]
    output = run("classify", *where, "--out", "p.csv").stdout
    assert "always answering 'common' would be right for 90.0 %" in output
    assert "This is no better than always answering the largest class." in output
    checked = run("check", *where).stdout
    assert next(line for line in output.splitlines() if "hidden labels" in line) in checked


def test_labels_that_teach_nothing(graph, spoiled):
    graph.write("two.csv", ["id", "label"], [("007", "a"), ("n3", "b"), ("007", "b")])
    graph.write("one.csv", ["id", "label"], [("007", "a"), ("n3", "a")])
    graph.write("none.csv", ["id", "label"], [("007", ""), ("n3", "")])
    assert "id '007' has two labels, 'a' and 'b'" in spoiled({"--labels": "two.csv"})
    for features in ("f.csv", None):
        assert "one.csv has only the label 'a'" in spoiled({"--labels": "one.csv", "--features": features})
        assert "none.csv has no label" in spoiled({"--labels": "none.csv", "--features": features})
    assert "give --labels" in spoiled({"--labels": None})


def test_places_that_cannot_be_written(spoiled):
    Path("file").write_text("in the way")
    Path("folder.csv").mkdir()
    assert "file is not a folder" in spoiled({"--out": "file/p.csv"})
    assert "file is not a folder" in spoiled({"--report": "file/r.html"})
    assert "file is not a folder" in spoiled({"--save": "file/m.gssl"})
    assert "folder.csv is a folder" in spoiled({"--out": "folder.csv"})
    assert "too long" in spoiled({"--out": "p" * 300 + ".csv"})
    assert "must end in .csv, .tsv, .parquet or .jsonl" in spoiled({"--out": "p.xlsx"})
    assert "is the path of two outputs" in spoiled({"--report": "out/p.csv"})


@pytest.mark.parametrize("target", ["--out", "--report", "--save"])
@pytest.mark.parametrize("source", ["e.csv", "l.csv", "f.csv", "t.csv"])
def test_never_over_an_input(spoiled, target, source):
    Path("link.csv").symlink_to(source)
    changed = {"--truth": "t.csv", "--report": "r.html"}
    for name in (source, "link.csv", f"../{Path.cwd().name}/{source}"):
        assert f"{name} is an input" in spoiled(changed | {target: name})


def test_truth(spoiled):
    assert "give --report" in spoiled({"--truth": "t.csv"})
    page = {"--report": "r.html"}
    assert "nowhere.csv does not exist" in spoiled(page | {"--truth": "nowhere.csv"})
    assert "l.csv has no true label of a node without a given label" in spoiled(page | {"--truth": "l.csv"})


def test_without_the_extra_of_the_report(spoiled, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert "pip install gssl[report]" in spoiled({"--report": "r.html"})


GSSL = str(Path(sys.executable).parent / "gssl")

N_NODES = 100_000

N_EDGES = 1_000_000

N_CLASSES = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A million edges, nine in ten within a class; the class of a node is its number modulo N_CLASSES."""
    folder = tmp_path_factory.mktemp("million")
    generator = np.random.default_rng(0)
    u, v = generator.integers(0, N_NODES, (2, N_EDGES))
    v = np.where(generator.random(N_EDGES) < 0.9, v - v % N_CLASSES + u % N_CLASSES, v)
    lines = (f"user-{a:06d},user-{b:06d}\n" for a, b in zip(u.tolist(), v.tolist(), strict=True))
    (folder / "e.csv").write_text("source,target\n" + "".join(lines))
    known = generator.choice(np.unique(u), 1000, replace=False)
    rows = (f"user-{i:06d},class {i % N_CLASSES}\n" for i in known.tolist())
    (folder / "l.csv").write_text("id,label\n" + "".join(rows))
    x = generator.random((N_NODES, 16))
    x[np.arange(N_NODES), np.arange(N_NODES) % N_CLASSES] += 0.4
    rows = (
        f"user-{i:06d}," + ",".join(f"{value:.4f}" for value in row) + "\n"
        for i, row in enumerate(x.tolist())
    )
    (folder / "f.csv").write_text("id," + ",".join(f"x{j}" for j in range(16)) + "\n" + "".join(rows))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("method", "more"), [("labelpropagation", []), ("ggcm", ["--features", "f.csv"])])
def test_read_classified_written(folder, method, more):
    command = [
        GSSL,
        "classify",
        "--edges",
        "e.csv",
        "--labels",
        "l.csv",
        "--method",
        method,
        "--out",
        "p.csv",
    ]
    done = subprocess.run(
        [*command, *more], cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = (folder / "p.csv").read_text().splitlines()[1:]
    right = [line.split(",")[1] == f"class {int(line[5:11]) % N_CLASSES}" for line in lines]
    assert len(lines) > 0.99 * N_NODES
    assert np.mean(right) > 0.95


def test_classes_that_are_rarely_found_are_named(graph, run):
    """Labels of a fourth class are scattered over the others, so none is predicted when hidden."""
    ids = graph.ids
    rows = [(node, "odd" if i >= 18 and i % 3 == 0 else graph.truth[node]) for i, node in enumerate(ids)]
    graph.write("l.csv", ["id", "label"], rows)
    arguments = ["classify", "--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv", "--out", "p.csv"]
    output = run(*arguments, "--method", "sgc").stdout
    assert "Warning: the model rarely finds 'odd' (0 of 4 hidden labels): label more nodes of them." in output
    graph.write("l.csv", ["id", "label"], graph.truth.items())
    assert "Warning" not in run(*arguments, "--method", "sgc").stdout
