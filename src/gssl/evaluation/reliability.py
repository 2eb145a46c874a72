"""Reliability of confidences: whether predictions at 80 % confidence are right four times out of five."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Bin:
    """The nodes whose confidence lies in [low, high); the last bin includes 1.

    ``confidence`` and ``accuracy`` are their means; ``accuracy`` is None if the truth is unknown.
    """

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float | None


def reliability(truth: Any, distributions: Any, classes: Any, n_bins: int = 10) -> list[Bin]:
    """Compare confidence with accuracy in bins of equal width.

    Parameters
    ----------
    truth : array-like of shape (n,)
    distributions : array-like of shape (n, c)
    classes : array-like of shape (c,)
        The classes of the columns.
    n_bins : int, default=10
        Number of bins between 0 and 1; empty bins are left out.

    Returns
    -------
    list of Bin

    Examples
    --------
    >>> reliability(["a", "b"], [[0.9, 0.1], [0.6, 0.4]], ["a", "b"], n_bins=2)
    [Bin(low=0.5, high=1.0, count=2, confidence=0.75, accuracy=0.5)]
    """
    P = np.asarray(distributions, dtype=np.float64)
    truth = np.asarray(truth)
    if P.ndim != 2 or len(truth) != len(P) or P.shape[1] != len(classes):
        raise ValueError(
            f"distributions have shape {P.shape}, but there are {len(truth)} true labels and "
            f"{len(classes)} classes: give one row per label and one column per class."
        )
    right = np.asarray(classes)[P.argmax(axis=1)] == truth
    return _bins(P.max(axis=1), right.astype(np.float64), n_bins)


def confidence_histogram(confidences: Any, n_bins: int = 20) -> list[Bin]:
    """Count confidences in bins of equal width between 0 and 1, for nodes whose truth is unknown.

    Parameters
    ----------
    confidences : array-like of shape (n,)
    n_bins : int, default=20
        Empty bins are left out.

    Returns
    -------
    list of Bin

    Examples
    --------
    >>> [(b.low, b.count) for b in confidence_histogram([0.2, 0.7, 1.0], n_bins=2)]
    [(0.0, 1), (0.5, 2)]
    """
    return _bins(np.asarray(confidences, dtype=np.float64), None, n_bins)


def expected_calibration_error(bins: Sequence[Bin]) -> float:
    r"""Return the mean difference between confidence and accuracy, weighted by the nodes in each bin.

    .. math:: \sum_b \frac{n_b}{n} \, |\mathrm{accuracy}_b - \mathrm{confidence}_b|

    Parameters
    ----------
    bins : sequence of Bin
        From :func:`reliability`.

    Examples
    --------
    >>> expected_calibration_error([Bin(0.5, 1.0, 2, 0.75, 0.5)])
    0.25
    """
    total = sum(b.count for b in bins)
    if not total or any(b.accuracy is None for b in bins):
        raise ValueError("a calibration error needs bins with nodes whose truth is known.")
    return sum(b.count * abs(b.accuracy - b.confidence) for b in bins if b.accuracy is not None) / total


def _bins(confidence: np.ndarray, right: np.ndarray | None, n_bins: int) -> list[Bin]:
    if n_bins < 1:
        raise ValueError(f"there must be at least 1 bin, not {n_bins}.")
    # rounding may leave [0, 1], and 1 belongs to the last bin
    bin_index = np.clip((confidence * n_bins).astype(np.int64), 0, n_bins - 1)
    counts = np.bincount(bin_index, minlength=n_bins)
    mean = np.bincount(bin_index, weights=confidence, minlength=n_bins) / np.maximum(counts, 1)
    hits = None if right is None else np.bincount(bin_index, weights=right, minlength=n_bins)
    return [
        Bin(
            low=b / n_bins,
            high=(b + 1) / n_bins,
            count=int(counts[b]),
            confidence=float(mean[b]),
            accuracy=None if hits is None else float(hits[b] / counts[b]),
        )
        for b in np.flatnonzero(counts).tolist()
    ]
