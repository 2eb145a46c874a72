"""A journal of actions as lines of JSON with checksums, synced to disk before the server responds."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from filelock import Timeout

from gssl.checksums import seal, unseal
from gssl.files import explain_write_errors, make_lock, open_regular, sync_folder, write_all
from gssl.io.atomic import check_writable
from gssl.io.label_tables import Answers

# the header of a journal of classes; that of another one says what its labels are
_HEADER = {"journal": "gssl label", "format": 2}
# the header and the fields of format 1, which had no checksums
_EARLIER, _EARLIER_FIELDS = {**_HEADER, "format": 1}, {"do", "nodes", "label", "labels", "at"}


def journal_path(out: Path) -> Path:
    """Return the path of the journal of an output file."""
    return out.with_name(f"{out.name}.journal")


class Journal:
    """An append-only file of actions; a last line that was truncated by a crash is dropped.

    ``actions`` and their ``lines`` are those in the file when it was opened, without the ``damaged`` lines,
    which stay in it. ``answers`` are what its labels are. Only one process can open it at a time.
    """

    def __init__(self, path: Path, answers: Answers = "classes") -> None:
        self.path, header = path, _header(answers)
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
            self.actions, self.lines, self.damaged, kept = _read(path, header)
            with explain_write_errors(path):
                # unbuffered, so that data of a failed write are not written later
                self._file = open_regular(path, "r+b" if path.exists() else "x+b", buffering=0)
                self._file.truncate(kept)
                self._file.seek(kept)
                if not kept:
                    self._write(header)
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
        write_all(self._file, np.frombuffer(_encode(line) + b"\n", np.uint8))
        os.fsync(self._file.fileno())


def _header(answers: Answers) -> dict[str, Any]:
    return _HEADER if answers == "classes" else {**_HEADER, "answers": answers}


def _answers_of(header: dict[str, Any] | None) -> Answers | None:
    """Return what the labels of a journal are; None if this is not its header."""
    return next((answers for answers in get_args(Answers) if header == _header(answers)), None)


def _read(path: Path, wanted: dict[str, Any]) -> tuple[list[dict[str, Any]], list[int], list[int], int]:
    """Return the actions in a file, their lines, the damaged lines, and the length of its valid part."""
    content = b""
    if path.exists():
        with open_regular(path) as opened:
            content = opened.read()
    header, *records = content.split(b"\n")[:-1] or [b""]
    # a line cut off by a crash has no end, or contains zeros if it had several blocks
    torn = records.pop() if records and b"\0" in records[-1] else None
    kept = content.rfind(b"\n") + 1 - (0 if torn is None else len(torn) + 1)
    first = _decode(header)
    is_earlier = first is None and _parse(header) == _EARLIER
    is_sealed = first == wanted
    held = _answers_of(_HEADER if is_earlier else first)
    if held not in (None, _answers_of(wanted)):
        raise ValueError(f"{path} holds {held}, not {_answers_of(wanted)}: choose another --out.")
    actions, lines, damaged = _read_records(records, is_sealed)
    if is_sealed or is_earlier:
        return actions, lines, damaged, kept
    if first is not None and "journal" in first:
        raise ValueError(f"{path} was written by a newer gssl: update gssl, or choose another --out.")
    if actions:
        return actions, lines, [1, *damaged], kept
    known = (_EARLIER, *(_header(answers) for answers in get_args(Answers)))
    # a truncated header, possibly padded with zeros, is an empty journal
    if records or not any(_encode(each).startswith(content.rstrip(b"\0")) for each in known):
        raise ValueError(f"{path} is not a journal of gssl label: choose another --out.")
    return [], [], [], 0


def _read_records(
    records: Sequence[bytes], is_sealed: bool
) -> tuple[list[dict[str, Any]], list[int], list[int]]:
    """Return the actions, their lines and the damaged lines; after a checksum, every record needs one."""
    actions: list[dict[str, Any]] = []
    lines: list[int] = []
    damaged: list[int] = []
    undoable: list[int] = []
    for number, record in enumerate(records, start=1):
        action = _decode(record)
        is_sealed = is_sealed or action is not None
        if not is_sealed:
            action = _parse(record)
            action = action if action is not None and action.keys() <= _EARLIER_FIELDS else None
            # an undo of format 1 is of the last line before it, even if that is damaged
            if action is not None and action.get("do") == "undo":
                action["of"] = undoable.pop() if undoable else number
            else:
                undoable.append(number)
        if action is None:
            damaged.append(number + 1)
            continue
        actions.append(action if is_sealed else {**action, "n": number})
        lines.append(number + 1)
    return actions, lines, damaged


def _encode(line: dict[str, Any]) -> bytes:
    """Return an object as a line of JSON with a checksum."""
    return seal(json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def _decode(line: bytes) -> dict[str, Any] | None:
    """Return a line without its checksum; None if it has none or another."""
    content = unseal(line)
    return None if content is None else _parse(content)


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        action = json.loads(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return action if isinstance(action, dict) else None
