"""Write files and folders atomically."""

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from filelock import Timeout

from gssl.files import lock_handle, make_lock, open_regular
from gssl.scale.run_folder import explain_write_errors

_PREFIX = ".gssl-"


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which replaces ``path`` if the block raises no error.

    The folder is created if needed. After an error or Ctrl-C, the temporary file is deleted and an existing
    file at ``path`` is unchanged. A file left by a killed process is deleted by the next call for the same
    folder, except on Windows.

    Parameters
    ----------
    path : path
        The final path.

    Yields
    ------
    Path
        The temporary path, which has the same suffix.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "a.txt") as part:
    ...     _ = part.write_text("all of it")
    >>> [file.name for file in folder.iterdir()]
    ['a.txt']
    """
    path = Path(path)
    check_writable(path)
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent)
        handle, part = _make_part(path)
        try:
            yield part
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
            if handle is not None:
                os.close(handle)


def _make_part(path: Path) -> tuple[int | None, Path]:
    """Create a temporary file next to a path, locked while its handle is open."""
    while True:
        # in the same folder, because a rename is only atomic within one file system; and with the permissions
        # of any new file, which tempfile does not give
        part = path.with_name(f"{_PREFIX}{token_hex(4)}{path.suffix}")
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if not lock_handle(handle, wait=True):
            os.close(handle)
            return None, part
        if part.exists():
            return handle, part
        os.close(handle)  # another process deleted it before it was locked


def _sweep(folder: Path) -> None:
    """Delete temporary files of dead processes, whose locks are released."""
    for part in folder.glob(f"{_PREFIX}*"):
        # our files are named with eight hexadecimal digits and perhaps a suffix
        if not re.fullmatch(r"[a-f0-9]{8}(\..*)?", part.name.removeprefix(_PREFIX)):
            continue
        with suppress(OSError), open_regular(part, "r+b") as opened:
            if lock_handle(opened.fileno(), wait=False):
                part.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: str | Path, mark: str) -> Iterator[Path]:
    """Yield a temporary folder, which is renamed to ``path`` if the block raises no error.

    It is deleted after an error or Ctrl-C. If the process is killed, it stays, and the next call with the
    same ``mark``, which identifies the inputs, continues with it.
    """
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"{path} already exists: remove it or choose another name.")
    check_writable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with explain_write_errors(path), _locked(path):
        try:
            mark_file = part / "mark"
            begun = _is_private(part) and mark_file.is_file()
            if not begun or mark_file.read_text(encoding="utf-8") != mark:
                shutil.rmtree(part, ignore_errors=True)
                part.mkdir(mode=0o700)
                mark_file.write_text(mark, encoding="utf-8")
            yield part
            # the permissions of any new folder: who may read a new file may also search the folder
            mode = stat.S_IMODE(mark_file.stat().st_mode)
            part.chmod(stat.S_IMODE(part.stat().st_mode) | mode | (mode & 0o444) >> 2)
            mark_file.unlink()
            part.rename(path)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _is_private(folder: Path) -> bool:
    """Return whether only this user can have written to a folder, so that no link was planted in it."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    facts = folder.stat()
    return os.name != "posix" or (facts.st_uid == os.geteuid() and not facts.st_mode & 0o077)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock a path against other processes; the lock is released when the process ends."""
    lock = make_lock(path.with_name(f".{path.name}.lock"))
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise OSError(f"{path} is being built by another process: wait for it.") from error
    try:
        yield
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def check_writable(path: str | Path) -> None:
    """Raise if a path cannot be written, before any work is done."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir():
        raise NotADirectoryError(
            f"{path} cannot be written, because {folder} is not a folder: choose another place."
        )
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a regular file and cannot be replaced by one: choose another place.")
    with explain_write_errors(path):
        # try it: permissions are not enough, as on read-only disks or for the superuser
        tempfile.TemporaryFile(dir=folder).close()
