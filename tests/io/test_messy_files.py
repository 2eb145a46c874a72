"""Typical messy files, each with one defect given by its name, classified from end to end."""

import csv
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gssl.cli.app import app
from gssl.io import build_graph_store, read_edges, read_features, read_labels

MESSY = Path(__file__).parent / "messy"
COOKS, SPIES = ("ann", "bob", "cid", "dan"), ("eve", "fay", "gus", "hal")
TRUTH = dict.fromkeys(COOKS, "cook") | dict.fromkeys(SPIES, "spy")
# edges that are read without notes
CLEAN = "edges_with_header_in_comment.csv"


@pytest.fixture
def classify(tmp_path, monkeypatch):
    """Return a function that classifies messy files and returns labels and notes."""
    monkeypatch.chdir(tmp_path)

    def classify(edges=CLEAN, labels="labels.csv", features=None, more=(), ok=True):
        given = ["--edges", MESSY / edges, "--labels", MESSY / labels]
        given += [] if features is None else ["--features", MESSY / features]
        method = "labelpropagation" if features is None else "sgc"
        arguments = ["classify", *given, "--method", method, "--out", "p.csv", *more]
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == (0 if ok else 2), result.output
        lines = result.stderr.replace(f"{MESSY}/", "").splitlines()
        if not ok:
            return lines[-1]
        with Path("p.csv").open(newline="") as stream:
            labels_read = {row["id"]: row["label"] for row in csv.DictReader(stream)}
        notes = [line.removeprefix("note: ") for line in lines if line.startswith("note: ")]
        # kernels are compiled only in the first run on a machine
        return labels_read, [note for note in notes if not note.startswith("compiled ")]

    return classify


def test_matrix_market_has_a_line_of_sizes_that_is_no_edge():
    edges = read_edges(MESSY / "edges_in_matrix_market.mtx")
    assert set(edges.ids) == set("12345678")
    assert (len(edges.source), edges.notes) == (12, [])


def test_no_header_forces_it(classify):
    predicted, notes = classify("edges_without_header.csv", more=["--no-header"])
    # it applies to the labels too, whose header then becomes a node
    assert predicted.items() >= TRUTH.items()
    assert set(predicted) - set(TRUTH) == {"id"}
    assert "the first line" not in " ".join(notes)


def test_markers_may_be_set(classify):
    predicted, notes = classify(
        labels="labels_with_missing_markers.csv", more=["--na", "nan", "--na", "None"]
    )
    assert predicted["bob"] == "NA"
    assert notes == [
        "labels_with_missing_markers.csv: 2 cells taken as no label: 'nan' (1), 'None' (1) (--na sets which)."
    ]


def test_labels_of_unknown_ids(classify):
    name = "labels_of_unknown_ids.csv"
    predicted, notes = classify(labels=name)
    assert predicted == TRUTH | {"zoe": "spy"}
    assert notes == [
        f"{name}: 1 id that no other table has became nodes without edges: 'zoe'.",
        "1 node without any edge.",
    ]
    assert "has labels for 1 id that the graph does not have: 'zoe'" in classify(
        labels=name, more=["--strict"], ok=False
    )


@pytest.mark.parametrize("more", [(), ("--memory", "500MB", "--method", "sgc")])
def test_features_with_missing_cells(classify, more):
    name = "features_with_missing_cells.csv"
    predicted, notes = classify(features=name, more=more)
    assert predicted == TRUTH
    assert notes == [
        f"{name}: 2 missing cells became the category 'missing': 'city' (2).",
        f"{name}: 2 columns of measurements are standardised (mean 0, deviation 1).",
        f"{name}: filled 3 missing cells with the median of the column: 'age' (1), 'income' (2).",
    ]


def test_features_without_rows_for_some_nodes(classify):
    name = "features_without_rows_for_some_nodes.csv"
    predicted, notes = classify(features=name)
    assert predicted == TRUTH
    assert notes == [
        f"{name}: rows of 4 word counts are scaled to sum to one.",
        f"{name}: 2 nodes without a row got zeros: 'cid', 'gus'.",
    ]
    sentence = classify(features=name, more=["--strict"], ok=False)
    assert "names 2 ids that the features do not have: 'cid', 'gus'" in sentence


@pytest.mark.parametrize("more", [(), ("--memory", "500MB", "--method", "sgc")])
def test_features_with_numbers_in_other_notations(classify, more):
    expected = {
        "features_with_decimal_commas.csv": "decimal commas are read as points in 'height', 'income'.",
        "features_with_separated_thousands.csv": "commas are read as separators of thousands in 'income'.",
        "features_with_dates.csv": "dates (year-month-day) are read as days since 1970 in 'born'.",
    }
    for name, note in expected.items():
        predicted, notes = classify(features=name, more=more)
        assert predicted == TRUTH
        assert notes[0] == f"{name}: {note}"


def test_long_features_under_other_names(classify):
    name = "features_in_long_format_under_other_names.csv"
    predicted, notes = classify(features=name)
    assert predicted == TRUTH
    assert notes[0] == (
        f"{name}: each row is taken as one feature ('token') of an id ('doc_id') and its value ('n')."
    )
    assert read_features(MESSY / name).names == ("gun", "pan", "poison", "salt", "stove")


def test_a_node_called_na_is_kept_in_all_tables(classify, tmp_path):
    edges, features = "edges_with_a_node_called_NA.csv", "features_with_a_node_called_NA.csv"
    predicted, notes = classify(edges, features=features)
    assert predicted == TRUTH | {"NA": "cook"}
    kept = "'NA' is kept as node id; remove the rows with it where no id is known."
    assert [note for note in notes if "'NA'" in note] == [f"{features}: {kept}", f"{edges}: {kept}"]
    assert build_graph_store(MESSY / edges, tmp_path / "store").notes[0].endswith(kept)


def test_features_whose_ids_lost_leading_zeros(classify):
    tables = ("edges_with_leading_zeros.csv", "labels_with_leading_zeros.csv")
    _, notes = classify(*tables, features="features_without_leading_zeros.csv")
    assert notes[1].endswith(
        "2 nodes without a row got zeros: '08', '09' ('08' is '8' there: a spreadsheet may have removed "
        "leading zeros)."
    )


def test_a_header_longer_than_any_sample(tmp_path):
    names = [f"a {'very ' * 80}long name of the column number {j}, in words" for j in range(160)]
    x = np.random.default_rng(0).integers(0, 9, size=(3, 160))
    with (tmp_path / "f.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["id", *names], *([f"n{i}", *row] for i, row in enumerate(x.tolist()))])
    features = read_features(tmp_path / "f.csv")
    assert features.names == tuple(names)
    np.testing.assert_array_equal(features.matrix, x)


@pytest.mark.parametrize("size", [10, 5000, 300_000])
def test_no_sentence_holds_much_of_a_file(tmp_path, size):
    long = "x" * size
    texts = {
        "id,label\n" + f"{long},a\n{long},b\n": "has two labels",
        f'source,target\n"{long}",b,c\n': "has 3 cells where there should be 2",
        f'source,target\n"{long} b\n': "never closed",
    }
    for text, message in texts.items():
        (tmp_path / "t.csv").write_text(text)
        with pytest.raises(ValueError, match=message) as caught:
            (read_labels if "label" in text else read_edges)(tmp_path / "t.csv")
        assert len(str(caught.value)) < 300 + len(str(tmp_path)) + 100


EDGES = {
    "edges_without_header.csv": ["the first line is taken as data."],
    "edges_with_snap_comments.txt": ["the first line is taken as data."],
    "edges_with_pandas_index.csv": ["left out the first column, which has no name and counts the rows."],
    "edges_with_spaces_around_cells.csv": [
        "removed white space around 12 cells of column 'source', which merged 4 with others.",
        "removed white space around 6 cells of column 'target', which merged 2 with others.",
    ],
    "edges_with_mixed_line_ends.csv": [],
    "edges_between_runs_of_spaces.txt": ["the first line is taken as data."],
    "edges_with_header_in_comment.csv": [],
}


@pytest.mark.parametrize(("name", "told"), EDGES.items())
def test_edges_are_repaired_with_a_note(name, told, classify, tmp_path):
    predicted, notes = classify(name)
    assert predicted == TRUTH
    assert notes == [f"{name}: {note}" for note in told]
    edges = read_edges(MESSY / name)
    assert (len(edges.source), edges.weights) == (12, None)
    store = build_graph_store(MESSY / name, tmp_path / "store")
    assert store.node_ids.tolist() == list(TRUTH)
    assert store.n_edges == 12
    assert [note.split(": ", 1)[1] for note in store.notes] == told


@pytest.mark.parametrize(
    ("role", "name", "sentence"),
    [
        ("features", "features_with_an_id_twice.csv", "has more than one row for 'ann'; keep one"),
        (
            "features",
            "features_in_a_spreadsheet.xlsx",
            "is a spreadsheet or an archive, not text: export the sheet as CSV (UTF-8) and name that file.",
        ),
        ("labels", "labels_that_are_measurements.csv", "column 'label' holds 28 different numbers, such as"),
        ("labels", "labels_that_are_measurements.csv", "or give classes, such as 'low' and 'high'."),
    ],
)
def test_other_tables_are_refused_by_name(classify, role, name, sentence):
    told = classify(**{role: name}, ok=False)
    assert told.startswith(f"gssl: {name}")
    assert sentence in told
