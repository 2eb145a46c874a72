"""Label sets: thresholds computed by hand, and coverage on simulated data."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.selection import conformal_thresholds, coverage, label_sets
from gssl.selection.conformal import held_out_coverage


def drawn(m, rng, c=3):
    P = rng.dirichlet(np.full(c, 0.7), size=m)
    return P, np.array([rng.choice(c, p=row) for row in P])


def test_a_threshold_by_hand():
    # the scores 1 − p are 0.1 … 0.9; of these nine, ⌈10 · 0.8⌉ = 8 are at most 0.8
    p = 1 - np.arange(1, 10) / 10
    P = np.stack([p, 1 - p], axis=1)
    codes = np.zeros(9, dtype=int)
    np.testing.assert_allclose(conformal_thresholds(P, codes, 0.2, mondrian=False), 0.8)
    # ⌈10 · 0.95⌉ is more than nine: nothing can be excluded
    assert np.isinf(conformal_thresholds(P, codes, 0.05, mondrian=False)).all()
    by_class = conformal_thresholds(P, np.repeat([0, 1], [8, 1]), 0.2, mondrian=True)
    np.testing.assert_allclose(by_class[0], 0.8)
    assert np.isinf(by_class[1])


def test_the_promise_holds_on_average_over_draws():
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(300):
        thresholds = conformal_thresholds(*drawn(60, rng), 0.1, mondrian=False)
        P, codes = drawn(60, rng)
        shares.append(coverage(label_sets(P, thresholds), codes).coverage)
    # between 1 − α and 1 − α + 1 / (m + 1)
    np.testing.assert_allclose(np.mean(shares), 0.91, atol=0.012)


def test_a_threshold_for_each_class_survives_another_mix_of_classes():
    rng = np.random.default_rng(0)
    P, codes = drawn(30000, rng)
    P[:, 2] *= 0.2  # a class that the method neglects
    P /= P.sum(axis=1, keepdims=True)
    rare = (codes != 2) | (rng.random(30000) < 0.1)
    one = conformal_thresholds(P[rare], codes[rare], 0.1, mondrian=False)
    each = conformal_thresholds(P[rare], codes[rare], 0.1, mondrian=True)
    assert coverage(label_sets(P, one), codes).by_class[2] < 0.8
    np.testing.assert_allclose(coverage(label_sets(P, each), codes).by_class, 0.9, atol=0.03)


def test_classes_with_ten_labels_have_their_own_threshold_and_the_others_share_one():
    scores = np.concatenate([np.linspace(0.1, 0.55, 10), np.linspace(0.5, 0.9, 5), np.linspace(0.6, 0.95, 5)])
    codes = np.repeat([0, 1, 2], [10, 5, 5])
    P = np.full((20, 3), 0.0)
    P[np.arange(20), codes] = 1 - scores
    # ⌈11 · 0.9⌉ = 10: the largest of each ten
    np.testing.assert_allclose(conformal_thresholds(P, codes, 0.1), [0.55, 0.95, 0.95])
    # eight labels of the others are too few at 0.1, so they use the threshold of all 18: ⌈19 · 0.9⌉ = 18
    few = np.r_[0:14, 15:19]
    np.testing.assert_allclose(conformal_thresholds(P[few], codes[few], 0.1), [0.55, 0.8625, 0.8625])
    # at 0.05 ten labels are too few for any class: one threshold for all
    np.testing.assert_allclose(conformal_thresholds(P, codes, 0.05), 0.95)
    np.testing.assert_array_equal(held_out_coverage(P, codes, 0.1).labels_by_class, [10, 5, 5])


def test_sets_by_default_are_judged_without_the_label_that_is_judged():
    P, codes = drawn(90, np.random.default_rng(3))
    codes = np.where((codes == 2) & (np.arange(90) > 20), 0, codes)  # keeps few labels of the last class
    assert (np.bincount(codes) >= 10).tolist() == [True, True, False]
    thresholds = np.tile(conformal_thresholds(P, codes, 0.2), (90, 1))
    for i in range(90):
        others = (np.arange(90) != i) & ((codes == codes[i]) if codes[i] < 2 else (codes == 2))
        one = conformal_thresholds(P[others], codes[others], 0.2, mondrian=False)[0]
        thresholds[i, codes[i]] = one
    expected = coverage(label_sets(P, thresholds), codes)
    found = held_out_coverage(P, codes, 0.2)
    assert (found.coverage, found.mean_size) == (expected.coverage, expected.mean_size)


def test_rare_classes_are_covered_on_random_draws_of_a_graph():
    """A class of 6 % of the nodes with mostly heterophilous links, on 30 draws of 300 labels."""
    rng = np.random.default_rng(0)
    truth = rng.choice(3, size=1500, p=[0.6, 0.34, 0.06])
    pair = rng.integers(1500, size=(2, 40000))
    same = truth[pair[0]] == truth[pair[1]]
    pair = pair[:, rng.random(40000) < np.where(same, 0.5, 0.15)]
    A = csr_array((np.ones(pair.shape[1]), tuple(pair)), shape=(1500, 1500))
    A = ((A + A.T) > 0).astype(float)
    shares = {None: [], False: []}
    for _ in range(30):
        y = np.full(1500, -1)
        drawn = rng.permutation(1500)[:300]
        y[drawn] = truth[drawn]
        if (y == 2).sum() < 10:
            continue
        model = gssl.CalibratedClassifier(gssl.LabelSpreading(), folds=2).fit(None, y, adjacency=A)
        rest = y == -1
        for mondrian, found in shares.items():
            sets = model.predict_sets(mondrian=mondrian)[rest]
            found.append(coverage(sets, truth[rest]).by_class)
    assert len(shares[None]) >= 20
    by_class = np.mean(shares[None], axis=0)
    assert (by_class > 0.87).all(), by_class
    assert np.mean(shares[False], axis=0)[2] < 0.75


def test_classes_with_too_few_labels_are_named_beside_the_sets(recwarn):
    data = gssl.datasets.load("digits")
    y = np.full(len(data.labels), -1)
    for k in range(10):
        y[np.flatnonzero(data.labels == k)[: 4 if k == 8 else 12]] = k
    model = gssl.CalibratedClassifier(gssl.LabelSpreading(), folds=2).fit(None, y, adjacency=data.adjacency)
    with pytest.warns(
        gssl.graph.GraphWarning, match=r"1 of 10 classes.*'8' \(4 labels, \d+% of them covered\)"
    ):
        model.predict_sets()
    recwarn.clear()
    model.predict_sets(mondrian=True)
    model.predict_sets(mondrian=False)
    assert not recwarn.list


def test_no_set_is_empty():
    sets = label_sets(np.array([[0.4, 0.3, 0.3]]), np.full(3, 0.1))
    assert sets.tolist() == [[True, False, False]]


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1, True])
def test_miscoverage_is_a_share(alpha):
    with pytest.raises(ValueError, match="miscoverage is the share"):
        conformal_thresholds(np.eye(2), np.array([0, 1]), alpha, mondrian=False)


@pytest.mark.parametrize("mondrian", [False, True])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("m", [1, 2, 9, 60])
def test_one_sort_says_what_leaving_each_out_says(m, alpha, mondrian):
    rng = np.random.default_rng(m)
    P, codes = drawn(m, rng)
    P = np.round(P, 1)  # makes ties
    sets = np.zeros(P.shape, dtype=bool)
    for i in range(m):
        others = np.arange(m) != i
        thresholds = conformal_thresholds(P[others], codes[others], alpha, mondrian=mondrian)
        sets[i] = label_sets(P[[i]], thresholds)[0]
    expected, found = coverage(sets, codes), held_out_coverage(P, codes, alpha, mondrian=mondrian)
    assert found.coverage == expected.coverage
    assert (found.mean_size, found.singles) == (expected.mean_size, expected.singles)
    np.testing.assert_array_equal(found.by_class, expected.by_class)


@pytest.mark.parametrize("mondrian", [False, True, None])
def test_many_labels_are_judged_by_a_few_sorts(mondrian, monkeypatch):
    calls = []
    for name in ("sort", "argsort"):
        whole = getattr(np, name)
        monkeypatch.setattr(np, name, lambda values, whole=whole: calls.append(len(values)) or whole(values))
    P, codes = drawn(3000, np.random.default_rng(0))
    calls.clear()
    found = held_out_coverage(P, codes, 0.1, mondrian=mondrian)
    assert sum(calls) <= 3 * 3000
    assert abs(found.coverage - 0.9) < 0.01


def test_slack_is_that_of_the_numbers():
    """Single precision tolerates 1e-7 at a threshold, double precision not even 1e-13."""
    p = 0.3
    single = np.array([[1 - p, p]], dtype=np.float32)
    assert single[0, 1].astype(np.float64) != p
    for thresholds in (1 - p, 1 - p - 1e-7):
        assert label_sets(single, np.full(2, thresholds)).all()
    assert not label_sets(single, np.full(2, 1 - p - 1e-5))[0, 1]
    double = np.array([[1 - p, p]])
    assert label_sets(double, np.full(2, 1 - p)).all()
    assert not label_sets(double, np.full(2, 1 - p - 1e-13))[0, 1]
