"""Node features from a table, wide or long, or from an array file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from gssl.io.column_kinds import Encoding
from gssl.io.feature_blocks import FeatureReader, to_file, to_matrix
from gssl.io.graph_store import GraphStore
from gssl.io.long_tables import LongTable, long_columns
from gssl.io.table_reading import open_table
from gssl.io.wide_tables import WideTable
from gssl.scale.memory import read_size

if TYPE_CHECKING:
    from gssl.io.feature_arrays import ArrayFile


@dataclass(frozen=True)
class FeaturePart:
    """The rows of one kind of nodes among those of several, and the columns that this kind has."""

    kind: str
    n_rows: int
    columns: frozenset[str]


@dataclass(frozen=True, eq=False)
class Features:
    """Feature rows of some nodes.

    Attributes
    ----------
    ids : object ndarray of shape (n,)
        Distinct, as text, in the order of the table.
    matrix : csr_array or ndarray of shape (n, d), float32
        NaN where a cell is missing; :class:`gssl.io.Preparation` fills it.
    names : tuple of str
        Of the d columns: the column's own name for numbers, ``column=value`` for categories, ``column[i]``
        for lists, ``column:word`` for text.
    name : str
        The source, for messages.
    notes : list of str
        Irregularities in the table.
    kinds : tuple of str
        "number", "category" or "word" for each column; if empty, all are numbers.
    id_column : str or None
        The name of the column of the ids.
    encoding : Encoding
        How columns that are not numbers were read; :class:`gssl.io.Preparation` keeps it for new tables.
    parts : tuple of FeaturePart
        If the rows are those of several kinds of nodes, these kinds in order.
    """

    ids: np.ndarray
    matrix: csr_array | np.ndarray
    names: tuple[str, ...]
    name: str = "features"
    notes: list[str] = field(default_factory=list)
    kinds: tuple[str, ...] = ()
    id_column: str | None = None
    encoding: Encoding = field(default_factory=Encoding)
    parts: "tuple[FeaturePart, ...]" = ()


def read_features(
    source: Any,
    *,
    id: str | None = None,
    columns: Sequence[str] | None = None,
    text: str | Sequence[str] | None = None,
    ids: Any = None,
    header: bool | None = None,
    encoding: Encoding | None = None,
    strict: bool = False,
) -> Features:
    """Read features from a wide or long table, or from an array file.

    Parameters
    ----------
    source : path, glob, SQL or data frame
        A table that :func:`gssl.io.open_table` reads: wide, with an id and numbers, categories (one-hot
        encoded), booleans, lists or texts; or long, ``id, feature, value``, where unlisted features are zero
        and a row without a feature only names a node. Or ``.npy`` (n × d, with ids in ``<name>.ids.npy``) or
        ``.npz`` with ``ids`` and ``features``, or with ``ids`` and the parts ``data, indices, indptr, shape``
        of a CSR matrix.
    id : str, optional
        The id column; if None, ``id`` or ``node``, else the first.
    columns : sequence of str, optional
        The columns to use; if None, all except those named like a label.
    text : str or sequence of str, optional
        Text columns, encoded as the TF-IDF of their words. A column of which most cells differ and have at
        least three words is text also if it is not named.
    ids : array-like of str, optional
        The ids of an array file that has none.
    header : bool, optional
        Whether the first line of a text file names the columns; detected if None.
    encoding : Encoding, optional
        Read categories and texts as in the table that has this encoding, with its words and their weights,
        whatever ``text`` names.
    strict : bool, default=False
        Raise on repeated rows, and on a cell that is not a number in a column of numbers. Otherwise equal
        rows of one id are merged, and such cells are missing if they are one or at most 1 % of at least 20
        that are filled; notes count both.

    Returns
    -------
    Features

    Examples
    --------
    >>> features = read_features("SELECT '007' AS id, 1.5 AS age, 'spy' AS job")
    >>> features.names, features.matrix.tolist()
    (('age', 'job=spy'), [[1.5, 1.0]])
    """
    return _read_whole(open_features(source, id, columns, text, ids, header, encoding, strict))


def _read_whole(reader: FeatureReader) -> Features:
    matrix, names, kinds = to_matrix(reader.blocks(), reader.sparse)
    return Features(reader.ids, matrix, names, reader.name, reader.notes, kinds, reader.id, reader.encoding)


def map_features(
    source: Any,
    *,
    store: GraphStore | None = None,
    memory_budget: Any = "2GB",
    **options: Any,
) -> Features:
    """Copy numeric features to a temporary file, a few columns at a time; read others into memory.

    Rows of the file are in the order of the store if both have the same ids, else in that of the table. The
    file is deleted with the matrix. Options are those of :func:`open_features`.
    """
    budget = read_size(memory_budget) // 2
    reader = open_features(source, **options)
    reader.limit_memory(budget)
    if not reader.divisible:
        # opened again, without the limit and with its notes only once
        return _read_whole(open_features(source, **options))
    ids = positions = None
    # ids that two kinds of nodes share are found when all tables are joined
    if store is not None and not store.kind_columns:
        positions = reader.positions(store)
        if np.array_equal(np.sort(positions), np.arange(store.n_nodes)):
            ids = store.node_ids
    if ids is None:
        # in table order; joining adds missing nodes
        ids, positions = reader.ids, None
    names, kinds = list[str](), list[str]()

    def pieces() -> Iterator[np.ndarray]:
        for block in reader.blocks(budget):
            names.extend(block.names)
            kinds.extend(block.kinds)
            yield np.asarray(block.values)

    matrix = to_file(pieces(), len(ids), reader.count_features(), positions)
    about = reader.name, reader.notes, tuple(kinds), reader.id, reader.encoding
    return Features(ids, matrix, tuple(names), *about)


def open_features(
    source: Any,
    id: str | None = None,
    columns: Sequence[str] | None = None,
    text: str | Sequence[str] | None = None,
    ids: Any = None,
    header: bool | None = None,
    encoding: Encoding | None = None,
    strict: bool = False,
) -> "ArrayFile | LongTable | WideTable":
    """Open features without reading them; see :func:`read_features`."""
    if is_array_file(source):
        from gssl.io.feature_arrays import ArrayFile

        if id is not None or text:
            what = (
                "no column of texts: leave out `text`" if id is None else "its ids apart: name no id column"
            )
            raise ValueError(f"{source} is an array, which has {what}.")
        return ArrayFile(Path(source), ids, columns)
    table = open_table(source, header=header, graph_part="nodes")
    texts, encoding = text_columns(text), encoding or Encoding()
    wide = id is not None or columns is not None or texts or not encoding.columns.isdisjoint(table.columns)
    long = None if wide else long_columns(table)
    if long is None:
        return WideTable(table, id, columns, texts, encoding, strict)
    return LongTable(table, *long, strict)


def is_array_file(source: Any) -> bool:
    """Return whether features are a file of arrays, and not a table."""
    return isinstance(source, str | Path) and Path(source).suffix.lower() in (".npy", ".npz")


def text_columns(text: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of text columns, each once."""
    return (text,) if isinstance(text, str) else tuple(dict.fromkeys(text or ()))
