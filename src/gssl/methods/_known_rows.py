"""Rows of embeddings that were needed once, for when labels are added and most of them are needed again."""

from collections.abc import Callable

import numpy as np


class KnownRows:
    """Embeddings of a few nodes, which do not change with the labels.

    Parameters
    ----------
    nodes : int ndarray of shape (m,)
        Each once.
    rows : ndarray of shape (m, d)

    Examples
    --------
    >>> known = KnownRows(np.array([7, 2]), np.array([[0.7], [0.2]]))
    >>> known.of(np.array([2, 5]), lambda nodes: nodes[:, None] / 10)
    array([[0.2],
           [0.5]])
    >>> known.missing(np.array([2, 5, 6]))
    array([6])
    """

    def __init__(self, nodes: np.ndarray, rows: np.ndarray) -> None:
        self._nodes = np.empty(0, dtype=np.int64)
        self._rows = rows[:0]
        self._add(nodes, rows)

    def missing(self, nodes: np.ndarray) -> np.ndarray:
        """Give those of the nodes that are not known yet."""
        return np.setdiff1d(nodes, self._nodes)

    def of(self, nodes: np.ndarray, embed: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Give the rows of nodes; ``embed`` is asked for those that are missing, which are then known."""
        missing = self.missing(nodes)
        if len(missing):
            self._add(missing, embed(missing))
        return np.asarray(self._rows[np.searchsorted(self._nodes, nodes)])

    def _add(self, nodes: np.ndarray, rows: np.ndarray) -> None:
        nodes = np.concatenate([self._nodes, nodes])
        order = np.argsort(nodes)
        self._nodes = nodes[order]
        self._rows = np.concatenate([self._rows, rows])[order]
