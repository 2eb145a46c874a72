"""A journal of actions: one line of JSON each, on disk before the action is answered."""

import json
import os
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from gssl.io.atomic import check_writable

_HEADER = {"journal": "gssl label", "format": 1}
_HEADER_BYTES = json.dumps(_HEADER).encode()


def journal_path(out: Path) -> Path:
    """Return where the journal of an output lies."""
    return out.with_name(f"{out.name}.journal")


class Journal:
    """An append-only file of actions; a last line that a crash has cut off is dropped.

    ``actions`` are those that were in the file when it was opened. One process at a time has it open.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        check_writable(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(path.with_name(f".{path.name}.lock"))
        try:
            self._lock.acquire(blocking=False)
        except Timeout as error:
            raise OSError(
                f"{path} is in use by another gssl label: use its page, or end it first."
            ) from error
        try:
            self.actions, kept = _read(path)
            self._file = path.open("r+b" if path.exists() else "w+b")
            self._file.truncate(kept)
            self._file.seek(kept)
            if not kept:
                self._write(_HEADER)
                _sync_folder(path.parent)
        except BaseException:
            self._unlock()
            raise

    def append(self, action: dict[str, Any]) -> None:
        """Write an action and wait until it is on disk; after an error the file is as before."""
        end = self._file.tell()
        try:
            self._write(action)
        except OSError as error:
            self._file.seek(end)
            self._file.truncate()
            reason = os.strerror(error.errno).lower() if error.errno else str(error)
            raise OSError(f"{self.path} cannot be written: {reason}; make room and try again.") from error

    def close(self) -> None:
        """Close the file and let others open it."""
        self._file.close()
        self._unlock()

    def _unlock(self) -> None:
        Path(self._lock.lock_file).unlink(missing_ok=True)
        self._lock.release()

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def _read(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the actions in a file, and the length of the part that is whole."""
    if not path.exists():
        return [], 0
    content = path.read_bytes()
    lines = content.split(b"\n")[:-1]
    found: list[dict[str, Any]] = []
    kept = 0
    for number, line in enumerate(lines):
        action = _parse(line)
        if number == 0 and action != _HEADER and len(lines) > 1:
            raise ValueError(f"{path} is no journal of gssl label: choose another --out.")
        if action is None:
            if number == len(lines) - 1:
                break  # cut off, whatever a full disk or a lost power supply has made of it
            raise ValueError(
                f"{path}, line {number + 1}, is no action of gssl label: remove it and all after it, or "
                "choose another --out."
            )
        if number == 0 and action != _HEADER:
            break
        found.append(action)
        kept += len(line) + 1
    if not kept and content.strip(b"\0") and not _HEADER_BYTES.startswith(content):
        raise ValueError(f"{path} is no journal of gssl label: choose another --out.")
    return found[1:], kept


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        action = json.loads(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return action if isinstance(action, dict) else None


def _sync_folder(folder: Path) -> None:
    """Make sure that a new file's name is on disk, where folders can be synchronised."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
