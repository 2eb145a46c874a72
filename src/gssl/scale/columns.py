"""Columns of features that may be larger than memory, and products that do not depend on slab widths."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gssl.files import open_regular, read_into, write_all
from gssl.graph.mapped import FileArray, mapped_file, release_pages
from gssl.operators import multiply
from gssl.scale.memory import SlabPlan
from gssl.scale.run_folder import RunFolder

# bytes read at a time
_BLOCK_BYTES = 1 << 23
# rows per block, so that a copy in double precision stays in the cache
_ROWS = 512
# a row-major file is read completely for each slab: up to this many slabs, splitting it does not pay off
_FEW = 3


def read_columns(
    X: Any, columns: slice, out: np.ndarray | None = None, block_bytes: int = _BLOCK_BYTES
) -> Any:
    """Return columns of X in C order, copied to ``out`` or a new array; X itself if it needs no copy.

    A memory-mapped X is read in blocks, so only one block is in memory besides the result.
    """
    if issparse(X):
        return X if columns == slice(0, X.shape[1]) else X[:, columns]
    file = mapped_file(X)
    if file is None and X.flags.c_contiguous and columns == slice(0, X.shape[1]):
        return X
    if out is None:
        out = np.empty((X.shape[0], columns.stop - columns.start), X.dtype)
    if file is None:
        out[:] = X[:, columns]
        release_pages(X)
        return out
    with file.path.open("rb", buffering=0) as opened:
        read = _read_rows if file.order == "C" else _read_whole_columns
        read(opened, file, columns, out, block_bytes)
    return out


def read_row_blocks(opened: Any, file: FileArray, block_bytes: int = _BLOCK_BYTES) -> Iterator[np.ndarray]:
    """Yield blocks of rows of a file; each block overwrites the previous one."""
    n, d = file.shape
    step = max(1, block_bytes // (d * file.dtype.itemsize))
    block = np.empty((min(step, n), d), file.dtype)
    for start in range(0, n, step):
        rows = block[: min(step, n - start)]
        read_into(opened, rows, file.offset + start * d * file.dtype.itemsize)
        yield rows


def _read_rows(opened: Any, file: FileArray, columns: slice, wanted: np.ndarray, block_bytes: int) -> None:
    if columns == slice(0, file.shape[1]):
        read_into(opened, wanted, file.offset)
        return
    done = 0
    for rows in read_row_blocks(opened, file, block_bytes):
        wanted[done : done + len(rows)] = rows[:, columns]
        done += len(rows)


def _read_whole_columns(
    opened: Any, file: FileArray, columns: slice, wanted: np.ndarray, block_bytes: int
) -> None:
    n = file.shape[0]
    column = n * file.dtype.itemsize
    # enough columns that a row of them fills a cache line
    step = max(16, block_bytes // max(1, column))
    block = np.empty((min(step, wanted.shape[1]), n), file.dtype)
    for start in range(0, wanted.shape[1], step):
        part = block[: min(step, wanted.shape[1] - start)]
        read_into(opened, part, file.offset + (columns.start + start) * column)
        wanted[:, start : start + len(part)] = part.T


class ColumnSource:
    """The slabs of X, read into memory on demand."""

    # reading a slab of a row-major file takes a pass over the whole file: with more than a few slabs, the
    # file is split into one file per slab in a single pass

    def __init__(self, X: Any, plan: SlabPlan) -> None:
        self._X, self._slabs = X, plan.slabs
        file = mapped_file(X)
        self._rows = file if file is not None and file.order == "C" and len(self._slabs) > _FEW else None
        self._folder: RunFolder | None = None

    def read(self, s: int, out: np.ndarray | None = None) -> Any:
        """Return a slab, in ``out`` if it is copied."""
        columns = self._slabs[s]
        if self._rows is None:
            return read_columns(self._X, columns, out)
        if self._folder is None:
            self._folder = self._write_slabs(self._rows)
        if out is None:
            out = np.empty((self._X.shape[0], columns.stop - columns.start), self._X.dtype)
        with open_regular(self._file(self._folder, s), buffering=0) as opened:
            read_into(opened, out)
        return out

    def _file(self, folder: RunFolder, s: int) -> Path:
        return folder.path / f"columns-{s:04}"

    def _write_slabs(self, file: FileArray) -> RunFolder:
        """Write a file for each slab, in one pass over X."""
        folder = RunFolder()
        with folder.explained(folder.path), file.path.open("rb", buffering=0) as given:
            for rows in read_row_blocks(given, file):
                for s, columns in enumerate(self._slabs):
                    # reopened for each block: there may be more slabs than a process may have open files
                    with open_regular(self._file(folder, s), "ab", buffering=0) as opened:
                        write_all(opened, np.ascontiguousarray(rows[:, columns]))
        return folder


def add_product(total: np.ndarray, U: Any, V: np.ndarray) -> None:
    r"""Add a product to a sum over slabs in double precision: :math:`Z \leftarrow Z + U_s V_s`."""
    V = np.ascontiguousarray(V, dtype=np.float64)
    if issparse(U):
        for start in range(0, U.shape[0], _ROWS):
            total[start : start + _ROWS] += multiply(U[start : start + _ROWS].astype(np.float64), V)
        return
    # reused for all blocks, because allocating may cost more than the product
    block, products = np.empty((_ROWS, U.shape[1])), np.empty((_ROWS, V.shape[1]))
    for start in range(0, U.shape[0], _ROWS):
        n_rows = min(_ROWS, U.shape[0] - start)
        rows, product = block[:n_rows], products[:n_rows]
        rows[:] = U[start : start + n_rows]
        total[start : start + n_rows] += np.matmul(rows, V, out=product)


def transposed_product(U: np.ndarray, R: np.ndarray) -> np.ndarray:
    r"""Return :math:`U^\top R` in double precision."""
    total = np.zeros((U.shape[1], R.shape[1]))
    for start in range(0, U.shape[0], _ROWS):
        total += U[start : start + _ROWS].astype(np.float64).T @ R[start : start + _ROWS].astype(np.float64)
    return total
