"""From the caller's labels to class codes."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

UNLABELLED = -1


def encode_labels(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Turn labels into sorted classes and one code per node, −1 where there is no label.

    Parameters
    ----------
    y : array-like of shape (n,)
        Integers, text or any sortable values; −1, None and NaN mean unlabelled.

    Returns
    -------
    classes : ndarray of shape (c,)
    codes : int64 ndarray of shape (n,)

    Examples
    --------
    >>> encode_labels(["cat", None, "dog", "cat"])
    (array(['cat', 'dog'], dtype='<U3'), array([ 0, -1,  1,  0]))
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: give a label or −1 per node.")
    values = column_or_1d(y, warn=True)
    labelled = ~_is_unlabelled(values)
    known = values[labelled]
    if not len(known):
        raise ValueError(
            "y has no labels: every entry is −1, None or NaN; label at least one node of two classes."
        )
    if known.dtype == object:
        if len({isinstance(value, str) for value in known}) > 1:
            raise ValueError("y mixes text and numbers: make all labels text, or all of them numbers.")
        known = np.array(known.tolist())
    _refuse_missing_as_text(known, np.flatnonzero(labelled))
    check_classification_targets(known)
    classes, known_codes = np.unique(known, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has labels of one class only ({classes[0]!r}): a classifier needs at least two classes."
        )
    codes = np.full(len(values), UNLABELLED, dtype=np.int64)
    codes[labelled] = known_codes
    return classes, codes


def _is_unlabelled(values: np.ndarray) -> Any:
    if values.dtype.kind in "iu":
        return values == UNLABELLED
    if values.dtype.kind == "f":
        if np.isinf(values).any():
            raise ValueError(f"Input y contains infinity at position {np.flatnonzero(np.isinf(values))[0]}.")
        return np.isnan(values) | (values == UNLABELLED)
    if values.dtype == object:
        return np.array([_is_missing(value) for value in values], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value) or value == UNLABELLED)
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and value == UNLABELLED


def _refuse_missing_as_text(known: np.ndarray, positions: np.ndarray) -> None:
    """Refuse "-1", "nan" and "None": NumPy writes missing values like this when it mixes them with text."""
    if known.dtype.kind not in "US":
        return
    for text in ("-1", "nan", "None"):
        places = positions[known == text]
        if len(places):
            raise ValueError(
                f"y is text and has the label {text!r} at position {places[0]}, which looks like a missing "
                "label turned into text; mark unlabelled nodes by None (an object array) instead."
            )
