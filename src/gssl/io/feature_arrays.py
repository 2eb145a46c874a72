"""Feature matrices in NumPy's own files, read without pickle."""

from pathlib import Path
from typing import Any

import numpy as np

from gssl.datasets.numpy_files import csr_from_parts, read_npy, read_npz
from gssl.io.paths import find_files

_PARTS = ("data", "indices", "indptr", "shape")
_KNOWN = {*_PARTS, "format", "features", "ids", "names"}
# a column needs a name, and a shape may claim any number of columns
_MOST_COLUMNS = 1 << 24


def read_arrays(path: Path, ids: Any = None) -> tuple[np.ndarray, Any, tuple[str, ...], str]:
    """Read ids, matrix and column names from ``.npy`` or ``.npz``.

    Parameters
    ----------
    path : Path
    ids : array-like, optional
        In place of those in the file.

    Returns
    -------
    ids : object ndarray of shape (n,)
    matrix : csr_array or ndarray of shape (n, d), float32
    names : tuple of str
    name : str
        The path.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "x.npz"
    >>> np.savez(file, ids=np.array(["007", "8"]), features=np.eye(2))
    >>> ids, matrix, names, _ = read_arrays(file)
    >>> ids.tolist(), matrix.tolist(), names
    (['007', '8'], [[1.0, 0.0], [0.0, 1.0]], ('0', '1'))
    """
    find_files(path)
    if path.suffix.lower() == ".npy":
        matrix: Any = _load(path)
        beside = path.with_suffix(".ids.npy")
        if ids is None and not beside.is_file():
            raise ValueError(
                f"{path} has no ids: put them into {beside.name} beside it, or use .npz with ids."
            )
        known = _load(beside) if ids is None else ids
        names = None
    else:
        arrays = _load(path)
        matrix = _matrix(arrays, path)
        known, names = arrays.get("ids") if ids is None else ids, arrays.get("names")
        if known is None:
            raise ValueError(f"{path} has no array 'ids'; it has {', '.join(arrays) or 'none'}.")
    if isinstance(matrix, np.ndarray):
        matrix = _numbers(matrix, path)
    known = np.asarray(known)
    check_ids(known, path, matrix.shape[0])
    texts = id_texts(known, path)
    _check_finite(matrix, texts, path)
    return texts, matrix, _names(names, matrix.shape[1], path), str(path)


def _load(path: Path) -> Any:
    try:
        return read_npy(path) if path.suffix.lower() == ".npy" else read_npz(path, _KNOWN)
    except ValueError as error:
        if "Object arrays" in str(error):
            raise ValueError(
                f"{path} holds Python objects, which may run code: store numbers and text."
            ) from error
        raise ValueError(f"{path} is not a whole NumPy file ({error}): write it again.") from error


def _matrix(arrays: dict[str, np.ndarray], path: Path) -> Any:
    if "features" in arrays:
        return arrays["features"]
    if not all(part in arrays for part in _PARTS):
        raise ValueError(
            f"{path} has neither 'features' nor the parts {', '.join(_PARTS)} of a sparse matrix; "
            f"it has {', '.join(arrays) or 'nothing'}."
        )
    shape = arrays["shape"]
    # scipy.sparse.save_npz names the format
    layout = arrays.get("format")
    if layout is not None and (layout.size != 1 or layout.item() not in (b"csr", "csr")):
        raise ValueError(f"{path} holds a sparse matrix that is not CSR: convert it with .tocsr().")
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any():
        raise ValueError(f"{path}: shape is {shape.tolist()}, not two whole numbers.")
    if shape[1] > _MOST_COLUMNS:
        raise ValueError(
            f"{path} claims {shape[1]:,} columns, and {_MOST_COLUMNS:,} can be read: leave empty ones out."
        )
    try:
        data, indices, indptr = (arrays[part] for part in _PARTS[:3])
        matrix = csr_from_parts(data, indices, indptr, (int(shape[0]), int(shape[1])))
    except ValueError as error:
        raise ValueError(f"{path}: {error}.") from error
    return matrix.astype(np.float32)


def _numbers(matrix: np.ndarray, path: Path) -> np.ndarray:
    check_matrix(matrix, path)
    with np.errstate(over="ignore"):
        return matrix.astype(np.float32)


def check_matrix(matrix: np.ndarray, path: Path) -> None:
    """Refuse an array that is no matrix of numbers.

    Examples
    --------
    >>> check_matrix(np.eye(2, dtype=bool), Path("x.npy"))
    >>> check_matrix(np.array(["a"]), Path("x.npy"))
    Traceback (most recent call last):
    ValueError: x.npy holds <U1 of shape (1,), not a row of numbers per node.
    """
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"{path} holds {matrix.dtype} of shape {matrix.shape}, not a row of numbers per node."
        )


def check_ids(ids: np.ndarray, path: Path, n: int) -> None:
    """Refuse ids that are not as many texts or integers as there are rows.

    Examples
    --------
    >>> check_ids(np.array([7, 8]), Path("x.npy"), 3)
    Traceback (most recent call last):
    ValueError: x.npy: 2 ids for 3 rows of features; give one for each.
    """
    if ids.dtype.kind not in "UiuO" or ids.ndim != 1:
        raise ValueError(f"{path}: ids are {ids.dtype} of shape {ids.shape}, not a list of text or integers.")
    if len(ids) != n:
        raise ValueError(f"{path}: {len(ids)} ids for {n} rows of features; give one for each.")


def id_texts(ids: np.ndarray, path: Path) -> np.ndarray:
    """Give ids as text; none may be there twice.

    Examples
    --------
    >>> id_texts(np.array([7, 8]), Path("x.npy"))
    array(['7', '8'], dtype=object)
    """
    texts = np.array([str(value) for value in ids.tolist()], dtype=object)
    seen: set[str] = set()
    for text in texts:
        if text in seen:
            raise ValueError(f"{path}: the id {text!r} is there twice; keep one row.")
        seen.add(text)
    return texts


def _names(names: np.ndarray | None, d: int, path: Path) -> tuple[str, ...]:
    if names is None:
        return tuple(str(j) for j in range(d))
    if names.dtype.kind != "U" or names.shape != (d,):
        raise ValueError(f"{path}: names are {names.dtype} of shape {names.shape}, not {d} texts.")
    return tuple(names.tolist())


def _check_finite(matrix: Any, ids: np.ndarray, path: Path) -> None:
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if np.isfinite(values).all():
        return
    rows, columns = (
        matrix.nonzero() if not isinstance(matrix, np.ndarray) else np.nonzero(~np.isfinite(matrix))
    )
    bad = next((i, j) for i, j in zip(rows, columns, strict=True) if not np.isfinite(matrix[i, j]))
    raise ValueError(
        f"{path}: column {bad[1]} of id {ids[bad[0]]!r} is not finite in single precision; fill it in."
    )
