"""Planetoid's pickles, read without executing code.

A pickle is a program for a small stack machine. Python's unpickler calls whatever the program names, and a
few bytes can make it allocate all memory or hash forever. The machine here supports only the opcodes that
Planetoid files use, never looks up names, and allocates no more than the size of the file justifies. Arrays
and matrices are then built from their descriptions, with every size checked.
"""

import math
import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gssl.io.numpy_files import csr_from_parts
from gssl.wording import quoted, reason, shortened

# the module paths are those of the Python 2 libraries that wrote the files
_ARRAYS = ("numpy.ndarray", "numpy.core.multiarray._reconstruct")
_CSR = "scipy.sparse.csr.csr_matrix"
_DTYPE = "numpy.dtype"
_ALLOWED = {*_ARRAYS, _CSR, _DTYPE, "collections.defaultdict", "__builtin__.list"}


class ForbiddenPickleError(ValueError):
    """A pickle names something that no Planetoid file needs."""


def read_pickle(path: Path) -> csr_array | NDArray[Any] | dict[Any, Any]:
    """Read the matrix, array or dict of lists in one Planetoid pickle."""
    content = path.read_bytes()
    try:
        return _build(_run(content), len(content))
    except ForbiddenPickleError as error:
        raise ForbiddenPickleError(f"{path} {error}") from None
    except Exception as error:  # a damaged pickle can raise anything
        raise ValueError(
            f"{path} is not a readable Planetoid file ({reason(error)}); get it again."
        ) from error


@dataclass
class _Name:
    """A function or class that the file names; it is never looked up."""

    text: str


@dataclass
class _Record:
    """An object in the file, kept as the name of its class or function, arguments and state."""

    name: str
    args: tuple[Any, ...]
    state: Any = None


class _Machine:
    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []
        # a dict: a list as long as the largest index in the file could exhaust memory
        self.memo: dict[int, Any] = {}

    def mark(self) -> None:
        self.below.append(self.stack)
        self.stack = []

    def above_mark(self) -> list[Any]:
        items, self.stack = self.stack, self.below.pop()
        return items

    def push_tuple(self, items: list[Any]) -> None:
        self.stack.append(tuple(items))

    def pop(self, count: int) -> list[Any]:
        return [self.stack.pop() for _ in range(count)][::-1]

    def push_name(self, text: str) -> None:
        if text not in _ALLOWED:
            shown = shortened(text, 80) if text.isprintable() else quoted(text, 80)
            raise ForbiddenPickleError(
                f"asks for {shown}, which no Planetoid file needs; "
                "nothing was run, and the file should not be trusted."
            )
        self.stack.append(_Name(text))

    def refuse_outside(self) -> None:
        raise ForbiddenPickleError(
            "refers to an object outside the file, which no Planetoid file needs; it should not be trusted."
        )

    def call(self) -> None:
        name, args = self.pop(2)
        if type(name) is not _Name or type(args) is not tuple:
            raise ValueError("it calls something that is not a name")
        self.stack.append({} if name.text == "collections.defaultdict" else _Record(name.text, args))

    def build(self) -> None:
        state, record = self.stack.pop(), self.stack[-1]
        if type(record) is not _Record:
            raise ValueError("it sets the state of something that is not an object")
        record.state = state

    def extend(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise ValueError("it extends something that is not a list")
        self.stack[-1].extend(items)

    def fill(self, items: list[Any]) -> None:
        target = self.stack[-1]
        keys = items[::2]
        # hashing nested tuples can take forever
        if type(target) is not dict or len(items) % 2 or not {type(key) for key in keys} <= {int, str}:
            raise ValueError("it fills something that is not a dict with integer or string keys")
        target.update(zip(keys, items[1::2], strict=True))

    def put(self, index: int) -> None:
        self.memo[index] = self.stack[-1]

    def get(self, index: int) -> None:
        if index not in self.memo:
            raise ValueError(f"it asks for object {index}, which it never stored")
        self.stack.append(self.memo[index])


# opcodes that push their own argument
_VALUES = {
    "BININT", "BININT1", "BININT2", "LONG1", "BINSTRING", "SHORT_BINSTRING", "BINUNICODE", "BINBYTES",
    "SHORT_BINBYTES",
}  # fmt: skip
_STEPS: dict[str, Callable[[_Machine, Any], object]] = {
    "PROTO": lambda machine, _: None,
    "STOP": lambda machine, _: None,
    "MARK": lambda machine, _: machine.mark(),
    "GLOBAL": lambda machine, names: machine.push_name(names.replace(" ", ".")),
    "PERSID": lambda machine, _: machine.refuse_outside(),
    "BINPERSID": lambda machine, _: machine.refuse_outside(),
    "REDUCE": lambda machine, _: machine.call(),
    "NEWOBJ": lambda machine, _: machine.call(),
    "BUILD": lambda machine, _: machine.build(),
    "APPEND": lambda machine, _: machine.extend(machine.pop(1)),
    "APPENDS": lambda machine, _: machine.extend(machine.above_mark()),
    "SETITEM": lambda machine, _: machine.fill(machine.pop(2)),
    "SETITEMS": lambda machine, _: machine.fill(machine.above_mark()),
    "BINPUT": _Machine.put,
    "LONG_BINPUT": _Machine.put,
    "BINGET": _Machine.get,
    "LONG_BINGET": _Machine.get,
    "EMPTY_TUPLE": lambda machine, _: machine.stack.append(()),
    "EMPTY_LIST": lambda machine, _: machine.stack.append([]),
    "EMPTY_DICT": lambda machine, _: machine.stack.append({}),
    "NONE": lambda machine, _: machine.stack.append(None),
    "NEWTRUE": lambda machine, _: machine.stack.append(True),
    "NEWFALSE": lambda machine, _: machine.stack.append(False),
    "TUPLE1": lambda machine, _: machine.push_tuple(machine.pop(1)),
    "TUPLE2": lambda machine, _: machine.push_tuple(machine.pop(2)),
    "TUPLE3": lambda machine, _: machine.push_tuple(machine.pop(3)),
    "TUPLE": lambda machine, _: machine.push_tuple(machine.above_mark()),
}


def _run(content: bytes) -> Any:
    machine = _Machine()
    at: int | None = 0
    try:
        for opcode, argument, at in pickletools.genops(content):
            if opcode.name in _VALUES:
                machine.stack.append(argument)
            elif opcode.name in _STEPS:
                _STEPS[opcode.name](machine, argument)
            else:
                raise ValueError(f"byte {at} is not an opcode that Planetoid files use")
        return machine.stack.pop()
    except IndexError:
        raise ValueError(f"byte {at} uses a value that does not exist") from None


def _build(value: Any, n_bytes: int) -> csr_array | NDArray[Any] | dict[Any, Any]:
    if type(value) is dict:
        # many keys may share one list, so that a small file describes more edges than fit into memory
        if sum(len(items) for items in value.values() if type(items) is list) > n_bytes:
            raise ValueError("its lists together are longer than the file")
        return value
    if not isinstance(value, _Record) or value.name != _CSR:
        return _array(value)
    state = value.state
    rows, columns = state["_shape"]
    if type(rows) is not int or type(columns) is not int:
        raise ValueError("the shape of the matrix is not two whole numbers")
    data, indices, indptr = (_array(state[part]) for part in ("data", "indices", "indptr"))
    return csr_from_parts(data, indices, indptr, (rows, columns))


def _array(record: Any) -> NDArray[Any]:
    if not isinstance(record, _Record) or record.name not in _ARRAYS:
        raise ValueError("expected an array, got something else")
    _, shape, dtype_record, column_order, raw = record.state
    if not isinstance(dtype_record, _Record) or dtype_record.name != _DTYPE:
        raise ValueError("an array has no dtype")
    if dtype_record.args[0] not in ("i4", "i8", "f4", "f8"):
        raise ValueError("an array does not hold plain numbers")
    dtype = np.dtype(dtype_record.args[0]).newbyteorder(dtype_record.state[1])
    content = raw.encode("latin1") if isinstance(raw, str) else raw
    if type(shape) is not tuple or len(shape) > 2 or type(content) is not bytes:
        raise ValueError("an array is neither a list nor a table of numbers")
    if any(type(size) is not int or size < 0 for size in shape):
        raise ValueError("the shape of an array is not a list of sizes")
    if math.prod(shape) * dtype.itemsize != len(content):
        raise ValueError(f"an array has {len(content)} bytes, which do not fit its shape")
    return (
        np.frombuffer(content, dtype)
        .reshape(shape, order="F" if column_order else "C")
        .astype(dtype.newbyteorder("="))
    )
