"""Reading the pickles of the Planetoid files without letting them build or call anything.

A pickle names the functions it wants called. Here the few names which the Planetoid files need lead
to inert records of what was asked for, and every other name is refused; arrays and matrices are then
built from the records, with every size checked.
"""

from __future__ import annotations

import io
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gssl.datasets.matrices import csr_from_parts


class _Record:
    """Arguments and state that the file gave for an object, kept but not acted on."""

    args: tuple[Any, ...] = ()
    state: Any = None

    def __init__(self, *args: Any) -> None:
        self.args = args

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Array(_Record): ...


class _Dtype(_Record): ...


class _Csr(_Record): ...


def _plain_dict(*_: Any) -> dict[Any, Any]:
    return {}


# the module paths are those of the Python 2 libraries that wrote the files
_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("scipy.sparse.csr", "csr_matrix"): _Csr,
    ("collections", "defaultdict"): _plain_dict,
    ("__builtin__", "list"): _Record,
}


class ForbiddenPickleError(ValueError):
    """A pickle named something that the Planetoid files have no need of.

    Examples
    --------
    >>> issubclass(ForbiddenPickleError, ValueError)
    True
    """


class _Reader(pickle.Unpickler):
    def __init__(self, content: bytes, path: Path) -> None:
        super().__init__(io.BytesIO(content), encoding="latin1")
        self.path = path

    def find_class(self, module: str, name: str, /) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise ForbiddenPickleError(
                f"{self.path} asks for {module}.{name}, which no Planetoid file needs; "
                "nothing was run, and the file should not be trusted."
            ) from None

    def persistent_load(self, pid: Any) -> Any:
        raise ForbiddenPickleError(
            f"{self.path} refers to an object outside the file, which no Planetoid file needs; "
            "it should not be trusted."
        )


def read_pickle(path: Path) -> csr_array | NDArray[Any] | dict[Any, Any]:
    """Matrix, array or dict held in one Planetoid pickle.

    Raises
    ------
    ForbiddenPickleError
        If the file asks for anything but arrays, CSR matrices and dicts of lists.
    ValueError
        If the file is cut off or is no such pickle.

    Examples
    --------
    >>> import pickle, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "ind.tiny.graph")
    ...     _ = path.write_bytes(pickle.dumps({0: [1], 1: [0]}, protocol=2))
    ...     read_pickle(path)
    {0: [1], 1: [0]}
    """
    content = path.read_bytes()
    try:
        return _build(_Reader(content, path).load())
    except ForbiddenPickleError:
        raise
    except Exception as error:  # a damaged pickle can raise anything
        reason = str(error) or type(error).__name__
        raise ValueError(f"{path} is not a readable Planetoid file ({reason}); get it again.") from error


def _build(found: Any) -> csr_array | NDArray[Any] | dict[Any, Any]:
    if isinstance(found, _Csr):
        state = found.state
        rows, columns = state["_shape"]
        if type(rows) is not int or type(columns) is not int:
            raise ValueError("the shape of the matrix is not two whole numbers")
        data, indices, indptr = (_array(state[part]) for part in ("data", "indices", "indptr"))
        return csr_from_parts(data, indices, indptr, (rows, columns))
    return found if type(found) is dict else _array(found)


def _array(record: Any) -> NDArray[Any]:
    if not isinstance(record, _Array):
        raise ValueError(f"a {type(record).__name__.lstrip('_')} stands where an array should")
    _, shape, dtype_record, column_order, raw = record.state
    if not isinstance(dtype_record, _Dtype) or dtype_record.args[0] not in ("i4", "i8", "f4", "f8"):
        raise ValueError("an array does not hold plain numbers")
    dtype = np.dtype(dtype_record.args[0]).newbyteorder(dtype_record.state[1])
    content = raw.encode("latin1") if isinstance(raw, str) else bytes(raw)
    if any(type(size) is not int or size < 0 for size in shape):
        raise ValueError("the shape of an array is not a list of sizes")
    if math.prod(shape) * dtype.itemsize != len(content):
        raise ValueError(f"an array of shape {shape} has {len(content)} bytes")
    return (
        np.frombuffer(content, dtype)
        .reshape(shape, order="F" if column_order else "C")
        .astype(dtype.newbyteorder("="))
    )
