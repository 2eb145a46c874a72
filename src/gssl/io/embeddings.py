"""Embeddings with their node ids, in a file."""

from pathlib import Path
from typing import Any

import numpy as np

from gssl.io.atomic import whole_file
from gssl.io.table_files import check_suffix, write_columns

_ARRAYS = (".npy", ".npz")
EMBEDDINGS = (".csv", ".tsv", ".parquet", *_ARRAYS)


def write_embeddings(path: str | Path, ids: Any, U: np.ndarray) -> list[str]:
    """Write one row of numbers per node; :func:`gssl.io.read_features` reads all of them back.

    Parameters
    ----------
    path : path ending in .parquet, .csv, .tsv, .npz or .npy
        Tables have the columns ``id, u0, u1, …``; ``.npz`` the arrays ``ids`` and ``features``; beside
        ``.npy`` the ids stand in ``<name>.ids.npy``.
    ids : array-like of n str
    U : ndarray of shape (n, d)

    Returns
    -------
    list of str
        What was changed on the way: see :func:`gssl.io.write_columns`.

    Examples
    --------
    >>> import tempfile
    >>> from gssl.io import read_features
    >>> file = Path(tempfile.mkdtemp()) / "u.npz"
    >>> write_embeddings(file, ["007", "8"], np.eye(2))
    []
    >>> read_features(file).ids.tolist()
    ['007', '8']
    """
    texts = [str(node) for node in ids]
    U = np.asarray(U)
    if U.ndim != 2 or len(texts) != len(U):
        raise ValueError(f"{len(texts)} ids for embeddings of shape {U.shape}: give one row for each id.")
    check_suffix(path, EMBEDDINGS)
    if Path(path).suffix.lower() in _ARRAYS:
        _write_arrays(Path(path), np.array(texts, dtype=np.str_), U)
        return []
    columns: dict[str, Any] = {"id": np.array(texts, dtype=object)}
    columns |= {f"u{j}": np.ascontiguousarray(U[:, j]) for j in range(U.shape[1])}
    return write_columns(path, columns, decimals=None)


def _write_arrays(path: Path, ids: np.ndarray, U: np.ndarray) -> None:
    if path.suffix.lower() == ".npz":
        with whole_file(path) as part, part.open("wb") as stream:
            np.savez(stream, ids=ids, features=U)
        return
    # the ids first: embeddings never stand there without them
    for target, array in ((path.with_suffix(".ids.npy"), ids), (path, U)):
        with whole_file(target) as part, part.open("wb") as stream:
            np.save(stream, array, allow_pickle=False)
