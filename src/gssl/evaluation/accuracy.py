"""How many predictions are right."""

from typing import Any

import numpy as np


def accuracy(truth: Any, predicted: Any, nodes: Any = None) -> float:
    r"""Give the part of nodes whose class was predicted.

    .. math:: \frac{1}{|T|} \sum_{i \in T} [\hat y_i = y_i]

    Parameters
    ----------
    truth, predicted : array-like of shape (n,)
    nodes : indices or bool mask, optional
        The nodes T that count; all of them if None.

    Returns
    -------
    float

    Examples
    --------
    >>> accuracy([0, 1, 1], [0, 1, 0], nodes=[0, 1])
    1.0
    """
    right = np.asarray(truth) == np.asarray(predicted)
    if nodes is not None:
        right = right[nodes]
    if not right.size:
        raise ValueError("accuracy needs at least one node, but none was given.")
    return float(right.mean())
