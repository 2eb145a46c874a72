from pathlib import Path

import numpy as np
import pytest

import gssl
from gssl.io import read_features


def renamed(graph):
    """Write the same graph with other ids, and return the options that name its tables."""
    name = {node: f"new {node}" for node in graph.ids}
    graph.write("e2.csv", ["source", "target"], [(name[a], name[b]) for a, b in graph.edges])
    rows = [[name[node], *row] for node, row in zip(graph.ids, graph.x.tolist(), strict=True)]
    graph.write("f2.csv", ["id", "a", "b", "c"], rows)
    return ["--edges", "e2.csv", "--features", "f2.csv"]


def test_a_saved_model_labels_a_new_graph_and_new_nodes_of_its_own(graph, classify, run):
    """The model finds its columns despite new ids, another column order and an extra column."""
    fitted = classify(more=["--save", "m.gssl"])
    given = ["--model", "m.gssl", *renamed(graph), "--out", "p2.csv"]
    new = [f"new {i}" for i in graph.ids]
    x = np.column_stack([np.full(30, 0.0), graph.x[:, [2, 0, 1]]])
    rows = [[i, *row] for i, row in zip(new, x.tolist(), strict=True)]
    graph.write("f2.csv", ["id", "zero", "c", "a", "b"], rows)
    result = run("predict", *given)
    assert "f2.csv: left out 1 feature that the model does not know: 'zero'." in result.stderr
    predicted = graph.read("p2.csv")
    assert {node: predicted[f"new {node}"]["label"] for node in graph.ids} == graph.truth
    # without given labels there are no columns about them
    columns = ["id", "label", "confidence", "model_says", "model_confidence", "runner_up"]
    assert list(predicted[new[0]]) == columns
    heading = next(line for line in result.stdout.splitlines() if "mean confidence" in line)
    assert heading.split() == ["┃", "label", "┃", "predicted", "┃", "mean", "confidence", "┃"]
    assert all(predicted[f"new {i}"]["confidence"] == fitted[i]["confidence"] for i in graph.ids[9:])
    # a node of the fit among the new ones
    graph.write("e2.csv", ["source", "target"], [(new[0], "007"), (new[0], "n3")])
    graph.write("f2.csv", ["id", "a", "b", "c"], [[new[0], *graph.x[0].tolist()]])
    result = run("predict", *given)
    assert "2 of 3 nodes known to m.gssl: they keep its features and labels" in result.stderr
    predicted = graph.read("p2.csv")
    assert graph.labels(predicted) == {new[0]: "c0", "007": "c0", "n3": "c0"}
    assert predicted["007"]["given"] == "true"


def test_a_saved_model_reads_texts_as_in_fit(graph, classify, run):
    """Words have the weights of fit, although the new table has other rows, and the option is left out."""
    words = ("cats purr", "dogs bark", "cows moo")
    texts = [(i, f"{words[k % 3]} {k}") for k, i in enumerate(graph.ids)]
    graph.write("docs.csv", ["id", "abstract"], texts)
    more = ["--method", "nograph", "--text", "abstract", "--save", "m.gssl"]
    fitted = classify(features="docs.csv", more=more)
    graph.write("few.csv", ["id", "abstract"], texts[10:14])
    graph.write("e2.csv", ["source", "target"], [(texts[10][0], texts[13][0])])
    given = ["--edges", "e2.csv", "--features", "few.csv", "--out", "p2.csv"]
    result = run("predict", "--model", "m.gssl", *given)
    assert "few.csv" not in "".join(line for line in result.stderr.splitlines() if "note" in line)
    for node, row in graph.read("p2.csv").items():
        assert (row["label"], row["confidence"]) == (fitted[node]["label"], fitted[node]["confidence"])


@pytest.mark.parametrize("method", ["ggcm", "ogc"])
def test_a_saved_model_abstains_on_a_new_graph(graph, classify, run, method):
    classify(more=["--method", method, "--save", "m.gssl"])
    arguments = ["predict", "--model", "m.gssl", *renamed(graph)]
    run(*arguments, "--out", "all.csv")
    everything = graph.read("all.csv")
    confidences = sorted(float(row["confidence"]) for row in everything.values())
    k_gap = max(range(5, 20), key=lambda k: confidences[k + 1] - confidences[k])
    limit = (confidences[k_gap] + confidences[k_gap + 1]) / 2  # inside a gap, because confidences are rounded
    result = run(*arguments, "--out", "some.csv", "--abstain", limit)
    rows = graph.read("some.csv")
    silent = {node for node, row in rows.items() if row["label"] == ""}
    assert silent == {node for node, row in everything.items() if float(row["confidence"]) < limit}
    assert len(silent) == k_gap + 1
    assert all(rows[node]["label"] == everything[node]["label"] for node in set(rows) - silent)
    assert f"{len(silent)} nodes have no label: the confidence is below" in result.stderr
    # calibrating OGC needs additional fits, so it is done only on request
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
    notes = " ".join(result.stderr.split())
    assert "is not calibrated: every class had one label only when it was fitted" in notes


def test_what_a_model_cannot_predict_is_refused(graph, run, refused):
    where = ["--edges", "e.csv", "--features", "f.csv"]
    for method in ("sgc", "labelpropagation"):
        save = ["--save", f"{method}.gssl", "--method", method]
        run("classify", *where, "--labels", "l.csv", "--out", "p.csv", *save)
    predict = ["predict", "--out", "p2.csv", "--model"]
    missing = run(*predict, "nowhere.gssl", *where, ok=False)
    # checked before any table is read
    assert missing.output == "gssl: nowhere.gssl does not exist: check its name and folder.\n"
    assert "e.csv is not a saved model" in refused(*predict, "e.csv", *where)
    assert "labels belong to the nodes" in refused(*predict, "labelpropagation.gssl", *renamed(graph))
    assert "give those of the new graph" in refused(*predict, "sgc.gssl", "--edges", "e.csv")
    graph.write("fewer.csv", ["id", "a", "b"], [(i, 1, 2) for i in graph.ids])
    sentence = refused(*predict, "sgc.gssl", "--edges", "e.csv", "--features", "fewer.csv", "--strict")
    assert "1 feature that fewer.csv does not have, the first of them 'c'" in sentence


@pytest.mark.parametrize("out", ["u.parquet", "u.csv", "u.npy", "u.npz"])
def test_embeddings_are_written_in_every_format(graph, run, out):
    given = ["--edges", "e.csv", "--features", "f.csv", "--normalize", "rows"]
    output = run("embed", *given, "--method", "sgc", "--depth", 0, "--out", out).stdout
    beside = ", and their ids: u.ids.npy" if out == "u.npy" else ""
    assert output == f"30 embeddings of 3 numbers: {out}{beside}\n"
    back = read_features(out)
    assert back.ids.tolist() == graph.ids
    np.testing.assert_allclose(back.matrix, graph.x / graph.x.sum(axis=1, keepdims=True), rtol=1e-5)


def test_wide_features_are_reduced_before_they_are_smoothed(graph, run, refused):
    x = np.random.default_rng(1).random((30, 300)) + 5 * np.eye(3)[np.arange(30) % 3].repeat(100, axis=1)
    names = [f"w{i}" for i in range(300)]
    graph.write("f.csv", ["id", *names], [[i, *row] for i, row in zip(graph.ids, x.tolist(), strict=True)])
    embed = ["embed", "--edges", "e.csv", "--features", "f.csv", "--method", "sgc", "--out"]
    assert "reduced" not in run(*embed, "all.npy", "--dimensions", "all").stderr
    result = run(*embed, "few.npy", "--dimensions", 3)
    assert "features were reduced from 300 columns to 3, which keep 9" in result.stderr
    run(*embed, "default.npy")
    every, few, default = (np.load(f"{name}.npy") for name in ("all", "few", "default"))
    # 30 centred rows span 29 directions, so all inner products are kept; three directions keep most
    assert (every.shape, few.shape, default.shape) == ((30, 300), (30, 3), (30, 29))
    np.testing.assert_allclose(default @ default.T, every @ every.T, atol=1e-3)
    np.testing.assert_allclose(few @ few.T, every @ every.T, rtol=0.02, atol=1.0)
    sentence = refused(*embed, "u.npy", "--dimensions", "2.5")
    assert "--dimensions must be a whole number of at least 1, or all, not '2.5'." in sentence
