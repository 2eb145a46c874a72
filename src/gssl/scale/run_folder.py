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
from filelock import Timeout
from numpy.lib import format as npy

from gssl.files import check_real_folder, lock_handle, make_lock, open_regular, sync_folder
from gssl.scale.memory import write_size

# the inode of each lock file that this process holds
_locked: "weakref.WeakKeyDictionary[Any, int | None]" = weakref.WeakKeyDictionary()
# prefix of temporary folders, and the file in each that its process locks
_PREFIX, _OWNER = "gssl-slabs-", ".owner"
_ELSEWHERE = "set TMPDIR to another disk"
# no space left, quota exceeded, file too large
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class RunFolder:
    """A folder for the files of a run: a resume folder, or a temporary one removed with its last reference.

    Files in a resume folder (``kept``) are synced to disk.
    """

    def __init__(self, kept: str | Path | None = None) -> None:
        self.durable = kept is not None
        if kept is None:
            _sweep(Path(tempfile.gettempdir()))
            self.path, owner = _make_temporary()
            weakref.finalize(self, _remove, self.path, owner)
        else:
            self.path = Path(kept)
            with self.explained(self.path):
                self.path.mkdir(parents=True, exist_ok=True)

    def subfolder(self, name: str) -> "RunFolder":
        """Open or make a resume folder in this one."""
        check_real_folder(self.path / name)
        return RunFolder(self.path / name)

    def lock(self) -> Any:
        """Lock the folder against other processes while the returned lock exists; this one may lock it again.

        Return None where files cannot be locked, as on some network drives.
        """
        file = self.path.resolve() / ".lock"
        with self.explained(file):
            lock = make_lock(file, timeout=0, thread_local=False, is_singleton=True)
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
                part.unlink(missing_ok=True)
                with open_regular(part, "xb") as opened:
                    fill(opened)
                    self.sync(opened)
                part.replace(target)
            except OSError:
                part.unlink(missing_ok=True)
                raise
            if self.durable:
                sync_folder(self.path)
        return target

    def write_array(self, name: str, array: np.ndarray) -> Path:
        """Write an array as ``.npy``."""
        return self.write(name, lambda file: np.save(file, array, allow_pickle=False))

    def read_array(self, name: str) -> np.ndarray:
        """Read an array into memory, without pickle."""
        path = self.path / name
        try:
            # mapped first: a damaged header may claim more bytes than the file has
            return np.array(map_array(path))
        except Exception as error:  # a damaged file can raise anything
            raise ValueError(f"{path} is damaged: remove {self.path} and run again.") from error

    def write_json(self, name: str, content: Any) -> Path:
        """Write numbers and text as JSON."""
        return self.write(name, lambda file: file.write(json.dumps(content).encode()))

    def read_json(self, name: str) -> Any:
        """Read JSON; return None if there is no such file."""
        path = self.path / name
        try:
            with open_regular(path) as opened:
                return json.loads(opened.read())
        except FileNotFoundError:
            return None
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


def map_array(path: Path) -> np.ndarray:
    """Map an array of a ``.npy`` file read-only; raise any error if the file is damaged."""
    with open_regular(path) as opened:
        if npy.read_magic(opened) != (1, 0):
            raise ValueError("another format than the one written here.")
        shape, by_columns, dtype = npy.read_array_header_1_0(opened)
        if dtype.hasobject:
            raise ValueError("an array of objects cannot be mapped.")
        if not all(shape):
            return np.empty(shape, dtype)
        return np.memmap(opened, dtype, "r", opened.tell(), shape, "F" if by_columns else "C")


def _make_temporary() -> tuple[Path, Any]:
    """Make a temporary folder, and in it a file that names this machine and is locked while open."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        with explain_write_errors(path, _ELSEWHERE):
            owner = open_regular(path / _OWNER, "x+b", buffering=0)
            lock_handle(owner.fileno(), wait=True)
            owner.write(platform.node().encode())
        if (path / _OWNER).exists():
            return path, owner
        owner.close()  # another process removed it before it was locked


def _sweep(parent: Path) -> None:
    """Remove temporary folders of killed processes of this machine, whose locks have been released."""
    for file in parent.glob(f"{_PREFIX}*/{_OWNER}"):
        try:
            check_real_folder(file.parent)
            owner = open_regular(file, "r+b", buffering=0)
        except OSError:
            continue  # owned by another user, removed, or not made by gssl
        here = owner.read(1024) == platform.node().encode()
        if here and lock_handle(owner.fileno(), wait=False):
            _remove(file.parent, owner)
        else:
            owner.close()


def _remove(path: Path, owner: Any) -> None:
    if os.name != "posix":
        owner.close()  # Windows cannot remove an open file
    shutil.rmtree(path, ignore_errors=True)
    owner.close()


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


def _inode(path: Path) -> int | None:
    return path.stat().st_ino if path.exists() else None
