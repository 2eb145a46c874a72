"""Merge sorted pairs of node numbers into the arrays of a graph, in memory or in files."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from scipy.sparse import csr_array

from gssl.files import write_all
from gssl.io.edge_tables import EdgeFacts

# row pointers to compute at a time
_ROWS = 1 << 17


@dataclass(frozen=True)
class Pairs:
    """A part of the list of pairs, in which every edge occurs twice, once from each end.

    With directions, every edge occurs once, from its source.
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

    def __init__(self, n_nodes: int, weighted: bool) -> None:
        self.n_nodes = n_nodes
        self.weighted = weighted
        # keys and weights of the last pair, which may continue in the next part
        self._held = (np.empty(0, np.int64), np.empty(0))
        self._next_row = 0
        self._linked = self._listed = self._directed = self._two_way = self._differ = 0
        # whether any edge is listed from both ends
        self._mirrored = False
        self._summed = False

    def run(self, parts: Iterable[Pairs], make_array: "Callable[[str, Any], Any]") -> EdgeFacts:
        """Write the arrays ``indptr``, ``indices`` and ``weights``, which are made by name and type.

        The weights mean nothing if all are 1, as ``summed`` in the returned counts tells.
        """
        with ExitStack() as stack:
            self._indptr, self._indices, self._weights = (
                stack.enter_context(closing(make_array(name, dtype)))
                for name, dtype in (("indptr", np.int64), ("indices", np.int32), ("weights", np.float64))
            )
            for part in parts:
                self._take(part)
            self._write(*self._held)
            self._point(np.empty(0, np.int64), self.n_nodes + 1)
        return EdgeFacts(
            duplicates=self._listed - self._directed,
            summed=self._summed,
            two_way=self._two_way,
            one_way=self._directed - 2 * self._two_way if self._mirrored else 0,
            differ=self._differ,
            isolated=self.n_nodes - self._linked,
        )

    def _take(self, part: Pairs) -> None:
        if not len(part.key):
            return
        mirrored = int(np.count_nonzero(part.key & 1))
        self._mirrored |= bool(mirrored)
        self._listed += len(part.key) - mirrored
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


def merge_edges(
    source: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray | None,
    n_nodes: int,
    *,
    directed: bool = False,
) -> tuple[csr_array, EdgeFacts]:
    """Return the graph of edges between node numbers, without self-loops and zeros, and what was odd.

    Unless it is directed, it is symmetric.
    """
    kept, zeros = source != target, 0
    self_loops = len(kept) - int(np.count_nonzero(kept))
    weighted = weights is not None and bool(((weights != 0) & (weights != 1)).any())
    if weights is not None:
        zeros = len(weights) - int(np.count_nonzero(weights))
        self_loops = int(np.count_nonzero(~kept & (weights != 0)))
        kept &= weights != 0
    u, v = (ends.astype(np.int64) if kept.all() else ends[kept].astype(np.int64) for ends in (source, target))
    key = u << 32 | v << 1
    kept_weights = weights[kept] if weighted and weights is not None else None
    if not directed:
        key = np.concatenate([key, v << 32 | u << 1 | 1])
        kept_weights = None if kept_weights is None else np.tile(kept_weights, 2)
    pairs = Pairs(key, kept_weights).sorted()
    arrays = dict[str, _ArrayInMemory]()

    def make_array(name: str, dtype: Any) -> _ArrayInMemory:
        return arrays.setdefault(name, _ArrayInMemory(dtype))

    facts = PairMerging(n_nodes, weighted).run([pairs], make_array)
    indptr, indices = arrays["indptr"].joined(), arrays["indices"].joined()
    data = arrays["weights"].joined() if facts.summed else np.ones(len(indices))
    graph = csr_array((data, indices, indptr), shape=(n_nodes, n_nodes))
    return graph, replace(facts, self_loops=self_loops, zeros=zeros)


class _ArrayInMemory:
    """A one-dimensional array to append to."""

    def __init__(self, dtype: Any) -> None:
        self.size, self._parts = 0, [np.empty(0, dtype)]

    def append(self, values: np.ndarray) -> None:
        """Append entries."""
        self._parts.append(values.astype(self._parts[0].dtype, copy=False))
        self.size += len(values)

    def joined(self) -> np.ndarray:
        """Return all entries."""
        return np.concatenate(self._parts)

    def close(self) -> None:
        """Do nothing: the array stays in memory."""


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
