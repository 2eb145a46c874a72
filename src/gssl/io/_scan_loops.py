"""numba loops that number the ids of delimited text, and that sort out pairs of numbers.

An id of up to 16 bytes is the pair of whole numbers (k₀, k₁) that its bytes are, so comparing two of them
compares ids. Of a longer one they are a hash, and its bytes are compared with those of the id that has it.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import types

from gssl.operators.compiling import compiled, inlined

# what a loop ended with
DONE, NO_SLOTS, NO_BYTES, ODD = 0, 1, 2, 3
# kinds of bytes
ORDINARY, SEPARATOR, NEWLINE, RETURN, REFUSED = 0, 1, 2, 3, 4
# numbers per slot of a hash table: k₀, k₁, and code + 1 with a mark of long ids
WIDTH = 3
_LONG = np.uint64(1 << 32)
_CODE = np.uint64((1 << 32) - 1)
_ZERO, _ONE, _WORD = np.uint64(0), np.uint64(1), np.uint64(64)
_MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_SHIFT_1, _SHIFT_2 = np.uint64(32), np.uint64(29)
# digits of a whole number that float64 holds exactly, and their powers of ten
_DIGITS = 15
_TENS = np.array([10.0**power for power in range(_DIGITS + 1)])
# cells whose slots are fetched at once
_BATCH = 256


def number_cells(
    data: Any, words: Any, kinds: Any, columns: Any, table: Any, arena: Any, offsets: Any, state: Any,
    codes: Any, weights: Any,
) -> None:  # fmt: skip
    """Give the ids of two columns codes in the order of their first occurrence.

    ``words`` are the bytes of ``data``, eight at a time; ``columns`` are the number of columns and the places
    of source, target and weight (or −1). ``state`` is position, row, ids, bytes in the arena, outcome and the
    end of the data.
    """
    position, row, n_ids, used = state[0], state[1], state[2], state[3]
    stop, state[4] = state[5], DONE
    slots, limit = np.uint64(len(table) // WIDTH - 1), len(offsets) - 1
    keys, hashes = np.empty((_BATCH, 2), np.uint64), np.empty(_BATCH, np.uint64)
    begin, size = np.empty(_BATCH, np.int64), np.empty(_BATCH, np.int64)
    target, lines = np.empty(_BATCH, np.int64), np.empty(_BATCH, np.int64)
    cells = np.zeros((3, 2), np.int64)
    i = position
    while i < stop:
        # some rows are parsed, then their slots are fetched all at once, then looked at
        n = 0
        while i < stop and n + 2 <= _BATCH:
            kind = kinds[data[i]]
            if kind == NEWLINE or (kind == RETURN and kinds[data[i + 1]] == NEWLINE):
                i += 1
                continue
            line = cell = i
            column = 0
            while True:
                kind = kinds[data[i]]
                if kind == ORDINARY:
                    i += 1
                    continue
                if kind == REFUSED or (kind == RETURN and kinds[data[i + 1]] != NEWLINE):
                    state[4] = ODD
                    return
                for wanted in range(3):
                    if columns[wanted + 1] == column:
                        cells[wanted, 0], cells[wanted, 1] = cell, i
                column += 1
                i += 2 if kind == RETURN else 1
                cell = i
                if kind != SEPARATOR:
                    break
            if column != columns[0]:
                state[4] = ODD
                return
            for side in range(2):
                first, length = cells[side, 0], cells[side, 1] - cells[side, 0]
                if length == 0:
                    state[4] = ODD
                    return
                k0 = _word(words, first, length)
                k1 = _word(words, first + 8, length - 8) if length > 8 else _ZERO
                for j in range(first + 16, first + length):
                    k1 = (k1 ^ np.uint64(data[j])) * _MIX_1
                keys[n, 0], keys[n, 1], hashes[n] = k0, k1, _mix(k0, k1)
                begin[n], size[n], target[n], lines[n] = first, length, 2 * row + side, line
                n += 1
            if columns[3] >= 0:
                value = _decimal(data, cells[2, 0], cells[2, 1])
                if value < 0.0:
                    state[4] = ODD
                    return
                weights[row] = value
            row += 1
        fetched = _ZERO
        for k in range(n):
            fetched |= table[np.int64(hashes[k] & slots) * WIDTH + 2]
        state[6] = np.int64(fetched >> _ONE)
        for k in range(n):
            k0, k1, length, first = keys[k, 0], keys[k, 1], size[k], begin[k]
            mark = _LONG if length > 16 else _ZERO
            slot = hashes[k] & slots
            while True:
                place = np.int64(slot) * WIDTH
                found = table[place + 2]
                if found == _ZERO:
                    if n_ids == limit or used + length + 1 > len(arena):
                        state[0], state[1], state[2], state[3] = lines[k], target[k] // 2, n_ids, used
                        state[4] = NO_SLOTS if n_ids == limit else NO_BYTES
                        return
                    for j in range(length):
                        arena[used + j] = data[first + j]
                    # ids stand in the arena one to a line
                    arena[used + length] = 10
                    used += length + 1
                    n_ids += 1
                    offsets[n_ids] = used
                    table[place], table[place + 1] = k0, k1
                    found = np.uint64(n_ids) | mark
                    table[place + 2] = found
                    break
                if table[place] == k0 and table[place + 1] == k1 and found & _LONG == mark:
                    start = offsets[np.int64(found & _CODE) - 1] if length > 16 else 0
                    if length <= 16 or _same(data, first, length, arena, start):
                        break
                slot = (slot + _ONE) & slots
            codes[target[k]] = np.int64(found & _CODE) - 1
    state[0], state[1], state[2], state[3] = i, row, n_ids, used


@inlined
def _word(words: Any, first: Any, length: Any) -> Any:
    """Return up to eight bytes from any place as a number, whose first byte is the lowest."""
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
    """Return whether an id is the one at a place of the arena, where a line ends behind it."""
    for j in range(length):
        if arena[start + j] != data[first + j]:
            return False
    return arena[start + length] == 10


@inlined
def _decimal(data: Any, first: Any, last: Any) -> Any:
    """Return a decimal without sign and of few digits, which one division rounds correctly; else −1."""
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
    """Copy the slots of a hash table to a larger one, which is empty."""
    slots = np.uint64(len(larger) // WIDTH - 1)
    for place in range(0, len(table), WIDTH):
        if table[place + 2] == _ZERO:
            continue
        slot = _mix(table[place], table[place + 1]) & slots
        while larger[np.int64(slot) * WIDTH + 2] != _ZERO:
            slot = (slot + _ONE) & slots
        for j in range(WIDTH):
            larger[np.int64(slot) * WIDTH + j] = table[place + j]


def select_pairs(ends: Any, weights: Any, low: Any, high: Any, key: Any, value: Any, count: Any) -> None:
    """Write the keys from ``low`` to before ``high`` of edges in both directions; see ``Pairs``."""
    n: Any = 0
    weighted = len(weights) > 0
    for row in range(len(ends)):
        u, v = np.int64(ends[row, 0]), np.int64(ends[row, 1])
        weight = weights[row] if weighted else 1.0
        kept = (u != v) & (weight != 0.0)
        # written in any case, and kept by counting it: branches at random are slower
        key[n] = u << 32 | v << 1
        value[n] = weight
        n += kept & (low <= key[n]) & (key[n] < high)
        key[n] = v << 32 | u << 1 | 1
        value[n] = weight
        n += kept & (low <= key[n]) & (key[n] < high)
    count[0] = n


def gather_lines(arena: Any, offsets: Any, order: Any, out: Any) -> None:
    """Copy the lines of some ids, in their order."""
    end = 0
    for code in order:
        for j in range(offsets[code], offsets[code + 1]):
            out[end] = arena[j]
            end += 1


@cache
def gather_lines_loop() -> Any:
    """Compile ``gather_lines``."""
    octets, counts = types.uint8[::1], types.int64[::1]
    return compiled(gather_lines, octets, counts, counts, octets)


@cache
def number_cells_loop() -> Any:
    """Compile ``number_cells``."""
    words, numbers, counts = types.uint64[::1], types.float64[::1], types.int64[::1]
    octets = types.uint8[::1]
    return compiled(
        number_cells, octets, words, octets, counts, words, octets, counts, counts, types.int32[::1], numbers
    )


@cache
def rehash_loop() -> Any:
    """Compile ``rehash``."""
    return compiled(rehash, types.uint64[::1], types.uint64[::1])


@cache
def select_pairs_loop() -> Any:
    """Compile ``select_pairs``."""
    ends = types.Array(types.int32, 2, "C", readonly=True)
    weights = types.Array(types.float64, 1, "C", readonly=True)
    counts = types.int64[::1]
    return compiled(select_pairs, ends, weights, types.int64, types.int64, counts, types.float64[::1], counts)
