"""From scores to distributions over classes, and from distributions to classes."""

from typing import Any

import numpy as np

from gssl.graph.validate import warn_user
from gssl.methods._labels import UNLABELLED

# rows that are projected at a time
_BLOCK = 8192


def one_hot(codes: np.ndarray, n_classes: int, dtype: Any) -> np.ndarray:
    """Write class codes as rows with a single one.

    Examples
    --------
    >>> one_hot(np.array([1, 0]), 2, float)
    array([[0., 1.],
           [1., 0.]])
    """
    rows = np.zeros((len(codes), n_classes), dtype)
    rows[np.arange(len(codes)), codes] = 1
    return rows


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
    P = np.empty_like(Z)
    for start in range(0, len(Z), _BLOCK):  # every step below makes another array
        P[start : start + _BLOCK] = _project(Z[start : start + _BLOCK])
    return P


def _project(Z: np.ndarray) -> np.ndarray:
    c = Z.shape[1]
    # centring first keeps precision when the scores are large or tiny
    ordered = -np.sort(-(Z - Z.max(axis=1, keepdims=True)), axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, c + 1, dtype=Z.dtype)
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


def reweigh(P: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    r"""Bring distributions from one share of the classes to another (Bayes' rule; Saerens et al., 2002).

    .. math:: p'(c) \propto p(c) \, \frac{\pi_{new}(c)}{\pi_{old}(c)}

    Parameters
    ----------
    P : ndarray of shape (m, c)
        Distributions that hold where classes have the shares ``old``.
    old, new : ndarray of shape (c,)
        Shares of the classes. A row that only knows classes whose new share is zero becomes ``new``.

    Returns
    -------
    ndarray of shape (m, c)

    Examples
    --------
    >>> reweigh(np.array([[0.5, 0.5]]), np.array([0.5, 0.5]), np.array([0.9, 0.1]))
    array([[0.9, 0.1]])
    """
    # a class without any label has no probability that could change
    change = np.divide(new, old, out=np.zeros_like(new), where=old > 0)
    changed = P * change.astype(P.dtype)
    total = changed.sum(axis=1, keepdims=True)
    return np.where(total > 0, changed / np.where(total > 0, total, 1), new.astype(P.dtype))


def decide(P: np.ndarray, informed: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Choose the most probable class of each row, and the most frequent label where nothing is known.

    Parameters
    ----------
    P : ndarray of shape (m, c)
        Distributions.
    informed : bool ndarray of shape (m,)
        The rows about which anything is known.
    codes : int ndarray
        The labels seen in fit; −1 is skipped.

    Returns
    -------
    int ndarray of shape (m,)

    Examples
    --------
    >>> decide(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([True, True]), np.array([0, 1, 1]))
    array([0, 1])
    """
    chosen = P.argmax(axis=1)
    unknown = np.count_nonzero(~informed)
    if unknown:
        chosen[~informed] = np.bincount(codes[codes != UNLABELLED]).argmax()
        nodes, them = ("1 node", "it") if unknown == 1 else (f"{unknown} nodes", "them")
        warn_user(
            f"nothing is known about {nodes}: no label or feature reaches {them}, so the distribution is "
            "uniform and the class is the most frequent label."
        )
    return np.asarray(chosen)


def unsure(P: np.ndarray, informed: np.ndarray, abstain: float) -> np.ndarray:
    """Tell the rows whose greatest probability is too small, or of which nothing is known.

    Parameters
    ----------
    P : ndarray of shape (m, c)
        Distributions.
    informed : bool ndarray of shape (m,)
        The rows about which anything is known.
    abstain : float
        The least probability that a class needs.

    Returns
    -------
    bool ndarray of shape (m,)

    Examples
    --------
    >>> unsure(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([True, True]), 0.7)
    array([False,  True])
    """
    if isinstance(abstain, bool) or not 0.0 <= abstain <= 1.0:
        raise ValueError(f"abstain is the least confidence of a label, from 0 to 1, not {abstain!r}.")
    return np.asarray((P.max(axis=1) < abstain) | ~informed)
