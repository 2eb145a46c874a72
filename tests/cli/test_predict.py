from pathlib import Path

import numpy as np
import pytest

import gssl
from gssl.io import read_features, read_settings


def renamed(graph):
    """Write the same graph with other ids, and return the options that name its tables."""
    name = {node: f"new {node}" for node in graph.ids}
    graph.write("e2.csv", ["source", "target"], [(name[a], name[b]) for a, b in graph.edges])
    rows = [[name[node], *row] for node, row in zip(graph.ids, graph.x.tolist(), strict=True)]
    graph.write("f2.csv", ["id", "a", "b", "c"], rows)
    return ["--edges", "e2.csv", "--features", "f2.csv"]


@pytest.mark.parametrize("method", ["auto", "ogc", "sgc", "labelpropagation", "correctandsmooth"])
def test_new_rows_are_joined_to_the_nodes_that_the_model_knows(graph, classify, run, method):
    """New nodes get their labels and known ones keep theirs, as if the tables had all nodes."""
    classify(more=["--method", method, "--save", "m.gssl"])
    new = [f"new {i}" for i in range(4)]
    edges = [(new[i], graph.ids[i + 3 * k]) for i in range(4) for k in range(1, 4)]
    rows = [[node, *graph.x[i].tolist()] for i, node in enumerate(new)]
    graph.write("e2.csv", ["source", "target"], edges)
    graph.write("f2.csv", ["id", "a", "b", "c"], rows)
    given = ["--model", "m.gssl", "--edges", "e2.csv", "--features", "f2.csv", "--out", "p2.csv"]
    result = run("predict", *given)
    predicted = graph.read("p2.csv")
    n_known = len(predicted) - 4
    assert (
        f"{n_known} of {len(predicted)} nodes known to m.gssl: they keep its features and labels"
        in result.stderr
    )
    assert "got zeros" not in result.stderr
    assert [predicted[node]["label"] for node in new] == [graph.truth[graph.ids[i]] for i in range(4)]
    labelled = {node for node, row in predicted.items() if row["given"] == "true"}
    assert labelled == set(predicted) & set(graph.ids[:9])
    assert all(predicted[node]["label"] == graph.truth[node] for node in predicted if node not in new)
    # the same tables with all old nodes in them say the same
    graph.write("e2.csv", ["source", "target"], [*edges, *graph.edges])
    every = [[node, *row] for node, row in zip(graph.ids, graph.x.tolist(), strict=True)]
    graph.write("f2.csv", ["id", "a", "b", "c"], [*rows, *every])
    run("predict", *given[:-1], "p3.csv")
    whole = graph.read("p3.csv")
    assert len(whole) == 34
    for node, row in predicted.items():
        assert row == whole[node]


def test_ids_of_another_graph_are_not_taken_for_known_nodes(graph, classify, run):
    classify(more=["--save", "m.gssl"])
    rows = [[node, *row] for node, row in zip(graph.ids, graph.x[::-1].tolist(), strict=True)]
    graph.write("f2.csv", ["id", "a", "b", "c"], rows)
    given = ["--model", "m.gssl", "--edges", "e.csv", "--features", "f2.csv", "--out", "p2.csv"]
    result = run("predict", *given)
    assert "have other features in f2.csv: ids are taken to be those of another graph" in result.stderr
    assert "given" not in graph.read("p2.csv")["007"]


def test_a_model_without_its_data_asks_for_the_whole_graph(graph, classify, run):
    classify(more=["--save", "m.gssl"])
    settings = read_settings("m.gssl")
    gssl.save(gssl.load("m.gssl"), "bare.gssl", settings=settings)
    graph.write("f2.csv", ["id", "a", "b", "c"], [[graph.ids[0], *graph.x[0].tolist()]])
    given = ["--model", "bare.gssl", "--edges", "e.csv", "--features", "f2.csv", "--out", "p2.csv"]
    assert "give the whole graph" in run("predict", *given).stderr


@pytest.mark.parametrize("method", ["auto", "ogc", "sgc"])
def test_a_saved_model_labels_a_new_graph(graph, classify, run, method):
    """The model finds its columns despite new ids, another column order and an extra column."""
    fitted = classify(more=["--method", method, "--save", "m.gssl"])
    new = [f"new {i}" for i in graph.ids]
    name = dict(zip(graph.ids, new, strict=True))
    graph.write("e2.csv", ["source", "target"], [(name[a], name[b]) for a, b in graph.edges])
    x = np.column_stack([np.full(30, 0.0), graph.x[:, [2, 0, 1]]])
    rows = [[i, *row] for i, row in zip(new, x.tolist(), strict=True)]
    graph.write("f2.csv", ["id", "zero", "c", "a", "b"], rows)
    result = run(
        "predict", "--model", "m.gssl", "--edges", "e2.csv", "--features", "f2.csv", "--out", "p2.csv"
    )
    assert "f2.csv: left out 1 feature that the model does not know: 'zero'." in result.stderr
    predicted = graph.read("p2.csv")
    assert {node: predicted[name[node]]["label"] for node in graph.ids} == graph.truth
    # without given labels there are no columns about them
    columns = ["id", "label", "confidence", "model_says", "model_confidence", "runner_up"]
    assert list(predicted[name["007"]]) == columns
    heading = next(line for line in result.stdout.splitlines() if "mean confidence" in line)
    assert heading.split() == ["┃", "label", "┃", "predicted", "┃", "mean", "confidence", "┃"]
    if method != "ogc":  # OGC moves embeddings by the labels of fit
        assert all(predicted[name[i]]["confidence"] == fitted[i]["confidence"] for i in graph.ids[9:])


def test_scaling_of_fit_is_that_of_predict(graph, classify, run):
    """Means and deviations are those of fit, whatever the new table contains."""
    fitted = classify(more=["--save", "m.gssl"])
    text = Path("f.csv").read_text(encoding="utf-8").splitlines()
    text[-1] = "n29,-0.000001,0.1,0.7"
    Path("f2.csv").write_text("\n".join(text), encoding="utf-8")
    run("predict", "--model", "m.gssl", "--edges", "e.csv", "--features", "f2.csv", "--out", "p2.csv")
    assert abs(float(graph.read("p2.csv")["n20"]["confidence"]) - float(fitted["n20"]["confidence"])) < 0.01


@pytest.mark.parametrize("flag", [(), ("--text", "abstract")], ids=["forgotten", "given again"])
def test_a_saved_model_reads_texts_as_in_fit(graph, classify, run, flag):
    """Words have the weights of fit, although the new table has other rows, and the flag changes nothing."""
    words = ("cats purr", "dogs bark", "cows moo")
    texts = [(i, f"{words[k % 3]} {k}") for k, i in enumerate(graph.ids)]
    graph.write("docs.csv", ["id", "abstract"], texts)
    more = ["--method", "nograph", "--text", "abstract", "--save", "m.gssl"]
    fitted = classify(features="docs.csv", more=more)
    graph.write("few.csv", ["id", "abstract"], texts[10:14])
    graph.write("e2.csv", ["source", "target"], [(texts[10][0], texts[13][0])])
    given = ["--edges", "e2.csv", "--features", "few.csv", *flag, "--out", "p2.csv"]
    result = run("predict", "--model", "m.gssl", *given)
    assert "few.csv" not in "".join(line for line in result.stderr.splitlines() if "note" in line)
    for node, row in graph.read("p2.csv").items():
        assert (row["label"], row["confidence"]) == (fitted[node]["label"], fitted[node]["confidence"])


def test_an_empty_column_of_categories_is_missing_to_a_saved_model(graph, classify, run):
    rows = [
        [i, *row, "" if k < 4 else "ab"[k % 2]]
        for k, (i, row) in enumerate(zip(graph.ids, graph.x, strict=True))
    ]
    graph.write("f.csv", ["id", "a", "b", "c", "job"], rows)
    classify(more=["--save", "m.gssl"])
    graph.write("f2.csv", ["id", "a", "b", "c", "job"], [[*row[:4], ""] for row in rows])
    result = run("predict", "--model", "m.gssl", "--edges", "e.csv", "--features", "f2.csv", "--out", "p.csv")
    assert "30 missing cells became the category 'missing': 'job' (30)." in result.stderr
    assert "left out" not in result.stderr


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


def test_models(graph, run, refused):
    where = ["--edges", "e.csv", "--features", "f.csv"]
    run("classify", *where, "--labels", "l.csv", "--out", "p.csv", "--save", "m.gssl", "--method", "sgc")
    by_nodes = ["labelpropagation", "correctandsmooth"]
    for method in by_nodes:
        save = ["--save", f"{method}.gssl", "--method", method]
        run("classify", *where, "--labels", "l.csv", "--out", "p.csv", *save)
    Path("cut.gssl").write_bytes(Path("m.gssl").read_bytes()[:-9])
    predict = ["predict", "--out", "p2.csv", "--model"]
    missing = run(*predict, "nowhere.gssl", *where, ok=False)
    # checked before any table is read
    assert missing.output == "gssl: nowhere.gssl does not exist: check its name and folder.\n"
    assert "e.csv is not a saved model" in refused(*predict, "e.csv", *where)
    assert "cut.gssl is not a saved model, or not a whole one" in refused(*predict, "cut.gssl", *where)
    others = renamed(graph)
    for method in by_nodes:
        assert "labels belong to the nodes it was fitted to" in refused(*predict, f"{method}.gssl", *others)
    assert "give those of the new graph" in refused(*predict, "m.gssl", "--edges", "e.csv")
    graph.write("fewer.csv", ["id", "a", "b"], [(i, 1, 2) for i in graph.ids])
    fewer = ["m.gssl", "--edges", "e.csv", "--features", "fewer.csv"]
    sentence = refused(*predict, *fewer, "--strict")
    assert "1 feature that fewer.csv does not have, the first of them 'c'" in sentence
    notes = run(*predict, *fewer).stderr
    assert "fewer.csv: 1 column of the model is absent and taken as missing: 'c'." in notes
    graph.write("other.csv", ["id", "d"], [(i, 1) for i in graph.ids])
    sentence = refused(*predict, "m.gssl", "--edges", "e.csv", "--features", "other.csv")
    assert "3 features that other.csv does not have, the first of them 'a'" in sentence


@pytest.mark.parametrize("out", ["u.parquet", "u.csv", "u.npy", "u.npz"])
def test_embeddings(graph, run, out):
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
    run(*embed, "all.npy", "--dimensions", "all")
    assert "reduced" not in run(*embed, "wide.npy", "--dimensions", 300).stderr
    result = run(*embed, "few.npy", "--dimensions", 3)
    assert "features were reduced from 300 columns to 3, which keep 9" in result.stderr
    run(*embed, "default.npy")
    every, few = np.load("all.npy"), np.load("few.npy")
    assert (every.shape, few.shape, np.load("default.npy").shape) == ((30, 300), (30, 3), (30, 29))
    np.testing.assert_array_equal(every, np.load("wide.npy"))
    # 30 centred rows span 29 directions, so all inner products are kept; three directions keep most
    np.testing.assert_allclose(np.load("default.npy") @ np.load("default.npy").T, every @ every.T, atol=1e-3)
    np.testing.assert_allclose(few @ few.T, every @ every.T, rtol=0.02, atol=1.0)
    for wrong in ("0", "-1", "2.5", "some"):
        assert "--dimensions must be a whole number of at least 1, or all" in refused(
            *embed, "u.npy", "--dimensions", wrong
        )


def ratings(graph, first_item):
    """Write ratings of 20 users by parity of both ids, and labels of the first of them."""
    items = range(first_item, first_item + 20)
    edges = [(u, i) for u in range(1, 21) for i in items if u % 2 == i % 2 and (u * i) % 3]
    graph.write("e.csv", ["user_id", "item_id"], edges)
    graph.write("l.csv", ["user_id", "label"], [(u, "odd" if u % 2 else "even") for u in range(1, 9)])


@pytest.mark.parametrize("first_item", [11, 21], ids=["some ids in common", "none in common"])
@pytest.mark.parametrize("columns", [("user_id", "item_id"), ("itemId", "userId")])
def test_a_new_user_is_not_taken_for_the_item_with_the_same_id(graph, run, first_item, columns):
    ratings(graph, first_item)
    method = ["--method", "labelpropagation"]
    run("classify", "--edges", "e.csv", "--labels", "l.csv", *method, "--out", "p.csv", "--save", "m.gssl")
    # user 28 is new and rates odd items; 28 is an even item; user 13 is known, and 13 may be an item too
    pairs = [(28, 23), (28, 25), (13, 29)]
    graph.write("e2.csv", columns, pairs if columns[0] == "user_id" else [pair[::-1] for pair in pairs])
    result = run("predict", "--model", "m.gssl", "--edges", "e2.csv", "--out", "p2.csv")
    rows = graph.read("p2.csv")
    user = "user_id:13" if first_item == 11 else "13"
    assert set(rows) == {"user_id:28", user, "23", "25", "29"}
    assert all(row["label"] == "odd" for row in rows.values())
    assert "named as in the model, which has nodes of two kinds: 'user_id:" in result.stderr


def test_a_method_without_features_predicts_new_nodes_after_a_fit_that_was_given_features(
    graph, classify, run
):
    classify(more=["--method", "labelpropagation", "--save", "m.gssl"])
    graph.write("e2.csv", ["source", "target"], [("new", graph.ids[3 * k]) for k in range(1, 4)])
    run("predict", "--model", "m.gssl", "--edges", "e2.csv", "--out", "p2.csv")
    assert graph.read("p2.csv")["new"]["label"] == graph.truth[graph.ids[3]]
