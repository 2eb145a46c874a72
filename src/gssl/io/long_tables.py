"""Tables with a row for each nonzero feature of a node."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from gssl.io.column_kinds import Encoding, most_others, note_others
from gssl.io.feature_blocks import Block
from gssl.io.graph_store import GraphStore
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
from gssl.io.table_reading import Table
from gssl.wording import counted, quoted

_LONG = (("feature", "word", "term"), ("value", "count"))


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

    sparse, divisible = True, False

    def __init__(self, table: Table, id: str, feature: str, value: str, strict: bool) -> None:
        self.table, self.id, self.feature, self.value, self.strict = table, id, feature, value, strict
        self.name, self.notes, self.encoding = table.name, table.notes, Encoding()
        note_spaces(table, [id, feature])
        read_commas(table, [value])

    @cached_property
    def ids(self) -> np.ndarray:
        """The ids as distinct texts, in the order of the table, which is copied into DuckDB."""
        table = self.table
        table.execute(
            f"CREATE TEMP TABLE long AS SELECT {text_sql(table, self.id)} AS id, "
            f"{text_sql(table, self.feature)} AS feature, {number_sql(table.columns[self.value])} AS number, "
            f"{self._missing_sql()} AS missing FROM {table.relation}"
        )
        self._check()
        return table.fetch_columns("SELECT id FROM long GROUP BY id ORDER BY min(rowid)")["id"].astype(object)

    def blocks(self, budget: int | None = None) -> Iterator[Block]:
        """Read all features as one sparse block."""
        nodes, table = self.ids, self.table
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
        yield Block(names.tolist(), ["number"] * len(names), matrix, list(range(len(names))))

    def limit_memory(self, budget: int) -> None:
        """Do nothing: the table is read as a whole."""

    def positions(self, store: GraphStore) -> np.ndarray:
        """Return the node number of each id in a store, or −1."""
        return store.nodes(self.ids)

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
