"""Class shares among the predicted nodes, if they differ from those among the labels."""

from typing import Any

import numpy as np

from gssl.methods.labels import UNLABELLED, class_positions


def prior_shares(
    priors: Any, classes: np.ndarray, codes: np.ndarray, class_weight: np.ndarray | None = None
) -> np.ndarray | None:
    """Return the class shares of fit (row 0) and the expected ones (row 1); None without priors.

    ``class_weight`` holds the weight that each class had in fit; equal if None.
    """
    if priors is None:
        return None
    codes = codes[codes != UNLABELLED]
    weights = np.ones(len(classes)) if class_weight is None else class_weight
    return np.stack([class_shares(codes, weights), read_priors(priors, classes, codes)])


def class_shares(codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    r"""Return the share of each class among labels of weight :math:`w_c`: :math:`\pi_c \propto w_c m_c`."""
    sums = weights * np.bincount(codes, minlength=len(weights))
    return np.asarray(sums / sums.sum())


def read_priors(priors: Any, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the class shares that the parameter ``priors`` asks for."""
    c = len(classes)
    if isinstance(priors, str):
        if priors not in ("labels", "uniform"):
            raise ValueError(
                f'priors must be "labels", "uniform", a dict or one number per class, not {priors!r}.'
            )
        return class_shares(codes, np.ones(c)) if priors == "labels" else np.full(c, 1.0 / c)
    if isinstance(priors, dict):
        positions = class_positions(priors, classes, "priors")
        if len(positions) < c:
            missing = classes[np.setdiff1d(np.arange(c), positions)[0]]
            raise ValueError(f"priors do not name the class {missing}: give every class its share.")
        priors = [value for _, value in sorted(zip(positions, priors.values(), strict=True))]
    shares = np.asarray(priors)
    if shares.shape != (c,) or shares.dtype.kind not in "iuf":
        raise ValueError(f"priors must be {c} numbers, one for each of the classes {classes.tolist()}.")
    if not (np.isfinite(shares).all() and (shares >= 0).all() and shares.any()):
        raise ValueError(f"priors must be finite, not negative and not all zero, not {shares.tolist()}.")
    return np.asarray(shares / shares.sum(dtype=np.float64), dtype=np.float64)


def reweigh(P: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    r"""Adapt distributions to class shares other than those of fit (Bayes' rule; Saerens et al., 2002).

    .. math:: p'(c) \propto p(c) \, \frac{\pi_{new}(c)}{\pi_{old}(c)}
    """
    # a class without labels has probability 0 already
    change = np.divide(new, old, out=np.zeros_like(new), where=old > 0)
    changed = P * change.astype(P.dtype)
    total = changed.sum(axis=1, keepdims=True)
    return np.where(total > 0, changed / np.where(total > 0, total, 1), new.astype(P.dtype))
