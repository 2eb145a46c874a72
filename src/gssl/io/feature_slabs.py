"""Features larger than memory, written to a file column by column in the order of a graph's nodes."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from scipy.sparse import csr_array, issparse

from gssl.files import write_all
from gssl.graph.mapped import iterate_blocks, mapped_file
from gssl.io.atomic import whole_file
from gssl.io.column_kinds import Encoding
from gssl.io.feature_arrays import ArrayFile, open_matrix
from gssl.io.feature_reading import Features, LongTable, open_features, read_features
from gssl.io.graph_store import GraphStore, check_rows
from gssl.io.table_reading import find_files
from gssl.io.wide_tables import WideTable
from gssl.scale.memory import Load, plan_slabs, read_size
from gssl.scale.run_folder import RunFolder
from gssl.wording import quoted


def build_feature_slabs(
    source: Any,
    path: str | Path,
    store: GraphStore,
    *,
    id: str | None = None,
    columns: Sequence[str] | None = None,
    memory_budget: Any = "2GB",
) -> np.ndarray:
    """Write features to a file in the order of a graph's nodes, a few columns at a time.

    Parameters
    ----------
    source : path, glob, SQL or data frame; or .npy with ``<name>.ids.npy`` beside it
        An id and columns of numbers, or of lists of numbers of equal length; one row for each node of the
        store. Parquet is best: every pass over a text file reads all of its columns.
    path : path ending in .npy
        Written atomically.
    store : GraphStore
    id : str, optional
        The id column; if None, ``id`` or ``node``, else the first.
    columns : sequence of str, optional
        The columns to use; if None, all except those named like a label.
    memory_budget : number of bytes or str, default="2GB"

    Returns
    -------
    float32 memmap of shape (n, d)
        In column-major order, so that a slab of columns is contiguous; pass it to methods as X.

    Examples
    --------
    >>> import tempfile
    >>> from gssl.io import build_graph_store
    >>> folder = Path(tempfile.mkdtemp())
    >>> store = build_graph_store("SELECT 'a' AS src, 'b' AS dst", folder / "s")
    >>> query = "SELECT 'b' AS id, 3.0 AS x, [5, 6] AS y UNION ALL SELECT 'a', 4.0, [7, 8]"
    >>> build_feature_slabs(query, folder / "x.npy", store).tolist()
    [[4.0, 7.0, 8.0], [3.0, 5.0, 6.0]]
    """
    path, budget = Path(path), read_size(memory_budget)
    if path.suffix.lower() != ".npy":
        raise ValueError(f"{path} must end in .npy: rename it.")
    # strict, because nothing could say which rows were merged
    reader = open_features(source, id=id, columns=columns, strict=True)
    if not isinstance(reader, LongTable):
        reader.limit_memory(budget // 2)
    if isinstance(reader, LongTable) or reader.obstacle:
        raise ValueError(f"{reader.name} {reader.obstacle}.")
    if not reader.names:
        raise ValueError(f"{reader.name} has no columns of features: give at least one.")
    positions = check_rows(store, reader.positions(store), reader.name, reader.row_id)
    with whole_file(path) as part:
        values = _columns(reader, positions, budget // 2, complete=True)
        _write_columns(values, part, len(positions), len(reader.names))
    return open_feature_slabs(path)


def open_feature_slabs(path: str | Path) -> np.ndarray:
    """Open a file that :func:`build_feature_slabs` wrote, or any matrix of floats in an ``.npy`` file.

    Parameters
    ----------
    path : path

    Returns
    -------
    memmap of shape (n, d)

    Examples
    --------
    >>> open_feature_slabs("nowhere.npy")
    Traceback (most recent call last):
    FileNotFoundError: nowhere.npy does not exist: check its name and folder.
    """
    find_files(path)
    matrix = open_matrix(Path(path))
    if matrix.dtype.kind != "f":
        raise ValueError(f"{path} holds {matrix.dtype}, and methods take floats: write it as float32.")
    return matrix


def map_features(
    source: str,
    *,
    id: str | None = None,
    header: bool | None = None,
    encoding: Encoding | None = None,
    strict: bool = False,
    store: GraphStore | None = None,
    memory_budget: Any = "2GB",
) -> Features:
    """Copy numeric features to a temporary file, a few columns at a time; read others into memory.

    Rows of the file are in the order of the store if both have the same ids, else in that of the table. The
    file is deleted with the matrix.
    """
    budget = read_size(memory_budget)
    reader = open_features(source, id=id, header=header, encoding=encoding, strict=strict)
    if not isinstance(reader, LongTable):
        reader.limit_memory(budget // 2)
    if isinstance(reader, LongTable) or reader.obstacle or not reader.names:
        return read_features(source, id=id, header=header, encoding=encoding, strict=strict)
    # ids that two kinds of nodes share are found when all tables are joined
    positions = None if store is None or store.kind_columns else reader.positions(store)
    if (
        store is not None
        and positions is not None
        and np.array_equal(np.sort(positions), np.arange(store.n_nodes))
    ):
        ids = store.node_ids
    else:
        # in table order; joining adds missing nodes
        ids, positions = reader.ids, None
    # for at least one column; if the budget is too small, the fit raises an error
    columns = _columns(reader, positions, max(budget // 2, 64 * len(ids)))
    matrix = write_temporary(columns, len(ids), len(reader.names))
    names, encoding = reader.names, reader.encoding
    return Features(ids, matrix, names, reader.name, reader.notes, id_column=reader.id, encoding=encoding)


def _columns(
    reader: ArrayFile | WideTable, positions: np.ndarray | None, budget: int, complete: bool = False
) -> Iterator[np.ndarray]:
    """Yield columns with row i at ``positions[i]``; read as many at a time as fit into a budget in bytes.

    ``complete`` raises on missing cells. The yielded array is reused.
    """
    n = len(reader.ids) if positions is None else len(positions)
    # per column: as read, reordered, and a copy in DuckDB
    plan = plan_slabs(len(reader.names), Load(per_column=16 * n, fixed=16 * n), budget)
    column = np.empty(n, np.float32)
    for slab in plan.slabs:
        for j, values in enumerate(reader.columns(slab), start=slab.start):
            if complete and np.isnan(values).any():
                raise ValueError(
                    f"{reader.name}: column {quoted(reader.names[j])} has missing cells; fill them in."
                )
            column[slice(None) if positions is None else positions] = values
            yield column


def take_rows_or_zeros(matrix: Any, rows: np.ndarray) -> Any:
    """Return rows of a feature matrix, zeros where ``rows`` is −1; a mapped matrix gives a mapped one."""
    n, d = matrix.shape
    if len(rows) == n and np.array_equal(rows, np.arange(n)):
        return matrix
    if issparse(matrix):
        indptr = np.append(matrix.indptr, matrix.indptr[-1])
        padded = csr_array((matrix.data, matrix.indices, indptr), shape=(n + 1, d))
        return csr_array(padded[np.where(rows < 0, n, rows)])
    present = rows >= 0
    if mapped_file(matrix) is None:
        taken = np.zeros((len(rows), d), matrix.dtype)
        taken[present] = matrix[rows[present]]
        return taken

    def columns() -> Iterator[np.ndarray]:
        column = np.zeros(len(rows), np.float32)
        for _, part in iterate_blocks(matrix):
            for values in matrix[:, part].T:
                column[present] = values[rows[present]]
                yield column

    return write_temporary(columns(), len(rows), d)


def write_temporary(columns: Iterable[np.ndarray], n: int, d: int) -> np.ndarray:
    """Write columns to a temporary file and map it; the file is deleted with the matrix."""
    folder = RunFolder()
    path = folder.path / "features.npy"
    with folder.explained(path):
        _write_columns(columns, path, n, d)
        matrix: Any = open_feature_slabs(path)
    matrix._gssl_folder = folder
    return np.asanyarray(matrix)


def _write_columns(columns: Iterable[np.ndarray], path: Path, n: int, d: int) -> None:
    with path.open("wb") as file:
        head = {"descr": npy.dtype_to_descr(np.dtype(np.float32)), "fortran_order": True, "shape": (n, d)}
        npy.write_array_header_1_0(file, head)
        for values in columns:
            write_all(file, np.ascontiguousarray(values, np.float32))
