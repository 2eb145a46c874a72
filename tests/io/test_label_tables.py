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


def test_whole_numbers_with_gaps_lose_their_point(tmp_path):
    frame = pd.DataFrame({"id": [7.0, 8.0, 9.0], "label": [1.0, np.nan, 2.0]})
    frame.to_parquet(tmp_path / "l.parquet")
    labels = read_labels(tmp_path / "l.parquet")
    assert labels.ids.tolist() == ["7", "8", "9"]
    assert labels.labels.tolist() == ["1", None, "2"]


def test_halves_and_truths_are_labels_too(tmp_path):
    pd.DataFrame({"id": [1, 2], "label": [0.5, 1.0]}).to_parquet(tmp_path / "l.parquet")
    assert read_labels(tmp_path / "l.parquet").labels.tolist() == ["0.5", "1.0"]
    assert read_labels("SELECT 1 AS id, true AS label").labels.tolist() == ["true"]


def test_a_repeated_id_is_merged_unless_its_labels_differ(write):
    labels = read_labels(write("l.csv", "id,label\na,x\nb,\na,x\nb,y\n"))
    assert dict(zip(labels.ids, labels.labels, strict=True)) == {"a": "x", "b": "y"}
    assert labels.notes[-1].endswith("merged 2 repeated rows.")
    rows = "".join(f"n{i},x\nn{i},y\n" for i in range(8))
    with pytest.raises(ValueError, match=r"id 'n0' has two labels, 'x' and 'y'; so have 'n1', .* and 2 more"):
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
def test_bad_labels(write, text, columns, message):
    with pytest.raises(ValueError, match=message):
        read_labels(write("l.csv", text), columns)
