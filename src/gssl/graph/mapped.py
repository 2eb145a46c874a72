"""Memory-mapped arrays: locate them in their files, and read them without keeping pages in memory."""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

# bytes of a file in memory at a time
BLOCK_BYTES = 1 << 24
# rows read from a file at a time; the system maps many pages around each row
_ROWS = 256


@dataclass(frozen=True)
class FileArray:
    """Location in a file of a contiguous 1-D or 2-D array, in C or Fortran order."""

    path: Path
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: str

    @property
    def n_bytes(self) -> int:
        """Size in bytes."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def open(self) -> np.ndarray:
        """Map the array, read-only."""
        if not self.n_bytes:
            return np.empty(self.shape, self.dtype)
        order: Any = self.order
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape, order)


def mapped_file(array: Any) -> FileArray | None:
    """Locate a memory-mapped array in its file; None if not mapped, not contiguous, or copy-on-write."""
    root = _root(array)
    if root is None or root.filename is None or root.mode == "c":
        return None
    contiguous = {"C": array.flags.c_contiguous, "F": array.flags.f_contiguous}
    order = next((order for order, holds in contiguous.items() if holds), None)
    if order is None:
        return None
    begin = root.offset + _address(array) - _address(root)
    return FileArray(Path(root.filename), int(begin), array.shape, array.dtype, order)


def iterate_blocks(X: np.ndarray, block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[slice, slice]]:
    """Yield slices (rows, columns) that cover a matrix in memory order.

    An array in memory is one block. Pages of a memory-mapped file are released after each block.
    """
    n, d = X.shape
    root = _root(X)
    if root is None or not X.size:
        yield slice(0, n), slice(0, d)
        return
    by_columns = X.flags.f_contiguous and not X.flags.c_contiguous
    length, across = (d, n) if by_columns else (n, d)
    step = max(1, block_bytes // max(1, across * X.itemsize))
    for start in range(0, length, step):
        part = slice(start, min(start + step, length))
        yield (slice(0, n), part) if by_columns else (part, slice(0, d))
        release_pages(X)


def release_pages(array: Any) -> None:
    """Drop the pages of a memory-mapped file from this process's memory; the file keeps their content."""
    root = _root(array)
    if root is not None and hasattr(mmap, "MADV_DONTNEED") and root.mode != "c":
        root._mmap.madvise(mmap.MADV_DONTNEED)


def take_rows(X: Any, nodes: np.ndarray, block_bytes: int = BLOCK_BYTES) -> Any:
    """Return rows of a dense or sparse matrix, releasing the pages of a memory-mapped file."""
    file = None if issparse(X) else mapped_file(X)
    if file is None:
        return X[nodes] if issparse(X) else np.asarray(X[nodes])
    rows = np.empty((len(nodes), X.shape[1]), X.dtype)
    if file.order == "F":
        for _, columns in iterate_blocks(X, block_bytes):
            rows[:, columns] = X[:, columns][nodes]
        return rows
    for start in range(0, len(nodes), _ROWS):
        part = slice(start, start + _ROWS)
        rows[part] = X[nodes[part]]
        release_pages(X)
    return rows


def nonzero_rows(X: Any, block_bytes: int = BLOCK_BYTES) -> np.ndarray:
    """Return a mask of the rows that have an entry other than zero."""
    # a sparse X may store zeros; abs() of a dense X would need as much memory as X
    if issparse(X):
        return np.asarray(abs(X).sum(axis=1) > 0)
    nonzero = np.zeros(X.shape[0], dtype=bool)
    for rows, columns in iterate_blocks(X, block_bytes):
        nonzero[rows] |= X[rows, columns].any(axis=1)
    return nonzero


def _root(array: Any) -> Any:
    """Return the memory map that an array is a view of, or None."""
    base = array
    while isinstance(getattr(base, "base", None), np.ndarray):
        base = base.base
    return base if isinstance(base, np.memmap) and isinstance(base.base, mmap.mmap) else None


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])
