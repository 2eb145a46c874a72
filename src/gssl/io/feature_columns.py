"""The columns of a wide table as blocks of a feature matrix: numbers, categories, lists, words."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.io.columns import code_texts, is_number, number_of, text_of
from gssl.io.source import Column, Table

# columns asked about or fetched by one query
_AT_ONCE = 256
# so many values of one column are more likely a text than categories
_MANY = 100


def store_columns(table: Table, id_sql: str, chosen: Sequence[str]) -> None:
    """Store the id and the chosen columns of a table as ``features(id, f0, f1, …)``.

    Examples
    --------
    >>> from gssl.io.source import open_table
    >>> table = open_table("SELECT 'a' AS id, 2 AS x")
    >>> store_columns(table, "id", ["x"])
    >>> table.run("SELECT * FROM features").fetchall()
    [('a', 2)]
    """
    picked = ", ".join(f"{table.columns[name].sql} AS f{i}" for i, name in enumerate(chosen))
    table.run(f"CREATE TEMP TABLE features AS SELECT {id_sql} AS id, {picked} FROM {table.relation}")


class FeatureColumns:
    """The stored columns of one table; ``blocks`` gives them as matrices in order.

    Parameters
    ----------
    table : Table
        After :func:`store_columns`.
    ids : ndarray of shape (n,)
    chosen : sequence of str
    text : str or None
        The column to be weighed word by word.
    """

    def __init__(self, table: Table, ids: np.ndarray, chosen: Sequence[str], text: str | None) -> None:
        self.table = table
        self.ids = ids
        self.names = list(chosen)
        self.columns = [Column(f"f{i}", table.columns[name].type) for i, name in enumerate(chosen)]
        self.text = text
        # the stored copy, seen as a table of its own
        self.stored = Table(
            table.name, dict(zip(self.names, self.columns, strict=True)), "features", table.connection
        )

    def blocks(self) -> tuple[list[Any], tuple[str, ...]]:
        """Give the blocks, side by side the feature matrix, and the names of its columns."""
        makers = {
            "number": self._numbers,
            "category": self._categories,
            "list": self._lists,
            "text": self._words,
        }
        blocks, names = [], []
        for kind, group in groupby(range(len(self.names)), key=self._kinds().__getitem__):
            for block, block_names in makers[kind](list(group)):
                blocks.append(block)
                names += block_names
        return blocks, tuple(names)

    def _kinds(self) -> list[str]:
        kinds = []
        for name, column in zip(self.names, self.columns, strict=True):
            if name == self.text:
                kinds.append("text")
            elif is_number(column):
                kinds.append("number")
            elif column.type.endswith("]"):
                kinds.append("list")
            elif column.type in ("VARCHAR", "JSON") or column.type.startswith("ENUM"):
                kinds.append("unknown")
            else:
                raise ValueError(
                    f"{self.table.name}: column {name!r} is of type {column.type}, neither number nor text; "
                    "convert it or leave it out."
                )
        unknown = [i for i, kind in enumerate(kinds) if kind == "unknown"]
        for start in range(0, len(unknown), _AT_ONCE):
            part = unknown[start : start + _AT_ONCE]
            for i, kind in zip(part, self._kinds_of_texts(part), strict=True):
                kinds[i] = kind
        return kinds

    def _kinds_of_texts(self, numbers: list[int]) -> Iterator[str]:
        asked = []
        for i in numbers:
            text = text_of(self.stored, self.names[i])
            number = number_of(Column(text, "VARCHAR"))
            asked.append(f"count({text}), count({number}), count(*) FILTER ({text} LIKE '[%]')")
        counts = self.table.run(f"SELECT {', '.join(asked)} FROM features").fetchone()
        for i, place in zip(numbers, range(0, len(counts), 3), strict=True):
            filled, numeric, lists = counts[place : place + 3]
            if not filled:
                raise ValueError(f"{self.table.name}: column {self.names[i]!r} is empty; leave it out.")
            if lists == filled:
                yield "list"
            else:
                # one typing error in a column of numbers does not make it categories
                yield "number" if 2 * numeric > filled else "category"

    def _numbers(self, places: list[int]) -> Iterator[tuple[np.ndarray, list[str]]]:
        matrix = np.empty((len(self.ids), len(places)), dtype=np.float32)
        for start in range(0, len(places), _AT_ONCE):
            part = places[start : start + _AT_ONCE]
            asked = ", ".join(f"{number_of(self.columns[i])} AS f{i}" for i in part)
            found = self.table.fetch(f"SELECT {asked} FROM features ORDER BY rowid")
            for j, i in enumerate(part, start=start):
                with np.errstate(over="ignore"):
                    matrix[:, j] = found[f"f{i}"]
        bad = np.argwhere(~np.isfinite(matrix))
        if len(bad):
            row, j = bad[0]
            self._refuse(int(row), places[j], "a finite number")
        yield matrix, [self.names[i] for i in places]

    def _categories(self, places: list[int]) -> Iterator[tuple[csr_array, list[str]]]:
        n = len(self.ids)
        for i in places:
            name = self.names[i]
            text = text_of(self.stored, name)
            self.table.run(f"CREATE OR REPLACE TEMP TABLE category AS SELECT {text} AS text FROM features")
            row = self.table.run("SELECT min(rowid) FROM category WHERE text IS NULL").fetchone()[0]
            if row is not None:
                self._refuse(row, i, "a category")
            values, found = code_texts(self.table, "category", ["text"], ["rowid"])
            if len(values) > max(_MANY, n // 10):
                self.table.notes.append(
                    f"{self.table.name}: column {name!r} has {len(values):,} different texts, each a feature "
                    f"of its own; text={name!r} would take it word by word."
                )
            ones = np.ones(n, dtype=np.float32)
            yield (
                csr_array((ones, (found["rowid"], found["text"])), shape=(n, len(values))),
                [f"{name}={value}" for value in values],
            )

    def _lists(self, places: list[int]) -> Iterator[tuple[np.ndarray, list[str]]]:
        for i in places:
            name, column = self.names[i], self.columns[i]
            sql = (
                column.sql
                if column.type.endswith("]")
                else f"TRY_CAST({text_of(self.stored, name)} AS DOUBLE[])"
            )
            self.table.run(f"CREATE OR REPLACE TEMP TABLE list AS SELECT {sql}::DOUBLE[] AS x FROM features")
            row, length, first = self.table.run(
                "SELECT min(rowid) FILTER (x IS NULL OR len(x) <> first), any_value(first), max(len(x)) "
                "FROM (SELECT rowid, x, (SELECT mode(len(x)) FROM list) AS first FROM list)"
            ).fetchone()
            if row is not None:
                self._refuse(row, i, "a list of numbers" if length is None else f"a list of {length} numbers")
            values = self.table.fetch("SELECT unnest(x) AS x FROM (SELECT x FROM list ORDER BY rowid)")["x"]
            matrix = values.astype(np.float32).reshape(len(self.ids), first)
            bad = np.argwhere(~np.isfinite(matrix))
            if len(bad):
                self._refuse(int(bad[0][0]), i, f"a list of {length} finite numbers")
            yield matrix, [f"{name}[{j}]" for j in range(first)]

    def _words(self, places: list[int]) -> Iterator[tuple[csr_array, list[str]]]:
        from sklearn.feature_extraction.text import TfidfVectorizer

        for i in places:
            name = self.names[i]
            text = text_of(self.stored, name)
            texts = self.table.fetch(f"SELECT coalesce({text}, '') AS t FROM features ORDER BY rowid")["t"]
            vectorizer = TfidfVectorizer(dtype=np.float32)
            try:
                matrix = vectorizer.fit_transform(texts)
            except ValueError as error:
                raise ValueError(f"{self.table.name}: column {name!r} has no words to weigh.") from error
            yield csr_array(matrix), [f"{name}:{word}" for word in vectorizer.get_feature_names_out()]

    def _refuse(self, row: int, place: int, wanted: str) -> None:
        value = self.table.run(f"SELECT f{place} FROM features WHERE rowid = {row}").fetchone()[0]
        told = "empty" if value is None or value == "" else repr(value)
        raise ValueError(
            f"{self.table.name}: column {self.names[place]!r} of id {self.ids[row]!r} is {told}, not "
            f"{wanted}; fill it in or leave the column out."
        )
