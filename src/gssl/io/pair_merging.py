"""Merge sorted pairs of node numbers into the arrays of a graph on disk, some pairs at a time."""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from gssl.files import write_all
from gssl.io.edge_tables import EdgeFacts

# row pointers to compute at a time
_ROWS = 1 << 17


@dataclass(frozen=True)
class Pairs:
    """A part of the list of pairs, in which every edge occurs twice, once from each end.

    A key is row · 2³² + column · 2 + mirrored, where mirrored is 0 if the table lists the edge from row to
    column, and 1 if it lists the reverse.
    """

    key: np.ndarray
    weight: np.ndarray | None = None

    def sorted(self) -> "Pairs":
        """Sort by key, and equal keys by weight; may overwrite the arrays."""
        if self.weight is None:
            self.key.sort()
            return self
        order = np.argsort(self.key)
        key, weight = self.key[order], self.weight[order]
        same = key[1:] == key[:-1]
        if same.any():
            repeated = np.flatnonzero(np.r_[same, False] | np.r_[False, same])
            weight[repeated] = weight[repeated][np.lexsort((weight[repeated], key[repeated]))]
        return Pairs(key, weight)


class PairMerging:
    r"""Merge sorted pairs: sum the weights of each direction, and keep the larger sum.

    .. math:: A_{ij} = \max\Big(\sum_{e: i \to j} w_e, \sum_{e: j \to i} w_e\Big)

    Weights are summed in ascending order, as in memory, so that both give the same bits.
    """

    def __init__(self, folder: Path, n_nodes: int, weighted: bool) -> None:
        self.folder = folder
        self.n_nodes = n_nodes
        self.weighted = weighted
        # keys and weights of the last pair, which may continue in the next part
        self._held = (np.empty(0, np.int64), np.empty(0))
        self._next_row = 0
        self._linked = self._listed = self._directed = self._two_way = self._differ = 0
        self._summed = False

    def run(self, parts: Iterable[Pairs]) -> EdgeFacts:
        """Write ``indptr.npy``, ``indices.npy`` and, unless all are 1, ``weights.npy``; return counts."""
        with (
            closing(GrowingArray(self.folder / "indptr.npy", np.int64)) as self._indptr,
            closing(GrowingArray(self.folder / "indices.npy", np.int32)) as self._indices,
            closing(GrowingArray(self.folder / "weights.npy", np.float64)) as self._weights,
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
        if not len(part.key):
            return
        self._listed += len(part.key) - int(np.count_nonzero(part.key & 1))
        key = np.concatenate([self._held[0], part.key])
        first = np.r_[True, key[1:] != key[:-1]]
        sums: np.ndarray = np.empty(0)
        if part.weight is not None:
            # bincount adds in order, unlike NumPy's own sums
            sums = np.bincount(np.cumsum(first) - 1, np.concatenate([self._held[1], part.weight]))
        key = key[first]
        # hold back both directions of the last pair
        done = int(np.searchsorted(key, key[-1] & ~1))
        self._held = (key[done:], sums[done:])
        self._write(key[:done], sums[:done])

    def _write(self, key: np.ndarray, sums: np.ndarray) -> None:
        """Append complete pairs; each has one sum for each direction in which it is listed."""
        if not len(key):
            return
        if not np.isfinite(sums).all():
            raise ValueError(
                "the weights of an edge that is listed more than once add up to more than float64 can hold: "
                "scale the weights down."
            )
        self._directed += len(key) - int(np.count_nonzero(key & 1))
        # a pair that is listed in both directions has two keys, which differ in the last bit
        second = np.r_[False, (key[1:] ^ key[:-1]) == 1]
        pairs = key[~second]
        row, column = (pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF) >> 1
        # every pair occurs twice, from either end: count it once
        twice = np.flatnonzero(second)
        twice = twice[key[twice] >> 32 < (key[twice] & 0xFFFFFFFF) >> 1]
        self._two_way += len(twice)
        self._point(row, int(row[-1]) + 1)
        self._indices.append(column)
        if self.weighted:
            self._summed |= bool((sums != 1).any())
            self._differ += int(np.count_nonzero(sums[twice] != sums[twice - 1]))
            self._weights.append(np.maximum.reduceat(sums, np.flatnonzero(~second)))

    def _point(self, row: np.ndarray, stop: int) -> None:
        """Append the missing row pointers before ``stop``, given the rows of the new entries."""
        begun = self._next_row
        for start in range(begun, stop, _ROWS):
            rows = np.arange(start, min(start + _ROWS, stop))
            self._indptr.append(self._indices.size + np.searchsorted(row, rows))
        if len(row):
            # a row that began in an earlier part is already counted
            starts = row[np.r_[True, row[1:] != row[:-1]]]
            self._linked += int(np.count_nonzero(starts >= begun))
        self._next_row = stop


class GrowingArray:
    """A one-dimensional ``.npy`` file to append to; its length is written on close."""

    def __init__(self, path: Path, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.size = 0
        self._file = path.open("wb")
        self._write_header()

    def append(self, values: np.ndarray) -> None:
        """Append entries."""
        write_all(self._file, np.ascontiguousarray(values, dtype=self.dtype))
        self.size += len(values)

    def _write_header(self) -> None:
        # NumPy pads the header, so that a length of any number of digits fits
        npy.write_array_header_1_0(
            self._file,
            {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": (self.size,)},
        )

    def close(self) -> None:
        """Write the length into the header."""
        with self._file:
            self._file.seek(0)
            self._write_header()
