"""Some columns of features that may be larger than memory, and products with all of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gssl.graph.mapped import FileArray, mapped_file, release_pages

# bytes that are read at a time
_BLOCK_BYTES = 1 << 23


def read_columns(X: Any, columns: slice) -> Any:
    """Give columns of X in row order, in memory of their own unless they are all of X.

    A memory-mapped X is read by blocks, so that no more than a block of it is in memory beside the result.

    Parameters
    ----------
    X : ndarray, memmap or csr_array of shape (n, d)
    columns : slice

    Returns
    -------
    ndarray or csr_array of shape (n, w)

    Examples
    --------
    >>> read_columns(np.arange(6.0).reshape(2, 3), slice(1, 3))
    array([[1., 2.],
           [4., 5.]])
    """
    if issparse(X):
        return X if columns == slice(0, X.shape[1]) else X[:, columns]
    file = mapped_file(X)
    if file is None:
        wanted = np.ascontiguousarray(X[:, columns])
        release_pages(X)
        return wanted
    wanted = np.empty((X.shape[0], columns.stop - columns.start), X.dtype)
    with file.path.open("rb", buffering=0) as opened:
        (_read_rows if file.order == "C" else _read_whole_columns)(opened, file, columns, wanted)
    return wanted


def read_file(path: Path, into: np.ndarray) -> None:
    """Read an ``.npy`` file into an array of the same shape.

    Examples
    --------
    >>> import tempfile
    >>> path, into = Path(tempfile.mkdtemp()) / "x.npy", np.empty(2)
    >>> np.save(path, np.array([1.0, 2.0]))
    >>> read_file(path, into)
    >>> into
    array([1., 2.])
    """
    try:
        file = mapped_file(np.load(path, mmap_mode="r", allow_pickle=False))
    except Exception:  # a damaged file can raise anything
        file = None
    if file is None or (file.shape, file.dtype) != (into.shape, into.dtype):
        raise ValueError(f"{path} is not the array that this run has written: remove it and run again.")
    with path.open("rb", buffering=0) as opened:
        _read(opened, file.offset, into)


def read_rows(X: np.ndarray) -> Iterator[np.ndarray]:
    """Read a file of rows block by block; a block is written over when the next is asked for.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "x.npy"
    >>> np.save(path, np.eye(2))
    >>> [block.tolist() for block in read_rows(np.load(path, mmap_mode="r"))]
    [[[1.0, 0.0], [0.0, 1.0]]]
    """
    file = mapped_file(X)
    if file is None or file.order != "C":
        raise ValueError("X is not in a file by rows: read its columns.")
    with file.path.open("rb", buffering=0) as opened:
        yield from _row_blocks(opened, file)


def _row_blocks(opened: Any, file: FileArray) -> Iterator[np.ndarray]:
    n, d = file.shape
    step = max(1, _BLOCK_BYTES // (d * file.dtype.itemsize))
    block = np.empty((min(step, n), d), file.dtype)
    for start in range(0, n, step):
        rows = block[: min(step, n - start)]
        _read(opened, file.offset + start * d * file.dtype.itemsize, rows)
        yield rows


def _read_rows(opened: Any, file: FileArray, columns: slice, wanted: np.ndarray) -> None:
    if columns == slice(0, file.shape[1]):
        _read(opened, file.offset, wanted)
        return
    done = 0
    for rows in _row_blocks(opened, file):
        wanted[done : done + len(rows)] = rows[:, columns]
        done += len(rows)


def _read_whole_columns(opened: Any, file: FileArray, columns: slice, wanted: np.ndarray) -> None:
    n = file.shape[0]
    column = n * file.dtype.itemsize
    # so many columns that a row of them fills a cache line or more
    step = max(16, _BLOCK_BYTES // max(1, column))
    block = np.empty((min(step, wanted.shape[1]), n), file.dtype)
    for start in range(0, wanted.shape[1], step):
        part = block[: min(step, wanted.shape[1] - start)]
        _read(opened, file.offset + (columns.start + start) * column, part)
        wanted[:, start : start + len(part)] = part.T


def raw_bytes(array: np.ndarray) -> memoryview:
    """Give the bytes of an array without gaps, to be read or written.

    Examples
    --------
    >>> len(raw_bytes(np.zeros(3)))
    24
    """
    flat: Any = array.reshape(-1).view(np.uint8)
    return memoryview(flat) if array.size else memoryview(b"")


def _read(opened: Any, offset: int, into: np.ndarray) -> None:
    """Fill an array from a file: the system may give less at a time than it is asked for."""
    view = raw_bytes(into)
    opened.seek(offset)
    while len(view):
        got = opened.readinto(view)
        if not got:
            raise OSError("a file of features became shorter while it was read: write it again.")
        view = view[got:]
