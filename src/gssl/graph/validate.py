"""Validation of matrices, and the warning about unusual data.

SciPy does not check indices before it multiplies, and trusts its cached flags. Here the arrays of a sparse
matrix are checked before any SciPy operation, and put into a new object without cached flags.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csc_array, csr_array, issparse

from gssl.graph.mapped import iterate_blocks

# scikit-learn wraps the methods of estimators, including ours
_INSIDE = ("gssl", "sklearn")
_REBUILD = "rebuild the matrix, e.g. with scipy.sparse.coo_array((data, (row, column)), shape)"


# categories of warnings that are not issued here; filters of Python 3.13 and earlier belong to all threads
_silenced: ContextVar[tuple[type[Warning], ...]] = ContextVar("silenced", default=())


class GraphWarning(UserWarning):
    """Warning about unusual data: the message says what was found, how often, and what was done."""


@contextmanager
def without_warnings(category: type[Warning] = Warning) -> Iterator[None]:
    """Issue none of gssl's warnings of a category in a block, which the caller has issued already."""
    token = _silenced.set((*_silenced.get(), category))
    try:
        yield
    finally:
        _silenced.reset(token)


def warn_user(message: str, category: type[Warning] = GraphWarning) -> None:
    """Warn at the line of the first caller outside this package."""
    if issubclass(category, _silenced.get()):
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def check_finite(X: Any, name: str = "X") -> None:
    """Raise an error if a matrix contains NaN or infinity, or has an invalid sparse structure.

    Parameters
    ----------
    X : sparse matrix or array-like, shape (n, d)
    name : str, default="X"
        Name of the matrix in the error message.

    Examples
    --------
    >>> check_finite([[0.0, 1.0], [float("nan"), 2.0]])
    Traceback (most recent call last):
    ValueError: X contains NaN at row 1, column 0: remove the row or fill in the value.
    """
    matrix = read_matrix(X, name)
    with np.errstate(over="ignore", invalid="ignore"):
        # a finite sum proves that all values are finite; a sum that is not may have overflowed
        if np.isfinite(_sum(matrix)):
            return
    if isinstance(matrix, np.ndarray):
        rows, columns = np.nonzero(~np.isfinite(matrix))
        bad = matrix[rows, columns]
    else:
        entries = matrix.tocoo()
        order = np.flatnonzero(~np.isfinite(entries.data))
        order = order[np.lexsort((entries.col[order], entries.row[order]))]
        rows, columns, bad = entries.row[order], entries.col[order], entries.data[order]
    if bad.size:
        what = "NaN" if np.isnan(bad[0]) else "infinity"
        raise ValueError(
            f"{name} contains {what} at row {rows[0]}, column {columns[0]}: "
            "remove the row or fill in the value."
        )


def read_matrix(matrix: Any, name: str) -> Any:
    """Return a validated matrix as float32, if it is float32, or float64.

    Entries stay the same, including duplicates, and memory is shared where possible. Sparse matrices are
    returned as COO, CSC or CSR.
    """
    if not issparse(matrix):
        return _read_dense(matrix, name)
    if len(matrix.shape) != 2:
        raise ValueError(f"{name} must be 2-D, got shape {matrix.shape}.")
    target = _float_type(matrix.dtype, name)
    if matrix.format in ("csr", "csc"):
        return _read_compressed(matrix, target, name)
    return _read_coordinates(matrix, target, name)


def refuse_mask(array: Any, name: str) -> None:
    """Raise if an array has masked entries, which NumPy would treat as data."""
    masked = int(np.ma.getmaskarray(array).sum()) if isinstance(array, np.ma.MaskedArray) else 0
    if masked:
        raise ValueError(f"{name} has {masked} masked entries: fill them in, e.g. with .filled(value).")


def row_pointers(counts: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the CSR row pointers for these entries per row, always as int64."""
    counts = np.asarray(counts)
    pointers = np.zeros(counts.size + 1, dtype=np.int64)
    # 32-bit counts may sum beyond 2³¹ − 1
    np.cumsum(counts, dtype=np.int64, out=pointers[1:])
    return pointers


def _sum(matrix: Any) -> float:
    if not isinstance(matrix, np.ndarray):
        return float(matrix.data.sum())
    return float(sum(matrix[rows, columns].sum() for rows, columns in iterate_blocks(matrix)))


def _read_dense(matrix: Any, name: str) -> npt.NDArray[Any]:
    if hasattr(matrix, "nodes") and hasattr(matrix, "edges"):
        raise TypeError(
            f"{name} is a graph object: give its matrix, e.g. networkx.to_scipy_sparse_array(graph)."
        )
    refuse_mask(matrix, name)
    try:
        dense = np.asarray(matrix)
    except ValueError as error:
        raise ValueError(
            f"{name} has rows of different lengths: give a 2-D array or a sparse matrix."
        ) from error
    if dense.ndim == 0:
        raise TypeError(f"{name} must be a sparse matrix or a 2-D array, got {type(matrix).__name__}.")
    if dense.ndim != 2:
        raise ValueError(f"{name}: expected a 2D array, got {dense.ndim}D instead. Reshape your data.")
    return dense.astype(_float_type(dense.dtype, name), copy=False)


def _float_type(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    if dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {dtype}; give real numbers.")
    if dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {dtype}: convert it to numbers, e.g. with .astype(float).")
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def _read_compressed(matrix: Any, target: np.dtype[Any], name: str) -> Any:
    by_row = matrix.format == "csr"
    n_lines, n_across = matrix.shape if by_row else matrix.shape[::-1]
    check_compressed(matrix.indptr, matrix.indices, n_lines, n_across, name)
    _check_lengths(len(matrix.data), len(matrix.indices), name)
    arrays = (matrix.data.astype(target, copy=False), matrix.indices, matrix.indptr)
    return (csr_array if by_row else csc_array)(arrays, shape=matrix.shape)


def _read_coordinates(matrix: Any, target: np.dtype[Any], name: str) -> coo_array:
    if matrix.format == "lil":
        for row, (columns, values) in enumerate(zip(matrix.rows, matrix.data, strict=True)):
            _check_lengths(len(values), len(columns), f"row {row} of {name}")
    elif matrix.format == "dia":
        _check_lengths(len(matrix.data), len(matrix.offsets), name)
    elif matrix.format == "bsr":
        height, width = matrix.data.shape[1:]
        n_rows, n_columns = matrix.shape
        check_compressed(matrix.indptr, matrix.indices, n_rows // height, n_columns // width, name)
        _check_lengths(len(matrix.data), len(matrix.indices), name)
    try:
        entries = matrix if matrix.format == "coo" else matrix.tocoo()
    except ValueError as error:
        raise ValueError(f"{name} cannot be read ({error}): {_REBUILD}.") from error
    row, column, data = entries.row, entries.col, entries.data
    if not len(row) == len(column) == len(data):
        raise ValueError(
            f"{name} has {len(row)} row indices, {len(column)} column indices and {len(data)} values: "
            f"{_REBUILD}."
        )
    _check_range(row, matrix.shape[0], "row index", name)
    _check_range(column, matrix.shape[1], "column index", name)
    if matrix.format == "bsr":
        # zeros that pad a block are not entries
        real = data != 0
        row, column, data = row[real], column[real], data[real]
    return coo_array((data.astype(target, copy=False), (row, column)), shape=matrix.shape)


def check_compressed(indptr: Any, indices: Any, n_lines: int, n_across: int, name: str) -> None:
    if len(indptr) != n_lines + 1:
        raise ValueError(f"{name} has an indptr of length {len(indptr)}, not {n_lines + 1}: {_REBUILD}.")
    if indptr[0] != 0:
        raise ValueError(f"{name} has an indptr that starts at {indptr[0]}, not 0: {_REBUILD}.")
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if falls.size:
        raise ValueError(f"{name} has an indptr that decreases after position {falls[0]}: {_REBUILD}.")
    if indptr[-1] != len(indices):
        raise ValueError(
            f"{name} has an indptr that ends at {indptr[-1]}, not at its {len(indices)} entries: {_REBUILD}."
        )
    _check_range(indices, n_across, "index", name)


def _check_lengths(n_values: int, n_indices: int, name: str) -> None:
    if n_values != n_indices:
        raise ValueError(f"{name} has {n_values} values for {n_indices} indices: {_REBUILD}.")


def _check_range(indices: Any, size: int, kind: str, name: str) -> None:
    if indices.dtype.kind not in "iu":
        raise TypeError(
            f"{name} has {kind} dtype {indices.dtype}: indices must be whole numbers; {_REBUILD}."
        )
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        position = int(np.argmax((indices < 0) | (indices >= size)))
        raise ValueError(
            f"{name} has {kind} {indices[position]} at position {position}, outside 0 … {size - 1}: "
            f"{_REBUILD}."
        )
