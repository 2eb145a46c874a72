"""``gssl regress``: a number with an interval for every node, from files to a file."""

import re
from pathlib import Path

import numpy as np
import pytest

import gssl

WHERE = ["--edges", "e.csv", "--labels", "v.csv", "--features", "f.csv"]
COLUMNS = ["id", "value", "low", "high", "model_says", "given", "reached"]
KNOWN = 20


@pytest.fixture
def numbers(graph):
    """Write numbers of 20 of the 30 nodes, which depend on a feature; return those of all by id."""
    noise = np.random.default_rng(1).normal(size=30)
    values = 10 * graph.x[:, 0] + 2 * graph.x[:, 1] + 0.1 * noise
    graph.write("v.csv", ["id", "value"], zip(graph.ids[:KNOWN], values[:KNOWN].tolist(), strict=True))
    return dict(zip(graph.ids, values.tolist(), strict=True))


@pytest.fixture
def regress(run, graph, numbers):
    """Return a function that runs the command and returns the rows by id, and the output."""

    def regress(*more, out="p.csv", where=WHERE):
        result = run("regress", *where, "--out", out, *more)
        return graph.read(out), result

    return regress


def column(rows, name):
    return np.array([float(row[name]) for row in rows.values()])


@pytest.mark.parametrize("out", ["p.csv", "p.tsv", "p.parquet", "p.jsonl", "new/folder/p.csv"])
def test_every_node_has_a_row_with_its_id_in_every_format(graph, numbers, regress, out):
    rows, result = regress("--threads", 1, "--save", "m.gssl", out=out)
    assert list(rows) == graph.ids
    assert all(list(row) == COLUMNS for row in rows.values())
    for i, (node, row) in enumerate(rows.items()):
        assert row["given"] == str(i < KNOWN).lower()
        assert float(row["value"]) == (numbers[node] if i < KNOWN else float(row["model_says"]))
    assert (column(rows, "low") < column(rows, "model_says")).all()
    assert (column(rows, "model_says") < column(rows, "high")).all()
    truth = np.array(list(numbers.values()))
    assert np.corrcoef(truth[KNOWN:], column(rows, "value")[KNOWN:])[0, 1] > 0.9
    assert f"30 predictions: {out}" in result.stdout
    assert re.search(
        r"^R² [01]\.\d\d( \(\S+ to [01]\.\d\d\))? on 20 hidden numbers; typical error", result.stdout, re.M
    )
    assert "lie within their intervals." in result.stdout
    assert re.search(r"^model: m\.gssl \(\d+\.\d kB\)$", result.stdout, re.M)
    assert re.search(r"30 nodes, 60 edges, 3 features, 20 numbers", result.stderr)
    assert type(gssl.load("m.gssl")).__name__ == "AutoRegressor"


def test_python_gives_the_numbers_of_the_command_line(regress):
    rows, _ = regress(out="p.parquet")
    problem = gssl.read("e.csv", features="f.csv", labels="v.csv", answers="numbers")
    table = gssl.AutoRegressor().fit(problem).predictions(problem)
    assert table["id"].tolist() == list(rows)
    for name in COLUMNS[1:5]:
        np.testing.assert_array_equal(table[name], column(rows, name))


def test_the_order_of_rows_does_not_matter(graph, regress):
    rows, _ = regress()
    rng = np.random.default_rng(2)
    for path in ("e.csv", "v.csv", "f.csv"):
        head, *lines = Path(path).read_text(encoding="utf-8").splitlines()
        Path(path).write_text("\n".join([head, *rng.permutation(lines), ""]), encoding="utf-8")
    again, _ = regress(out="q.csv")
    assert set(again) == set(rows)
    for name in COLUMNS[1:5]:
        found = np.array([float(again[node][name]) for node in rows])
        np.testing.assert_allclose(found, column(rows, name), rtol=1e-6, atol=1e-6)


def test_without_features_and_with_neighbours_by_features(graph, regress):
    rows, result = regress(where=WHERE[:4])
    assert "There are no features" in result.stdout
    assert np.isfinite(column(rows, "value")).all()
    rows, _ = regress("--knn", 4, where=WHERE[2:])
    assert set(rows) == set(graph.ids)
    assert all(row["reached"] in ("true", "false") for row in rows.values())


def test_the_scale_and_the_share_within_intervals_may_be_chosen(graph, numbers, regress):
    graph.write("v.csv", ["id", "value"], [(node, np.exp(2 * numbers[node])) for node in graph.ids[:KNOWN]])
    rows, result = regress("--scale", "log")
    assert "Logarithms are predicted" in result.stdout
    assert (column(rows, "low") > 0).all()
    rows, result = regress("--scale", "linear")
    assert "Logarithms" not in result.stdout
    narrow, _ = regress("--scale", "linear", "--interval", 0.4)
    assert (column(narrow, "high") < column(rows, "high")).all()


def test_a_number_that_is_far_off_is_counted(graph, numbers, regress):
    rows = [(node, numbers[node] + 40.0 * (node == "n5")) for node in graph.ids[:KNOWN]]
    graph.write("v.csv", ["id", "value"], rows)
    found, result = regress()
    assert re.search(
        r"^\d of 20 numbers are more than 4 deviations away from what the model says without them",
        result.stdout,
        re.M,
    )
    assert float(found["n5"]["value"]) == numbers["n5"] + 40.0
    assert float(found["n5"]["high"]) < numbers["n5"] + 40.0


def test_a_saved_model_predicts_its_own_graph_and_new_nodes(graph, numbers, regress, run):
    fitted, _ = regress("--save", "m.gssl")
    result = run("predict", "--model", "m.gssl", "--edges", "e.csv", "--features", "f.csv", "--out", "q.csv")
    assert "30 of 30 nodes known to m.gssl" in result.stderr
    again = graph.read("q.csv")
    assert list(again) == list(fitted)
    for name in COLUMNS[1:5]:
        np.testing.assert_allclose(column(again, name), column(fitted, name), rtol=1e-9)
    assert [row["given"] for row in again.values()] == [row["given"] for row in fitted.values()]
    # the twin of an unknown node
    i = graph.ids.index("n24")
    near = [b if a == "n24" else a for a, b in graph.edges if "n24" in (a, b)]
    assert any(fitted[node]["given"] == "true" for node in near)
    graph.write("e2.csv", ["source", "target"], [("new", node) for node in near])
    graph.write("f2.csv", ["id", "a", "b", "c"], [["new", *graph.x[i].tolist()]])
    given = ["--edges", "e2.csv", "--features", "f2.csv", "--out", "q.csv"]
    run("predict", "--model", "m.gssl", *given)
    rows = graph.read("q.csv")
    assert set(rows) == {"new", *near}
    assert rows["new"]["given"] == "false"
    assert float(rows["new"]["value"]) == pytest.approx(float(fitted["n24"]["value"]), abs=1.0)
    for node in near:
        assert rows[node]["given"] == fitted[node]["given"]
        if rows[node]["given"] == "true":
            assert rows[node]["value"] == fitted[node]["value"]


def test_suggest_says_how_many_more_numbers_reach_r_squared(graph, numbers, run):
    given = ["suggest", "--numbers", *WHERE, "--out", "s.csv", "--target"]
    assert "R² 0.50 is reached already." in run(*given, "50").stdout
    many = run(*given, "99.9").stdout
    assert re.search(r"With 20 numbers R² is about [01]\.\d\d .* Another 50 numbers would add about", many)
    graph.write("v.csv", ["id", "value"], [(node, numbers[node]) for node in graph.ids[:12]])
    few = run(*given, "80").stdout
    assert "gssl cannot say how many numbers R² 0.80 needs: 12 known nodes are too few" in few


def test_a_model_of_numbers_has_no_classes(regress, refused):
    regress("--save", "m.gssl")
    given = ["predict", "--model", "m.gssl", "--edges", "e.csv", "--features", "f.csv", "--out", "q.csv"]
    for option in (["--probabilities"], ["--abstain", "0.5"]):
        assert "m.gssl predicts numbers: leave out --abstain and --probabilities" in refused(*given, *option)


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (["1", "tall", "3"], "v.csv: 'tall' of id '18446744073709551615' in column 'value' is not a finite"),
        (["1", "2"], "2 known numbers: give at least 3"),
        (["7", "7", "7"], "v.csv: all known numbers are 7: give numbers that differ"),
        (["", "NA"], "v.csv: there is no number: give numbers that differ"),
    ],
)
def test_numbers_that_teach_nothing_are_refused(graph, refused, cells, sentence):
    graph.write("v.csv", ["id", "value"], zip(graph.ids, cells, strict=False))
    assert sentence in refused("regress", *WHERE, "--out", "p.csv")


def test_wrong_options_are_refused(graph, numbers, refused):
    run = ["regress", *WHERE, "--out"]
    assert "1.5 is not in the range 0.0<x<1.0" in refused(*run, "p.csv", "--interval", "1.5")
    assert "'cubic' is not one of" in refused(*run, "p.csv", "--scale", "cubic")
    assert "must end in .csv, .tsv, .parquet or .jsonl" in refused(*run, "p.xlsx")
    assert "v.csv is an input" in refused(*run, "v.csv")
    assert "is the path of two outputs" in refused(*run, "p.csv", "--save", "p.csv")
    assert "give --labels" in refused("regress", "--edges", "e.csv", "--out", "p.csv")
    missing = refused("regress", "--labels", "nowhere.csv", *WHERE[:2], "--out", "p.csv")
    assert "nowhere.csv does not exist" in missing
    sentence = refused("classify", *WHERE, "--out", "p.csv")
    assert "v.csv: column 'value' holds 20 different numbers" in sentence
    assert "a classifier predicts classes, not numbers: use AutoRegressor (gssl regress" in sentence
