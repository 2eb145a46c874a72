"""Files and folders that appear whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that takes its place when the block ends without an error.

    The folder is made if it is not there. After an error, or Ctrl-C, nothing is left behind and a file that
    stood at ``path`` is untouched.

    Parameters
    ----------
    path : path
        Where the file shall appear.

    Yields
    ------
    Path
        Where to write it meanwhile; it has the same suffix.

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
    with _explain_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # beside its place, for a rename is only atomic within one file system
        handle, name = tempfile.mkstemp(prefix=f".{path.stem[:100]}-", suffix=path.suffix, dir=path.parent)
        part = Path(name)
        try:
            os.close(handle)
            yield part
            # mkstemp makes a file for its owner only; a result should be as readable as any new file
            part.chmod(0o666 & ~_umask())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: str | Path, mark: str) -> Iterator[Path]:
    """Yield a folder beside ``path`` that takes its place when the block ends without an error.

    After an error, or Ctrl-C, nothing is left behind. If the process is killed, the folder stays, and the
    next block with the same ``mark``, which identifies the inputs, continues with it.
    """
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"{path} is there already: remove it or choose another name.")
    check_writable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with _locked(path), _explain_os_errors(path):
        try:
            mark_file = part / "mark"
            if not mark_file.is_file() or mark_file.read_text(encoding="utf-8") != mark:
                shutil.rmtree(part, ignore_errors=True)
                part.mkdir()
                mark_file.write_text(mark, encoding="utf-8")
            yield part
            mark_file.unlink()
            part.rename(path)
        finally:
            shutil.rmtree(part, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock a path against other processes; the lock is released when the process ends."""
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise OSError(f"{path} is being built by another process: wait for it.") from error
    try:
        yield
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


@contextmanager
def _explain_os_errors(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into one sentence about a path; pass our own errors on."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        reason = os.strerror(error.errno).lower()
        raise OSError(f"{path} cannot be written: {reason}; make room or choose another place.") from error


def check_writable(path: str | Path) -> None:
    """Refuse a path that cannot be written, before the work is done."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir():
        raise NotADirectoryError(
            f"{path} cannot be written, for {folder} is no folder: choose another place."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(
            f"{path} cannot be written, for {folder} is closed to you: choose another place."
        )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
