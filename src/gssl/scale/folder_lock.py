"""One process at a time in a folder to resume from."""

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # a system without it goes without locks
    fcntl = None  # type: ignore[assignment]

# process and open file, as long as the process lives: a lock goes with the file, however the process ends
_held: dict[Path, tuple[int, int]] = {}


def lock_folder(path: Path) -> None:
    """Keep other processes out of a folder until this one ends; it may come back itself.

    Workers of a run keep to folders inside of it, which are not locked. Where files cannot be locked, as on
    some network drives, nothing is.

    Parameters
    ----------
    path : Path

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> lock_folder(folder)
    >>> lock_folder(folder)
    """
    if fcntl is None:
        return
    file = path.resolve() / ".lock"
    if file in _held and _is_ours(file):
        return
    opened = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(opened)
        raise ValueError(
            f"{path} is in use by another process: wait until that has ended, or choose another folder for "
            "resume."
        ) from error
    except OSError:  # no locks here
        os.close(opened)
        return
    _held[file] = os.getpid(), opened


def _is_ours(file: Path) -> bool:
    """Tell whether the file that is held is still there, and held by this process, not by its parent."""
    pid, opened = _held[file]
    try:
        return pid == os.getpid() and os.path.samestat(file.stat(), os.fstat(opened))
    except FileNotFoundError:  # the folder was removed since
        return False
