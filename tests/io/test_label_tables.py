import numpy as np
import pandas as pd
import pytest

from gssl.io import read_labels


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("l.csv", "id,label\n007,spy\n8,\nnaïve,=cmd()\n"),
        ("l.csv", "age,class,node\n1,spy,007\n2,,8\n3,=cmd(),naïve\n"),
        ("l.tsv", "who\twhat\n007\tspy\n8\t\nnaïve\t=cmd()\n"),
        ("l.jsonl", '{"id":"007","label":"spy"}\n{"id":8,"label":null}\n{"id":"naïve","label":"=cmd()"}\n'),
    ],
)
def test_labels_stay_text_and_empty_is_none(write, name, text):
    labels = read_labels(write(name, text))
    assert labels.ids.tolist() == ["007", "8", "naïve"]
    assert labels.labels.tolist() == ["spy", None, "=cmd()"]


def test_numbers_and_truths_are_labels_and_whole_numbers_with_gaps_lose_their_point(tmp_path):
    file = tmp_path / "l.parquet"
    pd.DataFrame({"id": [7.0, 8.0, 9.0], "label": [1.0, np.nan, 2.0]}).to_parquet(file)
    assert given(read_labels(file)) == {"7": "1", "8": None, "9": "2"}
    pd.DataFrame({"id": [1, 2], "label": [0.5, 1.0]}).to_parquet(file)
    assert read_labels(file).labels.tolist() == ["0.5", "1.0"]
    assert read_labels("SELECT 1 AS id, true AS label").labels.tolist() == ["true"]


def test_a_repeated_id_is_merged_unless_its_labels_differ(write):
    labels = read_labels(write("l.csv", "id,label\na,x\nb,\na,x\nb,y\n"))
    assert dict(zip(labels.ids, labels.labels, strict=True)) == {"a": "x", "b": "y"}
    assert labels.notes[-1].endswith("merged 2 repeated rows.")
    rows = "".join(f"n{i},x\nn{i},y\n" for i in range(8))
    with pytest.raises(
        ValueError, match=r"id 'n0' has two labels, 'x' and 'y'; so have 'n1', 'n2', 'n3', 'n4' and 3 more"
    ):
        read_labels(write("l.csv", "id,label\n" + rows))


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("id,label\n,x\n", None, "row 1: column 'id' has no id"),
        ("id,label\n", None, "has no rows"),
        ("id\na\n", None, "has only 1 column"),
        ("id,label\na,x\n", ["id", "class"], "no column 'class'; it has 'id', 'label'"),
        ("id,label\na,x\n", ["id"], "two column names"),
    ],
)
def test_tables_without_labels_are_refused(write, text, columns, message):
    with pytest.raises(ValueError, match=message):
        read_labels(write("l.csv", text), columns)


def given(labels):
    return dict(zip(labels.ids, labels.labels, strict=True))


def test_missing_markers_are_no_labels_and_are_counted(write):
    text = "id,label\na,spy\nb,NA\nc,nan\nd,None\ne,\nf,cook\ng,-1\nh,na\ni,NA\n"
    labels = read_labels(write("l.csv", text))
    wanted = {"a": "spy", "b": None, "c": None, "d": None, "e": None, "f": "cook", "g": None, "h": "na"}
    assert given(labels) == wanted | {"i": None}
    assert labels.notes[0].endswith(
        "5 cells taken as no label: 'NA' (2), 'nan' (1), 'None' (1), '-1' (1) (--na sets which)."
    )
    other = read_labels(write("l.csv", text), na=["spy", " na"])
    assert given(other)["b"] == "NA"
    assert given(other)["a"] is given(other)["h"] is given(other)["e"] is None


def test_minus_one_beside_one_other_class_is_a_class(write):
    labels = read_labels(write("l.csv", "id,label\na,1\nb,-1\nc,1\n"))
    assert given(labels) == {"a": "1", "b": "-1", "c": "1"}
    assert labels.notes == []


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_white_space_makes_no_classes_and_no_ids(write, tmp_path, form):
    frame = pd.DataFrame({"id": ["p", "q ", "\u00a0r"], "label": ["a", "a ", "  a"]})
    frame.to_csv(tmp_path / "l.csv", index=False)
    frame.to_parquet(tmp_path / "l.parquet")
    labels = read_labels(tmp_path / f"l.{form}")
    assert given(labels) == {"p": "a", "q": "a", "r": "a"}
    assert [note.split(": ", 1)[1] for note in labels.notes] == [
        "removed white space around 2 cells of column 'id'.",
        "removed white space around 2 cells of column 'label', which merged 2 with others.",
    ]


def test_a_column_of_measurements_is_refused(write):
    rows = "".join(f"n{i},{i / 7:.3f}\n" for i in range(40))
    with pytest.raises(
        ValueError, match=r"'label' holds 40 different numbers, such as .*classes, not numbers"
    ):
        read_labels(write("l.csv", "id,label\n" + rows))
    with pytest.raises(ValueError, match="holds 20 different numbers"):
        read_labels(write("l.csv", "id,label\n" + rows[: rows.index("n20,")]))
    years = "".join(f"n{i},{1980 + i}.0\n" for i in range(40))
    assert len(set(read_labels(write("l.csv", "id,label\n" + years)).labels)) == 40


def test_an_unnamed_column_of_row_numbers_is_left_out(write):
    labels = read_labels(write("l.csv", ",paper,topic\n0,a,x\n1,b,y\n"))
    assert given(labels) == {"a": "x", "b": "y"}
    assert labels.notes[0].endswith("left out the first column, which has no name and counts the rows.")
    assert given(read_labels(write("l.csv", ",topic\n7,x\n8,y\n"))) == {"7": "x", "8": "y"}


def test_classes_that_differ_in_case_and_a_guessed_column_are_told(write):
    labels = read_labels(write("l.csv", "id,label\na,Cook\nb,cook\nc,spy\n"))
    assert set(labels.labels) == {"Cook", "cook", "spy"}
    assert "'Cook' and 'cook' differ only in case and are two classes." in labels.notes[-1]
    path = write("l.csv", "paper,when,topic\na,2020,x\nb,2021,y\n")
    assert "labels are taken from column 'when'; not used: 'topic'." in read_labels(path).notes[-1]
    assert read_labels(path, ("paper", "topic")).labels.tolist() == ["x", "y"]


def test_only_given_labels_of_predictions_are_read(write):
    labels = read_labels(write("p.csv", "id,label,model_says,given\na,x,x,true\nb,y,x,false\nc,y,y,true\n"))
    assert given(labels) == {"a": "x", "c": "y"}
    assert "only given labels are read" in labels.notes[-1]
    text = "id,label,confidence,model_says,model_confidence,runner_up\na,x,0.9,x,0.9,y\nb,y,0.8,y,0.8,x\n"
    path = write("p.csv", text)
    with pytest.raises(ValueError, match=r"p\.csv holds predictions of gssl predict and no given labels: to"):
        read_labels(path)
    assert read_labels(path, ["id", "label"]).labels.tolist() == ["x", "y"]
