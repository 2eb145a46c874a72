"""Which classes are taken for which."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix as count_pairs


@dataclass(frozen=True, eq=False)
class Confusion:
    """How often each true class (row) was given each predicted one (column).

    ``source`` tells in one sentence whose truth it is.
    """

    classes: tuple[str, ...]
    counts: np.ndarray
    source: str = ""

    @property
    def n_nodes(self) -> int:
        """How many nodes were compared."""
        return int(self.counts.sum())

    @property
    def accuracy(self) -> float:
        """The part of nodes on the diagonal."""
        return float(np.trace(self.counts) / self.counts.sum())


def confusion_matrix(truth: Any, predicted: Any, classes: Any = None, source: str = "") -> Confusion:
    """Count true against predicted classes.

    Parameters
    ----------
    truth, predicted : array-like of shape (n,)
    classes : array-like of shape (c,), optional
        Order of rows and columns; the sorted values of both if None.
    source : str, default=""
        One sentence about where the truth comes from.

    Returns
    -------
    Confusion

    Examples
    --------
    >>> confusion = confusion_matrix(["a", "b", "b"], ["a", "a", "b"])
    >>> confusion.classes, confusion.counts.tolist()
    (('a', 'b'), [[1, 0], [1, 1]])
    """
    truth, predicted = np.asarray(truth), np.asarray(predicted)
    if not truth.size:
        raise ValueError("a confusion matrix needs at least one node whose truth is known.")
    if classes is None:
        classes = np.unique(np.concatenate([truth, predicted]))
    counts = count_pairs(truth, predicted, labels=classes)
    return Confusion(tuple(str(value) for value in classes), np.asarray(counts), source)
