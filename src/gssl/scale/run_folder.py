"""Files of a run: written atomically, with disk errors explained in one sentence."""

import json
import os
import platform
import shutil
import tempfile
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from filelock import Timeout
from numpy.lib import format as npy

from gssl.checksums import read_sealed, seal
from gssl.files import (
    abandoned,
    check_real_folder,
    explain_write_errors,
    make_lock,
    make_owned,
    open_regular,
    replacing,
)

# the inode of each lock file that this process holds
_locked: "weakref.WeakKeyDictionary[Any, int | None]" = weakref.WeakKeyDictionary()
# prefix of temporary folders, and the file in each that its process locks
_PREFIX, _OWNER = "gssl-slabs-", ".owner"
_ELSEWHERE = "set TMPDIR to another disk"


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

    def write(self, name: str, fill: Callable[[BinaryIO], Any]) -> None:
        """Write a file atomically."""
        path = self.path / name
        with replacing(path, self._advice, durable=self.durable) as part, open_regular(part, "r+b") as file:
            fill(file)

    def write_array(self, name: str, array: np.ndarray) -> None:
        """Write an array as ``.npy``."""
        self.write(name, lambda file: np.save(file, array, allow_pickle=False))

    def read_array(self, name: str) -> np.ndarray:
        """Read an array into memory, without pickle."""
        path = self.path / name
        try:
            # mapped first: a damaged header may claim more bytes than the file has
            return np.array(map_array(path))
        except Exception as error:  # a damaged file can raise anything
            raise ValueError(f"{path} is damaged: remove {self.path} and run again.") from error

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        """Write an object of numbers and text as JSON with a checksum."""
        self.write(name, lambda file: file.write(seal(json.dumps(content).encode())))

    def read_json(self, name: str) -> Any:
        """Read JSON; return None if there is no such file."""
        path = self.path / name
        try:
            with open_regular(path) as opened:
                return read_sealed(opened.read())
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is damaged: remove {self.path}.") from error

    def explained(self, path: Path) -> AbstractContextManager[None]:
        """Turn system errors into one sentence that says what to do."""
        return explain_write_errors(path, self._advice)

    @property
    def _advice(self) -> str:
        if not self.durable:
            return _ELSEWHERE
        return "choose another place, then run again with the same resume= folder: finished work is kept"


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
            owner = make_owned(path / _OWNER)
            if owner is not None:
                owner.write(platform.node().encode())
                return path, owner


def _sweep(parent: Path) -> None:
    """Remove temporary folders of killed processes of this machine.

    Files cannot be unlinked when they are opened, because DuckDB and workers of a cluster open them by name.
    """
    for owner in abandoned(parent.glob(f"{_PREFIX}*/{_OWNER}")):
        # another process may remove the folder at the same time
        with suppress(FileNotFoundError):
            if not owner.parent.is_symlink() and owner.read_bytes() == platform.node().encode():
                shutil.rmtree(owner.parent, ignore_errors=True)


def _remove(path: Path, owner: Any) -> None:
    if os.name != "posix":
        owner.close()  # Windows cannot remove an open file
    shutil.rmtree(path, ignore_errors=True)
    owner.close()


def _inode(path: Path) -> int | None:
    return path.stat().st_ino if path.exists() else None
