"""Data frames are read as the CSV files that pandas writes of them, and errors name them by their role."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gssl
from gssl.io import read_features, read_labels

LINKS = pd.DataFrame({"src": ["a", "b", "c"], "dst": ["b", "c", "d"]})


@pytest.mark.parametrize(
    "labels",
    [
        [True, False, True, None],
        [True, False, True, True],
        [0.5, 1.0, 0.5, None],
        [1, 2, 1, 2],
        pd.to_datetime(["2020-01-01", "2021-02-03", "2020-01-01", None]),
        pd.to_datetime(["2020-01-01 12:30", "2021-02-03 00:00", "2020-01-01 12:30", None]),
        [dt.date(2020, 1, 1), dt.date(2021, 2, 3), dt.date(2020, 1, 1), None],
        pd.Categorical(["x", "y", "x", None]),
    ],
    ids=["gaps among truths", "truths", "fractions", "integers", "days", "times", "dates", "categories"],
)
def test_labels_of_a_frame_are_those_of_its_csv(labels, tmp_path):
    frame = pd.DataFrame({"id": list("abcd"), "label": labels})
    frame.to_csv(tmp_path / "l.csv", index=False)
    expected = read_labels(tmp_path / "l.csv").labels.tolist()
    assert read_labels(frame).labels.tolist() == expected


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_durations_are_days(library):
    spans = [dt.timedelta(hours=12), None, dt.timedelta(days=2)]
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[library]({"id": ["a", "b", "c"], "stay": spans})
    features = read_features(frame)
    np.testing.assert_array_equal(features.matrix[:, 0], [0.5, np.nan, 2])
    assert features.notes == ["the table: durations are read as days in 'stay'."]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([["a", 1, 2]], columns=["id", "x", "x"]),
        pd.DataFrame([["a", 1, 2]], columns=["id", 1, "1"]),
        pa.table([["a"], [1], [2]], names=["id", "x", "x"]),
    ],
    ids=["pandas", "a number and its text", "pyarrow"],
)
def test_equal_names_of_columns_are_refused(frame):
    with pytest.raises(ValueError, match=r"^features has more than one column named '[x1]': rename them\.$"):
        gssl.read(LINKS, features=frame)


def test_errors_name_frames_by_their_role():
    people = pd.DataFrame({"id": list("abcd"), "x": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(ValueError, match=r"^features: column 'x' of id 'b' is '-inf'|^features: column 'x'"):
        gssl.read(LINKS, features=people.assign(x=[1, -np.inf, 3, 4]))
    with pytest.raises(
        ValueError,
        match=r"^labels: id 'a' has two labels, 'x' and 'y'; keep one each, or read several labels",
    ):
        gssl.read(LINKS, labels=pd.DataFrame({"id": ["a", "a"], "label": ["x", "y"]}))
    with pytest.raises(ValueError, match=r"^edges has only 1 column"):
        gssl.read(LINKS[["src"]])
    with pytest.raises(ValueError, match=r"^features is empty"):
        gssl.read(LINKS, features=pl.DataFrame())
    with pytest.raises(ValueError, match=r"^the table: column 'x' of id 'b'"):
        read_features(people.assign(x=[1, np.inf, 3, 4]))


def test_whole_numbers_that_recur_are_no_ids():
    people = pd.DataFrame({"age": [31, 45, 31, 60], "job": list("xywz"), "a": 1.5, "b": 2.5})
    links = pd.DataFrame({"src": [0, 1, 2], "dst": [1, 2, 3]})
    problem = gssl.read(links, features=people)
    assert problem.node_ids.tolist() == ["0", "1", "2", "3"]
    assert problem.feature_names[0] == "age"
    note = "features: column 'age' has no distinct ids, so the index of the frame is taken."
    assert note in problem.notes
    # a column that is named like ids must be distinct
    with pytest.raises(ValueError, match=r"^features has more than one row for '31'; keep one"):
        gssl.read(links, features=people.rename(columns={"age": "person_id"}))
    # distinct numbers are ids
    assert gssl.read(links, features=people.assign(age=range(4))).feature_names[0] == "job=w"
    # rows that are equal are one row, written twice
    twice = pd.concat([people.assign(age=range(4))] * 2, ignore_index=True)
    assert gssl.read(links, features=twice).node_ids.tolist() == ["0", "1", "2", "3"]


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA], ids=str)
@pytest.mark.parametrize("place", [0, 1])
def test_lists_are_found_wherever_a_cell_is_missing(gap, place):
    cells = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    cells.insert(place, gap)
    features = read_features(pd.DataFrame({"id": list("abc"), "v": cells}))
    assert features.names == ("v[0]", "v[1]")
    assert np.isnan(features.matrix[place]).all()
    np.testing.assert_array_equal(np.delete(features.matrix, place, axis=0), [[1, 2], [3, 4]])


def test_lazy_frames_truths_and_a_memory_budget():
    columns = {"id": list("abcd"), "x": [1.0, 2.0, 3.0, 4.0], "ok": [True, None, False, True]}
    problem = gssl.read(LINKS, features=pl.LazyFrame(columns), normalize="none")
    assert problem.feature_names == ("x", "ok", "ok=missing")
    table = read_features(pd.DataFrame(columns))
    assert table.names == ("x", "ok")
    np.testing.assert_array_equal(table.matrix, [[1, 1], [2, np.nan], [3, 0], [4, 1]])
    people = pd.DataFrame(columns)[["id", "x"]]
    assert isinstance(gssl.read(LINKS, features=people, memory="1GB").features, np.memmap)
