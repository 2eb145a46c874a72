"""Results on disk: one line of JSON for each finished run, so that a kill loses at most the running one."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gssl.io.atomic import check_place
from gssl.paper.spec import Cell


class Store:
    """Finished runs by key.

    Lines are appended, flushed and synced one by one. A last line that a kill has torn is dropped.

    Parameters
    ----------
    path : path
        A file of JSON lines; it need not be there yet.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()) / "records.jsonl")
    >>> cell = Cell("classifier", "karate", {"method": "OGC"})
    >>> store.add(cell, 0, {"accuracy": 97.0}, seconds=0.1)
    >>> Store(store.path).values(cell, 0)
    {'accuracy': 97.0}
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._records: dict[str, dict[str, Any]] = {}
        if self.path.exists():
            for number, line in enumerate(_whole_lines(self.path), start=1):
                record = _parsed(line, self.path, number)
                self._records[record["key"]] = record
        else:
            check_place(self.path)

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, key: object) -> bool:
        return key in self._records

    def values(self, cell: Cell, seed: int) -> dict[str, float] | None:
        """Give what a run yielded, or None if it has not been run."""
        record = self._records.get(cell.key(seed))
        return None if record is None else dict(record["values"])

    def seconds(self, cell: Cell, seed: int) -> float:
        """Say how long a run took."""
        return float(self._records[cell.key(seed)]["seconds"])

    def add(self, cell: Cell, seed: int, values: Mapping[str, float], seconds: float) -> None:
        """Keep a finished run; it is on disk when this returns."""
        key = cell.key(seed)
        record = {
            "key": key,
            **cell.identity(seed),
            "values": {name: float(value) for name, value in values.items()},
            "seconds": round(seconds, 3),
        }
        line = json.dumps(record, ensure_ascii=True, allow_nan=False) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            _drop_torn_end(self.path)
        with self.path.open("a", encoding="ascii") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
        self._records[key] = record


def _whole_lines(path: Path) -> list[bytes]:
    """Give the lines that end; what follows the last line end was torn by a kill."""
    return path.read_bytes().split(b"\n")[:-1]


def _drop_torn_end(path: Path) -> None:
    """Cut off what follows the last line end, so that the next line does not join it."""
    with path.open("rb+") as stream:
        size = stream.seek(0, os.SEEK_END)
        if not size:
            return
        stream.seek(size - 1)
        if stream.read(1) == b"\n":
            return
        stream.seek(0)
        stream.truncate(stream.read().rfind(b"\n") + 1)


def _parsed(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
        if not isinstance(record["key"], str) or not isinstance(record["values"], dict):
            raise TypeError
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path}, line {number} is no record of gssl paper: remove the line, or name another folder."
        ) from error
    return dict(record)
