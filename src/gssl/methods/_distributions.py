"""From scores to distributions over classes, and from distributions to classes."""

import warnings
from typing import Any

import numpy as np

from gssl.graph import GraphWarning
from gssl.methods._labels import UNLABELLED


def one_hot(codes: np.ndarray, n_classes: int, dtype: Any) -> np.ndarray:
    """Write class codes as rows with a single one.

    Examples
    --------
    >>> one_hot(np.array([1, 0]), 2, float)
    array([[0., 1.],
           [1., 0.]])
    """
    return np.asarray(np.eye(n_classes, dtype=dtype)[codes])


def nearest_distribution(Z: np.ndarray) -> np.ndarray:
    r"""Project scores onto the probability simplex: the distribution nearest to each row.

    .. math:: \arg\min_{p \ge 0,\ 1^\top p = 1} \|p - z\|^2

    Scores fitted to one-hot rows by least squares are estimates of a distribution that may leave the
    simplex; the projection brings them back, keeps their order, and gives the uniform distribution
    where all scores are equal.

    Examples
    --------
    >>> nearest_distribution(np.array([[0.9, 0.3, -0.5], [0.0, 0.0, 0.0]])).round(3)
    array([[0.8  , 0.2  , 0.   ],
           [0.333, 0.333, 0.333]])
    """
    c = Z.shape[1]
    # centring first keeps precision when the scores are large or tiny
    ordered = -np.sort(-(Z - Z.max(axis=1, keepdims=True)), axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, c + 1)
    support = np.count_nonzero(ordered > excess, axis=1)
    threshold = np.take_along_axis(excess, support[:, None] - 1, axis=1)
    P = np.maximum(Z - Z.max(axis=1, keepdims=True) - threshold, 0.0)
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def rows_to_distributions(F: np.ndarray) -> np.ndarray:
    """Divide non-negative rows by their sums; a row of zeros, about which nothing is known, is uniform.

    Examples
    --------
    >>> rows_to_distributions(np.array([[3.0, 1.0], [0.0, 0.0]]))
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    total = F.sum(axis=1, keepdims=True)
    P = np.full_like(F, 1.0 / F.shape[1])
    np.divide(F, total, out=P, where=total > 0)
    return P


def decide(P: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Choose the most probable class code of each row, and the most frequent label where all are equal.

    Parameters
    ----------
    P : ndarray of shape (m, c)
        Distributions.
    codes : int ndarray
        The labels seen in fit; −1 is skipped.

    Returns
    -------
    int ndarray of shape (m,)

    Examples
    --------
    >>> decide(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1, 1]))
    array([0, 1])
    """
    chosen = P.argmax(axis=1)
    unknown = P.max(axis=1) == P.min(axis=1)
    if unknown.any():
        chosen[unknown] = np.bincount(codes[codes != UNLABELLED]).argmax()
        warnings.warn(
            f"nothing is known about {np.count_nonzero(unknown)} nodes (no label or feature reaches them): "
            "their distribution is uniform and they get the most frequent label.",
            GraphWarning,
            stacklevel=3,
        )
    return np.asarray(chosen)
