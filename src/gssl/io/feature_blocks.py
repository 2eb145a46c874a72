"""Blocks of features, how every reader gives them, and their two sinks: a matrix and a file of columns."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.lib import format as npy
from scipy.sparse import csr_array, hstack, issparse

from gssl.files import write_all
from gssl.graph.mapped import mapped_file, release_pages
from gssl.io.column_kinds import Encoding
from gssl.io.graph_store import GraphStore
from gssl.scale.memory import Load, plan_slabs
from gssl.scale.run_folder import RunFolder, map_array

# a matrix with a smaller share of nonzeros is stored sparse
_SPARSE_BELOW = 0.1
# bytes of columns in double precision to process at a time
_BLOCK_BYTES = 1 << 24


@dataclass(frozen=True)
class Block:
    """Some features of all rows of a table."""

    # of the features, such as "age", "job=spy", "vector[0]" or "story:word"
    names: list[str]
    # "number", "category" or "word" for each
    kinds: list[str]
    # n × k in single precision, NaN where a cell is missing
    values: csr_array | np.ndarray
    # sinks put the features into this order; equal ones stay in the order of the blocks
    order: list[int]


class FeatureReader(Protocol):
    """A source of features: an array file, or a long or wide table.

    Notes and the encoding are complete once the blocks are read.
    """

    # for messages
    name: str
    notes: list[str]
    encoding: Encoding

    @property
    def id(self) -> str | None:
        """The name of the id column, if there is one."""

    @property
    def ids(self) -> np.ndarray:
        """The ids as distinct texts, in the order of the rows."""

    @property
    def sparse(self) -> bool | None:
        """Whether the matrix is sparse; None if that depends on its zeros."""

    @property
    def divisible(self) -> bool:
        """Whether there are features, all of them numbers, so that a few columns can be read at a time."""

    def blocks(self, budget: int | None = None) -> Iterator[Block]:
        """Read all features or, if divisible, as many at a time as fit into bytes, in order."""

    def count_features(self) -> int:
        """Return the number of features without reading them."""

    def limit_memory(self, budget: int) -> None:
        """Limit the memory of what finds the kinds of columns to a budget in bytes."""

    def positions(self, store: GraphStore) -> np.ndarray:
        """Return the node number of each row in a store, or −1."""


def plan_blocks(n: int, d: int, budget: int | None) -> tuple[slice, ...]:
    """Return the columns of blocks that fit into a budget in bytes, which is at least for one column."""
    if budget is None:
        return (slice(0, d),)
    # per column: as read, reordered, and a copy in DuckDB
    return plan_slabs(d, Load(per_column=16 * n, fixed=16 * n), max(budget, 64 * n)).slabs


def to_matrix(
    blocks: Iterable[Block], sparse: bool | None = None
) -> tuple[csr_array | np.ndarray, tuple[str, ...], tuple[str, ...]]:
    """Return the matrix of at least one block, and the names and kinds of its columns."""
    read = list(blocks)
    features = [
        (place, name, kind)
        for block in read
        for place, name, kind in zip(block.order, block.names, block.kinds, strict=True)
    ]
    order = np.argsort([place for place, _, _ in features], kind="stable")
    pieces: list[Any] = [block.values for block in read if block.names] or [read[0].values]
    if sparse is None:
        n = pieces[0].shape[0]
        nonzeros = sum(int(piece.nnz if issparse(piece) else np.count_nonzero(piece)) for piece in pieces)
        sparse = nonzeros < _SPARSE_BELOW * n * len(order)
    matrix = (_join_sparse if sparse else _join_dense)(pieces, order)
    return matrix, tuple(features[j][1] for j in order), tuple(features[j][2] for j in order)


def _join_sparse(pieces: list[Any], order: np.ndarray) -> csr_array:
    joined = csr_array(pieces[0]) if len(pieces) == 1 else hstack(pieces, format="csr")
    return joined if _in_order(order) else csr_array(joined[:, order])


def _join_dense(pieces: list[Any], order: np.ndarray) -> np.ndarray:
    if len(pieces) == 1 and _in_order(order) and not issparse(pieces[0]):
        return np.asarray(pieces[0])
    dense = np.empty((pieces[0].shape[0], len(order)), dtype=np.float32)
    position, start = np.argsort(order), 0
    for piece in pieces:
        stop = start + piece.shape[1]
        dense[:, position[start:stop]] = piece.toarray() if issparse(piece) else piece
        start = stop
    return dense


def _in_order(order: np.ndarray) -> bool:
    return np.array_equal(order, np.arange(len(order)))


def to_file(pieces: Iterable[np.ndarray], n: int, d: int, positions: np.ndarray | None = None) -> np.ndarray:
    """Write pieces of a matrix of n × d, some columns each, to a temporary file by columns, and map it.

    Row i comes to ``positions[i]``. The file is deleted with the matrix.
    """
    folder = RunFolder()
    path = folder.path / "features.npy"
    with folder.explained(path):
        with path.open("wb") as file:
            head = {"descr": npy.dtype_to_descr(np.dtype(np.float32)), "fortran_order": True, "shape": (n, d)}
            npy.write_array_header_1_0(file, head)
            column = np.empty(n, np.float32)
            for values in (values for piece in pieces for values in piece.T):
                column[slice(None) if positions is None else positions] = values
                write_all(file, column)
        matrix: Any = map_array(path)
    matrix._gssl_folder = folder
    return np.asanyarray(matrix)


def to_array(pieces: Iterable[np.ndarray], n: int, d: int) -> np.ndarray:
    """Put pieces of a matrix of n × d, some columns each, side by side."""
    matrix, start = np.empty((n, d), dtype=np.float32), 0
    for piece in pieces:
        matrix[:, start : start + piece.shape[1]] = piece
        start += piece.shape[1]
    return matrix


def take_columns(matrix: Any, columns: np.ndarray, absent: np.ndarray) -> Any:
    """Return columns of a dense or sparse matrix, filled with numbers ``absent`` where ``columns`` is −1.

    Dense ones are copied in double precision.
    """
    n, d = matrix.shape
    there = columns >= 0
    if not issparse(matrix):
        taken = np.empty((n, len(columns)))
        taken[:, ~there] = absent[~there]
        taken[:, there] = matrix[:, columns[there]]
        return taken
    if np.array_equal(columns, np.arange(d)):
        return matrix
    entries = np.ones(np.count_nonzero(there), matrix.dtype), (columns[there], np.flatnonzero(there))
    taken = matrix @ csr_array(entries, shape=(d, len(columns)))
    constant = csr_array(np.where(there, 0, absent)[None, :])
    return taken + csr_array(np.ones((n, 1))) @ constant if constant.nnz else taken


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

    def taken(part: np.ndarray) -> np.ndarray:
        block = np.zeros((len(rows), part.shape[1]), part.dtype)
        block[present] = part[rows[present]]
        return block

    if mapped_file(matrix) is None:
        return taken(matrix)
    return to_file((taken(matrix[:, part]) for part in column_slices(matrix)), len(rows), d)


def column_slices(matrix: Any, d: int | None = None) -> Iterator[slice]:
    """Yield a few of d columns at a time, or of a matrix; release the pages of a mapped file after each."""
    n, width = matrix.shape
    step, d = max(1, _BLOCK_BYTES // max(1, 8 * n)), width if d is None else d
    for start in range(0, d, step):
        yield slice(start, min(start + step, d))
        release_pages(matrix)
