"""Files of a run: written atomically, with disk errors explained in one sentence."""

import errno
import json
import os
import platform
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from filelock import FileLock, Timeout
from numpy.lib import format as npy

from gssl.scale.memory import write_size

# the inode of each lock file that this process holds
_locked: "weakref.WeakKeyDictionary[Any, int | None]" = weakref.WeakKeyDictionary()
# prefix of temporary folders, and the file in each that its process locks
_PREFIX, _OWNER = "gssl-slabs-", ".owner"
_ELSEWHERE = "set TMPDIR to another disk"
# no space left, quota exceeded, file too large
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# columns transposed at a time: a row of them fills a cache line in single precision
_COLUMNS = 16


class RunFolder:
    """A folder for the files of a run: a resume folder, or a temporary one removed with its last reference.

    Files in a resume folder (``kept``) are synced to disk.
    """

    def __init__(self, kept: str | Path | None = None) -> None:
        self.durable = kept is not None
        if kept is None:
            _sweep(Path(tempfile.gettempdir()))
            self.path, handle = _make_temporary()
            weakref.finalize(self, _remove, self.path, handle)
        else:
            self.path = Path(kept)
            with self.explained(self.path):
                self.path.mkdir(parents=True, exist_ok=True)

    def lock(self) -> Any:
        """Lock the folder against other processes while the returned lock exists; this one may lock it again.

        Return None where files cannot be locked, as on some network drives.
        """
        file = self.path.resolve() / ".lock"
        lock = FileLock(file, timeout=0, thread_local=False, is_singleton=True)
        if lock.is_locked and _inode(file) != _locked[lock]:
            lock.release(force=True)  # the folder was removed and may have been recreated
        try:
            with self.explained(self.path):
                lock.acquire()
        except Timeout as error:
            raise ValueError(
                f"{self.path} is in use by another process: wait until that has ended, or choose another "
                "folder for resume."
            ) from error
        except NotImplementedError:
            return None
        _locked[lock] = _inode(file)
        return lock

    def write(self, name: str, fill: Callable[[BinaryIO], Any]) -> Path:
        """Write a file atomically."""
        target = self.path / name
        part = target.with_name(f".{name}.part")
        with self.explained(target):
            try:
                with part.open("wb") as opened:
                    fill(opened)
                    self.sync(opened)
                part.replace(target)
            except OSError:
                part.unlink(missing_ok=True)
                raise
            self._sync_folder()
        return target

    def write_array(self, name: str, array: np.ndarray) -> Path:
        """Write an array as ``.npy``."""
        return self.write(name, lambda file: np.save(file, array, allow_pickle=False))

    def read_array(self, name: str) -> np.ndarray:
        """Read an array into memory, without pickle."""
        path = self.path / name
        try:
            # mapped first: a damaged header may claim more bytes than the file has
            return np.array(np.load(path, mmap_mode="r", allow_pickle=False))
        except Exception as error:  # a damaged file can raise anything
            raise ValueError(f"{path} is damaged: remove {self.path} and run again.") from error

    def write_json(self, name: str, content: Any) -> Path:
        """Write numbers and text as JSON."""
        return self.write(name, lambda file: file.write(json.dumps(content).encode()))

    def read_json(self, name: str) -> Any:
        """Read JSON; return None if there is no such file."""
        path = self.path / name
        try:
            return json.loads(path.read_bytes()) if path.exists() else None
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is damaged: remove {self.path}.") from error

    def sync(self, opened: Any) -> None:
        """Flush a file to disk if the folder is durable."""
        if self.durable:
            opened.flush()
            os.fsync(opened.fileno())

    @contextmanager
    def explained(self, path: Path) -> Iterator[None]:
        """Turn system errors into one sentence that says what to do."""
        advice = _ELSEWHERE
        if self.durable:
            advice = (
                "choose another place, then run again with the same resume= folder: finished work is kept"
            )
        with explain_write_errors(path, advice):
            yield

    def _sync_folder(self) -> None:
        if self.durable:
            handle = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def lock_handle(handle: int, *, wait: bool) -> bool:
    """Lock an open file until it is closed; return whether that was possible."""
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock

        flock(handle, LOCK_EX if wait else LOCK_EX | LOCK_NB)
    except (ImportError, OSError):  # Windows, locked by another process, or locks are not supported here
        return False
    return True


def _make_temporary() -> tuple[Path, int]:
    """Make a temporary folder, and in it a file that names this machine and is locked while open."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        with explain_write_errors(path, _ELSEWHERE):
            handle = os.open(path / _OWNER, os.O_RDWR | os.O_CREAT, 0o600)
            lock_handle(handle, wait=True)
            os.write(handle, platform.node().encode())
        if (path / _OWNER).exists():
            return path, handle
        os.close(handle)  # another process removed it before it was locked


def _sweep(parent: Path) -> None:
    """Remove temporary folders of killed processes of this machine, whose locks have been released."""
    for owner in parent.glob(f"{_PREFIX}*/{_OWNER}"):
        try:
            handle = os.open(owner, os.O_RDWR)
        except OSError:
            continue  # owned by another user, or removed
        here = os.read(handle, 1024) == platform.node().encode()
        if here and lock_handle(handle, wait=False):
            _remove(owner.parent, handle)
        else:
            os.close(handle)


def _remove(path: Path, handle: int) -> None:
    if os.name != "posix":
        os.close(handle)  # Windows cannot remove an open file
    shutil.rmtree(path, ignore_errors=True)
    if os.name == "posix":
        os.close(handle)


class ColumnFile:
    """A matrix in a ``.npy`` file in Fortran order, written slab by slab.

    Slabs are contiguous in the file, and its content does not depend on their width.
    """

    def __init__(self, folder: RunFolder, name: str, shape: tuple[int, int], dtype: Any) -> None:
        self._folder, self.path = folder, folder.path / name
        self.shape, self.dtype = shape, np.dtype(dtype)
        header = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": True, "shape": shape}
        mode = "r+b" if self.path.exists() else "w+b"
        with folder.explained(self.path), self.path.open(mode) as opened:
            npy.write_array_header_1_0(opened, header)
            self._begin = opened.tell()
            n_bytes = self._begin + shape[0] * shape[1] * self.dtype.itemsize
            opened.flush()
            if os.fstat(opened.fileno()).st_size != n_bytes:
                # reserve all space now, if supported, so that a full disk is found before the work begins
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(opened.fileno(), 0, n_bytes)
                opened.truncate(n_bytes)

    def write(self, columns: slice, U: np.ndarray) -> None:
        """Write columns of the matrix."""
        n = self.shape[0]
        with self._folder.explained(self.path), self.path.open("r+b", buffering=0) as opened:
            opened.seek(self._begin + columns.start * n * self.dtype.itemsize)
            for start in range(0, U.shape[1], _COLUMNS):
                write_all(opened, np.ascontiguousarray(U[:, start : start + _COLUMNS].T, dtype=self.dtype))
            self._folder.sync(opened)

    def open(self) -> np.ndarray:
        """Map the matrix read-only; a temporary folder is kept as long as the map exists."""
        if not all(self.shape):
            return np.empty(self.shape, self.dtype)
        mapped: Any = np.load(self.path, mmap_mode="r", allow_pickle=False)
        mapped._gssl_folder = self._folder
        return np.asanyarray(mapped)


@contextmanager
def explain_write_errors(path: Path, advice: str = "choose another place") -> Iterator[None]:
    """Turn write errors of the system or a library into one sentence; raise other errors unchanged.

    If the disk is full, the advice is to make room or to follow ``advice``.
    """
    try:
        yield
    except Exception as error:
        code = _error_number(error)
        if code is None:
            raise
        reason = os.strerror(code).lower()
        if code in _FULL:
            advice = f"make room or {advice}"
        if code != errno.EFBIG and code in _FULL:
            folder = next(parent for parent in path.absolute().parents if parent.exists())
            reason += f", {write_size(shutil.disk_usage(folder).free)} free"
        raise OSError(f"{path} cannot be written: {reason}; {advice}.") from error


def _error_number(error: BaseException) -> int | None:
    """Return the errno behind an error of any library, or None."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    if isinstance(error, ValueError) and error.__cause__ is not None:
        error = error.__cause__  # DuckDB's error, wrapped in ours about the table that was read
    message = str(error)
    # the formats of safetensors and of DuckDB
    number = re.search(r'os error (\d+)|"errno":"(\d+)"', message)
    if number:
        return int(number.group(1) or number.group(2))
    if re.fullmatch(r"\d+ requested and \d+ written", message):
        return errno.ENOSPC  # NumPy does not say why it wrote less
    return next((code for code in _FULL if os.strerror(code) in message), None)


def read_into(opened: Any, array: np.ndarray, offset: int = 0) -> None:
    """Fill an array from a file, repeating partial reads."""
    view = _bytes_of(array)
    opened.seek(offset)
    while len(view):
        got = opened.readinto(view)
        if not got:
            raise OSError("a file of features became shorter while it was read: write it again.")
        view = view[got:]


def write_all(opened: Any, array: np.ndarray) -> None:
    """Write all bytes of an array, repeating partial writes."""
    view = _bytes_of(array)
    while len(view):
        view = view[opened.write(view) :]


def _inode(path: Path) -> int | None:
    return path.stat().st_ino if path.exists() else None


def _bytes_of(array: np.ndarray) -> memoryview:
    flat: Any = array.reshape(-1).view(np.uint8)
    return memoryview(flat) if array.size else memoryview(b"")
