"""Imputation and scaling of dense and sparse features and of files, and of new tables as in fit."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from gssl.graph.mapped import mapped_file
from gssl.io import Encoding, Features, Preparation
from gssl.io.feature_blocks import to_file
from gssl.operators import dense

NAN = np.nan


def features(matrix, names=None, kinds=()):
    matrix = matrix if issparse(matrix) else np.asarray(matrix, dtype=np.float32)
    ids = np.array([f"n{i}" for i in range(matrix.shape[0])], dtype=object)
    return Features(ids, matrix, names or tuple(f"x{j}" for j in range(matrix.shape[1])), "f", [], kinds)


def as_form(matrix, form):
    matrix = np.asarray(matrix, dtype=np.float32)
    if form == "sparse":
        return csr_array(matrix)
    return matrix if form == "dense" else to_file([matrix], *matrix.shape)


FORMS = pytest.mark.parametrize("form", ["dense", "sparse", "mapped"])


@FORMS
def test_columns_are_filled_some_at_a_time(form):
    """32 columns of so many rows are a block."""
    X = np.random.default_rng(0).integers(1, 9, size=(65_536, 70)).astype(np.float32)
    X[::5, ::3] = NAN
    given = features(as_form(X, form))
    filled = dense(Preparation.fit(given, "none").apply(given).matrix)[:, :70]
    np.testing.assert_array_equal(filled, np.where(np.isnan(X), np.nanmedian(X, axis=0), X))


@FORMS
def test_gaps_get_the_median_and_one_mark_for_equal_gaps(form):
    X = [[1, NAN, NAN, 5], [3, NAN, NAN, 6], [NAN, 7, 4, 7], [100, 9, 5, 8]]
    given = features(as_form(X, form))
    made = Preparation.fit(given, "none")
    applied = made.apply(given)
    assert applied.names == ("x0", "x1", "x2", "x3", "x0=missing", "x1=missing")
    wanted = [[1, 8, 4.5, 5, 0, 1], [3, 8, 4.5, 6, 0, 1], [3, 7, 4, 7, 1, 0], [100, 9, 5, 8, 0, 0]]
    np.testing.assert_array_equal(dense(applied.matrix), wanted)
    assert applied.notes == [
        "f: filled 5 missing cells with the median of the column: 'x0' (1), 'x1' (2), 'x2' (2)."
    ]
    assert made.notes == ()
    assert (mapped_file(applied.matrix) is not None) == (form == "mapped")
    assert issparse(applied.matrix) == (form == "sparse")


@FORMS
def test_gaps_of_new_tables_get_the_median_of_fit(form):
    X = np.array([[1, 0], [2, 0], [30, 5]]).repeat(3, axis=1)
    made = Preparation.fit(features(as_form(X, form)), "none")
    applied = made.apply(features(as_form([[NAN] * 6, [4] * 6], form)))
    np.testing.assert_array_equal(dense(applied.matrix), [[2, 2, 2, 0, 0, 0], [4] * 6])
    [note] = applied.notes
    assert note.startswith("f: filled 6 missing cells with the median of the column: 'x0' (1), 'x1' (1)")
    assert note.endswith("'x3' (1), 'x4' (1) and 1 more.")


@FORMS
def test_word_counts_are_scaled_by_rows(form):
    X = np.array([[2, 0, 0, 0, 2], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 3, 0, 0]])
    given = features(as_form(X, form))
    made = Preparation.fit(given)
    np.testing.assert_allclose(
        dense(made.apply(given).matrix), X / np.maximum(X.sum(axis=1, keepdims=True), 1)
    )
    assert made.notes == ("f: rows of 5 word counts are scaled to sum to one.",)


@FORMS
def test_measurements_are_standardised_and_flags_and_categories_stay(form):
    X = np.array([[20, 1000, 1, 1, 0], [40, 5000, 0, 1, 0], [60, 3000, 1, 0, 1], [40, 3000, 1, 0, 1]])
    kinds = ("number", "number", "number", "category", "category")
    given = features(as_form(X, form), ("age", "income", "member", "city=a", "city=b"), kinds)
    made = Preparation.fit(given)
    prepared = dense(made.apply(given).matrix)
    np.testing.assert_allclose(prepared[:, :2], (X[:, :2] - X[:, :2].mean(0)) / X[:, :2].std(0), atol=1e-6)
    np.testing.assert_array_equal(prepared[:, 2:], X[:, 2:])
    assert made.notes == ("f: 2 columns of measurements are standardised (mean 0, deviation 1).",)


def test_many_categories_do_not_make_measurements_counts():
    """Rows of age, income and city are not scaled to sum to one, although most cells are zeros."""
    cities = np.eye(30)
    X = np.column_stack([np.arange(20, 50), np.arange(30) * 100.0, cities])
    kinds = ("number", "number", *("category",) * 30)
    given = features(csr_array(X), kinds=kinds)
    prepared = dense(Preparation.fit(given).apply(given).matrix)
    np.testing.assert_allclose(prepared[:, :2].std(axis=0), 1, rtol=1e-5)
    np.testing.assert_array_equal(prepared[:, 2:], cities)


@pytest.mark.parametrize(
    ("X", "note"),
    [
        ([[1, 0, 1], [1, 1, 0], [0, 1, 1]], "f: 3 columns of 0 and 1 kept as given."),
        (np.random.default_rng(0).normal(size=(50, 20)), "f: 20 columns on one scale kept as given."),
    ],
)
def test_flags_and_embeddings_stay(X, note):
    given = features(X)
    made = Preparation.fit(given)
    np.testing.assert_array_equal(made.apply(given).matrix, given.matrix)
    assert made.notes == (note,)


def test_words_of_a_text_are_scaled_beside_measurements():
    X = np.array([[30, 0.5, 0.5], [50, 0, 2.0]])
    given = features(X, ("age", "t:a", "t:b"), ("number", "word", "word"))
    np.testing.assert_allclose(Preparation.fit(given).apply(given).matrix, [[-1, 0.5, 0.5], [1, 0, 1]])


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        ("none", [[1, 3], [3, 3]]),
        ("rows", [[0.25, 0.75], [0.5, 0.5]]),
        ("l1", [[0.25, 0.75], [0.5, 0.5]]),
        ("columns", [[-1, 0], [1, 0]]),
    ],
)
def test_features_are_scaled_as_asked_for(how, wanted):
    given = features([[1, 3], [3, 3]])
    np.testing.assert_allclose(Preparation.fit(given, how).apply(given).matrix, wanted)
    with pytest.raises(ValueError, match="normalize is 'l2': give one of auto, rows, columns, none"):
        Preparation.fit(given, "l2")


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_new_tables_get_the_numbers_of_fit(form):
    """The new table has another column order, an extra column and new gaps."""
    old = features(as_form([[1, 10], [3, 30], [5, 20]], form), ("a", "b"))
    made = Preparation.from_json(Preparation.fit(old).to_json())
    assert made == Preparation.fit(old)
    new = features(as_form([[7, 20, 3], [7, NAN, 5]], form), ("extra", "b", "a"))
    applied = made.apply(new)
    scale_a, scale_b = np.std([1, 3, 5]), np.std([10, 20, 30])
    np.testing.assert_allclose(dense(applied.matrix), [[0, 0], [2 / scale_a, 0 / scale_b]], atol=1e-6)
    assert applied.notes == [
        "f: left out 1 feature that the model does not know: 'extra'.",
        "f: filled 1 missing cell with the median of the column: 'b' (1).",
    ]
    gone = made.apply(features(as_form([[30.0]], form), ("b",)))
    np.testing.assert_allclose(dense(gone.matrix), [[0, 10 / scale_b]], atol=1e-6)
    assert gone.notes == ["f: 1 column of the model is absent and taken as missing: 'a'."]
    with pytest.raises(ValueError, match="1 feature that f does not have, the first of them 'a'"):
        made.apply(features([[30.0]], ("b",)), strict=True)
    with pytest.raises(ValueError, match="2 features that f does not have"):
        made.apply(features([[30.0]], ("c",)))


def test_words_that_do_not_occur_again_are_zeros():
    made = Preparation.fit(features(csr_array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]]), ("p", "q", "r")))
    applied = made.apply(features(csr_array([[2.0, 2.0, 4.0]]), ("r", "p", "new")))
    assert dense(applied.matrix).tolist() == [[0.5, 0, 0.5]]
    assert applied.notes[1] == "f: 1 feature of the model is absent and taken as zero: 'q'."


def test_a_model_without_an_encoding_still_loads():
    """Its categories and texts are those that the names of features say; weights of words are not known."""
    kinds = ("number", "category", "category", "word", "word")
    made = Preparation.fit(features(np.eye(5), ("x", "job=spy", "job=cook", "says:a", "says:b"), kinds))
    old = {key: value for key, value in json.loads(made.to_json()).items() if key != "encoding"}
    assert Preparation.from_json(json.dumps(old)).encoding == Encoding(("job",), {"says": {}})
    old["encoding"] = {"categories": ["job"], "words": {"says": {"a": 1.0, "b": 1.0}}}
    assert Preparation.from_json(json.dumps(old)).encoding.numbers == {}


class CountedName(str):
    """A name that counts how often any such name is hashed, and fails beyond ten times per name."""

    __slots__ = ()
    hashed = 0

    def __hash__(self):
        CountedName.hashed += 1
        assert CountedName.hashed <= 500_000, "names are hashed again and again"
        return super().__hash__()


def test_aligning_50_000_names_hashes_each_a_few_times():
    names = tuple(CountedName(f"w{j}") for j in range(50_000))
    made = Preparation.fit(features(csr_array((2, len(names)), dtype=np.float32), names))
    new = features(csr_array((2, len(names)), dtype=np.float32), (*names[1:], CountedName("new")))
    applied = made.apply(new)
    assert applied.names == names
    assert applied.notes[0].endswith("left out 1 feature that the model does not know: 'new'.")


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "[]",
        "{}",
        '{"names": 1}',
        '{"names": ["a"], "kinds": [], "fill": [], "marked": [], "shift": []}',
        1,
        [],
        {},
        {"categories": [1], "words": {}},
        {"categories": [], "words": ["t"]},
        {"categories": [], "words": {"t": {"a": "x"}}},
        {"categories": [], "words": {}, "numbers": 7},
        {"categories": [], "words": {}, "numbers": {"x": "runes"}},
        {"categories": [], "words": {"t": {"a": float("nan")}}},
    ],
)
def test_a_damaged_preparation_or_encoding_is_refused(damage):
    whole = json.loads(Preparation.fit(features([[1.0]])).to_json())
    text = damage if isinstance(damage, str) else json.dumps(whole | {"encoding": damage})
    with pytest.raises(ValueError, match="does not say how its features were prepared"):
        Preparation.from_json(text)
