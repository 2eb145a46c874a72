"""From the caller's labels to class codes."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from gssl.graph.validate import refuse_mask

UNLABELLED = -1


def encode_labels(y: Any, n_nodes: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Turn labels into sorted classes and one code per node, −1 where there is no label.

    Parameters
    ----------
    y : array-like of shape (n,)
        Integers, text or any sortable values; −1, None and NaN mean unlabelled.
    n_nodes : int, optional
        How many labels there should be.

    Returns
    -------
    classes : ndarray of shape (c,)
    codes : int64 ndarray of shape (n,)

    Examples
    --------
    >>> encode_labels(["cat", None, "dog", "cat"])
    (array(['cat', 'dog'], dtype='<U3'), array([ 0, -1,  1,  0]))
    """
    values = _read_labels(y)
    if n_nodes is not None and len(values) != n_nodes:
        raise ValueError(
            f"y has {len(values)} entries but X has {n_nodes} rows: give one label (or −1) per node."
        )
    labelled = ~_is_unlabelled(values)
    known = values[labelled]
    if not len(known):
        raise ValueError(
            "y has no labels: every entry is −1, None or NaN; label at least one node of two classes."
        )
    if known.dtype == object:
        kinds = {type(value).__name__ for value in known if isinstance(value, str | bytes)}
        if (kinds and any(type(value).__name__ not in kinds for value in known)) or len(kinds) > 1:
            raise ValueError("y mixes text with other values: make all labels text, or all of them numbers.")
        known = np.array(known.tolist())
    if known.ndim != 1:
        raise ValueError(
            "y holds a sequence for each node: give one plain label, a number or text, per node."
        )
    _refuse_missing_as_text(known, np.flatnonzero(labelled))
    check_classification_targets(known)
    classes, known_codes = np.unique(known, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has labels of one class only ({classes[0]}): a classifier needs two classes.")
    codes = np.full(len(values), UNLABELLED, dtype=np.int64)
    codes[labelled] = known_codes
    return classes, codes


def decode_labels(classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Turn class codes into labels again, the inverse of :func:`encode_labels`.

    Parameters
    ----------
    classes : ndarray of shape (c,)
    codes : int ndarray of shape (n,)
        −1 where there is no label.

    Returns
    -------
    ndarray of shape (n,)
        No label is −1 among whole numbers, NaN among other numbers and None among all else.

    Examples
    --------
    >>> decode_labels(np.array(["cook", "spy"]), np.array([1, -1]))
    array(['spy', None], dtype=object)
    >>> decode_labels(np.array([3, 7]), np.array([1, -1]))
    array([ 7, -1])
    """
    known = codes != UNLABELLED
    kind = classes.dtype.kind
    nothing: Any = UNLABELLED if kind in "iu" else np.nan if kind == "f" else None
    dtype: Any = np.int64 if kind in "iu" else classes.dtype if kind == "f" else object
    labels = np.full(len(codes), nothing, dtype=dtype)
    labels[known] = classes[codes[known]]
    return labels


def _read_labels(y: Any) -> np.ndarray:
    """Give labels as an array in which missing values are still missing."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: give a label or −1 per node.")
    refuse_mask(y, "y")
    if hasattr(y, "to_numpy") and not isinstance(getattr(y, "dtype", None), np.dtype):
        # a pandas extension type: NumPy would turn its missing values into numbers or text
        y = y.to_numpy(dtype=object)
    elif isinstance(y, list | tuple):
        # NumPy would write numbers among text as text
        y = np.fromiter(y, dtype=object, count=len(y))
    return np.asarray(column_or_1d(y, warn=True))


def _is_unlabelled(values: np.ndarray) -> Any:
    if values.dtype.kind in "iu":
        return values == UNLABELLED
    if values.dtype.kind == "f":
        if np.isinf(values).any():
            raise ValueError(f"Input y contains infinity at position {np.flatnonzero(np.isinf(values))[0]}.")
        return np.isnan(values) | (values == UNLABELLED)
    if values.dtype.kind in "mM":
        return np.isnat(values)
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
