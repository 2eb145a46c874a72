"""The bench of numbers and label sets: scores are what scikit-learn says."""

import numpy as np
import pytest

from benchmarks.accuracy.answers import _set_scores


def test_scores_of_sets_by_hand():
    truth = np.array([[1, 0, 0], [1, 1, 0]])
    P = np.array([[0.2, 0.9, 0.1], [0.8, 0.7, 0.1]])
    precision, micro, macro, given = _set_scores(truth, P, (P > 0.5).astype(int))
    # the label that no node has does not count
    assert precision == pytest.approx((1.0 + 0.5) / 2)
    assert micro == pytest.approx(2 * 2 / (3 + 3))
    assert macro == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)
    assert given == pytest.approx(2 / 3)
