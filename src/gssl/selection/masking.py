"""Splits for graphs: labels are hidden, nodes and edges stay."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gssl.evaluation.held_out import label_folds
from gssl.methods.labels import UNLABELLED, encode_labels


def masked_labels(y: Any, n_folds: int = 5, random_state: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield labels of which a part is hidden, and the nodes they were hidden from; each is hidden once.

    scikit-learn's cross-validation leaves rows out, and so cuts a graph apart: a node that is left out no
    longer links its neighbours. Here a fold is a copy of y with −1 (None among text) in some places.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels; −1, None or NaN where there is none.
    n_folds : int, default=5
        Fewer are made where there are fewer labels to hide.
    random_state : int, default=0

    Yields
    ------
    masked : ndarray of shape (n,)
        Fit to this,
    hidden : int ndarray
        and compare with ``y`` at these nodes.

    Examples
    --------
    >>> for masked, hidden in masked_labels(["a", "b", "a", "b", None], n_folds=2):
    ...     print(masked, hidden)
    [None None 'a' 'b' None] [0 1]
    ['a' 'b' None None None] [2 3]
    """
    classes, codes = encode_labels(y)
    nothing = UNLABELLED if classes.dtype.kind in "iu" else None
    values = np.full(len(codes), nothing, dtype=object if nothing is None else np.int64)
    known = codes != UNLABELLED
    values[known] = classes[codes[known]]
    for hidden in label_folds(codes, n_folds, random_state):
        masked = values.copy()
        masked[hidden] = nothing
        yield masked, hidden
