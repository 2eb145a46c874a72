"""Accuracy and confusion of classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix as count_pairs


def accuracy(truth: Any, predicted: Any, nodes: Any = None) -> float:
    r"""Return the fraction of nodes whose class was predicted correctly.

    .. math:: \frac{1}{|T|} \sum_{i \in T} [\hat y_i = y_i]

    Parameters
    ----------
    truth, predicted : array-like of shape (n,)
    nodes : indices or bool mask, optional
        The nodes T to evaluate; all if None.

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


def score_error(score: float, n: float) -> float:
    r"""Return the standard error of a score on n labels, with one success and one failure added.

    .. math:: \sqrt{\tilde p (1 - \tilde p) / (n + 2)}, \quad \tilde p = (n p + 1) / (n + 2)
    """
    p = (n * score + 1.0) / (n + 2.0)
    return float(np.sqrt(p * (1.0 - p) / (n + 2.0)))


def share_interval(share: float, n: float, z: float = 1.645) -> tuple[float, float]:
    r"""Return Wilson's interval of a share of n labels, by default one of 90 %; it is within [0, 1].

    .. math:: \left(p + \tfrac{z^2}{2n} \pm z \sqrt{p(1 - p)/n + z^2 / 4n^2}\right) \big/ (1 + z^2/n)
    """
    middle = share + z**2 / (2.0 * n)
    margin = z * np.sqrt(share * (1.0 - share) / n + (z / (2.0 * n)) ** 2)
    low, high = (np.clip((middle + sign * margin) / (1.0 + z**2 / n), 0.0, 1.0) for sign in (-1, 1))
    return float(low), float(high)


def paired_difference(one: np.ndarray, other: np.ndarray, *, hits: bool = False) -> tuple[float, float]:
    """Return the mean of one − other, which belong to the same nodes, and its standard error.

    To hits, one win and one loss are added, so that the error is not too small if there are few.
    """
    d = one.astype(np.float64) - other.astype(np.float64)
    added = 2 if hits else 0
    n = len(d) + added
    error = float(np.sqrt(((np.square(d).sum() + added) / n - (d.sum() / n) ** 2) / n))
    return float(d.mean()), error


@dataclass(frozen=True, eq=False)
class Confusion:
    """Counts of each true class (row) and each predicted class (column).

    ``source`` is one sentence about where the truth comes from.
    """

    classes: tuple[str, ...]
    counts: np.ndarray
    source: str = ""

    @property
    def n_nodes(self) -> int:
        """Number of nodes compared."""
        return int(self.counts.sum())

    @property
    def accuracy(self) -> float:
        """Fraction of nodes on the diagonal."""
        return float(np.trace(self.counts) / self.counts.sum())

    @property
    def recall(self) -> np.ndarray:
        """Fraction of each true class that was predicted correctly; NaN for a class without nodes."""
        return _ratio(np.diag(self.counts), self.counts.sum(axis=1))

    @property
    def precision(self) -> np.ndarray:
        """Fraction of each predicted class that is correct; NaN for a class that is never predicted."""
        return _ratio(np.diag(self.counts), self.counts.sum(axis=0))

    @property
    def mistakes(self) -> list[tuple[str, str, int]]:
        """True class, predicted class and number of nodes of each kind of mistake, most frequent first."""
        wrong = self.counts - np.diag(np.diag(self.counts))
        rows, columns = np.nonzero(wrong)
        order = np.argsort(-wrong[rows, columns], kind="stable")
        return [
            (self.classes[i], self.classes[j], int(wrong[i, j]))
            for i, j in zip(rows[order].tolist(), columns[order].tolist(), strict=True)
        ]


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.asarray(np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0))


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
