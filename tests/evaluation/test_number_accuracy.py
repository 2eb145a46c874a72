import numpy as np
import pytest

from gssl.evaluation.number_accuracy import NumberAccuracy


def test_errors_are_compared_with_those_of_the_mean():
    truth, predicted = np.array([1.0, 2.0, 3.0, 10.0]), np.array([1.0, 2.5, 3.0, 8.0])
    accuracy = NumberAccuracy(truth, predicted, predicted - 1, predicted + 1)
    assert accuracy.r_squared[0] == pytest.approx(1 - 4.25 / 50)
    assert accuracy.typical_error == 0.25
    assert accuracy.error_of_mean == 2.5
    assert accuracy.within.tolist() == [True, True, True, False]
    assert accuracy.beats_mean
    assert not NumberAccuracy(truth, predicted[::-1], predicted, predicted).beats_mean
