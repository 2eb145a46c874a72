"""Where the columns of large features come from: a table or an array file, and the order of their rows."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gssl.datasets.numpy_files import map_npy
from gssl.io.columns import is_number, number_of, text_of
from gssl.io.database import quoted
from gssl.io.feature_arrays import check_ids, check_matrix, id_texts
from gssl.io.feature_choice import long_columns, wide_columns
from gssl.io.paths import find_files, is_query
from gssl.io.row_order import Order, check_places
from gssl.io.source import Column, Table, open_table
from gssl.scale.columns import read_columns

# DuckDB does not work with less, and several threads of it want more
_LEAST, _ALONE = 32 * 10**6, 128 * 10**6


def is_numeric(source: Any, id: str | None = None) -> bool:
    """Tell whether a table is wide and all numbers, so that its columns can be read some at a time.

    Examples
    --------
    >>> is_numeric("SELECT 'a' AS id, 1.5 AS x"), is_numeric("SELECT 'a' AS id, 'spy' AS job")
    (True, False)
    """
    table = open_table(source)
    if id is None and long_columns(table):
        return False
    _, chosen = wide_columns(table, id)
    texts = [column for column in chosen if table.columns[column].type == "VARCHAR"]
    plain = [
        is_number(table.columns[column]) or table.columns[column].type.endswith("]") for column in chosen
    ]
    if sum(plain) + len(texts) < len(chosen):
        return False
    for start in range(0, len(texts), 64):
        # what is filled in and no number: a category, a list as text, or a typing error
        asked = (
            f"bool_or({text_of(table, column)} IS NOT NULL AND {number_of(table.columns[column])} IS NULL)"
            for column in texts[start : start + 64]
        )
        if any(table.run(f"SELECT {', '.join(asked)} FROM {table.relation}").fetchone()):
            return False
    return True


def open_matrix(path: str | Path) -> np.ndarray:
    """Map a matrix of real numbers in an ``.npy`` file."""
    find_files(path)
    try:
        matrix = map_npy(Path(path))
    except ValueError as error:
        raise ValueError(f"{path} is not a NumPy file with a matrix of numbers: write it again.") from error
    check_matrix(matrix, Path(path))
    return np.asanyarray(matrix)


class ArraySource:
    """Columns of an ``.npy`` file, whose rows are named by the file of ids beside it."""

    def __init__(self, path: Path, order: Order) -> None:
        self.name, self.order, self.notes = str(path), order, list[str]()
        self.matrix = open_matrix(path)
        beside = path.with_suffix(".ids.npy")
        if not beside.is_file():
            raise ValueError(f"{path} has no ids: put them into {beside.name} beside it.")
        try:
            ids = map_npy(beside)
        except ValueError as error:
            raise ValueError(f"{beside} is not a NumPy file with the ids of {path.name}: {error}.") from error
        check_ids(ids, path, len(self.matrix))
        if not order.is_known:
            order.take(id_texts(ids, path), self.name)
        self.places = order.places(ids, self.name)
        self.n_columns = int(self.matrix.shape[1])
        self.names = tuple(str(j) for j in range(self.n_columns))

    def read(self, slab: slice) -> Iterator[np.ndarray]:
        """Give columns, each in order and in single precision."""
        part = read_columns(self.matrix, slab)
        for j in range(part.shape[1]):
            yield _placed(part[:, j], self.places, self.order, f"{self.name}: column {slab.start + j}")


class TableSource:
    """Columns of a table, lists taken apart."""

    def __init__(
        self, source: Any, order: Order, id: str | None, columns: Sequence[str] | None, budget: int
    ) -> None:
        self.table, self.order = open_table(source), order
        self.table.run(f"SET memory_limit = '{max(budget, _LEAST) // 1000}kB'")
        if budget < _ALONE:
            self.table.run("SET threads = 1")
        if is_query(source):
            # a query may give its rows in another order each time, and every slab asks again
            self.table.run(f"CREATE TEMP TABLE gssl_rows AS SELECT * FROM {self.table.relation}")
            self.table = replace(self.table, relation="gssl_rows")
        if id is None and columns is None and long_columns(self.table):
            raise ValueError(
                f"{self.table.name} has a row for each feature of a node, and one for each node is needed: "
                "pivot it, or name its id and columns."
            )
        name, chosen = wide_columns(self.table, id, columns)
        self.name, self.notes = self.table.name, self.table.notes
        self.places = self._places(name)
        self._asked = [asked for column in chosen for asked in _numbers(self.table, column)]
        self.n_columns = len(self._asked)
        self.names = tuple(name for name, _ in self._asked)

    def _places(self, name: str) -> np.ndarray:
        text, run, store = text_of(self.table, name), self.table.run, self.order.store
        if store is None:
            ids = self.table.fetch(f"SELECT {text} AS id FROM {self.table.relation}")["id"]
            self._refuse_empty(np.fromiter((node is None for node in ids), bool, len(ids)), name)
            self.order.take(np.asarray(ids, dtype=object), self.table.name)
            return np.arange(self.order.n_nodes)
        relation = f"read_parquet({quoted(str(store.directory / 'ids.parquet'))}, file_row_number = true)"
        found = self.table.fetch(
            "SELECT CASE WHEN text IS NULL THEN -2 ELSE coalesce(k.file_row_number, -1) END::INTEGER AS node "
            f"FROM (SELECT {text} AS text, row_number() OVER () AS row FROM {self.table.relation}) "
            f"LEFT JOIN {relation} AS k ON text = k.id ORDER BY row"
        )["node"]
        self._refuse_empty(found == -2, name)

        def row_name(row: int) -> str:
            sql = f"SELECT {text} FROM {self.table.relation} LIMIT 1 OFFSET {row}"
            return str(run(sql).fetchone()[0])

        return check_places(found, self.table.name, store, row_name)

    def _refuse_empty(self, empty: np.ndarray, name: str) -> None:
        if empty.any():
            row = self.table.row(int(empty.argmax()))
            raise ValueError(f"{row}: column {name!r} has no id; remove the row or fill it in.")

    def read(self, slab: slice) -> Iterator[np.ndarray]:
        """Give columns, each in order and in single precision."""
        asked = self._asked[slab]
        sql = ", ".join(f"{number}::FLOAT AS x{j}" for j, (_, number) in enumerate(asked))
        found = self.table.fetch(f"SELECT {sql} FROM {self.table.relation}")
        for j, (name, _) in enumerate(asked):
            where = f"{self.table.name}: column {name!r}"
            yield _placed(found.pop(f"x{j}"), self.places, self.order, where)


def _numbers(table: Table, name: str) -> list[tuple[str, str]]:
    """Give what to call the numbers of a column and the SQL that reads them."""
    column = table.columns[name]
    if not column.type.endswith("]"):
        if is_number(column) or column.type in ("VARCHAR", "JSON"):
            return [(name, _single(number_of(column)))]
        raise ValueError(f"{table.name}: column {name!r} is of type {column.type}, no number; leave it out.")
    shortest, longest = table.run(
        f"SELECT min(len({column.sql})), max(len({column.sql})) FROM {table.relation}"
    ).fetchone()
    if longest is None:
        raise ValueError(f"{table.name}: column {name!r} is empty; leave it out.")
    if shortest != longest:
        raise ValueError(
            f"{table.name}: the lists of column {name!r} have {shortest} to {longest} numbers; "
            "give all the same length."
        )
    parts = (number_of(Column(f"{column.sql}[{j + 1}]", "DOUBLE")) for j in range(longest))
    return [(f"{name}[{j}]", _single(part)) for j, part in enumerate(parts)]


def _single(number: str) -> str:
    """Give NULL for what single precision cannot hold, which DuckDB refuses with the whole query."""
    return f"CASE WHEN abs({number}) <= 3.4028235e38 THEN {number} END"


def _placed(values: np.ndarray, places: np.ndarray, order: Order, where: str) -> np.ndarray:
    column = np.empty(order.n_nodes, np.float32)
    with np.errstate(over="ignore"):
        column[places] = np.ma.filled(values, np.nan)
    bad = np.flatnonzero(~np.isfinite(column))
    if len(bad):
        node = order.ids(bad[:1])[0]
        raise ValueError(f"{where} of id {node!r} is not a finite number; fill it in or leave it out.")
    return column
