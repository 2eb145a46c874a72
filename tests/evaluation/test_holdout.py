from itertools import product

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from tests.estimators import CLASSIFIERS, EMBEDDERS

import gssl
from gssl.evaluation import (
    HeldOut,
    has_cheap_holdout,
    held_out_accuracy,
    held_out_distributions,
    held_out_if_known,
    masked_labels,
)
from gssl.evaluation.holdout import balanced_fold_count, dealt_folds, fold_numbers, label_folds

KARATE = gssl.datasets.load("karate")


class Memory(BaseEstimator):
    """Predict given labels as they are, and class 0 for every other node."""

    shown: list = []  # noqa: RUF012 (a clone must write where the test reads)

    def fit(self, X, y, *, adjacency=None):
        Memory.shown.append(np.array(y))
        self.classes_ = np.unique(y[y != -1])
        self.label_distributions_ = np.eye(len(self.classes_))[np.where(y == -1, 0, y)]
        return self


def test_each_label_is_hidden_exactly_once_and_the_graph_stays_whole():
    y = KARATE.labels.copy()
    y[:4] = -1
    Memory.shown.clear()
    result = held_out_accuracy(Memory(), KARATE.features, y, KARATE.adjacency, n_folds=5)
    times_hidden = sum((shown == -1) & (y != -1) for shown in Memory.shown)
    assert times_hidden.tolist() == [0] * 4 + [1] * 30
    # a model that always predicts class 0 is right for nodes of class 0
    assert result.accuracy == pytest.approx((y[4:] == 0).mean())
    assert result.nodes.tolist() == list(range(4, 34))
    assert result.truth.tolist() == y[4:].tolist()
    assert result.predicted.tolist() == [0] * 30
    assert (result.n_labels, result.n_folds) == (30, 5)
    assert result.source == "5-fold label masking on 30 labels; the graph was never cut."


def test_the_standard_error_of_few_right_answers_is_not_zero():
    y = np.where(np.arange(34) < 2, 0, -1)
    y[32:] = 1
    result = held_out_accuracy(gssl.LabelPropagation(), None, y, KARATE.adjacency, n_folds=2)
    assert result.accuracy == 1.0
    assert result.standard_error == pytest.approx(np.sqrt(5 / 6 * 1 / 6 / 6))


def test_accuracy_stands_beside_what_the_largest_class_reaches():
    """Nine labels in ten are of one class, and the model always predicts that class."""
    y = np.array(["rare"] * 3 + ["common"] * 27 + [None] * 4, dtype=object)
    P = np.tile([0.9, 0.1], (30, 1))
    result = HeldOut(np.arange(30), (y[:30] == "rare").astype(int), P, np.array(["common", "rare"]), 5, 0)
    assert (result.accuracy, result.largest_share, result.macro_recall) == (0.9, 0.9, 0.5)
    assert not result.beats_largest_class
    assert result.summary == (
        "90.0 % of 30 hidden labels are right (77.4 to 95.9 %), and 50.0 % on average over the classes; "
        "always answering 'common' would be right for 90.0 %. "
        "This is no better than always answering the largest class."
    )
    assert result.confusion.counts.tolist() == [[27, 0], [3, 0]]


def test_classes_that_are_rarely_found_are_named():
    """Five classes are never predicted; one of them has too few labels to say so."""
    sizes = {"a": 40, "b": 40, "lost": 12, "worse": 20, "gone": 8, "none": 9, "one": 1}
    classes = np.array(sorted(sizes))
    codes = np.concatenate([np.full(n, np.searchsorted(classes, name)) for name, n in sizes.items()])
    P = np.eye(len(classes))[np.where(codes > 1, 0, codes)]
    result = HeldOut(np.arange(len(codes)), codes, P, classes, 5, 0)
    assert classes[result.rarely_found].tolist() == ["worse", "lost", "none", "gone"]
    assert result.warning == (
        "Warning: the model rarely finds 'worse' (0 of 20 hidden labels), 'lost' (0 of 12 hidden labels), "
        "'none' (0 of 9 hidden labels) and 1 more: label more nodes of them."
    )
    right = HeldOut(result.nodes, codes, np.eye(len(classes))[codes], classes, 5, 0)
    assert (right.warning, len(right.rarely_found)) == ("", 0)


def test_what_is_known_of_hidden_labels_needs_no_fit(monkeypatch):
    y = KARATE.labels.copy()
    y[10:24] = -1
    ogc = gssl.OGC(random_state=0).fit(KARATE.features, y, adjacency=KARATE.adjacency)
    assert held_out_if_known(ogc) is None
    auto = gssl.AutoClassifier(depth=2)
    models = [gssl.CalibratedClassifier(gssl.OGC(random_state=0)), auto, gssl.CalibratedClassifier(auto)]
    for model in models:
        model.fit(KARATE.features, y, adjacency=KARATE.adjacency)
        monkeypatch.setattr(type(model), "fit", lambda *_, **__: pytest.fail("fitted again"))
        held_out = held_out_if_known(model)
        monkeypatch.undo()
        assert held_out.nodes.tolist() == np.flatnonzero(y != -1).tolist()
        assert held_out.truth.tolist() == y[y != -1].tolist()
        assert held_out.source == "Each of 20 labels was hidden while its node was predicted."
        np.testing.assert_allclose(held_out.distributions.sum(axis=1), 1.0, rtol=1e-6)


def test_folds_are_stratified_and_never_take_a_whole_class():
    codes = np.repeat([0, 1, 2, -1], [20, 5, 2, 9])
    folds = label_folds(codes, n_folds=5, random_state=3)
    assert [np.bincount(codes[fold], minlength=3)[:2].tolist() for fold in folds] == [[4, 1]] * 5
    assert max(np.sum(codes[fold] == 2) for fold in folds) == 1
    assert np.sort(np.concatenate(folds)).tolist() == list(range(27))
    again = label_folds(codes, n_folds=5, random_state=3)
    assert all(np.array_equal(a, b) for a, b in zip(folds, again, strict=True))


def test_a_class_with_one_label_stays_in_training_and_the_source_says_so():
    y = np.full(34, -1)
    y[[0, 1, 32, 33, 5]] = [0, 0, 1, 1, 2]
    Memory.shown.clear()
    result = held_out_accuracy(Memory(), None, y, KARATE.adjacency)
    assert all(shown[5] == 2 for shown in Memory.shown)
    assert (result.n_labels, result.n_folds) == (4, 4)
    assert result.distributions.shape == (4, 3)
    assert "1 class with one label could not be tested" in result.source


def test_only_single_labels_cannot_be_judged():
    y = KARATE.mask_labels("default")
    with pytest.raises(ValueError, match="every class has one label only"):
        held_out_accuracy(gssl.LabelPropagation(), None, y, KARATE.adjacency)
    with pytest.raises(ValueError, match="at least 2 folds"):
        held_out_accuracy(gssl.LabelPropagation(), None, KARATE.labels, KARATE.adjacency, n_folds=1)


# the features of the karate club are the identity, which says nothing without the graph
@pytest.mark.parametrize("name", sorted(CLASSIFIERS.keys() - {"features-only"}))
def test_every_classifier_can_be_judged_in_the_callers_own_labels(name):
    y = np.array(KARATE.class_names, dtype=object)[KARATE.labels]
    y[10:20] = None
    folds = []
    result = held_out_accuracy(
        CLASSIFIERS[name], KARATE.features, y, KARATE.adjacency, 3, on_fold=lambda *done: folds.append(done)
    )
    assert folds == [(1, 3), (2, 3), (3, 3)]
    assert set(result.truth) == {"Mr. Hi", "Officer"}
    np.testing.assert_allclose(result.distributions.sum(axis=1), 1.0, rtol=1e-5)
    assert result.accuracy == pytest.approx(np.mean(result.predicted == result.truth))
    assert result.accuracy > 0.6


def test_settings_by_class_go_by_the_names_of_y():
    y = np.array(["left", "right"], dtype=object)[KARATE.labels]
    y[20:30] = None
    even, moved = (
        held_out_accuracy(
            gssl.EmbeddingClassifier(gssl.SGC(), priors=priors), KARATE.features, y, KARATE.adjacency
        )
        for priors in (None, {"left": 0.9, "right": 0.1})
    )
    assert (moved.distributions[:, 0] > even.distributions[:, 0]).all()


@pytest.mark.parametrize(
    ("y", "nothing"),
    [
        ([3, 3, 7, 7, 7, -1], -1),
        (np.array([3, 3, 7, 7, 7, 9], dtype=np.uint8), -1),
        (["a", "a", "b", "b", "b", None], None),
        ([2.0, 2.0, 1.0, 1.0, 1.0, np.nan], None),
    ],
)
def test_every_label_is_hidden_once_and_the_others_stay(y, nothing):
    given = list(y)
    if nothing == -1 and given[-1] == 9:
        given, y = given[:5], np.asarray(y)[:5]
    seen = []
    for masked, hidden in masked_labels(y, n_folds=2):
        assert all(masked[i] == nothing for i in hidden)
        kept = [i for i in range(5) if i not in hidden]
        assert [masked[i] for i in kept] == [given[i] for i in kept]
        assert {given[i] for i in kept} == set(given[:5])
        seen += hidden.tolist()
    assert sorted(seen) == [0, 1, 2, 3, 4]


def test_a_class_with_one_label_is_never_hidden():
    hidden = np.concatenate([nodes for _, nodes in masked_labels([0, 0, 1], n_folds=2)])
    assert sorted(hidden.tolist()) == [0, 1]


def test_keyed_folds_spread_each_class_whatever_the_order_of_labels_and_classes():
    codes, keys = np.array([0, 0, 1, 0, 1]), np.array([3.0, 1.0, 5.0, 2.0, 4.0])
    # the smaller class first (keys 4, 5), then the larger one (keys 1, 2, 3)
    assert fold_numbers(codes, 2, keys).tolist() == [0, 0, 1, 1, 0]
    assert [fold.tolist() for fold in dealt_folds(codes, 2, keys)] == [[0, 1, 4], [2, 3]]
    order = np.array([4, 2, 0, 3, 1])
    for other in (codes, 1 - codes):
        np.testing.assert_array_equal(fold_numbers(other[order], 2, keys[order]), [0, 1, 0, 1, 0])


def test_there_are_no_more_folds_than_most_classes_have_labels():
    assert balanced_fold_count(np.repeat([0, 1, 2], 2), most=5) == 2
    assert balanced_fold_count(np.repeat([0, 1, 2], [1, 4, 90]), most=5) == 5


def test_only_some_classifiers_hide_labels_without_a_fit():
    assert has_cheap_holdout(gssl.AutoClassifier())
    assert has_cheap_holdout(gssl.EmbeddingClassifier())
    assert not has_cheap_holdout(gssl.OGC())
    assert not has_cheap_holdout(Memory())


@pytest.mark.parametrize("X", [KARATE.features, None], ids=["features", "none"])
@pytest.mark.parametrize(
    ("embedder", "head"),
    [
        *((embedder, "ridge") for embedder in EMBEDDERS),
        *product(("ssgc", "ggcm"), ("logistic", "adam", LogisticRegression(C=10.0))),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::gssl.graph.GraphWarning")
def test_held_out_distributions_are_those_of_fits_to_the_other_labels(embedder, head, X):
    y = np.where(np.arange(34) % 4, KARATE.labels, -1)
    model = gssl.EmbeddingClassifier(EMBEDDERS[embedder], head=head, random_state=0)
    held_out = held_out_distributions(model.fit(X, y, adjacency=KARATE.adjacency), X, KARATE.adjacency)
    assert held_out.nodes.tolist() == np.flatnonzero(y != -1).tolist()
    hidden = label_folds(y, held_out.n_folds, 0)[0]
    masked = y.copy()
    masked[hidden] = -1
    expected = model.fit(X, masked, adjacency=KARATE.adjacency).label_distributions_[hidden]
    positions = np.searchsorted(held_out.nodes, hidden)
    np.testing.assert_allclose(held_out.distributions[positions], expected, atol=1e-6)


def test_a_classifier_that_is_not_fitted_has_nothing_to_say_about_hidden_labels():
    with pytest.raises(NotFittedError, match="held_out_accuracy"):
        held_out_distributions(gssl.EmbeddingClassifier(), KARATE.features, KARATE.adjacency)
