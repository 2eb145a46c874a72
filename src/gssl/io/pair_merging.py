"""From sorted pairs of nodes, a part at a time, to the arrays of a symmetric CSR matrix."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gssl.io.array_files import GrowingArray
from gssl.io.edge_facts import EdgeFacts

# row pointers that are made at a time
_ROWS = 1 << 20


@dataclass(frozen=True)
class Pairs:
    """Some rows of the sorted list in which every edge stands twice, once under each of its ends.

    Attributes
    ----------
    row, column : int32 ndarray of shape (m,)
    mirrored : ndarray of shape (m,)
        0 where the table has the edge from row to column, 1 where it has it from column to row.
    weight : float64 ndarray of shape (m,) or None
    """

    row: np.ndarray
    column: np.ndarray
    mirrored: np.ndarray
    weight: np.ndarray | None = None


class PairMerging:
    r"""Merge sorted pairs: weights of one direction add up, the larger direction counts.

    .. math:: A_{ij} = \max\Big(\sum_{e: i \to j} w_e, \sum_{e: j \to i} w_e\Big)

    Sums run from the smallest weight to the largest, as they do in memory, so that both give the same bits.

    Parameters
    ----------
    folder : Path
        Gets ``indptr.npy`` (int64), ``indices.npy`` (int32) and, of a weighted graph, ``weights.npy``.
    n_nodes : int
    weighted : bool
        Whether pairs have weights.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> merging = PairMerging(folder, n_nodes=3, weighted=False)
    >>> twice = Pairs(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1]))
    >>> merging.run([twice])
    EdgeFacts(self_loops=0, duplicates=1, zeros=0, summed=False, two_way=0, one_way=1, differ=0, isolated=1)
    >>> np.load(folder / "indptr.npy"), np.load(folder / "indices.npy")
    (array([0, 1, 2, 2]), array([1, 0], dtype=int32))
    """

    def __init__(self, folder: Path, n_nodes: int, weighted: bool) -> None:
        self.folder = folder
        self.n_nodes = n_nodes
        self.weighted = weighted
        # key, direction and weight of the last pair, which may go on in the next part
        self._held = (np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0))
        self._next_row = 0
        self._linked = self._listed = self._directed = self._two_way = self._differ = 0
        self._summed = False

    def run(self, parts: Iterable[Pairs]) -> EdgeFacts:
        """Write the arrays; give what was merged."""
        with (
            GrowingArray(self.folder / "indptr.npy", np.int64) as self._indptr,
            GrowingArray(self.folder / "indices.npy", np.int32) as self._indices,
            GrowingArray(self.folder / "weights.npy", np.float64) as self._weights,
        ):
            for part in parts:
                self._take(part)
            self._write(*self._held)
            self._point(np.empty(0, np.int64), self.n_nodes + 1)
        if not self._summed:
            (self.folder / "weights.npy").unlink()
        return EdgeFacts(
            duplicates=self._listed - self._directed,
            summed=self._summed,
            two_way=self._two_way,
            one_way=self._directed - 2 * self._two_way,
            differ=self._differ,
            isolated=self.n_nodes - self._linked,
        )

    def _take(self, part: Pairs) -> None:
        if not len(part.row):
            return
        self._listed += int(np.count_nonzero(part.mirrored == 0))
        key = part.row.astype(np.int64) << 32 | part.column
        key = np.concatenate([self._held[0], key])
        side = np.concatenate([self._held[1], part.mirrored.astype(np.int8)])
        first = np.r_[True, (key[1:] != key[:-1]) | (side[1:] != side[:-1])]
        sums: np.ndarray = np.ones(int(np.count_nonzero(first)))
        if part.weight is not None:
            # one after the other, from the front: NumPy's own sums take another order
            sums = np.bincount(np.cumsum(first) - 1, np.concatenate([self._held[2], part.weight]))
        key, side = key[first], side[first]
        done = int(np.searchsorted(key, key[-1]))
        self._held = (key[done:], side[done:], sums[done:])
        self._write(key[:done], side[:done], sums[:done])

    def _write(self, key: np.ndarray, side: np.ndarray, sums: np.ndarray) -> None:
        """Append pairs that are complete, each with one sum for each direction it is listed in."""
        if not len(key):
            return
        if not np.isfinite(sums).all():
            raise ValueError(
                "the weights of an edge that is listed more than once add up to more than float64 can hold: "
                "scale the weights down."
            )
        forward = side == 0
        self._directed += int(np.count_nonzero(forward))
        self._summed |= bool((sums != 1).any())
        starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
        weights = np.maximum.reduceat(sums, starts)
        both = np.diff(starts, append=len(key)) == 2
        pairs = key[starts]
        row, column = pairs >> 32, pairs & 0xFFFFFFFF
        # every pair is there twice, from either end
        once = both & (row < column)
        self._two_way += int(np.count_nonzero(once))
        seen_first = starts[once]
        self._differ += int(np.count_nonzero(sums[seen_first] != sums[seen_first + 1]))
        self._point(row, int(row[-1]) + 1)
        self._indices.append(column)
        if self.weighted:
            self._weights.append(weights)

    def _point(self, row: np.ndarray, stop: int) -> None:
        """Append the pointers of the rows before ``stop`` that have none, given the rows of new entries."""
        begun = self._next_row
        for start in range(begun, stop, _ROWS):
            rows = np.arange(start, min(start + _ROWS, stop))
            self._indptr.append(self._indices.size + np.searchsorted(row, rows))
        if len(row):
            # a row that was begun before is counted already
            starts = row[np.r_[True, row[1:] != row[:-1]]]
            self._linked += int(np.count_nonzero(starts >= begun))
        self._next_row = stop
