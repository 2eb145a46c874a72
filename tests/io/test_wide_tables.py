"""Repeated rows, and tables of many columns."""

import numpy as np
import pandas as pd
import pytest

from gssl.io import read_features
from gssl.io.table_reading import Table
from gssl.operators import dense


@pytest.mark.parametrize("source", ["csv", "parquet"])
def test_equal_rows_of_one_id_are_merged(write, source):
    file = write("f.csv", "id,x,job\na,1,spy\nb,2,\na,1,spy\nc,3,cook\nb,2,\na,1,spy\n")
    if source == "parquet":
        pd.read_csv(file).to_parquet(file.with_suffix(".parquet"))
        file = file.with_suffix(".parquet")
    features = read_features(file)
    assert features.ids.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(dense(features.matrix)[:, 0], [1, 2, 3])
    assert f"{file}: merged 3 rows with an equal one of the same id: 'a', 'b'." in features.notes
    with pytest.raises(ValueError, match="has more than one row for 'a', 'b'; keep one"):
        read_features(file, strict=True)


def count_work(monkeypatch, read):
    """Return the number of queries and of expressions in them that reading takes."""
    asked = []
    for name in ("execute", "fetch_row", "fetch_rows", "fetch_columns"):
        plain = getattr(Table, name)
        monkeypatch.setattr(Table, name, lambda self, sql, plain=plain: asked.append(sql) or plain(self, sql))
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


def test_blocks_of_columns_keep_the_order_of_the_table(write):
    """Columns are read in blocks of 128, of which this table has three."""
    few = {"a": "1,5", "job": "spy,", "says": "one two,two", "day": "2020-01-01,2020-01-02", "d": "4,-"}
    columns = {name: few.get(name, f"{k},-{k}").split(",") for k, name in enumerate(ORDER)}
    rows = [",".join([node, *(cells[k] for cells in columns.values())]) for k, node in enumerate("nm")]
    features = read_features(write("f.csv", "\n".join([",".join(["id", *ORDER]), *rows])), text="says")
    coded = {"job": ["job=missing", "job=spy"], "says": ["says:one", "says:two"], "d": ["d=-", "d=4"]}
    assert features.names == tuple(code for name in ORDER for code in coded.get(name, [name]))
    matrix = dict(zip(features.names, dense(features.matrix).T.tolist(), strict=True))
    assert (matrix["a"], matrix["job=spy"], matrix["d=4"]) == ([1, 5], [1, 0], [1, 0])
    assert matrix["day"] == [18262, 18263]
    assert all(matrix[name] == [k, -k] for k, name in enumerate(ORDER) if name not in few)


# numbers, and other kinds of columns at both ends of a block and within it
ORDER = [f"x{k}" for k in range(300)]
for place, name in ((0, "a"), (127, "job"), (128, "says"), (200, "day"), (299, "d")):
    ORDER[place] = name
