import numpy as np
import pytest

import gssl
from gssl.evaluation.holdout import fold_numbers
from gssl.selection.candidates import candidate_filters
from gssl.selection.trial import PENALTIES, Labels, Trial, nested_average


def test_labels_of_noise_are_predicted_as_badly_as_they_can_be():
    """What chose a model must not judge it: on noise, hidden labels are right by chance."""
    rates = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n, n_classes = 210, 7
        labels = rng.integers(n_classes, size=n)
        y = np.full(n, -1)
        for code in range(n_classes):
            y[rng.permutation(np.flatnonzero(labels == code))[:5]] = code
        links = np.triu(rng.random((n, n)) < 0.03, 1)
        X = rng.standard_normal((n, 40))
        model = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=(links + links.T).astype(float))
        truth = y[y >= 0]
        rates.append(np.mean(model._leave_one_out.argmax(axis=1) == truth))
    assert np.mean(rates) < 0.22


def test_models_are_ranked_by_the_labels_outside_of_a_fold():
    """A model that is right on one fold only never speaks about that fold."""
    Y = np.eye(2)[[0, 1] * 5]
    fold = fold_numbers(Y.argmax(axis=1), 5)
    good = np.broadcast_to(0.6 * Y + 0.2, (len(PENALTIES), 10, 2))
    lucky = np.where((fold == 0)[:, None], Y, 1 - Y)
    lucky = np.broadcast_to(lucky, (len(PENALTIES), 10, 2))
    zeros = np.zeros(len(PENALTIES))
    plain = candidate_filters(1)[0]
    trials = [Trial(plain, P, zeros, zeros, 0.0, PENALTIES) for P in (lucky, good)]
    P = nested_average(trials, Labels(Y, np.ones(10)))
    np.testing.assert_allclose(P, good[0])


@pytest.mark.parametrize("n_folds", [2, 5])
def test_a_class_is_dealt_evenly(n_folds):
    codes = np.repeat([0, 1, 2], [10, 5, 3])
    fold = fold_numbers(codes, n_folds)
    for code in range(3):
        counts = np.bincount(fold[codes == code], minlength=n_folds)
        assert counts.max() - counts.min() <= 1
