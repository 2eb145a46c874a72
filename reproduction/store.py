"""Results on disk: one line of JSON per finished run, so a kill loses at most the current run."""

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from gssl.files import lock_handle
from gssl.io.atomic import check_writable
from reproduction.provenance import code_commit
from reproduction.spec import Cell


class Store:
    """Finished runs by the key of their settings; the latest line of a key counts.

    Lines are appended, flushed and synced one by one, under a lock if the system has one, so several
    processes can write to one file. An incomplete last line is dropped. Other damaged lines stay in the file
    and are skipped with a warning; their runs are repeated.

    A record names the commit of the code that computed it, and is kept until it is repeated. A run that took
    too long is stored with the reason instead of values.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._records: dict[str, dict[str, Any]] = {}
        # how far the file has been read
        self._n_bytes, self._n_lines = 0, 0
        if not self.path.exists():
            check_writable(self.path)
            return
        self.refresh()
        if self._n_lines and not self._records:
            raise ValueError(f"{self.path} holds no record of a run: choose another folder.")

    def __len__(self) -> int:
        return len(self._records)

    def refresh(self) -> None:
        """Read the lines added to the file since the last read, by any process."""
        if not self.path.exists():
            return
        with self.path.open("rb") as stream:
            stream.seek(self._n_bytes)
            # text after the last newline is being written, or was cut off by a kill
            *lines, rest = stream.read().split(b"\n")
            self._n_bytes = stream.tell() - len(rest)
        for line in lines:
            self._n_lines += 1
            record = _parsed(line)
            if record is not None:
                self._records[record["key"]] = record
            else:
                warnings.warn(
                    f"{self.path}, line {self._n_lines} is not a record of a run and was skipped: remove it.",
                    stacklevel=2,
                )

    def values(self, cell: Cell, seed: int) -> dict[str, float] | None:
        """Return the values of a run; None if it was not run or was stopped."""
        record = self._find(cell, seed)
        return None if not record or "reason" in record else dict(record["values"])

    def seconds(self, cell: Cell, seed: int) -> float:
        """Return how long a run took; 0 if not run."""
        return float(self._find(cell, seed).get("seconds", 0.0))

    def commit(self, cell: Cell, seed: int) -> str:
        """Return the commit of the code that computed a run; empty if not run."""
        return str(self._find(cell, seed).get("commit", ""))

    def reason(self, cell: Cell) -> str:
        """Return why a cell was stopped; empty if it was not."""
        return str(self._find(cell, 0).get("reason", ""))

    def is_current(self, cell: Cell, seed: int) -> bool:
        """Return whether a run has values and is by the present code."""
        return self.values(cell, seed) is not None and self.commit(cell, seed) == code_commit()

    def _find(self, cell: Cell, seed: int) -> dict[str, Any]:
        return self._records.get(cell.key(seed), {})

    def add(
        self, cell: Cell, seed: int, values: Mapping[str, float], seconds: float, reason: str = ""
    ) -> None:
        """Store a finished run, or the reason why it was stopped; it is on disk when this returns."""
        record = {
            "key": cell.key(seed),
            **cell.question(seed),
            "commit": code_commit(),
            "values": {name: float(value) for name, value in values.items()},
            "seconds": round(seconds, 3),
        } | ({"reason": reason} if reason else {})
        text = json.dumps(record, ensure_ascii=True, allow_nan=False) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as stream:
            lock_handle(stream.fileno(), wait=True)
            # with the lock held, no other process is writing, so an unfinished line is damaged
            _drop_torn_end(stream)
            stream.write(text.encode("ascii"))
            stream.flush()
            os.fsync(stream.fileno())
        self.refresh()


def _drop_torn_end(stream: BinaryIO) -> None:
    """Truncate a file after its last newline, so that the next line does not continue a damaged one."""
    size = stream.seek(0, os.SEEK_END)
    if not size:
        return
    stream.seek(size - 1)
    if stream.read(1) == b"\n":
        return
    stream.seek(0)
    stream.truncate(stream.read().rfind(b"\n") + 1)


def _parsed(line: bytes) -> dict[str, Any] | None:
    """Parse a line; return None if it is not a record."""
    try:
        record = json.loads(line)
        if isinstance(record["key"], str) and isinstance(record["values"], dict):
            return dict(record)
    except (ValueError, KeyError, TypeError):
        pass
    return None
