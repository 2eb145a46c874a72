"""The language of pickle files, read as what it says and never done.

A pickle is a program for a small machine with a stack. Python's own machine calls whatever the program names,
and can be made to reserve memory or to hash for ever by a few bytes. This one knows only the words that the
Planetoid files use, takes names as names, and never holds more than the file has bytes for.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any


class Record:
    """An object that the file asked for, kept as what was said about it.

    Examples
    --------
    >>> Record("numpy.dtype", ("f4",)).args
    ('f4',)
    """

    __slots__ = ("args", "name", "state")

    def __init__(self, name: str, args: tuple[Any, ...]) -> None:
        self.name = name
        self.args = args
        self.state: Any = None


class Name:
    """A function or class that the file names; it is never looked up.

    Examples
    --------
    >>> Name("os.system").text
    'os.system'
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def read_inert(content: bytes, check_name: Callable[[str], None]) -> Any:
    r"""Read a pickle of protocol 2 or 3 as numbers, texts, lists, dicts, tuples and :class:`Record`.

    Parameters
    ----------
    content : bytes
    check_name : callable
        Called with every name, such as ``"numpy.dtype"``, before it is taken, and with ``""`` for an object
        outside the file; raises to refuse it.

    Raises
    ------
    ValueError
        If the file is cut off, or says what no Planetoid file says.

    Examples
    --------
    >>> read_inert(b"\x80\x02}K\x01]K\x02as.", print)
    {1: [2]}
    >>> read_inert(b"\x80\x02cnumpy\ndtype\n)R.", print).name
    numpy.dtype
    'numpy.dtype'
    """
    return _Machine(content, check_name).run()


class _Machine:
    def __init__(self, content: bytes, check_name: Callable[[str], None]) -> None:
        self.content = content
        self.check_name = check_name
        self.at = 0
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []
        # a dict, for a list as long as the largest number named could fill the memory
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        words, stop = _WORDS, b"."[0]
        try:
            while (word := self.content[self.at]) != stop:
                self.at += 1
                words[word](self)
            return self.stack.pop()
        except KeyError:
            raise ValueError(f"byte {self.at} is no word that Planetoid files use") from None
        except (IndexError, struct.error):
            raise ValueError(f"it breaks off at byte {self.at}") from None

    def take(self, count: int) -> bytes:
        piece = self.content[self.at : self.at + count]
        if len(piece) != count:
            raise IndexError
        self.at += count
        return piece

    def number(self, form: str) -> int:
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def above_mark(self) -> list[Any]:
        items, self.stack = self.stack, self.below.pop()
        return items

    def mark(self) -> None:
        self.below.append(self.stack)
        self.stack = []

    def named(self) -> None:
        end = self.content.index(b"\n", self.content.index(b"\n", self.at) + 1)
        text = self.content[self.at : end].decode("latin-1").replace("\n", ".")
        self.at = end + 1
        self.check_name(text)
        self.stack.append(Name(text))

    def outside(self) -> None:
        self.check_name("")
        raise ValueError("it refers to an object outside the file")

    def tuple_of(self, count: int) -> None:
        items = tuple(self.stack.pop() for _ in range(count))
        self.stack.append(items[::-1])

    def call(self) -> None:
        args, name = self.stack.pop(), self.stack.pop()
        if type(name) is not Name or type(args) is not tuple:
            raise ValueError("it calls what is no name")
        self.stack.append({} if name.text == "collections.defaultdict" else Record(name.text, args))

    def build(self) -> None:
        state, record = self.stack.pop(), self.stack[-1]
        if type(record) is not Record:
            raise ValueError("it describes what is no object")
        record.state = state

    def extend(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise ValueError("it lengthens what is no list")
        self.stack[-1].extend(items)

    def fill(self, items: list[Any]) -> None:
        target = self.stack[-1]
        keys = items[::2]
        # to hash tuples in tuples can take for ever
        if type(target) is not dict or len(items) % 2 or not {type(key) for key in keys} <= {int, str}:
            raise ValueError("it fills what is no dict of numbers and texts")
        target.update(zip(keys, items[1::2], strict=True))

    def fill_one(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.fill([key, value])

    def put(self, place: int) -> None:
        self.memo[place] = self.stack[-1]

    def get(self, place: int) -> None:
        if place not in self.memo:
            raise ValueError(f"it asks for object {place}, which it never made")
        self.stack.append(self.memo[place])


def _push(make: Callable[[_Machine], Any]) -> Callable[[_Machine], None]:
    def step(machine: _Machine) -> None:
        # first made, since what is above a mark leaves the stack by it
        made = make(machine)
        machine.stack.append(made)

    return step


_WORDS: dict[int, Callable[[_Machine], None]] = {
    word[0]: step
    for word, step in (
        (b"\x80", lambda m: m.take(1) and None),
        (b"(", _Machine.mark),
        (b"c", _Machine.named),
        (b"P", _Machine.outside),
        (b"Q", _Machine.outside),
        (b"R", _Machine.call),
        (b"\x81", _Machine.call),
        (b"b", _Machine.build),
        (b"a", lambda m: m.extend([m.stack.pop()])),
        (b"e", lambda m: m.extend(m.above_mark())),
        (b"s", _Machine.fill_one),
        (b"u", lambda m: m.fill(m.above_mark())),
        (b"q", lambda m: m.put(m.take(1)[0])),
        (b"r", lambda m: m.put(m.number("<I"))),
        (b"h", lambda m: m.get(m.take(1)[0])),
        (b"j", lambda m: m.get(m.number("<I"))),
        (b"\x85", lambda m: m.tuple_of(1)),
        (b"\x86", lambda m: m.tuple_of(2)),
        (b"\x87", lambda m: m.tuple_of(3)),
        (b"t", _push(lambda m: tuple(m.above_mark()))),
        (b")", _push(lambda m: ())),
        (b"]", _push(lambda m: [])),
        (b"}", _push(lambda m: {})),
        (b"N", _push(lambda m: None)),
        (b"\x88", _push(lambda m: True)),
        (b"\x89", _push(lambda m: False)),
        (b"K", _push(lambda m: m.take(1)[0])),
        (b"M", _push(lambda m: m.number("<H"))),
        (b"J", _push(lambda m: m.number("<i"))),
        (b"\x8a", _push(lambda m: int.from_bytes(m.take(m.take(1)[0]), "little", signed=True))),
        (b"U", _push(lambda m: m.take(m.take(1)[0]).decode("latin-1"))),
        (b"T", _push(lambda m: m.take(m.number("<I")).decode("latin-1"))),
        (b"X", _push(lambda m: m.take(m.number("<I")).decode("utf-8"))),
        (b"C", _push(lambda m: m.take(m.take(1)[0]))),
        (b"B", _push(lambda m: m.take(m.number("<I")))),
    )
}
