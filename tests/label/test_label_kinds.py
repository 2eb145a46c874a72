import numpy as np
import pytest

from gssl.label.label_kinds import ClassNames, NumberLabels, check_number, parse_number


@pytest.mark.parametrize(
    ("text", "number"),
    [("3", 3.0), (" -2.5 ", -2.5), ("+.5", 0.5), ("1e3", 1000.0), ("7.", 7.0), ("\u22124", -4.0)],
)
def test_typed_numbers_are_read(text, number):
    assert parse_number(text) == number


DIGITS, POINT = "is not a number: type digits", "decimals with a point, and thousands without commas"
NO_NUMBERS = ["abc", "inf", "-inf", "nan", "NaN", "Infinity", "", "1_000", "0x10", "1 2", "٣", "1e", "--1"]


@pytest.mark.parametrize(
    ("check", "given", "why"),
    [
        *((parse_number, text, DIGITS) for text in NO_NUMBERS),
        *((parse_number, text, POINT) for text in ("3,5", "1,200", "1.200,5")),
        *((check_number, number, "must be a number") for number in (True, "3", None, [1], {})),
        *((check_number, number, "too large") for number in (float("inf"), float("nan"), -1e301, 10**400)),
    ],
)
def test_what_is_no_number_is_refused_with_the_reason(check, given, why):
    with pytest.raises(ValueError, match=why):
        check(given)


def test_labels_become_codes_and_columns():
    names, y = ClassNames(), np.array(["b", None, "a"], dtype=object)
    assert names.read(y) == {0: 1, 2: 0}
    assert (names.encode("c"), names.decode(2), names.names) == (2, "c", ["a", "b", "c"])
    assert names.summarise([0, 2, 2]) == "3 labels in 2 classes"
    numbers = NumberLabels()
    assert numbers.read(np.array([1.5, None, 2], dtype=object)) == {0: 1.5, 2: 2.0}
    assert (numbers.encode(4.0), numbers.decode(4.0), numbers.names) == (4.0, 4.0, [])
    assert numbers.tabulate([1, 2.5]).dtype == np.float64
    with pytest.raises(ValueError, match="no classes to add"):
        numbers.check_new_class("x")
