"""Labels are accepted in every form, and predictions have the same form."""

import warnings

import numpy as np
import pandas
import pytest

import gssl
from gssl.graph import GraphWarning
from gssl.io import read_labels
from gssl.methods.labels import encode_labels

NUMBERS = {
    "ints": lambda truth, known: np.where(known, truth, -1),
    "int8": lambda truth, known: np.where(known, truth, -1).astype(np.int8),
    "list": lambda truth, known: np.where(known, truth, -1).tolist(),
    "floats": lambda truth, known: np.where(known, truth, -1.0),
    "nan": lambda truth, known: np.where(known, truth, np.nan),
    "objects with None": lambda truth, known: np.where(known, truth.astype(object), None),
    "objects with NaN": lambda truth, known: np.where(known, truth.astype(object), np.nan),
    "objects with −1": lambda truth, known: np.where(known, truth.astype(object), -1),
    # an int64 column that loses values becomes float64 in pandas, with NaN
    **{
        f"pandas {dtype}": lambda truth, known, dtype=dtype: pandas.Series(truth, dtype=dtype).where(known)
        for dtype in ("int64", "float64", "Int64", "Float64")
    },
    "pandas with another index": lambda truth, known: pandas.Series(
        np.where(known, truth, -1), index=np.arange(36)[::-1]
    ),
}


TEXTS = {
    "list": lambda texts, known: np.where(known, texts.astype(object), None).tolist(),
    **{
        f"pandas {dtype}": lambda texts, known, dtype=dtype: pandas.Series(texts, dtype=dtype).where(known)
        for dtype in ("object", "str", "string", "category")
    },
}
NAMES = np.array(["ant", "bee", "cat"])


@pytest.fixture
def known(problem):
    return problem.y >= 0


@pytest.fixture
def model():
    return gssl.EmbeddingClassifier(gssl.SGC(), head="ridge")


@pytest.mark.parametrize("form", NUMBERS)
def test_numbers_of_any_form_are_labels(problem, known, model, form):
    y = NUMBERS[form](5 * problem.truth, known)
    model.fit(problem.X, y, adjacency=problem.A)
    np.testing.assert_array_equal(model.classes_, [0, 5, 10])
    np.testing.assert_array_equal(model.transduction_, 5 * problem.truth)


@pytest.mark.parametrize("missing", [None, np.nan, -1, -1.0])
def test_text_in_an_object_array(problem, known, classifier, missing):
    y = NAMES[problem.truth].astype(object)
    y[~known] = missing
    classifier.fit(problem.X, y, adjacency=problem.A)
    assert classifier.classes_.tolist() == NAMES.tolist()
    assert classifier.transduction_.tolist() == NAMES[problem.truth].tolist()
    assert classifier.predict(problem.X, adjacency=problem.A).tolist() == NAMES[problem.truth].tolist()


@pytest.mark.parametrize("form", TEXTS)
def test_texts_of_any_form_are_labels(problem, known, model, form):
    model.fit(problem.X, TEXTS[form](NAMES[problem.truth], known), adjacency=problem.A)
    assert model.transduction_.tolist() == NAMES[problem.truth].tolist()


def test_true_and_false(problem, known, model):
    y = np.where(known, (problem.truth == 1).astype(object), None)
    model.fit(problem.X, y, adjacency=problem.A)
    assert model.classes_.dtype == bool
    np.testing.assert_array_equal(model.transduction_, problem.truth == 1)


@pytest.mark.parametrize("text", ["", " \t", "-1", "nan", "None", "NA", "?", " null "])
@pytest.mark.parametrize("kind", [object, str, list])
def test_empty_text_and_markers_are_unlabelled(problem, known, classifier, text, kind):
    y = np.where(known, NAMES[problem.truth], text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)
        classifier.fit(problem.X, y.tolist() if kind is list else y.astype(kind), adjacency=problem.A)
    assert classifier.classes_.tolist() == NAMES.tolist()
    assert classifier.transduction_.tolist() == NAMES[problem.truth].tolist()


def test_markers_are_counted_in_a_warning_and_empty_text_is_not():
    with pytest.warns(
        GraphWarning, match=r"^y: 3 texts taken as no label: 'NA' \(2\), '-1' \(1\); rename"
    ) as seen:
        assert encode_labels(["a", "NA", "b", "NA", "", "-1"])[1].tolist() == [0, -1, 1, -1, -1, -1]
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encode_labels(["a", "", "b", "  "])[0].tolist() == ["a", "b"]


def test_minus_one_as_text_is_a_class_beside_one_other_class():
    assert encode_labels(["1", "-1", "1"])[0].tolist() == ["-1", "1"]


def test_a_class_may_be_written_like_a_missing_value(problem, known):
    y = np.where(known, np.array(["NA", "EU", "-1"], dtype=object)[problem.truth], None)
    labels = read_labels(pandas.DataFrame({"id": np.arange(36), "label": y}), na=["unknown"]).labels
    model = gssl.EmbeddingClassifier(gssl.SGC(), head="ridge").fit(problem.X, labels, adjacency=problem.A)
    assert model.classes_.tolist() == ["-1", "EU", "NA"]
    assert gssl.evaluation.held_out_accuracy(model, problem.X, labels, problem.A).n_labels == known.sum()


@pytest.mark.parametrize("kind", [list, lambda y: np.array(y, dtype=object), np.array])
def test_texts_of_numbers_with_decimals_that_nearly_all_differ_are_refused(kind):
    measured = [f"{i + 0.14:.2f}" for i in range(10)]
    with pytest.raises(
        ValueError, match=r"^y holds 10 different numbers, such as 0\.14, and a classifier predicts"
    ):
        encode_labels(kind(measured))
    assert len(encode_labels(measured[:9])[0]) == 9
    assert len(encode_labels(measured[:3] * 10)[0]) == 3
    assert len(encode_labels([str(i) for i in range(50)])[0]) == 50
    assert len(encode_labels([*measured, "low"])[0]) == 11


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: np.full(36, ""), "y has no labels"),
        (lambda y: np.full(36, -1), "no labels"),
        (lambda y: np.full(36, np.nan), "no labels"),
        (lambda y: np.full(36, None), "no labels"),
        (lambda y: np.array([4, *NAMES[y[1:]]], dtype=object), "mixes text with other values"),
        (lambda y: np.where(y == 0, 0, -1), r"labels of one class only .*0.* needs two classes"),
        (
            lambda y: y + 0.5,
            r"continuous, y holds 4 different numbers, such as -0\.5, and a classifier",
        ),
        (lambda y: np.where(np.arange(36) == 4, np.inf, y), "infinity at position 4"),
    ],
)
def test_what_cannot_be_labels_is_an_error(problem, classifier, change, message):
    with pytest.raises(ValueError, match=message):
        classifier.fit(problem.X, change(problem.y), adjacency=problem.A)


def test_a_class_with_one_label_works(problem, classifier):
    y = np.full(36, -1)
    y[[2, 14, 26]] = [0, 1, 2]
    classifier.fit(problem.X, y, adjacency=problem.A)
    assert np.mean(classifier.transduction_ == problem.truth) > 0.9


def test_every_node_labelled_works(problem, classifier):
    classifier.fit(problem.X, problem.truth, adjacency=problem.A)
    np.testing.assert_array_equal(classifier.transduction_, problem.truth)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", "a\0", "b"], r"the labels 'a' and 'a\\x00', which NumPy takes for one"),
        (["a\0\0", "b", "a\0"], r"the label 'a\\x00\\x00', and NumPy drops NUL"),
        ([b"a", b"a\0", b"b"], r"the labels b'a' and b'a\\x00'"),
        ([1, True, 0], "the labels 1 and True, which NumPy takes for one"),
        ([False, 2, 0.0], r"the labels False and 0\.0"),
        ([np.True_, 1, 2], "the labels np.True_ and 1"),
        ([2**53 + 1, 2.0**53, 0.5], "the labels 9007199254740993 and 9007199254740992.0"),
    ],
)
@pytest.mark.parametrize("kind", [list, lambda y: np.array([*y, None], dtype=object)], ids=["list", "object"])
def test_labels_that_numpy_would_merge_are_refused(y, message, kind):
    with pytest.raises(ValueError, match=message):
        encode_labels(kind(y))


def test_labels_that_are_equal_are_one_class():
    assert encode_labels([1, 1.0, np.int8(2), 2])[0].tolist() == [1, 2]
    assert encode_labels([True, np.False_, None])[0].tolist() == [False, True]
    assert encode_labels(["a\0b", "a"])[0].tolist() == ["a", "a\0b"]


@pytest.mark.parametrize("kind", [int, float, str])
def test_whole_numbers_that_nearly_all_differ_and_are_far_apart_are_refused(kind):
    views = np.random.default_rng(0).integers(1000, 100_000, size=60)
    with pytest.raises(ValueError, match="holds 60 different numbers"):
        encode_labels(views.astype(kind))
    # one label of each class
    assert len(encode_labels(np.arange(60).astype(kind))[0]) == 60
    assert len(encode_labels(np.repeat(views[:30], 20).astype(kind))[0]) == 30
