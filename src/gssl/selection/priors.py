"""How frequent classes are among all nodes, where labels do not tell."""

from typing import Any

import numpy as np


def check_priors(priors: Any, n_classes: int) -> None:
    """Refuse priors that are no distribution over the classes.

    Parameters
    ----------
    priors : array-like of shape (c,) or None
    n_classes : int

    Examples
    --------
    >>> check_priors([0.5, 0.2], 2)
    Traceback (most recent call last):
    ValueError: priors must be 2 shares that sum to one, one for each class, not [0.5, 0.2].
    """
    if priors is None:
        return
    shares = np.asarray(priors, dtype=np.float64)
    if shares.shape != (n_classes,) or not (shares >= 0).all() or abs(shares.sum() - 1.0) > 1e-3:
        raise ValueError(
            f"priors must be {n_classes} shares that sum to one, one for each class, not {priors!r}."
        )


def with_priors(P: np.ndarray, priors: Any, codes: np.ndarray) -> np.ndarray:
    r"""Correct distributions for labels that are not as frequent as their classes.

    .. math:: \tilde P_{ic} \propto P_{ic} \, \pi_c / \hat\pi_c

    with π the priors and π̂ the part of each class among the labels.

    Parameters
    ----------
    P : ndarray of shape (n, c)
    priors : array-like of shape (c,) or None
    codes : int ndarray
        Class codes of the labels.

    Returns
    -------
    ndarray of shape (n, c)

    Examples
    --------
    >>> with_priors(np.array([[0.5, 0.5]]), [0.8, 0.2], np.array([0, 1]))
    array([[0.8, 0.2]])
    """
    if priors is None:
        return P
    shares = np.asarray(priors, dtype=P.dtype)
    weighted = P * (shares / (np.bincount(codes) / len(codes)).astype(P.dtype))
    total = weighted.sum(axis=1, keepdims=True)
    # where only a class that cannot be was thought of, nothing is known but the priors
    return np.asarray(np.where(total > 0, weighted / np.where(total > 0, total, 1.0), shares))
