"""Choose the node to label next by the equation of :func:`gssl.suggest` on a sample of the nodes."""

import numpy as np

from gssl.selection.suggestion import likeness

# sample size: nodes considered as the next one and counted as covered
SAMPLE = 1500
_NOTHING = 1e-6


class Queue:
    r"""Choose nodes that are uncertain, similar to many uncertain nodes, and not similar to labelled ones.

    .. math:: j^* = \arg\max_j\; u_j \sum_i u_i\, [K_{ij} - \max_{l \in L} K_{il}]_+

    ``rows``, one per node, have unit length.
    """

    def __init__(self, rows: np.ndarray, sample: int = SAMPLE) -> None:
        self.rows, self._size = rows, sample
        self._draw(np.zeros(len(rows), dtype=bool), 0)

    def _draw(self, closed: np.ndarray, seed: int) -> None:
        """Draw a new sample of open nodes."""
        nodes = np.flatnonzero(~closed)
        if len(nodes) > self._size:
            nodes = np.sort(np.random.default_rng(seed).choice(nodes, self._size, replace=False))
        self._nodes = nodes
        self._K = likeness(self.rows[nodes], self.rows[nodes])
        np.fill_diagonal(self._K, 0.0)
        self._covered_by: set[int] = set()
        self._covered = np.zeros(len(nodes), dtype=np.float32)
        # likeness not yet covered; rows are nodes to cover, columns are candidates
        self._gap = self._K.copy()

    def next(self, doubt: np.ndarray, closed: np.ndarray, labelled: np.ndarray) -> tuple[int, int]:
        """Return the next node and how many nodes it covers.

        ``doubt`` is 1 minus the margin of each node; ``closed`` marks nodes not to choose, but never all.
        """
        n_open = int(np.count_nonzero(~closed))
        if closed[self._nodes].sum() > len(self._nodes) / 2 and n_open > len(self._nodes):
            self._draw(closed, len(labelled))
        self._cover(labelled)
        u = np.where(closed[self._nodes], 0.0, doubt[self._nodes]).astype(np.float32)
        gains = u * (u @ self._gap)
        if gains.max() > _NOTHING:
            best = int(gains.argmax())
            speaks_for = np.count_nonzero((self._gap[:, best] > _NOTHING) & (u > 0))
            return int(self._nodes[best]), round(speaks_for * n_open / int(np.count_nonzero(u)))
        # no node would cover another: choose the least certain
        return int(np.where(closed, -1.0, doubt).argmax()), 0

    def _cover(self, labelled: np.ndarray) -> None:
        """Update the likeness of each sampled node to the nearest labelled node."""
        now = set(labelled.tolist())
        before = self._covered
        if not self._covered_by <= now:
            self._covered_by, self._covered = set(), np.zeros(len(self._nodes), dtype=np.float32)
        new = np.array(sorted(now - self._covered_by), dtype=np.int64)
        for start in range(0, len(new), 512):
            similarity = likeness(self.rows[self._nodes], self.rows[new[start : start + 512]])
            self._covered = np.maximum(self._covered, similarity.max(axis=1))
        self._covered_by = now
        changed = np.flatnonzero(self._covered != before)
        self._gap[changed] = np.maximum(self._K[changed] - self._covered[changed, None], 0.0)
