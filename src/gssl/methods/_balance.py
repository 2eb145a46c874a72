"""How much classes count: in the loss of a fit, and among the nodes that are predicted."""

from typing import Any

import numpy as np


def class_weights(class_weight: Any, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    r"""Give each class its weight in the loss.

    .. math:: w_c = \frac{m}{C \, m_c}

    is the balanced one, with :math:`m_c` of m labels in the class c of C.

    Parameters
    ----------
    class_weight : None, "balanced" or dict
        All alike; so that all classes weigh the same in sum; or by class, 1 for those it does not name.
    classes : ndarray of shape (c,)
    codes : int ndarray
        The labels, as positions in ``classes``; none is missing.

    Returns
    -------
    float64 ndarray of shape (c,)

    Examples
    --------
    >>> class_weights("balanced", np.array(["a", "b"]), np.array([0, 0, 0, 1])).round(3)
    array([0.667, 2.   ])
    >>> class_weights({"b": 5}, np.array(["a", "b"]), np.array([0, 0, 0, 1]))
    array([1., 5.])
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.bincount(codes, minlength=len(classes))
        return np.asarray(len(codes) / (len(classes) * np.maximum(counts, 1)))
    if not isinstance(class_weight, dict):
        raise ValueError(f'class_weight must be None, "balanced" or a dict, not {class_weight!r}.')
    weights = np.ones(len(classes))
    places = class_places(class_weight, classes, "class_weight")
    for place, weight in zip(places, class_weight.values(), strict=True):
        if not _is_number(weight) or not 0 < weight < np.inf:
            raise ValueError(f"class_weight of {classes[place]} must be a positive number, not {weight!r}.")
        weights[place] = weight
    return weights


def class_places(by_class: dict[Any, Any], classes: np.ndarray, name: str) -> list[int]:
    """Find the keys of a dict among the classes.

    Examples
    --------
    >>> class_places({"b": 0.5}, np.array(["a", "b"]), "priors")
    [1]
    """
    place = {value: i for i, value in enumerate(classes.tolist())}
    strange = [key for key in by_class if key not in place]
    if strange:
        raise ValueError(f"{name} names {strange[0]!r}, which is no class of the labels: {list(place)}.")
    return [place[key] for key in by_class]


def class_shares(codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    r"""Give the share of each class among labels that count :math:`w_c`: :math:`\pi_c \propto w_c m_c`.

    Parameters
    ----------
    codes : int ndarray
        Without −1.
    weights : ndarray of shape (c,)

    Returns
    -------
    float64 ndarray of shape (c,)

    Examples
    --------
    >>> class_shares(np.array([0, 0, 0, 1]), np.array([1.0, 2.0]))
    array([0.6, 0.4])
    """
    sums = weights * np.bincount(codes, minlength=len(weights))
    return np.asarray(sums / sums.sum())


def read_priors(priors: Any, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Give the shares of the classes that a caller expects.

    Parameters
    ----------
    priors : "labels", "uniform", dict or array-like of shape (c,)
        Those of the labels; all alike; or numbers, by class or in the order of the classes, which are divided
        by their sum. A dict names every class.
    classes : ndarray of shape (c,)
    codes : int ndarray
        Without −1.

    Returns
    -------
    float64 ndarray of shape (c,)

    Examples
    --------
    >>> read_priors({"b": 1, "a": 3}, np.array(["a", "b"]), np.array([0, 1]))
    array([0.75, 0.25])
    """
    c = len(classes)
    if isinstance(priors, str):
        if priors not in ("labels", "uniform"):
            raise ValueError(
                f'priors must be "labels", "uniform", a dict or one number per class, not {priors!r}.'
            )
        return class_shares(codes, np.ones(c)) if priors == "labels" else np.full(c, 1.0 / c)
    if isinstance(priors, dict):
        places = class_places(priors, classes, "priors")
        if len(places) < c:
            missing = classes[np.setdiff1d(np.arange(c), places)[0]]
            raise ValueError(f"priors do not name the class {missing}: give every class its share.")
        priors = [value for _, value in sorted(zip(places, priors.values(), strict=True))]
    shares = np.asarray(priors)
    if shares.shape != (c,) or shares.dtype.kind not in "iuf":
        raise ValueError(f"priors must be {c} numbers, one for each of the classes {classes.tolist()}.")
    if not (np.isfinite(shares).all() and (shares >= 0).all() and shares.any()):
        raise ValueError(f"priors must be finite, not negative and not all zero, not {shares.tolist()}.")
    return np.asarray(shares / shares.sum(dtype=np.float64), dtype=np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
