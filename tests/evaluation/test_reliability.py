import numpy as np
import pytest

from gssl.evaluation import (
    Bin,
    confidence_histogram,
    expected_calibration_error,
    reliability,
)


def test_bins_hold_means_and_empty_ones_are_left_out():
    P = np.array([[0.55, 0.45], [0.05, 0.95], [0.99, 0.01], [0.52, 0.48]])
    low, high = reliability(["a", "b", "b", "a"], P, ["a", "b"])
    assert (low.low, low.high, low.count, low.accuracy) == (0.5, 0.6, 2, 1.0)
    assert low.confidence == pytest.approx(0.535)
    assert (high.low, high.high, high.count, high.accuracy) == (0.9, 1.0, 2, 0.5)
    error = (2 * (1 - 0.535) + 2 * (0.97 - 0.5)) / 4
    assert expected_calibration_error([low, high]) == pytest.approx(error)


def test_honest_confidence_has_almost_no_calibration_error():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1.0, size=20_000)
    truth = (rng.random(20_000) > p).astype(int)
    bins = reliability(truth, np.column_stack([p, 1 - p]), [0, 1])
    assert expected_calibration_error(bins) < 0.015


def test_certainty_falls_into_the_last_bin():
    assert confidence_histogram([1.0, 1.0 + 1e-9, 0.0], n_bins=4) == [
        Bin(0.0, 0.25, 1, 0.0, None),
        Bin(0.75, 1.0, 2, pytest.approx(1.0), None),
    ]


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="one row per label"):
        reliability(["a"], [[0.5, 0.5], [0.1, 0.9]], ["a", "b"])
    with pytest.raises(ValueError, match="at least 1 bin"):
        confidence_histogram([0.5], n_bins=0)
    with pytest.raises(ValueError, match="truth is known"):
        expected_calibration_error(confidence_histogram([0.5]))
