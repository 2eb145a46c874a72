"""Numba loops that number the ids of delimited text and select pairs of node numbers.

The bytes of an id of up to 16 bytes are two integers (k₀, k₁), so equal integers mean equal ids. For a longer
id they are a hash, and its bytes are compared with those of the stored id.
"""

from functools import cache
from typing import Any

import numba
import numpy as np
from numba import types

from gssl.operators.compiling import compiled, inlined

# entries of the state of a scan; FETCHED keeps the compiler from removing the prefetch, SKIPPED counts rows
# without an id, and FIRST is the position of the first of them in its block
POSITION, ROW, IDS, BYTES, OUTCOME, STOP, FETCHED, SKIPPED, FIRST = range(9)
# outcomes
DONE, NO_SLOTS, NO_BYTES, ODD = 0, 1, 2, 3
# kinds of bytes
ORDINARY, SEPARATOR, NEWLINE, RETURN, REFUSED = 0, 1, 2, 3, 4
# numbers per slot of a hash table: k₀, k₁, and code + 1 with a flag for long ids
WIDTH = 3
_LONG = np.uint64(1 << 32)
_CODE = np.uint64((1 << 32) - 1)
_ZERO, _ONE, _WORD = np.uint64(0), np.uint64(1), np.uint64(64)
_MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_SHIFT_1, _SHIFT_2 = np.uint64(32), np.uint64(29)
# decimal digits that float64 represents exactly, and their powers of ten
_DIGITS = 15
_TENS = np.array([10.0**power for power in range(_DIGITS + 1)])
# cells whose hash slots are prefetched together
_BATCH = 256


def _copied_in(function: Any) -> Any:
    """Inline a function that is called for each row, where real calls would take a tenth of the time."""
    return numba.njit(inline="always")(function)


def number_cells(text: Any, ids: Any, state: Any, codes: Any, weights: Any) -> None:
    """Number the ids of two columns in the order of their first occurrence.

    ``text`` holds the bytes, the kind of each byte value, and the number of columns with the positions of
    source, target and weight (or −1); ``ids`` holds the hash table, the bytes of the ids and their offsets.
    """
    keys, cells = np.empty((3, _BATCH), np.uint64), np.empty((5, _BATCH), np.int64)
    state[OUTCOME] = DONE
    while state[POSITION] < state[STOP] and state[OUTCOME] == DONE:
        n = _parse_rows(text, state, keys, cells, weights)
        _number_batch(n, text[0], ids, state, keys, cells, codes)


@inlined
def _parse_rows(text: Any, state: Any, keys: Any, cells: Any, weights: Any) -> Any:
    """Fill a batch: keys and their hash; cells: first byte, length, index into codes, line, skipped rows."""
    data, kinds, columns = text
    words = data.view(np.uint64)
    spans = np.zeros((3, 2), np.int64)
    i, row, stop, skipped = state[POSITION], state[ROW], state[STOP], state[SKIPPED]
    n = 0
    while i < stop and n + 2 <= _BATCH:
        kind = kinds[data[i]]
        if kind == NEWLINE or (kind == RETURN and kinds[data[i + 1]] == NEWLINE):
            i += 1
            continue
        line = i
        i = _split_row(data, kinds, columns, line, spans)
        if i >= 0 and (spans[0, 0] == spans[0, 1] or spans[1, 0] == spans[1, 1]):
            if skipped == 0:
                state[FIRST] = row
            skipped += 1
            continue
        value = _decimal(data, spans[2, 0], spans[2, 1]) if columns[3] >= 0 else 0.0
        if i < 0 or value < 0.0:
            state[OUTCOME] = ODD
            return 0
        for side in range(2):
            first, length = spans[side, 0], spans[side, 1] - spans[side, 0]
            k0 = _word(words, first, length)
            k1 = _word(words, first + 8, length - 8) if length > 8 else _ZERO
            for j in range(first + 16, first + length):
                k1 = (k1 ^ np.uint64(data[j])) * _MIX_1
            keys[0, n], keys[1, n], keys[2, n] = k0, k1, _mix(k0, k1)
            cells[0, n], cells[1, n], cells[2, n], cells[3, n] = first, length, 2 * row + side, line
            cells[4, n] = skipped
            n += 1
        if columns[3] >= 0:
            weights[row] = value
        row += 1
    state[POSITION], state[ROW], state[SKIPPED] = i, row, skipped
    return n


@_copied_in
def _split_row(data: Any, kinds: Any, columns: Any, i: Any, spans: Any) -> Any:
    """Find the needed cells of the row at ``i``; return the start of the next row, −1 if it is odd."""
    cell, column = i, 0
    while True:
        kind = kinds[data[i]]
        if kind == ORDINARY:
            i += 1
            continue
        if kind == REFUSED or (kind == RETURN and kinds[data[i + 1]] != NEWLINE):
            return -1
        for wanted in range(3):
            if columns[wanted + 1] == column:
                spans[wanted, 0], spans[wanted, 1] = cell, i
        column += 1
        i += 2 if kind == RETURN else 1
        cell = i
        if kind != SEPARATOR:
            return i if column == columns[0] else -1


@inlined
def _number_batch(n: Any, data: Any, ids: Any, state: Any, keys: Any, cells: Any, codes: Any) -> None:
    """Write the codes of a batch; if an id does not fit, rewind to its line."""
    table, arena, offsets = ids
    slots = np.uint64(len(table) // WIDTH - 1)
    # prefetch all slots, so that cache misses overlap
    fetched = _ZERO
    for k in range(n):
        fetched |= table[np.int64(keys[2, k] & slots) * WIDTH + 2]
    state[FETCHED] = np.int64(fetched >> _ONE)
    for k in range(n):
        k0, k1, first, length = keys[0, k], keys[1, k], cells[0, k], cells[1, k]
        mark = _LONG if length > 16 else _ZERO
        slot = keys[2, k] & slots
        while True:
            at = np.int64(slot) * WIDTH
            entry = table[at + 2]
            if entry == _ZERO:
                n_ids, used = state[IDS], state[BYTES]
                if n_ids == len(offsets) - 1 or used + length + 1 > len(arena):
                    state[OUTCOME] = NO_SLOTS if n_ids == len(offsets) - 1 else NO_BYTES
                    state[POSITION], state[ROW], state[SKIPPED] = cells[3, k], cells[2, k] // 2, cells[4, k]
                    return
                # the arena holds one id per line
                for j in range(length):
                    arena[used + j] = data[first + j]
                arena[used + length] = 10
                state[IDS], state[BYTES] = n_ids + 1, used + length + 1
                offsets[n_ids + 1] = used + length + 1
                entry = np.uint64(n_ids + 1) | mark
                table[at], table[at + 1], table[at + 2] = k0, k1, entry
                break
            if table[at] == k0 and table[at + 1] == k1 and entry & _LONG == mark:
                start = offsets[np.int64(entry & _CODE) - 1] if length > 16 else 0
                if length <= 16 or _same(data, first, length, arena, start):
                    break
            slot = (slot + _ONE) & slots
        codes[cells[2, k]] = np.int64(entry & _CODE) - 1


@inlined
def _word(words: Any, first: Any, length: Any) -> Any:
    """Return up to eight bytes at any offset as a little-endian integer."""
    shift = np.uint64(8 * (first & 7))
    low = words[first >> 3] >> shift
    if shift:
        low |= words[(first >> 3) + 1] << (_WORD - shift)
    return low if length >= 8 else low & ((_ONE << np.uint64(8 * length)) - _ONE)


@inlined
def _mix(k0: Any, k1: Any) -> Any:
    mixed = (k0 ^ (k0 >> _SHIFT_1)) * _MIX_1 + (k1 ^ (k1 >> _SHIFT_1)) * _MIX_2
    mixed = (mixed ^ (mixed >> _SHIFT_2)) * _MIX_2
    return mixed ^ (mixed >> _SHIFT_1)


@inlined
def _same(data: Any, first: Any, length: Any, arena: Any, start: Any) -> Any:
    """Return whether an id equals the line at ``start`` in the arena."""
    for j in range(length):
        if arena[start + j] != data[first + j]:
            return False
    return arena[start + length] == 10


@inlined
def _decimal(data: Any, first: Any, last: Any) -> Any:
    """Parse an unsigned decimal of few digits, which one division rounds correctly; else return −1."""
    number: Any = 0
    digits, power, point = 0, 0, False
    for j in range(first, last):
        c = data[j]
        if c == 46 and not point:
            point = True
        elif 48 <= c <= 57 and digits < _DIGITS:
            number = 10 * number + (np.int64(c) - 48)
            digits += 1
            power += point
        else:
            return -1.0
    return number / _TENS[power] if digits else -1.0


def rehash(table: Any, larger: Any) -> None:
    """Copy the slots of a hash table to a larger, empty one."""
    slots = np.uint64(len(larger) // WIDTH - 1)
    for at in range(0, len(table), WIDTH):
        if table[at + 2] == _ZERO:
            continue
        slot = _mix(table[at], table[at + 1]) & slots
        while larger[np.int64(slot) * WIDTH + 2] != _ZERO:
            slot = (slot + _ONE) & slots
        for j in range(WIDTH):
            larger[np.int64(slot) * WIDTH + j] = table[at + j]


def select_pairs(ends: Any, weights: Any, low: Any, high: Any, key: Any, value: Any, count: Any) -> None:
    """Write the keys of edges in both directions that are in [low, high); see ``Pairs``."""
    n: Any = 0
    weighted = len(weights) > 0
    for row in range(len(ends)):
        u, v = np.int64(ends[row, 0]), np.int64(ends[row, 1])
        weight = weights[row] if weighted else 1.0
        kept = (u != v) & (weight != 0.0)
        # always write, and advance n only if the entry is kept: unpredictable branches are slower
        key[n] = u << 32 | v << 1
        value[n] = weight
        n += kept & (low <= key[n]) & (key[n] < high)
        key[n] = v << 32 | u << 1 | 1
        value[n] = weight
        n += kept & (low <= key[n]) & (key[n] < high)
    count[0] = n


def gather_lines(arena: Any, offsets: Any, order: Any, out: Any) -> None:
    """Copy the lines of some ids, in the given order."""
    end = 0
    for code in order:
        for j in range(offsets[code], offsets[code + 1]):
            out[end] = arena[j]
            end += 1


_TUPLE: Any = types.Tuple
_OCTETS, _WORDS, _COUNTS = types.uint8[::1], types.uint64[::1], types.int64[::1]
_NUMBERS = types.float64[::1]
_SIGNATURES: dict[Any, tuple[Any, ...]] = {
    number_cells: (
        _TUPLE((_OCTETS, _OCTETS, _COUNTS)),
        _TUPLE((_WORDS, _OCTETS, _COUNTS)),
        *(_COUNTS, types.int32[::1], _NUMBERS),
    ),
    rehash: (_WORDS, _WORDS),
    gather_lines: (_OCTETS, _COUNTS, _COUNTS, _OCTETS),
    select_pairs: (
        types.Array(types.int32, 2, "C", readonly=True),
        types.Array(types.float64, 1, "C", readonly=True),
        *(types.int64, types.int64, _COUNTS, _NUMBERS, _COUNTS),
    ),
}


@cache
def compiled_loop(loop: Any) -> Any:
    """Compile a loop of this module on first use."""
    return compiled(loop, *_SIGNATURES[loop])
