"""Read edges from plain delimited text and number their ids in one pass, without a database."""

import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gssl.io.table_reading import Table
from gssl.wording import counted

# bytes of text to scan at a time, and bytes of the shortest row
_BLOCK, _SHORTEST = 1 << 23, 4
# smaller files are read faster than the compiled loops load
_LEAST = 1 << 20
_SLOTS = 1 << 16


class NotScannable(Exception):  # noqa: N818 - not an error
    """The text needs a full CSV parser, or its ids exceed the memory limit."""


class EdgeScan:
    """Number the ids of a text table in the order of their first occurrence, within ``most_bytes``.

    Rows without an id are skipped. Raise NotScannable for tables that are not plain text, or have quotes,
    missing weights or ragged rows; with ``strict``, if an id is missing; with ``apart``, if both columns have
    an id.
    """

    def __init__(
        self,
        table: Table,
        ends: tuple[str, str],
        weight: str | None,
        most_bytes: float = np.inf,
        *,
        strict: bool = False,
        apart: bool = False,
    ) -> None:
        if not _is_plain(table):
            raise NotScannable
        from gssl.io import _scan_loops

        self._loops = _scan_loops
        self._table = table
        self._most_bytes, self._strict = most_bytes, strict
        # which ids each column has had, if that matters
        self._had = np.zeros((2, _SLOTS), bool) if apart else None
        # the position of the first row that was skipped, among all rows
        self.first_skipped: int | None = None
        names = table.dialect.names  # type: ignore[union-attr]
        positions = [names.index(name) for name in ends] + [-1 if weight is None else names.index(weight)]
        self._columns = np.array([len(names), *positions])
        self._state = np.zeros(9, np.int64)
        self._slots = np.zeros(_SLOTS * self._loops.WIDTH, np.uint64)
        # the hash table is at most 60 % full
        self._offsets = np.zeros(6 * _SLOTS // 10 + 1, np.int64)
        self._arena = np.empty(_BLOCK, np.uint8)

    @property
    def n_ids(self) -> int:
        """The number of ids so far."""
        return int(self._state[self._loops.IDS])

    @property
    def n_skipped(self) -> int:
        """The number of rows without an id so far."""
        return int(self._state[self._loops.SKIPPED])

    def order(self) -> np.ndarray | None:
        """Return the codes in text order of their ids, or None if any id is longer than 16 bytes."""
        slots = self._slots.reshape(-1, self._loops.WIDTH)
        slots = slots[slots[:, 2] > 0]
        if (slots[:, 2] > self.n_ids).any():
            return None
        keys = np.empty((2, self.n_ids), np.uint64)
        # keys are little-endian; text order needs the first byte as the most significant
        keys[:, slots[:, 2].astype(np.int64) - 1] = slots[:, :2].T.byteswap()
        return np.lexsort(keys[::-1]) if keys[1].any() else np.argsort(keys[0])

    def lines(self, order: np.ndarray | None = None) -> np.ndarray:
        """Return the bytes of the ids, one per line, by code or in the given order."""
        lines = self._arena[: self._state[self._loops.BYTES]]
        if order is None:
            return lines
        out = np.empty_like(lines)
        self._loops.compiled_loop(self._loops.gather_lines)(self._arena, self._offsets, order, out)
        return out

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield blocks of end codes and of weights, if any; the arrays are reused."""
        dialect = self._table.dialect
        assert dialect is not None
        loops, kinds = self._loops, np.zeros(256, np.uint8)
        kinds[[0, ord('"')]] = loops.REFUSED
        kinds[[ord(dialect.delimiter), ord("\n"), ord("\r")]] = loops.SEPARATOR, loops.NEWLINE, loops.RETURN
        most_rows = _BLOCK // _SHORTEST + 1
        ends = np.empty(2 * most_rows, np.int32)
        weights = np.empty(most_rows if self._columns[3] >= 0 else 0)
        n_rows = 0
        for file in self._table.files:
            for data, stop in _whole_lines(file, dialect.skip + dialect.header):
                count = self._number((data, kinds, self._columns), stop, ends, weights)
                if (self.n_skipped and self._strict) or self._share_an_id(ends[: 2 * count].reshape(-1, 2)):
                    raise NotScannable
                if self.n_skipped and self.first_skipped is None:
                    self.first_skipped = n_rows + int(self._state[loops.FIRST])
                n_rows += count
                yield ends[: 2 * count].reshape(-1, 2), weights[:count]

    def _number(self, text: tuple[np.ndarray, ...], stop: int, ends: np.ndarray, weights: np.ndarray) -> int:
        """Number the ids of a block and return its number of rows."""
        loops, state = self._loops, self._state
        number = loops.compiled_loop(loops.number_cells)
        state[[loops.POSITION, loops.ROW, loops.STOP]] = 0, 0, stop
        while True:
            number(text, (self._slots, self._arena, self._offsets), state, ends, weights)
            if state[loops.OUTCOME] == loops.DONE:
                return int(state[loops.ROW])
            if state[loops.OUTCOME] == loops.ODD:
                raise NotScannable
            self._grow()

    def _share_an_id(self, ends: np.ndarray) -> bool:
        """Return whether an id of a block is in both columns, which ``apart`` must tell."""
        if self._had is None:
            return False
        if self.n_ids > self._had.shape[1]:
            self._had = np.pad(self._had, ((0, 0), (0, 2 * self.n_ids - self._had.shape[1])))
        for side in range(2):
            self._had[side, ends[:, side]] = True
        return bool(self._had[1, ends[:, 0]].any() or self._had[0, ends[:, 1]].any())

    def _grow(self) -> None:
        held = self._slots.nbytes + self._offsets.nbytes + self._arena.nbytes
        # old and new arrays exist at the same time
        if 3 * held > self._most_bytes:
            raise NotScannable
        if self._state[self._loops.OUTCOME] == self._loops.NO_BYTES:
            self._arena = np.concatenate([self._arena, np.empty_like(self._arena)])
            return
        larger = np.zeros(2 * len(self._slots), np.uint64)
        self._loops.compiled_loop(self._loops.rehash)(self._slots, larger)
        self._slots = larger
        self._offsets = np.concatenate([self._offsets, np.zeros(len(self._offsets) - 1, np.int64)])


def _is_plain(table: Table) -> bool:
    """Return whether a table is large text with single separators and no white space around cells."""
    return (
        table.dialect is not None
        and table.stripped
        and not table.guarded
        and len(table.dialect.delimiter.encode()) == 1
        and not any(file.suffix.lower() == ".gz" for file in table.files)
        and sum(file.stat().st_size for file in table.files) >= _LEAST
        and sys.byteorder == "little"
    )


def scan_edges(
    table: Table, ends: tuple[str, str], weight: str | None, *, strict: bool = False, apart: bool = False
) -> tuple[np.ndarray, Any]:
    """Read all edges into memory: ids in text order, and the columns ``a``, ``b`` and ``weight``."""
    scan = EdgeScan(table, ends, weight, strict=strict, apart=apart)
    blocks = [(ends.copy(), weights.copy()) for ends, weights in scan.blocks()]
    if not any(len(ends) for ends, _ in blocks):
        raise NotScannable
    try:
        ids = np.array(scan.lines().tobytes().decode().split("\n")[:-1], dtype=object)
    except UnicodeDecodeError as error:
        raise NotScannable from error
    order = scan.order()
    if order is None:
        order = np.argsort(ids)
    number = np.empty(len(ids), np.int32)
    number[order] = np.arange(len(ids), dtype=np.int32)
    columns = {
        name: np.concatenate([number[ends[:, i]] for ends, _ in blocks]) for i, name in enumerate("ab")
    }
    if weight is not None:
        columns["weight"] = np.concatenate([weights for _, weights in blocks])
    note_skipped(table, scan.n_skipped, scan.first_skipped)
    return ids[order], columns


def note_skipped(table: Table, count: int, first: int | None) -> None:
    """Note the number of edges without an id, and the position of the first."""
    if count and first is not None:
        row = table.row_name(first).removeprefix(f"{table.name}, ")
        where = "in" if count == 1 else "the first in"
        table.notes.append(f"{table.name}: skipped {counted(count, 'edge')} without an id, {where} {row}.")


def check_utf8(lines: np.ndarray) -> bool:
    """Return whether lines of text are UTF-8, decoding a block at a time."""
    decoder = getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(lines), _BLOCK):
            decoder.decode(lines[start : start + _BLOCK].tobytes())
    except UnicodeDecodeError:
        return False
    return True


def _whole_lines(file: Path, skip: int) -> Iterator[tuple[np.ndarray, int]]:
    """Yield a buffer and the number of its bytes that are whole lines, skipping the first lines."""
    # two extra words, because the loops read past the last id
    buffer = bytearray(_BLOCK + 16)
    view, data = memoryview(buffer), np.frombuffer(buffer, np.uint8)
    left = 0
    with file.open("rb") as stream:
        if stream.read(3) != b"\xef\xbb\xbf":
            stream.seek(0)
        for _ in range(skip):
            if b'"' in stream.readline():
                raise NotScannable
        while count := stream.readinto(view[left:_BLOCK]):
            filled = left + count
            stop = buffer.rfind(b"\n", 0, filled) + 1
            if stop:
                yield data, stop
            elif filled == _BLOCK:
                raise NotScannable
            left = filled - stop
            view[:left] = view[stop:filled]
    if left:
        buffer[left] = ord("\n")
        yield data, left + 1
