"""Feature matrices in NumPy files, read without pickle."""

import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gssl.io.column_kinds import Encoding
from gssl.io.feature_blocks import Block, plan_blocks
from gssl.io.graph_store import GraphStore
from gssl.io.numpy_files import csr_from_parts, map_npy, read_npz
from gssl.io.table_columns import check_distinct
from gssl.io.table_reading import find_file
from gssl.scale.columns import read_columns
from gssl.wording import listed, quoted, reason

_PARTS = ("data", "indices", "indptr", "shape")
_KNOWN = {*_PARTS, "format", "features", "ids", "names"}
# a limit for hostile files: the shape may claim any number of columns, and each gets a name
_MOST_COLUMNS = 1 << 24


class ArrayFile:
    """A matrix in ``.npy`` with its ids in ``<name>.ids.npy``, or a matrix and its ids in ``.npz``."""

    # the ids have no column
    id = None

    def __init__(self, path: Path, ids: Any = None, columns: Sequence[str] | None = None) -> None:
        self.path = path = find_file(path)
        self.name, self.notes = str(path), list[str]()
        self.encoding = Encoding()
        names = None
        if path.suffix.lower() == ".npy":
            self.matrix: Any = _load(path)
            _check_matrix(self.matrix, path)
            ids = self._ids_beside() if ids is None else ids
        else:
            arrays = _load(path)
            self.matrix, names = _matrix(arrays, path), arrays.get("names")
            ids = arrays.get("ids") if ids is None else ids
            if ids is None:
                raise ValueError(f"{path} has no array 'ids'; it has {', '.join(arrays) or 'none'}.")
        self._ids = np.asarray(ids)
        _check_ids(self._ids, path, self.matrix.shape[0])
        self.names = _names(names, self.matrix.shape[1], path)
        if columns is not None:
            self._choose(columns)

    def _choose(self, columns: Sequence[str]) -> None:
        """Keep some columns, which are read into memory."""
        places = {name: k for k, name in enumerate(self.names)}
        for name in columns:
            if name not in places:
                raise ValueError(f"{self.path} has no column {quoted(name)}; it has {listed(places, 7)}.")
        self.names = tuple(dict.fromkeys(columns))
        self.matrix = self.matrix[:, [places[name] for name in self.names]]

    def _ids_beside(self) -> np.ndarray:
        beside = self.path.with_suffix(".ids.npy")
        if not beside.is_file():
            raise ValueError(
                f"{self.path} has no ids: put them into {beside.name} beside it, or use .npz with ids."
            )
        return np.asarray(_load(beside))

    @cached_property
    def ids(self) -> np.ndarray:
        """The ids as distinct texts, in the order of the rows."""
        texts = np.empty(len(self._ids), dtype=object)
        texts[:] = [str(node) for node in self._ids.tolist()]
        check_distinct(texts, self.name)
        return texts

    @property
    def sparse(self) -> bool:
        """Whether the file holds a sparse matrix."""
        return bool(issparse(self.matrix))

    @property
    def divisible(self) -> bool:
        """Whether a few columns can be read at a time."""
        return not self.sparse and bool(self.matrix.size)

    def blocks(self, budget: int | None = None) -> Iterator[Block]:
        """Read columns in single precision, as many at a time as fit into a budget in bytes."""
        n, d = self.matrix.shape
        for part in plan_blocks(n, d, budget):
            with np.errstate(over="ignore"):
                values = read_columns(self.matrix, part).astype(np.float32, copy=False)
            self._check_finite(values, part.start)
            names = list(self.names[part])
            yield Block(names, ["number"] * len(names), values, list(range(part.start, part.stop)))

    def count_features(self) -> int:
        """Return the number of features."""
        return int(self.matrix.shape[1])

    def limit_memory(self, budget: int) -> None:
        """Do nothing: the array stays in its file until columns are read."""

    def positions(self, store: GraphStore) -> np.ndarray:
        """Return the node number of each row in a store, or −1."""
        return store.nodes(self._ids)

    def _check_finite(self, part: Any, start: int) -> None:
        # NaN is a missing cell
        finite = ~np.isinf(part.data if issparse(part) else part)
        if not finite.all():
            first = int(finite.argmin())
            row, column = (
                (np.searchsorted(part.indptr, first, "right") - 1, part.indices[first])
                if issparse(part)
                else divmod(first, part.shape[1])
            )
            raise ValueError(
                f"{self.path}: column {start + column} of id {str(self._ids[row])!r} is not finite in "
                "single precision; fill it in."
            )


def _load(path: Path) -> Any:
    try:
        return map_npy(path) if path.suffix.lower() == ".npy" else read_npz(path, _KNOWN)
    except ValueError as error:
        if "Object arrays" in str(error):
            raise ValueError(
                f"{path} holds Python objects, which may run code: store numbers and text."
            ) from error
        raise ValueError(f"{path} is not a whole NumPy file ({reason(error)}): write it again.") from error


def _matrix(arrays: dict[str, np.ndarray], path: Path) -> Any:
    if "features" in arrays:
        _check_matrix(arrays["features"], path)
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
        raise ValueError(f"{path}: shape is {quoted(shape.tolist())}, not two whole numbers.")
    if shape[1] > _MOST_COLUMNS:
        raise ValueError(
            f"{path} claims {shape[1]:,} columns, and {_MOST_COLUMNS:,} can be read: leave empty ones out."
        )
    try:
        data, indices, indptr = (arrays[part] for part in _PARTS[:3])
        return csr_from_parts(data, indices, indptr, (int(shape[0]), int(shape[1])))
    except ValueError as error:
        raise ValueError(f"{path}: {reason(error)}.") from error


def _check_matrix(matrix: np.ndarray, path: Path) -> None:
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"{path} holds {matrix.dtype} of shape {matrix.shape}, not a row of numbers per node."
        )


def _check_ids(ids: np.ndarray, path: Path, n: int) -> None:
    if ids.dtype.kind not in "UiuO" or ids.ndim != 1:
        raise ValueError(f"{path}: ids are {ids.dtype} of shape {ids.shape}, not a list of text or integers.")
    if len(ids) != n:
        raise ValueError(f"{path}: {len(ids)} ids for {n} rows of features; give one for each.")
    _check_text(ids, path)


def _names(names: np.ndarray | None, d: int, path: Path) -> tuple[str, ...]:
    if names is None:
        return tuple(str(j) for j in range(d))
    if names.dtype.kind != "U" or names.shape != (d,):
        raise ValueError(f"{path}: names are {names.dtype} of shape {names.shape}, not {d} texts.")
    _check_text(names, path)
    return tuple(names.tolist())


def _check_text(texts: np.ndarray, path: Path) -> None:
    """Raise on code points out of range, from which NumPy would make invalid strings."""
    if texts.dtype.kind == "U" and texts.size:
        codes = np.ascontiguousarray(texts).view(np.dtype("u4").newbyteorder(texts.dtype.byteorder))
        if codes.max() > sys.maxunicode:
            raise ValueError(f"{path} holds text with characters that do not exist: write it again.")
