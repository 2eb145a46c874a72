"""A journal of actions as lines of JSON, synced to disk before the server responds."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from filelock import Timeout

from gssl.files import make_lock, open_regular, sync_folder, write_all
from gssl.io.atomic import check_writable
from gssl.scale.run_folder import explain_write_errors

_HEADER = {"journal": "gssl label", "format": 1}
_HEADER_BYTES = json.dumps(_HEADER).encode()


def journal_path(out: Path) -> Path:
    """Return the path of the journal of an output file."""
    return out.with_name(f"{out.name}.journal")


class Journal:
    """An append-only file of actions; a last line that was truncated by a crash is dropped.

    ``actions`` are those found when the file was opened. Only one process can open it at a time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        check_writable(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with explain_write_errors(path):
            self._lock = make_lock(path.with_name(f".{path.name}.lock"))
        try:
            self._lock.acquire(blocking=False)
        except Timeout as error:
            raise OSError(
                f"{path} is in use by another gssl label: use its page, or end it first."
            ) from error
        try:
            self.actions, kept = _read(path)
            with explain_write_errors(path):
                # unbuffered, so that data of a failed write are not written later
                self._file = open_regular(path, "r+b" if path.exists() else "x+b", buffering=0)
                self._file.truncate(kept)
                self._file.seek(kept)
                if not kept:
                    self._write(_HEADER)
                    sync_folder(path.parent)
        except BaseException:
            self._unlock()
            raise

    def append(self, action: dict[str, Any]) -> None:
        """Write an action and sync it to disk; restore the file if this fails."""
        end = self._file.tell()
        try:
            with explain_write_errors(self.path, "end gssl label and choose another --out"):
                self._write(action)
        except OSError:
            self._file.seek(end)
            self._file.truncate()
            raise

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()
        self._unlock()

    def _unlock(self) -> None:
        Path(self._lock.lock_file).unlink(missing_ok=True)
        self._lock.release()

    def _write(self, line: dict[str, Any]) -> None:
        content = json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        write_all(self._file, np.frombuffer(content, np.uint8))
        os.fsync(self._file.fileno())


def _read(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the actions in a file, and the length of its valid part."""
    if not path.exists():
        return [], 0
    with open_regular(path) as opened:
        content = opened.read()
    first, *lines = content.split(b"\n")[:-1] or [b""]
    if _parse(first) != _HEADER:
        # a truncated header, possibly padded with zeros, is an empty journal
        if lines or not _HEADER_BYTES.startswith(content.rstrip(b"\0")):
            raise ValueError(f"{path} is no journal of gssl label: choose another --out.")
        return [], 0
    found: list[dict[str, Any]] = []
    kept = len(first) + 1
    for number, line in enumerate(lines, start=2):
        action = _parse(line)
        if action is None:
            if number == len(lines) + 1:
                break  # an incomplete last line, for example after a power failure
            raise ValueError(
                f"{path}, line {number}, is no action of gssl label: remove it and all after it, or "
                "choose another --out."
            )
        found.append(action)
        kept += len(line) + 1
    return found, kept


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        action = json.loads(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return action if isinstance(action, dict) else None
