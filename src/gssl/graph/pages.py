"""Arrays that stay in files: which they are, and passes over them that leave no pages in memory."""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

# bytes that a pass over a file has in memory at a time
_BLOCK_BYTES = 1 << 24


@dataclass(frozen=True)
class FileArray:
    """Where in a file an array of two axes or one lies without gaps, rows first (``C``) or columns (``F``).

    Examples
    --------
    >>> FileArray(Path("x.npy"), 128, (2, 3), np.dtype("f4"), "C").n_bytes
    24
    """

    path: Path
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: str

    @property
    def n_bytes(self) -> int:
        """Length in the file."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def open(self) -> np.ndarray:
        """Map the array, for reading only."""
        if not self.n_bytes:
            return np.empty(self.shape, self.dtype)
        order: Any = self.order
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape, order)


def file_of(array: Any) -> FileArray | None:
    """Tell where an array lies if it is a memory-mapped file, or a view of one without gaps.

    Parameters
    ----------
    array : object

    Returns
    -------
    FileArray or None
        None where it is in memory, has gaps, or may hold changes that the file has not.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "x.npy"
    >>> np.save(path, np.eye(3))
    >>> file_of(np.load(path, mmap_mode="r")[1:]).shape
    (2, 3)
    >>> file_of(np.eye(3)) is None
    True
    """
    root = _root(array)
    if root is None or root.filename is None or root.mode == "c":
        return None
    contiguous = {"C": array.flags.c_contiguous, "F": array.flags.f_contiguous}
    order = next((order for order, holds in contiguous.items() if holds), None)
    if order is None:
        return None
    begin = root.offset + _address(array) - _address(root)
    return FileArray(Path(root.filename), int(begin), array.shape, array.dtype, order)


def blocks(X: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Cut a matrix into blocks of rows and columns in the order in which they lie in memory.

    Pages of a memory-mapped file are let go of when the next block is asked for, so that a pass over X takes
    no memory. An array in memory is one block.

    Parameters
    ----------
    X : ndarray of shape (n, d)

    Yields
    ------
    rows, columns : slice

    Examples
    --------
    >>> list(blocks(np.eye(2)))
    [(slice(0, 2, None), slice(0, 2, None))]
    """
    n, d = X.shape
    root = _root(X)
    if root is None or not X.size:
        yield slice(0, n), slice(0, d)
        return
    by_columns = X.flags.f_contiguous and not X.flags.c_contiguous
    length, across = (d, n) if by_columns else (n, d)
    step = max(1, _BLOCK_BYTES // max(1, across * X.itemsize))
    for start in range(0, length, step):
        part = slice(start, min(start + step, length))
        yield (slice(0, n), part) if by_columns else (part, slice(0, d))
        forget_pages(X)


def forget_pages(array: Any) -> None:
    """Take the pages of a memory-mapped file out of this process's memory; the file keeps what they hold.

    Examples
    --------
    >>> forget_pages(np.eye(2))
    """
    root = _root(array)
    if root is not None and hasattr(mmap, "MADV_DONTNEED") and root.mode != "c":
        root._mmap.madvise(mmap.MADV_DONTNEED)


def take_rows(X: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Give rows of a matrix that may be a file, of which no more than a block is in memory at a time.

    Examples
    --------
    >>> take_rows(np.arange(6.0).reshape(3, 2), np.array([2, 0]))
    array([[4., 5.],
           [0., 1.]])
    """
    file = file_of(X)
    if file is None or file.order == "C":
        return np.asarray(X[nodes])
    found = np.empty((len(nodes), X.shape[1]), X.dtype)
    for _, columns in blocks(X):
        found[:, columns] = X[:, columns][nodes]
    return found


def has_any(X: Any) -> np.ndarray:
    """Tell the rows that have an entry other than zero.

    Examples
    --------
    >>> has_any(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([ True, False])
    """
    # a stored zero is no entry; the absolute values of a dense X would be a second X
    if issparse(X):
        return np.asarray(abs(X).sum(axis=1) > 0)
    found = np.zeros(X.shape[0], dtype=bool)
    for rows, columns in blocks(X):
        found[rows] |= X[rows, columns].any(axis=1)
    return found


def _root(array: Any) -> Any:
    """Give the map that an array is a view of, or None."""
    base = array
    while isinstance(getattr(base, "base", None), np.ndarray):
        base = base.base
    return base if isinstance(base, np.memmap) and isinstance(base.base, mmap.mmap) else None


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])
