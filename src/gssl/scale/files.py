"""Files of a run: each appears whole or not at all, and what cannot be written is told in one sentence."""

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from gssl.scale.columns import raw_bytes

_COLUMNS = 16


class RunFolder:
    """A folder for the arrays of a run: a temporary one, gone with its last user, or one to resume from.

    Parameters
    ----------
    kept : path, optional
        A folder that stays. What is written to it is on the disk before it counts.

    Examples
    --------
    >>> folder = RunFolder()
    >>> _ = folder.write_json("a.json", {"step": 3})
    >>> folder.read_json("a.json"), folder.durable
    ({'step': 3}, False)
    """

    def __init__(self, kept: str | Path | None = None) -> None:
        self.durable = kept is not None
        if kept is None:
            self.path = Path(tempfile.mkdtemp(prefix="gssl-slabs-"))
            weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        else:
            self.path = Path(kept)
            with self.explained(self.path):
                self.path.mkdir(parents=True, exist_ok=True)

    def inside(self, name: str) -> "RunFolder":
        """Give a folder in this one, which lives as long."""
        part = object.__new__(RunFolder)
        part.durable, part.path, part._parent = self.durable, self.path / name, self  # type: ignore[attr-defined]
        with self.explained(part.path):
            part.path.mkdir(exist_ok=True)
        return part

    def write(self, name: str, fill: Callable[[BinaryIO], Any]) -> Path:
        """Write a file that takes its place when it is whole."""
        target = self.path / name
        part = target.with_name(f".{name}.part")
        with self.explained(target):
            with part.open("wb") as opened:
                fill(opened)
                self.settle(opened)
            part.replace(target)
            self._settle_names()
        return target

    def write_array(self, name: str, array: np.ndarray) -> Path:
        """Write an array as ``.npy``."""
        return self.write(name, lambda file: np.save(file, array, allow_pickle=False))

    def overwrite_array(self, name: str, array: np.ndarray) -> Path:
        """Write an array over one of the same shape: faster, for the disk has room for it already."""
        target = self.path / name
        with self.explained(target), target.open("r+b" if target.exists() else "wb") as opened:
            np.save(opened, array, allow_pickle=False)
        return target

    def read_array(self, name: str) -> np.ndarray:
        """Read an array into memory, never a pickle."""
        path = self.path / name
        try:
            # mapped first, for a header may claim more memory than the file has bytes
            return np.array(np.load(path, mmap_mode="r", allow_pickle=False))
        except Exception as error:  # a damaged file can raise anything
            raise ValueError(f"{path} is damaged: remove {self.path} and run again.") from error

    def write_json(self, name: str, content: Any) -> Path:
        """Write numbers and text as JSON."""
        return self.write(name, lambda file: file.write(json.dumps(content).encode()))

    def read_json(self, name: str) -> Any:
        """Read JSON, None where there is no such file."""
        path = self.path / name
        try:
            return json.loads(path.read_bytes()) if path.exists() else None
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is damaged: remove {self.path} and run again.") from error

    def settle(self, opened: Any) -> None:
        """Wait until a file is on the disk, where the folder is to survive the machine."""
        if self.durable:
            opened.flush()
            os.fsync(opened.fileno())

    @contextmanager
    def explained(self, path: Path) -> Iterator[None]:
        """Turn what the system says about a file into a sentence with the way on."""
        try:
            yield
        except OSError as error:
            if error.errno is None:
                raise
            advice = "make room or choose another place"
            if self.durable:
                advice += f", then run again with the same resume={str(self.path)!r}: finished work is kept"
            told = os.strerror(error.errno).lower()
            raise OSError(f"{path} cannot be written: {told}; {advice}.") from error

    def _settle_names(self) -> None:
        if self.durable:
            handle = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


class ColumnFile:
    """A matrix on disk whose columns lie one after the other (``.npy``, Fortran order), written by slabs.

    So a slab of any width is one piece of the file, and the file is the same whatever the width was.

    Parameters
    ----------
    folder : RunFolder
    name : str
    shape : (int, int)
    dtype : float type

    Examples
    --------
    >>> file = ColumnFile(RunFolder(), "u.npy", (2, 3), np.float64)
    >>> file.write(slice(1, 3), np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> file.open()
    memmap([[0., 1., 2.],
            [0., 3., 4.]])
    """

    def __init__(self, folder: RunFolder, name: str, shape: tuple[int, int], dtype: Any) -> None:
        self._folder, self.path = folder, folder.path / name
        self.shape, self.dtype = shape, np.dtype(dtype)
        header = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": True, "shape": shape}
        mode = "r+b" if self.path.exists() else "w+b"
        with folder.explained(self.path), self.path.open(mode) as opened:
            np.lib.format.write_array_header_1_0(opened, header)
            self._begin = opened.tell()
            n_bytes = self._begin + shape[0] * shape[1] * self.dtype.itemsize
            opened.flush()
            if os.fstat(opened.fileno()).st_size != n_bytes:
                # room for all of it, or a word before the work begins, where the system can
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(opened.fileno(), 0, n_bytes)
                opened.truncate(n_bytes)

    def write(self, columns: slice, U: np.ndarray) -> None:
        """Write columns of the matrix."""
        n = self.shape[0]
        with self._folder.explained(self.path), self.path.open("r+b", buffering=0) as opened:
            opened.seek(self._begin + columns.start * n * self.dtype.itemsize)
            for start in range(0, U.shape[1], _COLUMNS):
                part = np.ascontiguousarray(U[:, start : start + _COLUMNS].T, dtype=self.dtype)
                view = raw_bytes(part)
                while len(view):
                    view = view[opened.write(view) :]
            self._folder.settle(opened)

    def open(self) -> np.ndarray:
        """Map the matrix for reading; the folder stays as long as the map."""
        if not all(self.shape):
            return np.empty(self.shape, self.dtype)
        mapped = np.load(self.path, mmap_mode="r", allow_pickle=False)
        mapped._gssl_folder = self._folder
        return np.asarray(mapped) if not isinstance(mapped, np.ndarray) else mapped
