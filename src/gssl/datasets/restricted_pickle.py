"""Reading the pickles of the Planetoid files without letting them build or call anything.

A pickle names the functions it wants called. Here the few names which the Planetoid files need lead
to inert records of what was asked for, and every other name is refused; arrays and matrices are then
built from the records, with every size checked.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gssl.datasets.inert_pickle import Record, read_inert
from gssl.datasets.matrices import csr_from_parts

# the module paths are those of the Python 2 libraries that wrote the files
_ARRAYS = ("numpy.ndarray", "numpy.core.multiarray._reconstruct")
_CSR = "scipy.sparse.csr.csr_matrix"
_DTYPE = "numpy.dtype"
_ALLOWED = {*_ARRAYS, _CSR, _DTYPE, "collections.defaultdict", "__builtin__.list"}


class ForbiddenPickleError(ValueError):
    """A pickle named something that the Planetoid files have no need of.

    Examples
    --------
    >>> issubclass(ForbiddenPickleError, ValueError)
    True
    """


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

    def check_name(name: str) -> None:
        if not name:
            raise ForbiddenPickleError(
                f"{path} refers to an object outside the file, which no Planetoid file needs; "
                "it should not be trusted."
            )
        if name not in _ALLOWED:
            # the name comes from the file, and may be long or speak to the terminal
            shown = name if name.isprintable() else ascii(name)
            raise ForbiddenPickleError(
                f"{path} asks for {shown[:80]}, which no Planetoid file needs; "
                "nothing was run, and the file should not be trusted."
            )

    try:
        return _build(read_inert(content, check_name), len(content))
    except ForbiddenPickleError:
        raise
    except Exception as error:  # a damaged pickle can raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} is not a readable Planetoid file ({reason}); get it again.") from error


def _build(found: Any, n_bytes: int) -> csr_array | NDArray[Any] | dict[Any, Any]:
    if type(found) is dict:
        # one list may stand under many keys, and a small file then for more edges than fit into the memory
        if sum(len(value) for value in found.values() if type(value) is list) > n_bytes:
            raise ValueError("its lists together are longer than the file")
        return found
    if not isinstance(found, Record) or found.name != _CSR:
        return _array(found)
    state = found.state
    rows, columns = state["_shape"]
    if type(rows) is not int or type(columns) is not int:
        raise ValueError("the shape of the matrix is not two whole numbers")
    data, indices, indptr = (_array(state[part]) for part in ("data", "indices", "indptr"))
    return csr_from_parts(data, indices, indptr, (rows, columns))


def _array(record: Any) -> NDArray[Any]:
    if not isinstance(record, Record) or record.name not in _ARRAYS:
        raise ValueError("something else stands where an array should")
    _, shape, dtype_record, column_order, raw = record.state
    if not isinstance(dtype_record, Record) or dtype_record.name != _DTYPE:
        raise ValueError("an array does not say what it holds")
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
