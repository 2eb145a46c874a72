"""Numbers as labels: how tables of them are read, and how predicted ones are written and read back."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gssl
from gssl.io import NumberPredictions, from_scipy, list_numbers, predict_new, read_labels, write_numbers

COLUMNS = ["id", "value", "low", "high", "model_says", "given", "reached"]
IDS = [f"n{i}" for i in range(40)]
KNOWN = 25


def draw():
    """Return features and numbers of a ring, which depend on a feature and the place."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return X, X[:, 0] + np.sin(np.arange(40) * np.pi / 20) + 0.1 * rng.normal(size=40)


def tables(kind=pd.DataFrame):
    X, y = draw()
    pairs = [(IDS[i], IDS[(i + step) % 40]) for i in range(40) for step in (1, 2)]
    edges = dict(zip(("source", "target"), map(list, zip(*pairs, strict=True)), strict=True))
    return {
        "edges": kind(edges),
        "features": kind({"id": IDS, "a": X[:, 0].tolist(), "b": X[:, 1].tolist()}),
        "labels": kind({"id": IDS[:KNOWN], "value": y[:KNOWN].tolist()}),
    }


@pytest.fixture(scope="module")
def problem():
    return gssl.read(**tables(), answers="numbers")


@pytest.fixture(scope="module")
def model(problem):
    return gssl.AutoRegressor(depth=2).fit(problem)


@pytest.fixture
def numbers(write):
    """Return a function that reads a text as numbers: these by id, and the notes without the file's name."""

    def numbers(text, **options):
        labels = read_labels(write("l.csv", text), answers="numbers", **options)
        given = dict(zip(labels.ids, labels.labels, strict=True))
        return given, [note.split("l.csv: ", 1)[1] for note in labels.notes]

    return numbers


@pytest.mark.parametrize(
    ("text", "wanted", "notes"),
    [
        ("007,1\n8,\nnaïve,-2.5e3\nd,+0.25\n", {"007": 1.0, "8": None, "naïve": -2500.0, "d": 0.25}, []),
        (
            "a;1,5\nb;-2,25\nc;\n",
            {"a": 1.5, "b": -2.25, "c": None},
            ["decimal commas are read as points in 'value'."],
        ),
        (
            "a;1.234,5\nb;2.000,25\n",
            {"a": 1234.5, "b": 2000.25},
            ["decimal commas are read as points in 'value'."],
        ),
        (
            'a,"1,234.5"\nb,"2,000"\nc,"3,100,200"\n',
            {"a": 1234.5, "b": 2000.0, "c": 3100200.0},
            ["commas are read as separators of thousands in 'value'."],
        ),
        (
            "a,1\nb,NA\nc,nan\nd,None\ne,?\nf,-1\ng,\nh,-1\ni,NA\n",
            {"a": 1.0, "f": -1.0, "h": -1.0} | dict.fromkeys("bcdegi"),
            ["5 cells taken as no label: 'NA' (2), 'nan' (1), 'None' (1), '?' (1) (--na sets which)."],
        ),
        (
            "a,1\nb,2\na,4\nb,2\nc,5\nc,\nd,1\nd,2\nd,6\n",
            {"a": 2.5, "b": 2.0, "c": 5.0, "d": 3.0},
            ["of 2 ids with several numbers, the mean is taken."],
        ),
        ("a,1\nb,2\na,1.0\na,\n", {"a": 1.0, "b": 2.0}, ["merged 2 repeated rows."]),
    ],
    ids=["floats", "decimal commas", "both commas", "thousands", "markers", "several", "repeated"],
)
def test_numbers_are_read_as_floats_with_notes(numbers, text, wanted, notes):
    given, told = numbers(f"id{';' if ';' in text else ','}value\n{text}")
    assert given == wanted
    assert all(type(number) is float for number in given.values() if number is not None)
    assert told == notes


def test_columns_and_markers_may_be_named(numbers):
    text = "id,when,sales\na,1,10\nb,2,20\n"
    given, notes = numbers(text)
    assert given == {"a": 1.0, "b": 2.0}
    assert notes == ["labels are taken from column 'when'; not used: 'sales'."]
    assert numbers(text, columns=["id", "sales"]) == ({"a": 10.0, "b": 20.0}, [])
    given, notes = numbers("id,value\na,1\nb,-999\nc,-999.0\n", na=["-999"])
    assert given == {"a": 1.0, "b": None, "c": -999.0}
    assert notes == ["1 cell taken as no label: '-999' (1) (--na sets which)."]
    with pytest.raises(ValueError, match="'NA' of id 'b' in column 'value' is not a finite number"):
        numbers("id,value\na,1\nb,NA\n", na=["-999"])


@pytest.mark.parametrize(
    "cell", ["tall", "inf", "-Infinity", "1e999", "5 %", "€5", "true", "0x10", "2020-01-01"]
)
def test_a_cell_that_is_no_finite_number_is_one_sentence(numbers, cell):
    message = (
        f"l.csv: {cell!r} of id 'b' in column 'value' is not a finite number: correct it, or leave it empty."
    )
    with pytest.raises(ValueError, match=f"{re.escape(message)}$"):
        numbers(f"id,value\na,1\nb,{cell}\nc,3\n")


@pytest.mark.parametrize("name", ["value", "y", "target", "amount", "price"])
def test_the_column_of_numbers_is_guessed_by_its_name(numbers, name):
    given, notes = numbers(f"age,{name},id\n1,10,a\n2,20,b\n")
    assert (given, notes) == ({"a": 10.0, "b": 20.0}, [])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_are_read_like_files(kind):
    labels = read_labels(kind({"id": ["a", "b", "c"], "value": [0.1 + 0.2, None, -1.0]}), answers="numbers")
    assert labels.labels.tolist() == [0.1 + 0.2, None, -1.0]


def test_numbers_are_read_exactly(numbers):
    values = [*np.random.default_rng(0).normal(size=50) * 10.0 ** np.arange(-25, 25), 1e-300, 1.7e308]
    text = "id,value\n" + "".join(f"n{i},{value!r}\n" for i, value in enumerate(map(float, values)))
    assert list(numbers(text)[0].values()) == values


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_predictions_are_a_frame_of_the_callers_kind(kind, model):
    given = gssl.read(**tables(kind), answers="numbers")
    table = gssl.AutoRegressor(depth=2).fit(given).predictions(given)
    assert type(table) is type(kind({"a": [1]}))
    columns = table.to_pydict() if kind is pa.table else {name: table[name].to_list() for name in COLUMNS}
    assert list(columns) == COLUMNS
    _, y = draw()
    assert columns["id"] == IDS
    assert columns["value"][:KNOWN] == y[:KNOWN].tolist()
    np.testing.assert_allclose(columns["value"][KNOWN:], model.transduction_[KNOWN:], rtol=1e-9)
    np.testing.assert_allclose(columns["model_says"], model.transduction_, rtol=1e-9)
    np.testing.assert_allclose(np.transpose([columns["low"], columns["high"]]), model.intervals_, rtol=1e-9)
    assert columns["given"] == [True] * KNOWN + [False] * (40 - KNOWN)
    assert all(columns["reached"])


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "jsonl"])
def test_given_numbers_are_read_back_exactly(tmp_path, model, problem, form):
    path = tmp_path / f"p.{form}"
    assert write_numbers(path, list_numbers(model, problem.node_ids)) == []
    again = read_labels(path, answers="numbers")
    assert again.ids.tolist() == IDS[:KNOWN]
    assert again.labels.tolist() == problem.y[:KNOWN].tolist()
    assert "a table of predictions, of which only given labels are read." in again.notes[-1]
    says = read_labels(path, ["id", "model_says"], answers="numbers")
    assert says.labels.tolist() == model.transduction_.tolist()


def test_predictions_without_given_numbers_are_not_read_as_given(tmp_path, model, problem):
    few = list_numbers(model, problem.node_ids).part(np.arange(KNOWN, 40))
    write_numbers(tmp_path / "p.csv", few)
    assert (tmp_path / "p.csv").read_text().splitlines()[0] == "id,value,low,high,model_says"
    with pytest.raises(ValueError, match=r"no given numbers: to take them as given, name the columns"):
        read_labels(tmp_path / "p.csv", answers="numbers")
    named = read_labels(tmp_path / "p.csv", ["id", "value"], answers="numbers")
    assert named.labels.tolist() == few.value.tolist()


def test_predictions_show_themselves(model, problem):
    predictions = list_numbers(model, problem.node_ids)
    assert isinstance(predictions, NumberPredictions)
    assert len(predictions) == 40
    assert list(predictions.to_dict()) == COLUMNS
    first, second = repr(predictions).splitlines()[:2]
    assert first == "Predictions of 40 nodes: id, value, interval"
    assert second.startswith(f"n0  {problem.y[0]:.3g}  (")


def test_new_nodes_get_numbers_and_known_ones_keep_theirs(model, problem):
    """Each new node has the features and the links of an unknown node."""
    X, _ = draw()
    twins = [28, 33]
    links = [(f"new {k}", IDS[(k + step) % 40]) for k in twins for step in (-2, -1, 1, 2)]
    edges = pd.DataFrame(links, columns=["source", "target"])
    features = pd.DataFrame({"id": [f"new {k}" for k in twins], "a": X[twins, 0], "b": X[twins, 1]})
    new = gssl.read(edges, features=features, preparation=problem.preparation, known=problem)
    rows = predict_new(model, new, problem)
    assert isinstance(rows, NumberPredictions)
    found = {node: i for i, node in enumerate(rows.id)}
    assert set(found) == set(edges["source"]) | set(edges["target"])
    for k in twins:
        i = found[f"new {k}"]
        assert not rows.given[i]
        assert rows.value[i] == rows.model_says[i] == pytest.approx(model.transduction_[k], abs=0.35)
        assert rows.low[i] < rows.value[i] < rows.high[i]
    for node, i in found.items():
        if node in IDS[:KNOWN]:
            assert rows.given[i]
            assert rows.value[i] == problem.y[IDS.index(node)]
            assert rows.model_says[i] == model.transduction_[IDS.index(node)]
        else:
            assert not rows.given[i]


def test_a_model_of_nodes_refuses_other_nodes(model, problem):
    edges = pd.DataFrame({"source": ["x"], "target": ["y"]})
    features = pd.DataFrame({"id": ["x", "y"], "a": [0.0, 1.0], "b": [0.0, 1.0]})
    other = gssl.read(edges, features=features, preparation=problem.preparation)
    assert model.knows_nodes
    with pytest.raises(ValueError, match="belong to the nodes it was fitted to"):
        predict_new(model, other)


def test_a_problem_holds_numbers_which_no_classifier_takes(problem):
    _, y = draw()
    assert problem.y[:KNOWN].tolist() == y[:KNOWN].tolist()
    assert problem.y[KNOWN:].tolist() == [None] * (40 - KNOWN)
    with pytest.raises(ValueError, match=r"use AutoRegressor \(gssl regress"):
        gssl.AutoClassifier(depth=2).fit(problem)
    with pytest.raises(
        ValueError, match=r"a classifier predicts classes, not numbers: use AutoRegressor \(gssl"
    ):
        gssl.read(**tables())


def test_a_notebook_shows_numbers_by_their_range_and_sets_by_their_labels():
    A = np.eye(4)[::-1]
    shown = from_scipy(A, y=[1.0, 2.5, None, 30000.0], answers="numbers")._repr_html_()
    assert "Numbers from 1 to 30,000, median 2.5." in shown
    shown = from_scipy(A, y=[{"a"}, {"a", "b"}, None, {"b"}], answers="sets")._repr_html_()
    assert shown.count("<td") == 4
