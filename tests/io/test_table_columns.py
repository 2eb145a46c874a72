"""Detection of the roles of columns, and their conversion to text or numbers."""

import numpy as np
import pytest

from gssl.io import open_table
from gssl.io.table_columns import check_distinct, encode_texts, is_number, number_sql, pick_column, text_sql
from gssl.io.table_reading import Column
from gssl.wording import counted, listed


def test_a_column_is_the_one_named_else_a_guess_else_by_place():
    table = open_table("SELECT 1 AS x, 2 AS Node")
    assert pick_column(table, "x", ("id", "node"), 0) == "x"
    assert pick_column(table, None, ("id", "node"), 0) == "Node"
    assert pick_column(table, None, ("id",), 0) == "x"
    with pytest.raises(ValueError, match=r"has only 2 columns \('x', 'Node'\) and needs 3: check the sep"):
        pick_column(table, None, (), 2)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("UBIGINT", True),
        ("BOOLEAN", True),
        ("DECIMAL(4,2)", True),
        ("INTEGER[]", False),
        ("ENUM('MINT')", False),
    ],
)
def test_columns_of_number_types_are_numbers(kind, expected):
    assert is_number(Column("x", kind)) == expected


def test_texts_are_read_as_numbers_and_whole_floats_as_texts():
    table = open_table("SELECT unnest(['1e3', 'true', 'False', 'x', NULL]) AS x")
    numbers = table.fetch_columns(f"SELECT {number_sql(table.columns['x'])} AS x FROM {table.relation}")["x"]
    np.testing.assert_array_equal(numbers, [1000, 1, 0, np.nan, np.nan])
    table = open_table("SELECT 7.0::DOUBLE AS id UNION ALL SELECT NULL")
    assert table.fetch_rows(f"SELECT {text_sql(table, 'id')} FROM {table.relation}") == [("7",), (None,)]


def test_codes_are_in_text_order():
    table = open_table("SELECT 1")
    table.execute("CREATE TEMP TABLE e AS SELECT 'x' AS a, 'w' AS b, 3 AS c")
    texts, codes = encode_texts(table, "e", ["a", "b"], ["c"])
    assert texts.tolist() == ["w", "x"]
    assert {name: values.tolist() for name, values in codes.items()} == {"a": [1], "b": [0], "c": [3]}


def test_errors_count_and_list_what_they_name():
    assert listed(["a", "b", "c"], 2) == "'a', 'b' and 1 more"
    assert (counted(1, "edge"), counted(1234, "edge")) == ("1 edge", "1,234 edges")
    with pytest.raises(
        ValueError, match=r"^x has more than one row for 'b', 'a'; keep one, or name the columns"
    ):
        check_distinct(np.array(list("bcaab"), dtype=object), "x")
