"""Tables with a row of features for each node."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import NoReturn

import numpy as np
from scipy.sparse import csr_array

from gssl.io.column_kinds import DENSE, ColumnKinds, Encoding
from gssl.io.feature_blocks import Block, plan_blocks
from gssl.io.graph_store import GraphStore, id_relation
from gssl.io.table_columns import (
    IDS,
    cells_sql,
    check_distinct,
    given_sql,
    is_number,
    is_text,
    leave_out_row_numbers,
    note_spaces,
    number_sql,
    pick_column,
    raw_text_sql,
    text_cells_sql,
    text_sql,
)
from gssl.io.table_reading import Column, Table, sql_string
from gssl.wording import MISSING, counted, listed, listed_counts, quoted, shortened

# columns that hold labels, not features
_LABEL_NAMES = ("label", "labels", "class")
# columns of a block: the time of DuckDB grows with the square of the columns of a table
_BLOCK = 128
# more columns of text are copied into DuckDB, because each block of them would read the whole file again
_MOST_UNCOPIED = 8 * _BLOCK
# cells per query, which limits memory
_CELLS_PER_QUERY = 1 << 24
# a column with more categories is noted as probably text
_MANY_CATEGORIES = 100
# bytes: the budget below which DuckDB uses one thread
_ONE_THREAD = 128 * 10**6


def _least_memory() -> int:
    """Return the least memory in bytes that DuckDB is given: before 2.0, reading text takes 32 MB."""
    import duckdb

    return (64 if duckdb.__version__.startswith("1.") else 32) * 10**6


def wide_columns(
    table: Table, id: str | None, columns: Sequence[str] | None, text: Sequence[str], known: frozenset[str]
) -> tuple[str, list[str]]:
    """Return the id column and the feature columns of a wide table; note columns that are left out.

    Columns that a model knows are features whatever their names.
    """
    name = pick_column(table, id, IDS, 0)
    if name != next(iter(table.columns)):
        leave_out_row_numbers(table)
    note_spaces(table, [name])
    for column in text:
        pick_column(table, column, (), 0)
    if columns is None:
        beside = [column for column in table.columns if column != name]
        kept = known.union(text)
        labels = {column for column in beside if column.lower() in _LABEL_NAMES and column not in kept}
        table.notes += [
            f"{table.name}: column {quoted(column)} is named like a label and not used as a feature."
            for column in beside
            if column in labels
        ]
        chosen = [column for column in beside if column not in labels]
    else:
        chosen = list(dict.fromkeys((*(pick_column(table, column, (), 0) for column in columns), *text)))
    if not chosen:
        raise ValueError(f"{table.name} has no features beside the column {quoted(name)}: give at least one.")
    return name, chosen


@dataclass(frozen=True)
class _Number:
    """A numeric feature: a column of text or numbers, or a part of a column of lists (from 0)."""

    name: str
    column: str
    # "text", "number" or "list"
    form: str
    part: int = 0
    # of the list
    length: int = 0

    @property
    def wanted(self) -> str:
        """What a cell must hold, for errors."""
        return f"a list of {self.length} finite numbers" if self.form == "list" else "a finite number"


class WideTable:
    """A table with a row for each node: an id and numbers, categories, lists or text.

    All features at once are read from a copy in DuckDB; a few columns at a time, from the source itself.
    """

    sparse = None

    def __init__(
        self,
        table: Table,
        id: str | None,
        columns: Sequence[str] | None,
        text: Sequence[str],
        encoding: Encoding,
        strict: bool,
    ) -> None:
        self._source = self.table = table
        self.name, self.notes, self.strict = table.name, table.notes, strict
        self._text, self._known = tuple(text), encoding
        self.id, self.chosen = wide_columns(table, id, columns, text, encoding.columns)
        self._id_sql = text_sql(table, self.id)
        self._columns = {name: table.columns[name] for name in self.chosen}
        self._blocks: list[Table] = []
        self.encoding = Encoding()

    def limit_memory(self, budget: int) -> None:
        """Limit the memory of DuckDB to a budget in bytes."""
        self.table.execute(f"SET memory_limit = '{max(budget, _least_memory()) // 1000}kB'")
        if budget < _ONE_THREAD:
            self.table.execute("SET threads = 1")
        if self.table.relation.startswith("("):
            # a query may return rows in a different order each time, and would run again for every slab
            self._copy()

    @property
    def _copied(self) -> bool:
        return self.table.relation == "features"

    def _copy(self) -> None:
        """Copy the chosen columns into DuckDB, so that files are read and queries run only once.

        Blocks of columns are copied as lists, and each then becomes a table of its own.
        """
        if self._copied:
            return
        for block in self._blocks:
            self._columns |= block.columns
        blocks, sql = self._divide(), {name: column.sql for name, column in self._columns.items()}
        if len(blocks) == 1:
            stored = [sql[name] for name in blocks[0]]
        else:
            stored = [f"[{', '.join(sql[name] for name in names)}]" for names in blocks]
        picked = ", ".join(f"{one} AS f{i}" for i, one in enumerate(stored))
        self.table.execute(
            f"CREATE TEMP TABLE features AS SELECT {self._id_sql} AS id, {picked} FROM {self.table.relation}"
        )
        self._id_sql, self.table = "id", replace(self.table, columns={}, relation="features")
        if not self.strict:
            self._merge_repeated(len(stored))
        self._blocks = [
            replace(
                self.table,
                columns={name: Column(f"f{j}", self._columns[name].type) for j, name in enumerate(names)},
                relation="features" if len(blocks) == 1 else f"block{i}",
            )
            for i, names in enumerate(blocks)
        ]
        if len(blocks) > 1:
            for i, block in enumerate(self._blocks):
                parts = ", ".join(f"f{i}[{j + 1}] AS f{j}" for j in range(len(block.columns)))
                self.table.execute(f"CREATE TEMP TABLE {block.relation} AS SELECT {parts} FROM features")
            # the lists are no longer needed
            self.table.execute("CREATE OR REPLACE TEMP TABLE features AS SELECT id FROM features")

    def _divide(self) -> list[list[str]]:
        """Return blocks of columns: all if they are few, else columns of one type."""
        if len(self.chosen) <= _BLOCK:
            return [self.chosen]
        by_type = dict[str, list[str]]()
        for name, column in self._columns.items():
            by_type.setdefault(column.type, []).append(name)
        return [
            names[start : start + _BLOCK]
            for names in by_type.values()
            for start in range(0, len(names), _BLOCK)
        ]

    def _merge_repeated(self, width: int) -> None:
        """Keep one of several copied rows that have the same id and the same cells."""
        rows, named, different = self.table.fetch_row(
            "SELECT count(*), count(id), count(DISTINCT id) FROM features"
        )
        if different == rows or named < rows:
            return
        repeated = "id IN (SELECT id FROM features GROUP BY id HAVING count(*) > 1)"
        cells = ", ".join(f"f{i}" for i in range(width))
        first = f"SELECT min(rowid) FROM features WHERE {repeated} GROUP BY id, {cells}"
        removed = f"{repeated} AND rowid NOT IN ({first})"
        ids = self.table.fetch_rows(f"SELECT id FROM features WHERE {removed} ORDER BY rowid")
        self.table.execute(f"DELETE FROM features WHERE {removed}")
        if ids:
            self.notes.append(
                f"{self.name}: merged {counted(len(ids), 'row')} with an equal one of the same id: "
                f"{listed(dict.fromkeys(node for (node,) in ids))}."
            )

    @cached_property
    def ids(self) -> np.ndarray:
        """The ids as distinct texts, in the order of the table."""
        ids = self._fetch_ids()
        if not self.strict and not self._copied and len(set(ids)) < len(ids):
            self._copy()
            ids = self._fetch_ids()
        check_distinct(ids, self.name)
        return ids

    def _fetch_ids(self) -> np.ndarray:
        ids = self.table.fetch_columns(self.ids_sql)["id"].astype(object)
        if not len(ids):
            raise ValueError(f"{self.name} has no rows: give one for each node.")
        self._refuse_empty(np.array([node is None for node in ids]))
        return ids

    def positions(self, store: GraphStore) -> np.ndarray:
        """Return the node number of each row in a store, or −1, without reading the ids into memory."""
        nodes = self.table.fetch_columns(
            "SELECT CASE WHEN text IS NULL THEN -2 ELSE coalesce(k.file_row_number, -1) END::INTEGER AS node "
            f"FROM (SELECT {self._id_sql} AS text, row_number() OVER () AS row FROM {self.table.relation}) "
            f"LEFT JOIN {id_relation(store)} AS k ON text = k.id ORDER BY row"
        )["node"]
        self._refuse_empty(nodes == -2)
        if not self.strict and not self._copied and np.bincount(nodes[nodes >= 0], minlength=1).max() > 1:
            self._copy()
            return self.positions(store)
        return nodes

    def _refuse_empty(self, empty: np.ndarray) -> None:
        if empty.any():
            raise self._source.missing_id_error(int(empty.argmax()), self.id)

    @property
    def divisible(self) -> bool:
        """Whether there are features, all of them numbers, so that a few columns can be read at a time."""
        return all(self._kinds[name] in DENSE for name in self.chosen) and bool(self._numbers)

    @cached_property
    def _column_kinds(self) -> ColumnKinds:
        if not self._copied:
            if sum(is_text(column) for column in self._columns.values()) > _MOST_UNCOPIED:
                self._copy()
            else:
                self._blocks = [
                    replace(self.table, columns={name: self._columns[name] for name in names})
                    for names in self._divide()
                ]
        kinds = ColumnKinds(self._known, self._text, strict=self.strict)
        for block in self._blocks:
            kinds.add(block)
        self.notes += kinds.notes(self.name)
        self.encoding = Encoding(numbers=kinds.notations)
        return kinds

    @property
    def _kinds(self) -> dict[str, str]:
        return self._column_kinds.kinds

    def _columns_of(self, *kinds: str) -> Iterator[tuple[Table, list[str]]]:
        """Yield each block with its columns of some kinds."""
        kinds_of = self._kinds
        for block in self._blocks:
            names = [name for name in block.columns if kinds_of[name] in kinds]
            if names:
                yield block, names

    @cached_property
    def _numbers(self) -> list[_Number]:
        """The features of columns of numbers and lists of numbers."""
        by_column = {
            name: self._features_of(block, name)
            for block, names in self._columns_of(*DENSE)
            for name in names
        }
        return [number for name in self.chosen for number in by_column.get(name, ())]

    def _features_of(self, block: Table, name: str) -> list[_Number]:
        column = block.columns[name]
        if self._kinds[name] == "number":
            return [_Number(name, name, "number" if is_number(column) else "text")]
        lists, relation = _lists_sql(block, name), block.relation
        length = block.fetch_row(f"SELECT mode(len({lists})) FROM {relation}")[0]
        given, unread = column.sql, "false"
        if not column.type.endswith("]"):
            given, unread = given_sql(block, name), _unread_sql(block, name)
        missing = "false" if length is None else f"{given} IS NULL"
        odd = block.fetch_row(
            f"SELECT row FROM (SELECT len({lists}) AS n, {unread} AS unread, {missing} AS missing, "
            f"row_number() OVER () - 1 AS row FROM {relation}) "
            f"WHERE NOT missing AND (n IS NULL OR n <> {length or 0} OR unread) ORDER BY row LIMIT 1"
        )
        if odd is not None:
            wanted = "a list of numbers" if length is None else f"a list of {counted(length, 'number')}"
            self._refuse(block, odd[0], name, wanted)
        return [_Number(f"{name}[{j}]", name, "list", j, length) for j in range(length or 0)]

    @property
    def ids_sql(self) -> str:
        """The SQL query of the ids."""
        return f"SELECT {self._id_sql} AS id FROM {self.table.relation}"

    def _count_rows(self) -> int:
        return int(self.table.fetch_row(f"SELECT count(*) FROM {self.table.relation}")[0])

    def count_features(self) -> int:
        """Return the number of features without reading them."""
        count = len(self._numbers)
        word = "unnest(regexp_extract_all(lower(t), '[\\pL\\pN_]{2,}'))"
        for kind, feature in (("category", "coalesce(t, 'missing')"), ("words", word)):
            for block, names in self._columns_of(kind):
                cells = text_cells_sql(block, names)
                count += block.fetch_row(
                    f"SELECT count(DISTINCT (k, f)) FROM (SELECT k, {feature} AS f FROM {cells})"
                )[0]
        return count

    def blocks(self, budget: int | None = None) -> Iterator[Block]:
        """Read all features or, if all are numbers, as many at a time as fit into a budget in bytes."""
        if budget is None:
            self._copy()
        place = {name: i for i, name in enumerate(self.chosen)}
        # the ids may be too many for the budget
        n = len(self.ids) if budget is None else self._count_rows()
        for part in plan_blocks(n, len(self._numbers), budget):
            numbers = self._numbers[part]
            values = np.empty((n, len(numbers)), dtype=np.float32)
            for positions, some in self._fetch(numbers, max(1, _CELLS_PER_QUERY // n)):
                values[:, positions] = some
            names, order = [number.name for number in numbers], [place[number.column] for number in numbers]
            yield Block(names, ["number"] * len(names), values, order)
        categories, words = dict[str, None](), dict[str, dict[str, float]]()
        for made, columns in self._categories():
            names = [f"{column}={value}" for column, value in columns]
            yield Block(names, ["category"] * len(names), made, [place[column] for column, _ in columns])
            categories |= dict.fromkeys(column for column, _ in columns)
        for block, texts in self._columns_of("words"):
            for column in texts:
                made, words[column] = self._words(block, column)
                names = [f"{column}:{word}" for word in words[column]]
                yield Block(names, ["word"] * len(names), made, [place[column]] * len(names))
        ordered = tuple(sorted(categories, key=place.__getitem__))
        self.encoding = replace(self.encoding, categories=ordered, words=words)

    def _fetch(self, numbers: list[_Number], step: int) -> Iterator[tuple[list[int], np.ndarray]]:
        """Yield at most ``step`` features at a time, with their positions among the numbers.

        One query reads features of one block and one form, or of one list.
        """
        block_of = {name: i for i, block in enumerate(self._blocks) for name in block.columns}

        def source(j: int) -> tuple[int, str, str]:
            number = numbers[j]
            return block_of[number.column], number.form, number.column if number.form == "list" else ""

        for (i, *_), group in groupby(sorted(range(len(numbers)), key=source), key=source):
            positions = list(group)
            for start in range(0, len(positions), step):
                some = positions[start : start + step]
                yield some, self._fetch_block(self._blocks[i], [numbers[j] for j in some])

    def _fetch_block(self, block: Table, numbers: list[_Number]) -> np.ndarray:
        value = number_sql(Column("t", "VARCHAR")) if numbers[0].form == "text" else "t"
        cells = cells_sql(block.relation, _numbers_sql(block, numbers), len(numbers))
        # TRY_CAST gives NULL for numbers beyond single precision, where CAST would fail the whole query
        x = block.fetch_columns(f"SELECT TRY_CAST({value} AS FLOAT) AS x FROM {cells}")["x"]
        x = x.reshape(-1, len(numbers))
        odd = np.flatnonzero(~np.isfinite(x).all(axis=0))
        if len(odd):
            self._refuse_bad(block, [numbers[j] for j in odd])
        return x

    def _refuse_bad(self, block: Table, numbers: list[_Number]) -> None:
        """Raise if a cell is neither missing nor a finite number, unless such cells are few."""
        cells = cells_sql(block.relation, _numbers_sql(block, numbers), len(numbers), numbered=True)
        value, given = "t", "nullif(t, 'nan'::DOUBLE)"
        if numbers[0].form == "text":
            value = number_sql(Column("t", "VARCHAR"))
            given = given_sql(replace(block, columns={"t": Column("t", "VARCHAR")}), "t")
        few = [k for k, number in enumerate(numbers) if number.column in self._column_kinds.unreadable]
        read = f"(v IS NOT NULL OR NOT list_contains({few}::BIGINT[], k))"
        bad = block.fetch_row(
            f"SELECT k, row FROM (SELECT k, row, {value} AS v, TRY_CAST({value} AS FLOAT) AS x, "
            f"{given} IS NOT NULL AS given FROM {cells}) "
            f"WHERE given AND {read} AND (x IS NULL OR NOT isfinite(x)) ORDER BY k, row LIMIT 1"
        )
        if bad is not None:
            number = numbers[bad[0]]
            self._refuse(block, int(bad[1]), number.column, number.wanted)

    def _categories(self) -> Iterator[tuple[csr_array, list[tuple[str, str]]]]:
        """Yield the categories of several columns at a time, with the column and text of each."""
        step, missing = max(1, _CELLS_PER_QUERY // len(self.ids)), dict[str, int]()
        for block, names in self._columns_of("category"):
            for start in range(0, len(names), step):
                some = names[start : start + step]
                cells = text_cells_sql(block, some, numbered=True)
                block.execute(
                    "CREATE OR REPLACE TEMP TABLE category AS SELECT row::INTEGER AS row, k, "
                    f"coalesce(t, 'missing') AS text, t IS NULL AS missing FROM {cells}"
                )
                counts = block.fetch_rows(
                    "SELECT k, count(*) FROM category WHERE missing GROUP BY k ORDER BY k"
                )
                missing |= {some[k]: count for k, count in counts}
                yield self._encode(block, some)
        if missing:
            count = counted(sum(missing.values()), "missing cell")
            self.notes.append(
                f"{self.name}: {count} became the category 'missing': {listed_counts(missing)}."
            )

    def _encode(self, block: Table, names: list[str]) -> tuple[csr_array, list[tuple[str, str]]]:
        """Return the one-hot matrix of the table of categories, and the column and text of each category."""
        block.execute(
            "CREATE OR REPLACE TEMP TABLE codes AS SELECT k, text, (row_number() OVER (ORDER BY k, text) - 1)"
            "::INTEGER AS code FROM (SELECT DISTINCT k, text FROM category)"
        )
        cells = block.fetch_columns("SELECT row, code FROM category JOIN codes USING (k, text)")
        codes = block.fetch_columns("SELECT k, text FROM codes ORDER BY code")
        columns = [(names[k], text) for k, text in zip(codes["k"], codes["text"], strict=True)]
        self._note_many(names, np.bincount(codes["k"], minlength=len(names)))
        entries = (np.ones(len(cells["row"]), dtype=np.float32), (cells["row"], cells["code"]))
        return csr_array(entries, shape=(len(self.ids), len(columns))), columns

    def _note_many(self, names: list[str], counts: np.ndarray) -> None:
        self.notes += [
            f"{self.name}: column {quoted(name)} has {count:,} different texts, each a feature of its own; "
            f"text={quoted(name)} would take it word by word."
            for name, count in zip(names, counts.tolist(), strict=True)
            if count > max(_MANY_CATEGORIES, len(self.ids) // 10)
        ]

    def _words(self, block: Table, name: str) -> tuple[csr_array, dict[str, float]]:
        """Return the TF-IDF of the words of a column, and the weight of each word."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        text = text_sql(block, name)
        texts = block.fetch_columns(f"SELECT coalesce({text}, '') AS t FROM {block.relation}")["t"]
        known = dict(self._known.words.get(name, {}))
        if known:
            vectorizer = TfidfVectorizer(dtype=np.float32, vocabulary=list(known))
            vectorizer.idf_ = np.array(list(known.values()))
            return csr_array(vectorizer.transform(texts)), known
        if name in self._known.words:
            self.notes.append(
                f"{self.name}: the model has no weights of the words of column {quoted(name)}, so they are "
                "weighted by how rare they are in this table."
            )
        vectorizer = TfidfVectorizer(dtype=np.float32)
        try:
            matrix = vectorizer.fit_transform(texts)
        except ValueError as error:
            raise ValueError(f"{self.name}: column {quoted(name)} has no words to weigh.") from error
        words = vectorizer.get_feature_names_out().tolist()
        return csr_array(matrix), dict(zip(words, vectorizer.idf_.tolist(), strict=True))

    def _refuse(self, block: Table, row: int, name: str, wanted: str) -> NoReturn:
        node, value = (
            table.fetch_row(f"SELECT {sql} FROM {table.relation} LIMIT 1 OFFSET {row}")[0]
            for table, sql in ((self.table, self._id_sql), (block, block.columns[name].sql))
        )
        shown = "empty" if value is None or value == "" else shortened(repr(value), 100)
        raise ValueError(
            f"{self.name}: column {quoted(name)} of id {quoted(str(node))} is {shown}, not {wanted}; "
            "fill it in or leave the column out."
        )


def _lists_sql(block: Table, name: str) -> str:
    column = block.columns[name]
    if column.type.endswith("]"):
        return column.sql
    return f"TRY_CAST('[' || {_parts_sql(block, name)} || ']' AS DOUBLE[])"


def _parts_sql(block: Table, name: str) -> str:
    """Return the SQL of the parts of a list in text, separated by commas; NumPy writes white space."""
    inside = f"regexp_replace({given_sql(block, name)}, '^\\[\\s*|\\s*\\]$', '', 'g')"
    return f"regexp_replace({inside}, '\\s*,\\s*|\\s+', ',', 'g')"


def _unread_sql(block: Table, name: str) -> str:
    """Return the SQL of whether a list in text has a part that is neither a number nor missing."""
    lists, parts = _lists_sql(block, name), _parts_sql(block, name)
    missing = sql_string(f"<({'|'.join(map(re.escape, MISSING))}|)>")
    return (
        f"len({lists}) - list_count({lists}) > "
        f"len(regexp_extract_all('<' || replace({parts}, ',', '><') || '>', {missing}))"
    )


def _numbers_sql(block: Table, numbers: list[_Number]) -> str:
    """Return the SQL of a list of the cells of features of one source."""
    first = numbers[0]
    if first.form == "list":
        lists, empty = _lists_sql(block, first.column), f"list_resize([]::DOUBLE[], {first.length})"
        parts = [number.part + 1 for number in numbers]
        return f"list_select(coalesce({lists}::DOUBLE[], {empty}), {parts})"
    columns = [block.columns[number.column] for number in numbers]
    cells = (raw_text_sql(column) if first.form == "text" else number_sql(column) for column in columns)
    return f"[{', '.join(cells)}]"
