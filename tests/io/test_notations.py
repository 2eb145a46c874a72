import numpy as np
import pytest

from gssl.io import read_edges, read_features, read_labels


@pytest.mark.parametrize(
    ("cells", "separator", "numbers"),
    [
        (["3,14", "2", "-0,5", ""], ";", [3.14, 2, -0.5, np.nan]),
        # 1,234 is ambiguous: the separator of the file decides
        (["1,234", "2,500"], ";", [1.234, 2.5]),
        (["1,234", "2,500"], ",", [1234, 2500]),
        (["0,234", "2,500"], ",", [0.234, 2.5]),
        (["1,234,567", "2,500"], ";", [1234567, 2500]),
        (["1.234,5", "NA"], ";", [1234.5, np.nan]),
        (["1,5e3", " 2,5 "], "\t", [1500, 2.5]),
    ],
)
def test_commas_are_read_as_points_or_thousands(write, cells, separator, numbers):
    rows = "".join(f'n{i}{separator}"{cell}"\n' for i, cell in enumerate(cells))
    features = read_features(write("f.csv", f"id{separator}x\n{rows}"))
    assert features.names == ("x",)
    np.testing.assert_allclose(features.matrix[:, 0], np.array(numbers, np.float32))
    assert "commas are read as" in features.notes[-1]


def test_texts_with_commas_stay_texts(write):
    features = read_features(write("f.csv", 'id,home\na,"Rome, Italy"\nb,"Oslo, Norway"\n'))
    assert features.names == ("home=Oslo, Norway", "home=Rome, Italy")
    assert features.notes == []


def test_a_typing_error_among_decimal_commas_is_refused(write):
    with pytest.raises(ValueError, match="column 'x' of id 'c' is 'two', not a finite number"):
        read_features(write("f.csv", "id;x\na;1,5\nb;2,5\nc;two\n"))


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["1970-01-02", "1970-01-11 12:00:00", ""], "year-month-day"),
        (["02.01.1970", "11.01.1970 12:00", "NA"], "day.month.year"),
        (["1/2/1970", "1/11/1970 12:00:00", "?"], "month/day/year"),
    ],
)
def test_dates_are_read_as_days(write, cells, order):
    rows = "".join(f"n{i},{cell}\n" for i, cell in enumerate(cells))
    features = read_features(write("f.csv", f"id,day\n{rows}"))
    np.testing.assert_array_equal(features.matrix[:, 0], [1, 10.5, np.nan])
    assert features.notes[0].endswith(f"dates ({order}) are read as days since 1970 in 'day'.")


def test_columns_of_a_date_type_and_other_cells_among_dates(write):
    features = read_features("SELECT 'a' AS id, DATE '1970-01-03' AS d, TIMESTAMP '1970-01-01 06:00' AS t")
    assert features.matrix.tolist() == [[2.0, 0.25]]
    rows = "".join(f"n{i},1970-01-{i + 1:02d}\n" for i in range(19))
    features = read_features(write("f.csv", f"id,day\n{rows}x,soon\n"))
    np.testing.assert_array_equal(features.matrix[:, 0], [*range(19), np.nan])
    assert features.notes[1].endswith("1 cell among dates taken as missing.")


def test_few_dates_among_texts_stay_texts(write):
    features = read_features(write("f.csv", "id,when\na,1970-01-02\nb,soon\nc,1970-01-03\n"))
    assert features.names == ("when=1970-01-02", "when=1970-01-03", "when=soon")


def test_weights_values_and_labels_with_decimal_commas(write):
    edges = read_edges(write("e.csv", "a;b;w\nx;y;0,5\ny;z;1\n"))
    assert sorted(edges.weights.tolist()) == [0.5, 1]
    assert edges.notes[1].endswith("decimal commas are read as points in 'w'.")
    features = read_features(write("f.csv", "id;feature;value\nx;f;0,5\ny;f;1,25\n"))
    assert features.matrix.toarray().tolist() == [[0.5], [1.25]]
    rows = "".join(f"n{i};{i},5\n" for i in range(30))
    with pytest.raises(ValueError, match="a classifier predicts classes, not numbers"):
        read_labels(write("l.csv", f"id;label\n{rows}"))


def test_notations_of_many_columns_are_noted_once(write):
    """Blocks of columns are read one after another."""
    names = [f"c{j}" for j in range(300)]
    rows = [[f"n{i}", *(('"1,5"', f"2020-01-0{i + 1}")[j % 2] for j in range(300))] for i in range(3)]
    file = write("f.csv", "\n".join(",".join(row) for row in [["id", *names], *rows]))
    notes = read_features(file).notes
    assert [" in ".join(note.split(" in ")[:-1]) for note in notes] == [
        f"{file}: decimal commas are read as points",
        f"{file}: dates (year-month-day) are read as days since 1970",
    ]
