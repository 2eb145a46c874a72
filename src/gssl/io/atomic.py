"""Write files and folders atomically."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import Timeout

from gssl.files import explain_write_errors, make_lock, replacing


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
    check_writable(path)
    with replacing(Path(path)) as part:
        yield part


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
