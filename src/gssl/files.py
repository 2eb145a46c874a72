"""Open files safely in folders that others may write to, lock them, and write them whole.

Whoever may write to a folder can plant there a link to a file of yours, or a pipe that never answers. So a
file is opened only if it is a regular one under its own name, and opening it never waits.
"""

import errno
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from filelock import FileLock

from gssl.wording import write_size

# Windows has none of them
_SAFE = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}
# prefix of temporary files
_PREFIX = ".gssl-"
# no space left, quota exceeded, file too large
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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


def readable(path: Path) -> Path:
    """Return the path of an existing file; raise if this user may not read it."""
    if not os.access(path, os.R_OK):
        raise PermissionError(f"{path} may not be read by this user: change its permissions.")
    return path


def check_real_folder(path: Path) -> None:
    """Raise if a folder that belongs to another one is a link to elsewhere."""
    if path.is_symlink():
        raise OSError(f"{path} is a symbolic link, not a folder: remove it.")


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


def make_owned(path: Path) -> Any:
    """Create a file, locked while it is open; None if another process deleted it before it was locked."""
    opened = open_regular(path, "x+b", buffering=0)
    lock_handle(opened.fileno(), wait=True)
    if path.exists():
        return opened
    opened.close()
    return None


def abandoned(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files of :func:`make_owned` whose processes have ended, locked until the next one."""
    for path in paths:
        # it may belong to another user, or be deleted by now
        with suppress(OSError), open_regular(path, "r+b") as opened:
            if lock_handle(opened.fileno(), wait=False):
                yield path


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


@contextmanager
def replacing(path: Path, advice: str = "choose another place", *, durable: bool = False) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which replaces ``path`` if the block raises no error.

    A ``durable`` file is synced to disk before it replaces ``path``, and its name afterwards.
    """
    with explain_write_errors(path, advice):
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent)
        owner, part = _make_part(path)
        try:
            yield part
            if durable:
                with open_regular(part, "r+b") as opened:
                    os.fsync(opened.fileno())
            part.replace(path)
            if durable:
                sync_folder(path.parent)
        finally:
            owner.close()
            part.unlink(missing_ok=True)


def _make_part(path: Path) -> tuple[Any, Path]:
    """Create a temporary file next to a path, locked while it is open."""
    while True:
        # in the same folder, because a rename is only atomic within one file system; and with the permissions
        # of any new file, which tempfile does not give
        part = path.with_name(f"{_PREFIX}{token_hex(4)}{path.suffix}")
        owner = make_owned(part)
        if owner is not None:
            if os.name != "posix":
                owner.close()  # Windows cannot rename an open file
            return owner, part


def _sweep(folder: Path) -> None:
    """Delete temporary files of dead processes."""
    # our files are named with eight hexadecimal digits and perhaps a suffix
    ours = re.compile(_PREFIX.replace(".", r"\.") + r"[a-f0-9]{8}(\..*)?")
    for part in abandoned(part for part in folder.glob(f"{_PREFIX}*") if ours.fullmatch(part.name)):
        part.unlink(missing_ok=True)
