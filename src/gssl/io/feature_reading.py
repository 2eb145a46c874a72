"""Node features from a table, wide or long, or from an array file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from gssl.io.feature_arrays import ArrayFile
from gssl.io.graph_store import GraphStore, id_relation
from gssl.io.notations import read_commas, read_dates
from gssl.io.table_columns import (
    IDS,
    check_distinct,
    check_ids,
    encode_texts,
    given_sql,
    is_number,
    is_text,
    leave_out_row_numbers,
    note_spaces,
    number_sql,
    pick_column,
    raw_text_sql,
    text_sql,
)
from gssl.io.table_reading import Column, Table, open_table
from gssl.wording import counted, listed_counts, quoted, shortened

_LONG = (("feature", "word", "term"), ("value", "count"))
# columns that hold labels, not features
_LABEL_NAMES = ("label", "labels", "class")
# kinds of columns that are read as dense numbers
_DENSE = ("number", "list")
# columns per query
_COLUMNS_PER_QUERY = 128
# a column with more categories is noted as probably text
_MANY_CATEGORIES = 100
# a matrix with a smaller share of nonzeros is stored sparse
_SPARSE_BELOW = 0.1
# bytes: the least memory DuckDB is given, and the budget below which it uses one thread
_LEAST_MEMORY, _ONE_THREAD = 32 * 10**6, 128 * 10**6


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
    """

    ids: np.ndarray
    matrix: csr_array | np.ndarray
    names: tuple[str, ...]
    name: str = "features"
    notes: list[str] = field(default_factory=list)
    kinds: tuple[str, ...] = ()


def read_features(
    source: Any,
    *,
    id: str | None = None,
    columns: Sequence[str] | None = None,
    text: str | None = None,
    ids: Any = None,
    header: bool | None = None,
) -> Features:
    """Read features from a wide or long table, or from an array file.

    Parameters
    ----------
    source : path, glob, SQL or data frame
        A table that :func:`gssl.io.open_table` reads: wide, with an id and numbers, categories (one-hot
        encoded), booleans or lists; or long, ``id, feature, value``, where unlisted features are zero and a
        row without a feature only names a node. Or ``.npy`` (n × d, with ids in ``<name>.ids.npy``) or
        ``.npz`` with ``ids`` and ``features``, or with ``ids`` and the parts ``data, indices, indptr, shape``
        of a CSR matrix.
    id : str, optional
        The id column; if None, ``id`` or ``node``, else the first.
    columns : sequence of str, optional
        The columns to use; if None, all except those named like a label.
    text : str, optional
        A text column, encoded as the TF-IDF of its words.
    ids : array-like of str, optional
        The ids of an array file that has none.
    header : bool, optional
        Whether the first line of a text file names the columns; detected if None.

    Returns
    -------
    Features

    Examples
    --------
    >>> features = read_features("SELECT '007' AS id, 1.5 AS age, 'spy' AS job")
    >>> features.names, features.matrix.tolist()
    (('age', 'job=spy'), [[1.5, 1.0]])
    """
    reader = open_features(source, id, columns, text, ids, header)
    return Features(*reader.read(), reader.name, reader.notes, reader.kinds)


def open_features(
    source: Any,
    id: str | None = None,
    columns: Sequence[str] | None = None,
    text: str | None = None,
    ids: Any = None,
    header: bool | None = None,
) -> "ArrayFile | LongTable | WideTable":
    """Open features without reading them; see :func:`read_features`."""
    if isinstance(source, str | Path) and Path(source).suffix.lower() in (".npy", ".npz"):
        return ArrayFile(Path(source), ids)
    table = open_table(source, header=header)
    long = long_columns(table) if id is None and columns is None and text is None else None
    return WideTable(table, id, columns, text) if long is None else LongTable(table, *long)


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


def wide_columns(
    table: Table, id: str | None, columns: Sequence[str] | None, text: str | None
) -> tuple[str, list[str]]:
    """Return the id column and the feature columns of a wide table; note columns that are left out."""
    name = pick_column(table, id, IDS, 0)
    if name != next(iter(table.columns)):
        leave_out_row_numbers(table)
    note_spaces(table, [name])
    if text is not None:
        pick_column(table, text, (), 0)
    if columns is None:
        beside = [column for column in table.columns if column != name]
        labels = [column for column in beside if column.lower() in _LABEL_NAMES and column != text]
        table.notes += [
            f"{table.name}: column {quoted(column)} is named like a label and is no feature."
            for column in labels
        ]
        chosen = [column for column in beside if column not in labels]
    else:
        chosen = [pick_column(table, column, (), 0) for column in columns]
        chosen += [text] if text is not None and text not in chosen else []
    if not chosen:
        raise ValueError(f"{table.name} has no features beside the column {quoted(name)}: give at least one.")
    return name, chosen


@dataclass(frozen=True)
class _Number:
    """A numeric feature: name, SQL of its value, SQL that is NULL if it is missing, and source column."""

    name: str
    sql: str
    given: str
    column: str
    # what a cell must hold, for errors
    wanted: str


class WideTable:
    """A table with a row for each node: an id and numbers, categories, lists or text.

    :meth:`read` reads all columns; :meth:`columns` reads some, if all are numbers or lists of numbers.
    """

    def __init__(self, table: Table, id: str | None, columns: Sequence[str] | None, text: str | None) -> None:
        self._source = self.table = table
        self.name, self.notes, self.text = table.name, table.notes, text
        self.id, self.chosen = wide_columns(table, id, columns, text)
        self._id_sql = text_sql(table, self.id)
        self.kinds: tuple[str, ...] = ()
        # missing cells by categorical column
        self._missing: dict[str, int] = {}

    def limit_memory(self, budget: int) -> None:
        """Limit the memory of DuckDB to a budget in bytes."""
        self.table.execute(f"SET memory_limit = '{max(budget, _LEAST_MEMORY) // 1000}kB'")
        if budget < _ONE_THREAD:
            self.table.execute("SET threads = 1")
        if self.table.relation.startswith("("):
            # a query may return rows in a different order each time, and would run again for every slab
            self._copy()

    def _copy(self) -> None:
        """Copy the chosen columns into DuckDB, so that files are read and queries run only once."""
        columns = {name: Column(f"f{i}", self.table.columns[name].type) for i, name in enumerate(self.chosen)}
        picked = [f"{self.table.columns[name].sql} AS {column.sql}" for name, column in columns.items()]
        self.table.execute(
            f"CREATE TEMP TABLE features AS SELECT {', '.join([f'{self._id_sql} AS id', *picked])} "
            f"FROM {self.table.relation}"
        )
        self._id_sql, self.table = "id", replace(self.table, columns=columns, relation="features")

    @cached_property
    def ids(self) -> np.ndarray:
        """The ids as distinct texts, in the order of the table."""
        ids = self.table.fetch_columns(self.ids_sql)["id"].astype(object)
        if not len(ids):
            raise ValueError(f"{self.name} has no rows: give one for each node.")
        self._refuse_empty(np.array([node is None for node in ids]))
        check_distinct(ids, self.name)
        return ids

    def places(self, store: GraphStore) -> np.ndarray:
        """Return the node number of each row in a store, or −1, without reading the ids into memory."""
        relation = self.table.relation
        found = self.table.fetch_columns(
            "SELECT CASE WHEN text IS NULL THEN -2 ELSE coalesce(k.file_row_number, -1) END::INTEGER AS node "
            f"FROM (SELECT {self._id_sql} AS text, row_number() OVER () AS row FROM {relation}) "
            f"LEFT JOIN {id_relation(store)} AS k ON text = k.id ORDER BY row"
        )["node"]
        self._refuse_empty(found == -2)
        return found

    def row_id(self, row: int) -> str:
        """Return the id of a row."""
        return str(self._cell(self._id_sql, row))

    def _refuse_empty(self, empty: np.ndarray) -> None:
        if empty.any():
            raise self._source.missing_id_error(int(empty.argmax()), self.id)

    @property
    def obstacle(self) -> str | None:
        """Why features cannot be read a few columns at a time, or None."""
        other = [name for name in self.chosen if self._kinds[name] not in _DENSE]
        return f"has no numbers in column {other[0]!r}: convert it or leave it out" if other else None

    @cached_property
    def _kinds(self) -> dict[str, str]:
        kinds, unknown = {}, []
        # dates in text columns are read by _kinds_of_texts
        read_dates(self.table, [name for name in self.chosen if not is_text(self.table.columns[name])])
        for name in self.chosen:
            column = self.table.columns[name]
            if name == self.text:
                kinds[name] = "words"
            elif is_number(column):
                kinds[name] = "number"
            elif column.type.endswith("]"):
                kinds[name] = "list"
            elif is_text(column):
                unknown.append(name)
            else:
                raise ValueError(
                    f"{self.name}: column {name!r} is of type {column.type}, neither number nor text; "
                    "convert it or leave it out."
                )
        for start in range(0, len(unknown), _COLUMNS_PER_QUERY):
            kinds |= self._kinds_of_texts(unknown[start : start + _COLUMNS_PER_QUERY])
        return {name: kinds[name] for name in self.chosen}

    def _kinds_of_texts(self, names: list[str]) -> dict[str, str]:
        # short expressions: DuckDB takes minutes to plan hundreds of long ones
        counts = self._count_kinds([raw_text_sql(self.table.columns[name]) for name in names])
        kinds = dict.fromkeys(names, "number")
        with_commas = [name for name, count in zip(names, counts, strict=True) if count[3]]
        read = read_commas(self.table, with_commas, sample=False)
        for name, (filled, numeric, *_) in zip(names, counts, strict=True):
            if 2 * numeric <= filled and name not in read:
                [(filled, numeric, lists, _)] = self._count_kinds([given_sql(self.table, name)])
                # a column of mostly numbers stays numeric; reading it raises on the other cells
                if filled and 2 * numeric <= filled:
                    kinds[name] = "list" if lists == filled else "category"
        dates = read_dates(self.table, [name for name in names if kinds[name] == "category"])
        return kinds | dict.fromkeys(dates, "number")

    def _count_kinds(self, texts: list[str]) -> list[tuple[int, int, int, int]]:
        """Count the cells of text columns that are not empty, are numbers, are lists, or contain commas."""
        asked = [
            f"count(nullif({text}, '')), count({number_sql(Column(text, 'VARCHAR'))}), "
            f"count(*) FILTER ({text} LIKE '[%]'), count(*) FILTER (contains({text}, ','))"
            for text in texts
        ]
        counts = self.table.fetch_row(f"SELECT {', '.join(asked)} FROM {self.table.relation}")
        return [counts[place : place + 4] for place in range(0, len(counts), 4)]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features, if all are numbers."""
        return tuple(number.name for number in self._all_numbers)

    @cached_property
    def _all_numbers(self) -> list[_Number]:
        return [number for name in self.chosen for number in self._numbers(name)]

    def _numbers(self, name: str) -> list[_Number]:
        """Return the features of a column of numbers or lists of numbers."""
        column = self.table.columns[name]
        if self._kinds[name] == "number":
            given = f"nullif({column.sql}::DOUBLE, 'nan'::DOUBLE)"
            if not is_number(column):
                # as in _kinds; the markers of missing cells read as NULL
                given, column = given_sql(self.table, name), Column(raw_text_sql(column), "VARCHAR")
            return [_Number(name, number_sql(column), given, name, "a finite number")]
        lists = given = column.sql
        if not column.type.endswith("]"):
            given = given_sql(self.table, name)
            lists = f"TRY_CAST({given} AS DOUBLE[])"
        relation = self.table.relation
        length = self.table.fetch_row(f"SELECT mode(len({lists})) FROM {relation}")[0]
        missing = "false" if length is None else f"{given} IS NULL"
        odd = self.table.fetch_row(
            f"SELECT row FROM (SELECT len({lists}) AS n, {missing} AS missing, row_number() OVER () - 1 "
            f"AS row FROM {relation}) WHERE NOT missing AND (n IS NULL OR n <> {length or 0}) "
            "ORDER BY row LIMIT 1"
        )
        if odd is not None:
            self._refuse(
                odd[0], name, "a list of numbers" if length is None else f"a list of {length} numbers"
            )
        wanted = f"a list of {length} finite numbers"
        parts = (number_sql(Column(f"({lists})[{j + 1}]", "DOUBLE")) for j in range(length or 0))
        return [
            _Number(f"{name}[{j}]", part, f"nullif({part}, 'nan'::DOUBLE)", name, wanted)
            for j, part in enumerate(parts)
        ]

    @property
    def ids_sql(self) -> str:
        """The SQL query of the ids."""
        return f"SELECT {self._id_sql} AS id FROM {self.table.relation}"

    def count_features(self) -> int:
        """Return the number of features without reading them."""
        numbers = [name for name in self.chosen if self._kinds[name] in _DENSE]
        texts = [given_sql(self.table, name) for name in self.chosen if self._kinds[name] not in _DENSE]
        asked = ", ".join(f"count(DISTINCT {text})" for text in texts)
        counts = self.table.fetch_row(f"SELECT {asked} FROM {self.table.relation}") if texts else ()
        return sum(len(self._numbers(name)) for name in numbers) + sum(counts)

    def columns(self, slab: slice) -> Iterator[np.ndarray]:
        """Read a slab of features in single precision, in table order."""
        return self._fetch(self._all_numbers[slab])

    def _fetch(self, numbers: list[_Number]) -> Iterator[np.ndarray]:
        # TRY_CAST gives NULL for numbers beyond single precision, where CAST would fail the whole query
        asked = ", ".join(f"TRY_CAST({number.sql} AS FLOAT) AS x{j}" for j, number in enumerate(numbers))
        found = self.table.fetch_columns(f"SELECT {asked} FROM {self.table.relation}")
        odd = [j for j in range(len(numbers)) if not np.isfinite(found[f"x{j}"]).all()]
        if odd:
            self._refuse_bad([numbers[j] for j in odd])
        for j in range(len(numbers)):
            yield found.pop(f"x{j}")

    def _refuse_bad(self, numbers: list[_Number]) -> None:
        """Raise if a cell is neither missing nor a finite number."""
        for number in numbers:
            value = f"TRY_CAST({number.sql} AS FLOAT)"
            bad = self.table.fetch_row(
                f"SELECT row FROM (SELECT {value} AS x, {number.given} IS NOT NULL AS given, "
                f"row_number() OVER () - 1 AS row FROM {self.table.relation}) "
                "WHERE given AND (x IS NULL OR NOT isfinite(x)) ORDER BY row LIMIT 1"
            )
            if bad is not None:
                self._refuse(int(bad[0]), number.column, number.wanted)

    def read(self) -> tuple[np.ndarray, csr_array | np.ndarray, tuple[str, ...]]:
        """Read ids, all features and their names into memory."""
        self._copy()
        n, blocks, names, kinds = len(self.ids), list[Any](), list[str](), list[str]()
        for dense, group in groupby(self.chosen, key=lambda name: self._kinds[name] in _DENSE):
            if dense:
                numbers = [number for name in group for number in self._numbers(name)]
                block = np.empty((n, len(numbers)), dtype=np.float32)
                for start in range(0, len(numbers), _COLUMNS_PER_QUERY):
                    some = numbers[start : start + _COLUMNS_PER_QUERY]
                    for j, values in enumerate(self._fetch(some), start):
                        block[:, j] = values
                blocks.append(block)
                names += [number.name for number in numbers]
                kinds += ["number"] * len(numbers)
                continue
            for name in group:
                made, texts = self._words(name) if name == self.text else self._categories(name)
                blocks.append(made)
                names += texts
                kinds += ["word" if name == self.text else "category"] * len(texts)
        self.kinds = tuple(kinds)
        if self._missing:
            count, cells = counted(sum(self._missing.values()), "missing cell"), listed_counts(self._missing)
            self.notes.append(f"{self.name}: {count} became the category 'missing': {cells}.")
        return self.ids, _join_blocks(blocks), tuple(names)

    def _categories(self, name: str) -> tuple[csr_array, list[str]]:
        n, text = len(self.ids), given_sql(self.table, name)
        self.table.execute(f"CREATE OR REPLACE TEMP TABLE category AS SELECT {text} AS text FROM features")
        missing = self.table.fetch_row("SELECT count(*) FROM category WHERE text IS NULL")[0]
        if missing:
            self._missing[name] = missing
            self.table.execute("UPDATE category SET text = 'missing' WHERE text IS NULL")
        values, found = encode_texts(self.table, "category", ["text"], ["rowid"])
        if len(values) > max(_MANY_CATEGORIES, n // 10):
            self.notes.append(
                f"{self.name}: column {quoted(name)} has {len(values):,} different texts, each a "
                f"feature of its own; text={quoted(name)} would take it word by word."
            )
        entries = (np.ones(n, dtype=np.float32), (found["rowid"], found["text"]))
        return csr_array(entries, shape=(n, len(values))), [f"{name}={value}" for value in values]

    def _words(self, name: str) -> tuple[csr_array, list[str]]:
        from sklearn.feature_extraction.text import TfidfVectorizer

        text = text_sql(self.table, name)
        texts = self.table.fetch_columns(f"SELECT coalesce({text}, '') AS t FROM features")["t"]
        vectorizer = TfidfVectorizer(dtype=np.float32)
        try:
            matrix = vectorizer.fit_transform(texts)
        except ValueError as error:
            raise ValueError(f"{self.name}: column {name!r} has no words to weigh.") from error
        return csr_array(matrix), [f"{name}:{word}" for word in vectorizer.get_feature_names_out()]

    def _refuse(self, row: int, name: str, wanted: str) -> NoReturn:
        node, value = (self._cell(sql, row) for sql in (self._id_sql, self.table.columns[name].sql))
        shown = "empty" if value is None or value == "" else repr(value)
        shown = shortened(shown, 100)
        raise ValueError(
            f"{self.name}: column {quoted(name)} of id {quoted(node)} is {shown}, not {wanted}; "
            "fill it in or leave the column out."
        )

    def _cell(self, sql: str, row: int) -> Any:
        return self.table.fetch_row(f"SELECT {sql} FROM {self.table.relation} LIMIT 1 OFFSET {row}")[0]


def _join_blocks(blocks: list[Any]) -> csr_array | np.ndarray:
    nonzeros = sum(block.nnz if issparse(block) else np.count_nonzero(block) for block in blocks)
    n, d = blocks[0].shape[0], sum(block.shape[1] for block in blocks)
    if nonzeros < _SPARSE_BELOW * n * d:
        return csr_array(hstack([csr_array(block) for block in blocks], format="csr"))
    dense = [block.toarray() if issparse(block) else block for block in blocks]
    return dense[0] if len(dense) == 1 else np.hstack(dense)


class LongTable:
    """A table with a row for each nonzero feature of a node, read as a sparse matrix."""

    obstacle = (
        "has a row for each feature of a node, and one for each node is needed: pivot it, or name its id and "
        "columns"
    )

    def __init__(self, table: Table, id: str, feature: str, value: str) -> None:
        self.table, self.id, self.feature, self.value = table, id, feature, value
        self.name, self.notes, self.kinds = table.name, table.notes, ()
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
        places = {node: i for i, node in enumerate(nodes)}
        table.execute(
            "CREATE TEMP TABLE entries AS SELECT id, feature, number FROM long "
            "WHERE feature IS NOT NULL AND NOT missing"
        )
        ids, found = encode_texts(table, "entries", ["id"], ["feature", "number"])
        names, columns = np.unique(found["feature"].astype(str), return_inverse=True)
        if not len(names):
            raise ValueError(
                f"{self.name} has no features: give at least one row with a feature and a value."
            )
        rows = np.array([places[node] for node in ids], dtype=np.int64)[found["id"]]
        entries = (found["number"].astype(np.float32), (rows, columns))
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
        table = self.table
        if not check_ids(table, "long", self.id):
            raise ValueError(f"{self.name} has no rows: give one for each node.")
        missing = table.fetch_row("SELECT count(*) FROM long WHERE feature IS NOT NULL AND missing")[0]
        if missing:
            self.notes.append(f"{self.name}: {counted(missing, 'missing value')} taken as zero.")
        bad = table.fetch_row(
            "SELECT rowid, id, feature FROM long WHERE feature IS NOT NULL AND NOT missing "
            "AND (number IS NULL OR NOT isfinite(number)) ORDER BY rowid LIMIT 1"
        )
        if bad is not None:
            row, node, feature = bad
            raise ValueError(
                f"{table.row_name(row)}: feature {quoted(feature)} of id {quoted(node)} "
                "is not a number; give one."
            )
        twice = table.fetch_row(
            "SELECT id, feature FROM long WHERE feature IS NOT NULL GROUP BY ALL HAVING count(*) > 1 "
            "ORDER BY min(rowid) LIMIT 1"
        )
        if twice:
            raise ValueError(
                f"{self.name}: id {quoted(twice[0])} has the feature {quoted(twice[1])} twice; keep one row."
            )
