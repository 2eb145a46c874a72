"""Node features from a table, wide or long, or from an array file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.io.column_kinds import Encoding, most_others, note_others
from gssl.io.feature_arrays import ArrayFile
from gssl.io.notations import read_commas
from gssl.io.table_columns import (
    IDS,
    check_ids,
    encode_texts,
    given_sql,
    is_number,
    is_text,
    note_spaces,
    number_sql,
    pick_column,
    text_sql,
)
from gssl.io.table_reading import Table, open_table
from gssl.io.wide_tables import WideTable
from gssl.wording import counted, quoted

_LONG = (("feature", "word", "term"), ("value", "count"))


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
    """

    ids: np.ndarray
    matrix: csr_array | np.ndarray
    names: tuple[str, ...]
    name: str = "features"
    notes: list[str] = field(default_factory=list)
    kinds: tuple[str, ...] = ()
    id_column: str | None = None
    encoding: Encoding = field(default_factory=Encoding)


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
    reader = open_features(source, id, columns, text, ids, header, encoding, strict)
    return Features(*reader.read(), reader.name, reader.notes, reader.kinds, reader.id, reader.encoding)


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
    if isinstance(source, str | Path) and Path(source).suffix.lower() in (".npy", ".npz"):
        return ArrayFile(Path(source), ids)
    table = open_table(source, header=header, graph_part="nodes")
    texts, encoding = text_columns(text), encoding or Encoding()
    wide = id is not None or columns is not None or texts or not encoding.columns.isdisjoint(table.columns)
    long = None if wide else long_columns(table)
    if long is None:
        return WideTable(table, id, columns, texts, encoding, strict)
    return LongTable(table, *long, strict)


def text_columns(text: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of text columns, each once."""
    return (text,) if isinstance(text, str) else tuple(dict.fromkeys(text or ()))


def long_columns(table: Table) -> tuple[str, str, str] | None:
    """Return the id, feature and value columns of a long table, or None if the table is wide."""
    names = list(table.columns)
    lower = [name.lower() for name in names]
    if len(lower) != 3:
        return None
    if all(any(guess in lower for guess in guesses) for guesses in _LONG):
        feature, value = (pick_column(table, None, guesses, 0) for guesses in _LONG)
        return next(name for name in names if name not in (feature, value)), feature, value
    id = next((name for name in names[:2] if name.lower() in IDS or name.lower().endswith("id")), names[0])
    feature = names[1] if id == names[0] else names[0]
    if not _is_long(table, id, feature, names[2]):
        return None
    table.notes.append(
        f"{table.name}: each row is taken as one feature ({quoted(feature)}) of an id "
        f"({quoted(id)}) and its value ({quoted(names[2])})."
    )
    return id, feature, names[2]


def _is_long(table: Table, id: str, feature: str, value: str) -> bool:
    """Return whether ids and features recur, but no pair of them, and values are numbers.

    Ids of a wide table recur only by mistake, so at least two rows per id on average are required.
    """
    columns = [table.columns[name] for name in (id, feature, value)]
    if not all(is_text(column) or is_number(column) for column in columns):
        return False
    node, text = text_sql(table, id), text_sql(table, feature)
    rows, ids, features, pairs, numbers, whole = table.fetch_row(
        "SELECT count(*), count(DISTINCT i), count(DISTINCT f), count(DISTINCT (i, f)), count(v), "
        f"count(TRY_CAST(f AS BIGINT)) FROM (SELECT {node} AS i, {text} AS f, {number_sql(columns[2])} AS v "
        f"FROM {table.relation})"
    )
    # numbers in the feature column may be measurements, not names
    several = features < rows if 2 * whole <= rows else whole == rows and 2 * features <= rows
    return bool(2 * ids <= rows and pairs == rows and numbers == rows and several)


class LongTable:
    """A table with a row for each nonzero feature of a node, read as a sparse matrix."""

    obstacle = (
        "has a row for each feature of a node, and one for each node is needed: pivot it, or name its id and "
        "columns"
    )

    def __init__(self, table: Table, id: str, feature: str, value: str, strict: bool) -> None:
        self.table, self.id, self.feature, self.value, self.strict = table, id, feature, value, strict
        self.name, self.notes, self.kinds, self.encoding = table.name, table.notes, (), Encoding()
        note_spaces(table, [id, feature])
        read_commas(table, [value])

    def read(self) -> tuple[np.ndarray, csr_array, tuple[str, ...]]:
        """Read ids, the matrix and the names of its columns into memory."""
        table = self.table
        table.execute(
            f"CREATE TEMP TABLE long AS SELECT {text_sql(table, self.id)} AS id, "
            f"{text_sql(table, self.feature)} AS feature, {number_sql(table.columns[self.value])} AS number, "
            f"{self._missing_sql()} AS missing FROM {table.relation}"
        )
        self._check()
        nodes = table.fetch_columns("SELECT id FROM long GROUP BY id ORDER BY min(rowid)")["id"].astype(
            object
        )
        row_of = {node: i for i, node in enumerate(nodes)}
        table.execute(
            "CREATE TEMP TABLE entries AS SELECT id, feature, number FROM long "
            "WHERE feature IS NOT NULL AND NOT missing"
        )
        ids, codes = encode_texts(table, "entries", ["id"], ["feature", "number"])
        names, columns = np.unique(codes["feature"].astype(str), return_inverse=True)
        if not len(names):
            raise ValueError(
                f"{self.name} has no features: give at least one row with a feature and a value."
            )
        rows = np.array([row_of[node] for node in ids], dtype=np.int64)[codes["id"]]
        entries = (codes["number"].astype(np.float32), (rows, columns))
        matrix = csr_array(entries, shape=(len(nodes), len(names)), dtype=np.float32)
        return nodes, matrix, tuple(names.tolist())

    @property
    def ids_sql(self) -> str:
        """The SQL query of the ids."""
        return f"SELECT {text_sql(self.table, self.id)} AS id FROM {self.table.relation}"

    def count_features(self) -> int:
        """Return the number of features without reading them."""
        feature = text_sql(self.table, self.feature)
        return int(self.table.fetch_row(f"SELECT count(DISTINCT {feature}) FROM {self.table.relation}")[0])

    def _missing_sql(self) -> str:
        column = self.table.columns[self.value]
        if is_number(column):
            return f"{column.sql} IS NULL OR isnan({column.sql}::DOUBLE)"
        return f"{given_sql(self.table, self.value)} IS NULL"

    def _check(self) -> None:
        if not check_ids(self.table, "long", self.id):
            raise ValueError(f"{self.name} has no rows: give one for each node.")
        self._check_values()
        missing = self.table.fetch_row("SELECT count(*) FROM long WHERE feature IS NOT NULL AND missing")[0]
        if missing:
            self.notes.append(f"{self.name}: {counted(missing, 'missing value')} taken as zero.")
        self._check_pairs()

    def _check_values(self) -> None:
        """Raise on a value that is not a finite number, or take it as missing if such values are few."""
        table, given = self.table, "FROM long WHERE feature IS NOT NULL AND NOT missing"
        filled, others, row = table.fetch_row(
            f"SELECT count(*), count(*) FILTER (number IS NULL), min(rowid) FILTER (number IS NULL) {given}"
        )
        if others and others <= most_others(filled, self.strict):
            value = text_sql(table, self.value)
            example = table.fetch_row(f"SELECT {value} FROM {table.relation} LIMIT 1 OFFSET {row}")[0]
            self.notes.append(note_others(self.name, {self.value: (others, example)}))
            table.execute("UPDATE long SET missing = true WHERE number IS NULL")
        bad = table.fetch_row(
            f"SELECT rowid, id, feature {given} AND (number IS NULL OR NOT isfinite(number)) "
            "ORDER BY rowid LIMIT 1"
        )
        if bad is not None:
            row, node, feature = bad
            raise ValueError(
                f"{table.row_name(row)}: feature {quoted(feature)} of id {quoted(node)} "
                "is not a number; give one."
            )

    def _check_pairs(self) -> None:
        """Raise on two values for a feature of an id, or merge them if they are equal."""
        repeated = (
            "SELECT id, feature FROM long WHERE feature IS NOT NULL GROUP BY ALL HAVING count(*) > 1 "
            "ORDER BY min(rowid) LIMIT 1"
        )
        twice = self.table.fetch_row(repeated)
        if twice and not self.strict:
            first = "SELECT min(rowid) FROM long GROUP BY id, feature, number, missing"
            rows = self.table.fetch_row("SELECT count(*) FROM long")[0]
            self.table.execute(f"DELETE FROM long WHERE feature IS NOT NULL AND rowid NOT IN ({first})")
            rows -= self.table.fetch_row("SELECT count(*) FROM long")[0]
            if rows:
                self.notes.append(f"{self.name}: merged {counted(rows, 'row')} with an equal one.")
            twice = self.table.fetch_row(repeated)
        if twice:
            raise ValueError(
                f"{self.name}: id {quoted(twice[0])} has the feature {quoted(twice[1])} twice; keep one row."
            )
