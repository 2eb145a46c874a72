"""Which columns are numbers, categories or texts, in a table and in new ones like it."""

import numpy as np
import pytest

from gssl.io import Preparation, read_features
from gssl.io.feature_reading import map_features
from gssl.operators import dense


def documents(n=30):
    """Return texts of four words, of which two say the class."""
    words = ("cats purr", "dogs bark", "cows moo")
    return [f"{words[k % 3]} number {k}" for k in range(n)]


def test_a_column_of_long_distinct_texts_is_text(write):
    rows = "".join(f"n{k},{text},{'ab'[k % 2]}\n" for k, text in enumerate(documents()))
    file = write("f.csv", "id,abstract,group\n" + rows)
    recognised, named = read_features(file), read_features(file, text="abstract")
    assert (recognised.names, recognised.kinds) == (named.names, named.kinds)
    np.testing.assert_array_equal(dense(recognised.matrix), dense(named.matrix))
    assert recognised.notes == [f"{file}: taken word by word, as texts: column 'abstract'."]
    assert named.notes == []


@pytest.mark.parametrize(
    "cell",
    [
        lambda k: f"id-{k:03d}",
        lambda k: f"https://example.org/the/long-path of/{k}".replace(" ", "%20"),
        lambda k: f"Firstname{k} Lastname{k}",
        lambda k: ("the city of Rome", "the city of Oslo", "the town of Ely")[k % 3],
    ],
    ids=["ids", "addresses", "names", "phrases that recur"],
)
def test_ids_addresses_names_and_recurring_phrases_are_categories(write, cell):
    rows = "".join(f"n{k},{cell(k)}\n" for k in range(30))
    features = read_features(write("f.csv", "id,what\n" + rows))
    assert set(features.kinds) == {"category"}


def test_words_of_a_new_table_have_the_weights_of_the_first(write):
    texts = documents()
    rows = [f"n{k},{text},{k},{'ab'[k % 2]}\n" for k, text in enumerate(texts)]
    head = "id,abstract,x,group\n"
    first = read_features(write("f.csv", head + "".join(rows)), text="abstract")
    encoding = Preparation.from_json(Preparation.fit(first).to_json()).encoding
    assert encoding == first.encoding
    new = write("g.csv", head + "".join(rows[4:6]) + "new,unheard of words,1,a\n")
    for text in (None, "abstract"):
        again = read_features(new, text=text, encoding=encoding)
        assert again.names == first.names
        np.testing.assert_array_equal(dense(again.matrix)[:2], dense(first.matrix)[4:6])
        np.testing.assert_array_equal(dense(again.matrix)[2, : len(encoding.words["abstract"])], 0)


def test_columns_of_a_new_table_have_the_kinds_of_the_first(write):
    """Empty categories and numbers are missing, and numbers in a column of categories are categories."""
    first = read_features(write("f.csv", "id,zip,age\na,12,1\nb,EC1,2\nc,,3\nd,N1,4\n"))
    made = Preparation.fit(first, "none")
    assert made.encoding.categories == ("zip",)
    empty = read_features(write("g.csv", "id,zip,age\nx,,\ny,NA,\n"), encoding=made.encoding)
    applied = made.apply(empty)
    assert dict(zip(applied.names, dense(applied.matrix)[0], strict=True)) == {
        "zip=12": 0,
        "zip=EC1": 0,
        "zip=N1": 0,
        "zip=missing": 1,
        "age": 2.5,
    }
    assert not [note for note in applied.notes if "left out" in note]
    numbers = read_features(write("g.csv", "id,zip,age\nx,12,1\ny,12,2\n"), encoding=made.encoding)
    assert (numbers.names, numbers.kinds) == (("zip=12", "age"), ("category", "number"))


@pytest.mark.parametrize(
    ("cells", "new", "expected"),
    [
        (["31/12/2020", "05/02/2021"], "05/02/2021", 18663),
        (["12/31/2020", "02/05/2021"], "05/02/2021", 18749),
        (["31/12/2020", "05/02/2021"], "2021-02-05", 18663),
        (["31/12/2020", "05/02/2021"], "12/31/2021", 18992),
        (["31/12/2020", "05/02/2021"], "unknown", None),
        (['"1,5"', '"2,75"'], '"1,125"', 1.125),
        (['"1,500,000"', '"2,750"'], '"1,125"', 1125),
        (['"1,5"', '"2,75"'], '"1,125,000"', 1125000),
        (['"1,5"', '"2,75"'], "unknown", None),
        (["1.5", "2"], "unknown", None),
    ],
)
def test_numbers_of_a_new_table_are_written_as_in_the_first(write, cells, new, expected):
    """A single row is read as among the rows of fit, unless its cell cannot be meant so."""
    rows = "".join(f"n{k},{cell},spy\n" for k, cell in enumerate(cells))
    first = read_features(write("f.csv", "id,x,job\n" + rows))
    encoding = Preparation.from_json(Preparation.fit(first).to_json()).encoding
    again = read_features(write("g.csv", f"id,x,job\nm,{new},spy\n"), encoding=encoding)
    assert (
        (again.names, again.kinds) == (first.names, first.kinds) == (("x", "job=spy"), ("number", "category"))
    )
    assert dense(again.matrix)[0, 0] == pytest.approx(np.nan if expected is None else expected, nan_ok=True)
    if expected is None:
        assert any("taken as missing" in note for note in again.notes)


def test_a_new_table_may_be_long_or_have_a_text_named_like_a_label(write):
    first = read_features(write("f.csv", "id,x,y\na,1,3\nb,2,4\n"))
    long = read_features(write("g.csv", "id,feature,value\nc,x,5\nc,y,6\n"), encoding=first.encoding)
    assert (long.names, dense(long.matrix).tolist()) == (("x", "y"), [[5, 6]])
    with pytest.raises(ValueError, match="column 'x' of id 'c' is 'unknown', not a finite number"):
        read_features(write("g.csv", "id,x,y\nc,unknown,1\n"), encoding=first.encoding, strict=True)
    first = read_features(write("f.csv", "id,label\na,one two\nb,two three\n"), text="label")
    again = read_features(write("g.csv", "id,label\nc,two\n"), encoding=first.encoding)
    assert again.names == first.names


def test_features_in_a_file_keep_the_notation_of_their_numbers(write):
    features = map_features(str(write("f.csv", "id,x,y\na,31/12/2020,1\nb,05/02/2021,2\n")))
    assert features.encoding.numbers == {"x": "day/month/year", "y": "number"}


@pytest.mark.parametrize("wrong", ["-", "12 kg", "#DIV/0!"])
def test_few_cells_that_are_no_numbers_are_missing(write, wrong):
    rows = "".join(f"n{k},{k},{k / 2}\n" for k in range(199))
    file = write("f.csv", f"id,x,y\n{rows}last,{wrong},{wrong}\n")
    features = read_features(file)
    assert features.names == ("x", "y")
    np.testing.assert_array_equal(dense(features.matrix)[198:], [[198, 99], [np.nan, np.nan]])
    assert features.notes == [
        f"{file}: 2 cells among numbers taken as missing, such as {wrong!r}: 'x' (1), 'y' (1)."
    ]
    with pytest.raises(ValueError, match=f"column 'x' of id 'last' is {wrong!r}, not a finite number"):
        read_features(file, strict=True)


@pytest.mark.parametrize(
    ("numbers", "others", "read"),
    [
        (19, ["oops"], True),
        (18, ["oops"], False),
        (197, ["oops"] * 3, False),
        (294, ["oops"] * 3, False),
        (297, ["oops"] * 3, True),
        (99, ["inf"], False),
        (99, ["1e99"], False),
    ],
)
def test_a_few_cells_of_a_column_of_numbers_may_be_text(write, numbers, others, read):
    rows = [*map(str, range(numbers)), *others]
    file = write("f.csv", "id,x\n" + "".join(f"n{k},{cell}\n" for k, cell in enumerate(rows)))
    if read:
        assert np.isnan(dense(read_features(file).matrix)).sum() == len(others)
        return
    with pytest.raises(ValueError, match=f"column 'x' of id 'n{numbers}' is '{others[0]}', not a finite num"):
        read_features(file)
