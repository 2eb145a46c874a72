import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse

from gssl.io import read_features
from gssl.operators import dense


def test_rows_keep_their_order_beyond_one_block(write):
    n = 5000
    rows = "".join(f"n{i},{i - 0.5},{'abc'[i % 3]},{'true' if i % 2 else 'false'}\n" for i in range(n))
    features = read_features(write("f.csv", "id,x,kind,ok\n" + rows))
    assert features.ids.tolist() == [f"n{i}" for i in range(n)]
    assert features.names == ("x", "kind=a", "kind=b", "kind=c", "ok")
    matrix = dense(features.matrix)
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix[:, [0, 4]], np.stack([np.arange(n) - 0.5, np.arange(n) % 2], axis=1))
    np.testing.assert_array_equal(matrix[:, 1:4].argmax(axis=1), np.arange(n) % 3)


def test_a_table_of_mostly_zeros_is_sparse(write):
    rows = "".join(f"n{i}," + ",".join("1" if j == i else "0" for j in range(40)) + "\n" for i in range(40))
    features = read_features(write("f.csv", "id," + ",".join(f"w{j}" for j in range(40)) + "\n" + rows))
    assert issparse(features.matrix)
    np.testing.assert_array_equal(dense(features.matrix), np.eye(40))


def test_a_long_table_has_zeros_where_it_has_no_value(write):
    text = "id,feature,value\nb,x,2\na,y,0.5\nb,y,1\nc,,\na,x,NA\nd,x,\n"
    features = read_features(write("f.csv", text))
    assert features.ids.tolist() == ["b", "a", "c", "d"]
    assert features.names == ("x", "y")
    np.testing.assert_array_equal(dense(features.matrix), [[2, 1], [0, 0.5], [0, 0], [0, 0]])
    assert features.notes[-1].endswith("2 missing values taken as zero.")


@pytest.mark.parametrize("form", ["parquet", "jsonl", "csv", "fixed"])
def test_a_column_of_lists_is_read_from_every_form(tmp_path, write, form):
    if form == "parquet":
        pd.DataFrame({"id": ["a", "b"], "v": [[1.0, 2.0], [3.0, 4.5]]}).to_parquet(tmp_path / "f.parquet")
        source = tmp_path / "f.parquet"
    elif form == "jsonl":
        source = write("f.jsonl", '{"id":"a","v":[1,2]}\n{"id":"b","v":[3,4.5]}\n')
    elif form == "csv":
        source = write("f.csv", 'id,v\na,"[1, 2]"\nb,"[3, 4.5]"\n')
    else:
        source = "SELECT unnest(['a', 'b']) AS id, unnest([[1, 2], [3, 4.5]])::DOUBLE[2] AS v"
    features = read_features(source)
    assert (features.ids.tolist(), features.names) == (["a", "b"], ("v[0]", "v[1]"))
    np.testing.assert_array_equal(dense(features.matrix), [[1, 2], [3, 4.5]])


def test_a_list_is_read_as_numpy_writes_it(write):
    file = write(
        "f.csv", 'id,v\na,[1. 2. 3.]\nb,"[ 4.e+00 -5.\n  6.5 ]"\nc,\nd,"[NA, None,]"\ne,"[7 , nan,8]"\n'
    )
    features = read_features(file)
    assert features.names == ("v[0]", "v[1]", "v[2]")
    gap = [np.nan] * 3
    np.testing.assert_array_equal(dense(features.matrix), [[1, 2, 3], [4, -5, 6.5], gap, gap, [7, np.nan, 8]])


def test_texts_become_words_which_columns_keep_apart(write):
    text = "id,abstract,title,label\na,graph graph theory,cats,x\nb,,cats,y\nc,a theory of cats,cats,\n"
    features = read_features(write("f.csv", text), text=["abstract", "title"])
    names = ("abstract:cats", "abstract:graph", "abstract:of", "abstract:theory", "title:cats")
    assert (features.names, features.kinds) == (names, ("word",) * 5)
    matrix = dense(features.matrix)
    rare, common = 1 + np.log(4 / 2), 1 + np.log(4 / 3)
    np.testing.assert_allclose(matrix[0, 1] / matrix[0, 3], 2 * rare / common, rtol=1e-6)
    np.testing.assert_array_equal(matrix[1], [0, 0, 0, 0, 1])
    np.testing.assert_allclose(np.linalg.norm(matrix[2, :4]), 1, rtol=1e-6)
    assert "column 'label' is named like a label" in features.notes[0]


def test_columns_can_be_chosen(write):
    file = write("f.csv", "x,who,y,label\n1,a,2,3\n4,b,5,6\n")
    features = read_features(file, id="who", columns=["label", "x"])
    assert features.names == ("label", "x")
    np.testing.assert_array_equal(dense(features.matrix), [[3, 1], [6, 4]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,x\na,1\nb,inf\n", "column 'x' of id 'b' is 'inf', not a finite number"),
        ("id,x\na,1\nb,1e99\n", "column 'x' of id 'b' is '1e99', not a finite number"),
        ("id,x\na,1\nb,2\nc,oops\n", "column 'x' of id 'c' is 'oops', not a finite number"),
        ('id,v\na,"[1,2]"\nb,"[1]"\nc,"[3,4]"\n', "column 'v' of id 'b' is '.1.', not a list of 2 numbers"),
        ('id,v\na,"[1,inf]"\nb,"[1,2]"\n', "column 'v' of id 'a' .*not a list of 2 finite numbers"),
        ("id,v\na,[a]\nb,[b]\n", "column 'v' of id 'a' is '.a.', not a list of 1 number;"),
        ('id,v\na,"[1, 2]"\nb,"[3, x]"\n', "column 'v' of id 'b' is '.3, x.', not a list of 2 numbers"),
        ("id,v\na,[1. 2.]\nb,[1. ... 2.]\n", "column 'v' of id '.' is '.*', not a list of . numbers"),
        ("id,x\na,1\nb,2\na,3\nb,4\n", "more than one row for 'a', 'b'"),
        ("id,x\na,1\n,2\n", "row 2: column 'id' has no id"),
        ("id,x\n", "has no rows"),
        ("id\na\n", "has no features beside the column 'id'"),
        ("id,feature,value\na,x,1\na,x,2\n", "id 'a' has the feature 'x' twice"),
        ("id,feature,value\na,x,1\nb,y,oops\n", "row 2: feature 'y' of id 'b' is not a number"),
        ("id,feature,value\na,,\n", "has no features"),
    ],
)
def test_bad_tables_name_the_place(write, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_features(write("f.csv", text))
    assert "f.csv" in str(caught.value)


def test_columns_that_cannot_be_read_are_refused(write, tmp_path):
    with pytest.raises(ValueError, match="no column 'story'; it has 'id', 'x'"):
        read_features(write("f.csv", "id,x\na,1\n"), text="story")
    with pytest.raises(ValueError, match="has no words to weigh"):
        read_features(write("f.csv", "id,x\na,!\n"), text="x")
    with pytest.raises(ValueError, match="'when' is of type TIME"):
        read_features("SELECT 'a' AS id, TIME '12:30' AS \"when\"")
    with pytest.raises(FileNotFoundError):
        read_features(tmp_path / "x.npy")


def test_missing_numbers_are_nan_and_missing_categories_a_category(write):
    text = 'id,x,job,y,v\na,1,spy,,"[1,2]"\nb,NA,,,\nc,nan,?,,"[3,nan]"\nd, 4 ,cook,,"[5,6]"\n'
    features = read_features(write("f.csv", text))
    nan = np.nan
    assert features.names == ("x", "job=cook", "job=missing", "job=spy", "y", "v[0]", "v[1]")
    assert features.kinds == ("number", "category", "category", "category", "number", "number", "number")
    np.testing.assert_array_equal(
        dense(features.matrix),
        [
            [1, 0, 0, 1, nan, 1, 2],
            [nan, 0, 1, 0, nan, nan, nan],
            [nan, 0, 1, 0, nan, 3, nan],
            [4, 1, 0, 0, nan, 5, 6],
        ],
    )
    assert features.notes[-1].endswith("2 missing cells became the category 'missing': 'job' (2).")


def test_row_numbers_of_pandas_are_no_feature(write):
    features = read_features(write("f.csv", ",id,x\n0,a,5\n1,b,6\n"))
    assert (features.ids.tolist(), features.names) == (["a", "b"], ("x",))
    assert "left out the first column" in features.notes[0]
    # if there is no other id column, they are the ids
    assert read_features(write("f.csv", ",x\n0,5\n1,6\n")).ids.tolist() == ["0", "1"]


def test_a_long_table_merges_equal_rows_and_takes_few_other_values_as_missing(write):
    rows = "".join(f"n{k},x,{k}\n" for k in range(1, 20))
    file = write("f.csv", f"id,feature,value\n{rows}n0,x,12 kg\nn3,x,3\nn0,y,1\n")
    features = read_features(file)
    np.testing.assert_array_equal(dense(features.matrix)[:, 0], [*range(1, 20), 0])
    assert features.notes == [
        f"{file}: 1 cell among numbers taken as missing, such as '12 kg': 'value' (1).",
        f"{file}: 1 missing value taken as zero.",
        f"{file}: merged 1 row with an equal one.",
    ]
    with pytest.raises(ValueError, match="row 20: feature 'x' of id 'n0' is not a number"):
        read_features(file, strict=True)
    with pytest.raises(ValueError, match="id 'a' has the feature 'x' twice"):
        read_features(write("f.csv", "id,feature,value\na,x,1\na,x,1\n"), strict=True)
