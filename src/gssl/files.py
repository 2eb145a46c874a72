"""Open files safely in folders that others may write to, lock them, and read and write them whole.

Whoever may write to a folder can plant there a link to a file of yours, or a pipe that never answers. So a
file is opened only if it is a regular one under its own name, and opening it never waits.
"""

import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

# Windows has none of them
_SAFE = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}


def open_regular(path: Path, mode: str = "rb", buffering: int = -1) -> Any:
    """Open a regular file that is not a link; to be written, it must have no second name (hard link).

    A new file is made by mode "x". Mode "w" is not possible, because it would empty a file unseen.
    """
    if "w" in mode:
        raise ValueError('open_regular: use mode "x" for a new file and "r+" for an existing one.')
    return open(os.fspath(path), mode, buffering, opener=_open)


def _open(path: str, flags: int) -> int:
    writes = bool(flags & (os.O_WRONLY | os.O_RDWR))
    try:
        handle = os.open(path, flags | _SAFE, 0o666)
    except OSError:
        # a link, a pipe or a folder has an error number of its own on every system
        if os.path.lexists(path):
            _refuse(path, os.lstat(path), writes=False)
        raise
    try:
        _refuse(path, os.fstat(handle), writes)
    except OSError:
        os.close(handle)
        raise
    return handle


def _refuse(path: str, facts: os.stat_result, writes: bool) -> None:
    kind = stat.S_IFMT(facts.st_mode)
    if kind != stat.S_IFREG:
        raise OSError(f"{path} is {_KINDS.get(kind, 'a device')}, not a regular file: remove it.")
    if writes and facts.st_nlink > 1:
        raise OSError(f"{path} has a second name (a hard link), whose content would change: remove it.")


def check_real_folder(path: Path) -> None:
    """Raise if a folder that belongs to another one is a link to elsewhere."""
    if path.is_symlink():
        raise OSError(f"{path} is a symbolic link, not a folder of this run: remove it.")


def sync_folder(path: Path) -> None:
    """Sync a folder, so that the names of new files are on disk; POSIX only."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_lock(path: Path, **options: Any) -> FileLock:
    """Return a lock on a file that need not exist; what was planted in its place is refused."""
    if os.path.lexists(path):
        # older versions of filelock empty the file
        open_regular(path, "r+b").close()
    return FileLock(path, **options)


def lock_handle(handle: int, *, wait: bool) -> bool:
    """Lock an open file until it is closed; return whether that was possible."""
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock

        flock(handle, LOCK_EX if wait else LOCK_EX | LOCK_NB)
    except (ImportError, OSError):  # Windows, locked by another process, or locks are not supported here
        return False
    return True


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


def _bytes_of(array: np.ndarray) -> memoryview:
    flat: Any = array.reshape(-1).view(np.uint8)
    return memoryview(flat) if array.size else memoryview(b"")
