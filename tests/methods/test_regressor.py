"""Reading numbers of nodes: what is a number, what is none, and what is refused in one sentence."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import DataConversionWarning

from gssl.methods.regressor import read_numbers

NAN = float("nan")


@pytest.mark.parametrize(
    "y",
    [
        [1.0, NAN, -2.5, 4.0],
        [1, None, -2.5, 4],
        ["1", "", " -2.5 ", "4e0"],
        ["1.0", "NA", "-2.50", "+4"],
        np.array([1.0, NAN, -2.5, 4.0], dtype=np.float32),
        np.array([1.0, None, "-2.5", 4], dtype=object),
        pd.Series([1.0, None, -2.5, 4.0], index=[7, 7, 8, 9]),
        pd.Series([1.0, None, -2.5, 4.0], dtype="Float64"),
        pl.Series([1.0, None, -2.5, 4.0]),
    ],
    ids=["floats", "None", "texts", "markers", "float32", "objects", "pandas", "pandas NA", "polars"],
)
def test_numbers_are_float64_and_nan_where_unknown(y):
    found = read_numbers(y, 4)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [1.0, NAN, -2.5, 4.0])


def test_minus_one_is_a_number():
    for y in ([-1, 0, 1, -1], ["-1", "0", "1", "-1"]):
        np.testing.assert_array_equal(read_numbers(y), [-1.0, 0.0, 1.0, -1.0])


def test_whole_numbers_and_truths_are_numbers():
    np.testing.assert_array_equal(read_numbers(np.array([3, 1, 2], dtype=np.uint8)), [3.0, 1.0, 2.0])
    np.testing.assert_array_equal(read_numbers([True, False, True]), [1.0, 0.0, 1.0])


def test_one_column_is_read_with_a_warning():
    with pytest.warns(DataConversionWarning):
        np.testing.assert_array_equal(read_numbers([[1.0], [2.0], [NAN], [4.0]]), [1.0, 2.0, NAN, 4.0])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([1.0, 2.0, np.inf, 3.0], r"contains infinity at position 2: give a number, or NaN where it is"),
        ([1.0, -np.inf, 2.0, 3.0], "contains infinity at position 1"),
        (["1", "2", "inf", "3"], r"inf"),
        ([1.0, "tall", 2.0, 3.0], r"y holds the text 'tall', which is not a number: correct it, or leave it"),
        (["1,5", "2", "3", "4"], "y holds the text '1,5', which is not a number"),
        ([1.0, 2j, 3.0, 4.0], "which is not a number: give one number"),
        ([1.0, [2.0, 3.0], 3.0, 4.0], "which is not a number|inhomogeneous"),
        (np.ones((4, 2)), "1d array|1-d"),
        ([1.0, 2.0, 3.0], "y has 3 entries but X has 4 rows: give one number"),
        ([1.0, NAN, NAN, 2.0], "y has 2 known numbers: give at least 3"),
        ([1.0, NAN, NAN, NAN], "y has 1 known number: give at least 3"),
        ([NAN] * 4, "y has 0 known numbers|y has no known number"),
        ([2.5, 2.5, NAN, 2.5], "all 3 known numbers in y are 2.5: there is nothing to learn"),
        (np.ma.masked_array([1.0, 2.0, 3.0, 4.0], [True, False, False, False]), "mask"),
    ],
)
def test_what_is_no_list_of_numbers_is_one_sentence(y, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_numbers(y, 4)
    assert "\n" not in str(caught.value)
