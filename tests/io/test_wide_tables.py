"""Repeated rows, and tables of many columns."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse

from gssl.io import read_features, wide_tables
from gssl.io.table_reading import Table


def dense(features):
    return features.matrix.toarray() if issparse(features.matrix) else features.matrix


@pytest.mark.parametrize("source", ["csv", "parquet"])
def test_equal_rows_of_one_id_are_merged(write, source):
    file = write("f.csv", "id,x,job\na,1,spy\nb,2,\na,1,spy\nc,3,cook\nb,2,\na,1,spy\n")
    if source == "parquet":
        pd.read_csv(file).to_parquet(file.with_suffix(".parquet"))
        file = file.with_suffix(".parquet")
    features = read_features(file)
    assert features.ids.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(dense(features)[:, 0], [1, 2, 3])
    assert f"{file}: merged 3 rows with an equal one of the same id: 'a', 'b'." in features.notes
    with pytest.raises(ValueError, match="has more than one row for 'a', 'b'; keep one"):
        read_features(file, strict=True)


def test_rows_of_one_id_that_differ_are_refused(write):
    with pytest.raises(ValueError, match="has more than one row for 'b'; keep one"):
        read_features(write("f.csv", "id,x\na,1\na,1\nb,2\nb,3\n"))


def count_work(monkeypatch, read):
    """Return the number of queries and of expressions in them that reading takes."""
    asked = []
    query = Table._query
    monkeypatch.setattr(Table, "_query", lambda self, sql, take: asked.append(sql) or query(self, sql, take))
    read()
    monkeypatch.undo()
    return len(asked), sum(sql.count(",") + 1 for sql in asked)


@pytest.mark.parametrize("cells", ["1.5", "spy", "1;mixed;;"], ids=["numbers", "categories", "both"])
def test_work_grows_with_the_columns_and_not_with_their_square(write, monkeypatch, cells):
    cells = cells.split(";")

    def work(d):
        head = "id," + ",".join(f"x{j}" for j in range(d))
        rows = "".join(f"n{i}," + ",".join(cells[j % len(cells)] for j in range(d)) + "\n" for i in range(3))
        file = write("f.csv", f"{head}\n{rows}")
        return count_work(monkeypatch, lambda: read_features(file))

    (few, short), (many, long) = work(500), work(2000)
    assert many <= 4.2 * few
    assert long <= 4.2 * short
    # at most 12 queries for 128 columns, where a query for each column would be 500
    assert few <= 12 * 4 + 10


def test_blocks_of_columns_keep_the_order_of_the_table(write, monkeypatch):
    monkeypatch.setattr(wide_tables, "_BLOCK", 2)
    text = "id,a,job,b,says,c,day,d\nn,1,spy,2,one two,3,2020-01-01,4\nm,5,,NA,two,6,2020-01-02,-\n"
    file = write("f.csv", text)
    features = read_features(file, text="says")
    expected = ("a", "job=missing", "job=spy", "b", "says:one", "says:two", "c", "day", "d=-", "d=4")
    assert features.names == expected
    monkeypatch.undo()
    whole = read_features(file, text="says")
    np.testing.assert_array_equal(dense(features), dense(whole))
    assert whole.names == expected
