"""Labels are accepted in every form, and predictions have the same form."""

import warnings

import numpy as np
import pandas
import pytest

import gssl
from gssl.graph import GraphWarning
from gssl.io import read_labels
from gssl.methods.labels import encode_labels

UNLABELLED = {
    "ints": lambda truth, known: np.where(known, truth, -1),
    "int8": lambda truth, known: np.where(known, truth, -1).astype(np.int8),
    "list": lambda truth, known: np.where(known, truth, -1).tolist(),
    "floats": lambda truth, known: np.where(known, truth, -1.0),
    "nan": lambda truth, known: np.where(known, truth, np.nan),
    "objects with None": lambda truth, known: np.where(known, truth.astype(object), None),
    "objects with NaN": lambda truth, known: np.where(known, truth.astype(object), np.nan),
    "objects with −1": lambda truth, known: np.where(known, truth.astype(object), -1),
}
NAMES = np.array(["ant", "bee", "cat"])


@pytest.fixture
def known(problem):
    return problem.y >= 0


@pytest.fixture
def model():
    return gssl.EmbeddingClassifier(gssl.SGC(), head="ridge")


@pytest.mark.parametrize("form", UNLABELLED)
def test_numbers(problem, known, model, form):
    y = UNLABELLED[form](5 * problem.truth, known)
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


def test_text_in_a_list(problem, known, model):
    y = [str(name) if is_known else None for name, is_known in zip(NAMES[problem.truth], known, strict=True)]
    model.fit(problem.X, y, adjacency=problem.A)
    assert model.transduction_.tolist() == NAMES[problem.truth].tolist()


def test_true_and_false(problem, known, model):
    y = np.where(known, (problem.truth == 1).astype(object), None)
    y[known] = [bool(value) for value in y[known]]
    model.fit(problem.X, y, adjacency=problem.A)
    assert model.classes_.dtype == bool
    np.testing.assert_array_equal(model.transduction_, problem.truth == 1)


@pytest.mark.parametrize("dtype", ["object", "str", "string", "category"])
def test_pandas_text_with_missing_values(problem, known, model, dtype):
    pandas = pytest.importorskip("pandas")
    y = pandas.Series(NAMES[problem.truth], dtype=dtype).where(known)
    assert y.isna().sum() == np.count_nonzero(~known)
    model.fit(problem.X, y, adjacency=problem.A)
    assert model.transduction_.tolist() == NAMES[problem.truth].tolist()


@pytest.mark.parametrize("dtype", ["int64", "float64", "Int64", "Float64"])
def test_pandas_numbers_with_missing_values(problem, known, model, dtype):
    """An int64 column that loses values becomes float64 in pandas, with NaN."""
    pandas = pytest.importorskip("pandas")
    y = pandas.Series(problem.truth, dtype=dtype).where(known)
    model.fit(problem.X, y, adjacency=problem.A)
    np.testing.assert_array_equal(model.transduction_, problem.truth)


def test_a_pandas_index_is_not_an_order(problem, model):
    pandas = pytest.importorskip("pandas")
    y = pandas.Series(problem.y, index=np.arange(36)[::-1])
    np.testing.assert_array_equal(model.fit(problem.X, y, adjacency=problem.A).transduction_, problem.truth)


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


def test_only_empty_texts_are_no_labels(problem, classifier):
    with pytest.raises(ValueError, match="y has no labels"):
        classifier.fit(problem.X, np.full(36, ""), adjacency=problem.A)


def test_a_class_that_the_user_wants_is_kept_though_it_is_written_like_a_missing_value(problem, known):
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


def test_mixed_types_are_an_error(problem, classifier):
    y = NAMES[problem.truth].astype(object)
    y[3] = 4
    with pytest.raises(ValueError, match="mixes text with other values"):
        classifier.fit(problem.X, y, adjacency=problem.A)


@pytest.mark.parametrize("y", [np.full(36, -1), np.full(36, np.nan), np.full(36, None)])
def test_no_labels_are_an_error(problem, classifier, y):
    with pytest.raises(ValueError, match="no labels"):
        classifier.fit(problem.X, y, adjacency=problem.A)


def test_one_class_is_an_error(problem, classifier):
    with pytest.raises(ValueError, match=r"labels of one class only .*0.* needs two classes"):
        classifier.fit(problem.X, np.where(problem.y == 0, 0, -1), adjacency=problem.A)


def test_measurements_are_an_error(problem, classifier):
    with pytest.raises(
        ValueError, match=r"continuous, y holds 4 different numbers, such as -0\.5, and a classifier"
    ):
        classifier.fit(problem.X, problem.y + 0.5, adjacency=problem.A)


def test_infinity_is_an_error(problem, classifier):
    y = problem.y.astype(float)
    y[4] = np.inf
    with pytest.raises(ValueError, match="infinity at position 4"):
        classifier.fit(problem.X, y, adjacency=problem.A)


def test_a_class_with_one_label_works(problem, classifier):
    y = np.full(36, -1)
    y[[2, 14, 26]] = [0, 1, 2]
    classifier.fit(problem.X, y, adjacency=problem.A)
    assert np.mean(classifier.transduction_ == problem.truth) > 0.9


def test_every_node_labelled_works(problem, classifier):
    classifier.fit(problem.X, problem.truth, adjacency=problem.A)
    np.testing.assert_array_equal(classifier.transduction_, problem.truth)


def test_labels_given_are_not_modified(problem, classifier):
    before = problem.y.copy()
    classifier.fit(problem.X, problem.y, adjacency=problem.A)
    np.testing.assert_array_equal(problem.y, before)


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
