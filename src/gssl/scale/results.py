"""The result of a task: one array and its finished columns, in memory or in a file."""

import os
import warnings
import zlib
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from gssl.files import open_regular, write_all
from gssl.graph.mapped import FileArray
from gssl.scale.memory import SlabPlan
from gssl.scale.run_folder import RunFolder, map_array

_ARRAY, _FINISHED = "embedding.npy", "finished.npy"
# columns transposed at a time: a row of them fills a cache line in single precision
_COLUMNS = 16
# the lowest bit that no checksum has, which marks a finished column
_MARK = np.uint64(1 << 32)


class Results:
    """The columns of a result: in memory, in a temporary file above ``max_bytes``, or in a resume folder.

    In a resume folder (``kept``), columns are marked as finished, with a checksum, once they are on disk. An
    earlier run may have had slabs of another width: slabs that are only partly finished are computed again,
    and so are columns that have been changed since.
    """

    def __init__(self, plan: SlabPlan, max_bytes: int, kept: RunFolder | None = None) -> None:
        self.plan, self.kept, self._max_bytes = plan, kept, max_bytes
        # 0 until a column is finished, then its checksum with a mark
        self._finished = np.zeros(plan.n_columns, dtype=np.uint64)
        self._array: np.ndarray | None = None
        self._file: FileArray | None = None
        self._folder = kept
        if kept is not None and (kept.path / _FINISHED).exists():
            self._reopen(kept)
        self.todo = [s for s, columns in enumerate(plan.slabs) if not self._finished[columns].all()]

    def put(self, s: int, part: np.ndarray) -> None:
        """Store the result of a slab, which has as many columns as the slab and any number of rows."""
        if self._array is None and self._file is None:
            self._allocate(part)
        columns = self.plan.slabs[s]
        if self._file is not None and self._folder is not None:
            with self._folder.explained(self._file.path):
                write_columns(self._file, columns, part, durable=self._folder.durable)
        elif self._array is not None and self._array is not part:
            self._array[:, columns] = part
        self._finished[columns] = _MARK
        if self.kept is not None and self._file is not None:
            self._finished[columns] = column_checksums(self._file, part)
            self.kept.write_array(_FINISHED, self._finished)

    def whole(self) -> np.ndarray:
        """Return all columns; a temporary file is removed with the last reference to them."""
        if self._file is None:
            return np.asarray(self._array)
        mapped = map_array(self._file.path)
        if mapped.nbytes <= self._max_bytes:
            return np.array(mapped)
        mapped._gssl_folder = self._folder  # type: ignore[attr-defined]
        return mapped

    def _allocate(self, part: np.ndarray) -> None:
        """Reserve memory or disk space for all columns."""
        shape = len(part), self.plan.n_columns
        if self._folder is None and len(self.plan.slabs) == 1:
            self._array = part
        elif self._folder is None and shape[0] * shape[1] * part.itemsize <= self._max_bytes:
            self._array = np.empty(shape, part.dtype)
        else:
            self._folder = self._folder or RunFolder()
            path = self._folder.path / _ARRAY
            with self._folder.explained(path):
                self._file = reserve_array(path, shape, part.dtype)

    def _reopen(self, kept: RunFolder) -> None:
        """Read which columns are finished, and check the array that they belong to."""
        path, finished = kept.path / _ARRAY, kept.read_array(_FINISHED)
        try:
            array = map_array(path)
        except Exception:  # a damaged file can raise anything
            array = np.empty(0)
        fits = array.ndim == 2 and array.shape[1] == len(self._finished) and array.flags.f_contiguous
        # earlier runs marked columns without checksums
        fits = fits and finished.dtype in (np.dtype(bool), self._finished.dtype)
        if fits and finished.shape == self._finished.shape:
            self._file = FileArray(path, int(getattr(array, "offset", 0)), array.shape, array.dtype, "F")
            self._finished = finished * _MARK if finished.dtype == bool else finished
            if finished.dtype == bool or self._forget_changed(array):
                return
        raise ValueError(
            f"{path} is missing or does not match the finished columns of this run: remove {kept.path} "
            "to start over."
        )

    def _forget_changed(self, array: np.ndarray) -> bool:
        """Forget finished columns whose checksums do not match, and say so; return whether others do."""
        assert self._file is not None
        done = np.flatnonzero(self._finished)
        wrong = [k for k in done if column_checksums(self._file, array[:, k : k + 1])[0] != self._finished[k]]
        if 0 < len(wrong) < len(done):
            self._finished[wrong] = 0
            warnings.warn(
                f"{self._file.path} is damaged: {len(wrong):,} of {len(done):,} finished columns have been "
                "changed and are computed again.",
                stacklevel=2,
            )
        # if none matches, the header of the file may be another one
        return not wrong or len(wrong) < len(done)


def reserve_array(path: Path, shape: tuple[int, int], dtype: np.dtype) -> FileArray:
    """Make or keep a ``.npy`` file of this size in Fortran order, in which slabs are contiguous."""
    header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": True, "shape": shape}
    with open_regular(path, "r+b" if os.path.lexists(path) else "x+b") as opened:
        npy.write_array_header_1_0(opened, header)
        file = FileArray(path, opened.tell(), shape, dtype, "F")
        n_bytes = file.offset + file.n_bytes
        opened.flush()
        if os.fstat(opened.fileno()).st_size != n_bytes:
            # reserve all space now, if supported, so that a full disk is noticed before the work begins
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(opened.fileno(), 0, n_bytes)
            opened.truncate(n_bytes)
    return file


def column_checksums(file: FileArray, U: np.ndarray) -> np.ndarray:
    """Return the checksum of each column as it is in the file, together with the file's shape and type."""
    start = zlib.crc32(f"{file.dtype.str} {file.shape} {file.offset}".encode())
    columns = (np.ascontiguousarray(U[:, k], dtype=file.dtype) for k in range(U.shape[1]))
    return np.array([zlib.crc32(column.data, start) for column in columns], dtype=np.uint64) | _MARK


def write_columns(file: FileArray, columns: slice, U: np.ndarray, *, durable: bool) -> None:
    """Write columns of an array in Fortran order, and sync them to disk if they are to be ``durable``."""
    column_bytes = file.shape[0] * file.dtype.itemsize
    with open_regular(file.path, "r+b", buffering=0) as opened:
        opened.seek(file.offset + columns.start * column_bytes)
        for start in range(0, U.shape[1], _COLUMNS):
            write_all(opened, np.ascontiguousarray(U[:, start : start + _COLUMNS].T, dtype=file.dtype))
        if durable:
            os.fsync(opened.fileno())
