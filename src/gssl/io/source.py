"""One table, from a file, many files, a query or a data frame, opened in DuckDB."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gssl.io.database import QUERY, connect, explain, interruptible, named, quoted
from gssl.io.dialect import Dialect, sniff_dialect
from gssl.io.paths import find_files, is_query

_PARQUET = {".parquet", ".pq"}
_JSON = {".json", ".jsonl", ".ndjson"}


@dataclass(frozen=True)
class Column:
    """A column as DuckDB knows it: the expression that reads it, and its type."""

    sql: str
    type: str


@dataclass
class Table:
    """An open table: where it came from, its columns, and the SQL that reads it.

    Attributes
    ----------
    name : str
        What errors call it.
    columns : dict
        From a column's name to its :class:`Column`.
    relation : str
        What stands behind ``FROM``.
    files : tuple of Path
        Empty for a query or a frame.
    notes : list of str
        What was odd about it.
    """

    name: str
    columns: dict[str, Column]
    relation: str
    connection: Any
    files: tuple[Path, ...] = ()
    notes: list[str] = field(default_factory=list)

    def run(self, sql: str) -> "Answer":
        """Run SQL, and give what answers for its rows."""
        return Answer(self, self.ask(lambda: self.connection.execute(sql)))

    def fetch(self, sql: str) -> dict[str, np.ndarray]:
        """Run SQL and give its columns; text comes as objects with None where there is none."""
        columns = self.ask(lambda: self.connection.execute(sql).fetchnumpy())
        return {name: _unmasked(values) for name, values in columns.items()}

    def ask(self, question: Callable[[], Any]) -> Any:
        """Ask DuckDB; what it has to complain about becomes one sentence about this table."""
        import duckdb

        try:
            with interruptible():
                return question()
        except (duckdb.Error, UnicodeDecodeError) as error:
            raise ValueError(explain(str(error), self.name)) from error

    def row(self, number: int) -> str:
        """Name a row, counted from 0 over all files, as a reader of the file would."""
        if len(self.files) > 1 and self.relation.startswith("read_"):
            counts = self.run(
                f"SELECT filename, count(*) FROM {self.relation[:-1]}, filename=true) GROUP BY ALL"
            ).fetchall()
            rows = {str(file): int(count) for file, count in counts}
            for file in self.files:
                if number < rows.get(str(file), 0):
                    return f"{file}, row {number + 1}"
                number -= rows.get(str(file), 0)
        return f"{self.name}, row {number + 1}"


@dataclass(frozen=True)
class Answer:
    """Rows that DuckDB may find only when they are asked for: its complaints then are of the same table."""

    table: Table
    rows: Any

    def fetchone(self) -> Any:
        """Give the next row, None where there is none."""
        return self.table.ask(self.rows.fetchone)

    def fetchmany(self, size: int) -> list[Any]:
        """Give the next rows."""
        return list(self.table.ask(lambda: self.rows.fetchmany(size)))

    def fetchall(self) -> list[Any]:
        """Give all rows that are left."""
        return list(self.table.ask(self.rows.fetchall))


def open_table(source: Any) -> Table:
    r"""Open a table without reading its rows yet.

    Parameters
    ----------
    source : path, glob, SQL or data frame
        CSV, TSV or other delimited text (also ``.gz``), Parquet or JSON lines, by suffix; ``"part-*.csv"``
        for many files with the same columns; ``"SELECT …"`` or ``"WITH …"``, run by DuckDB; or a pandas,
        polars or pyarrow table. Every cell of a text file is text. In a query DuckDB guesses types from a
        sample: write ``read_csv('…', all_varchar=true)`` there where ids have leading zeros in few rows.

    Returns
    -------
    Table

    Examples
    --------
    >>> table = open_table("SELECT '007' AS id, 1.5 AS x")
    >>> list(table.columns)
    ['id', 'x']
    >>> table.run(f"SELECT * FROM {table.relation}").fetchall()[0][0]
    '007'
    """
    if not isinstance(source, str | Path):
        from gssl.io.frames import frame_columns

        columns = frame_columns(source)
        connection = connect()
        connection.register("frame", columns)
        return _described("the table", "frame", connection)
    if is_query(source):
        return _open_query(str(source))
    files = find_files(source)
    suffixes = {_suffix(file) for file in files}
    if suffixes & _PARQUET:
        return _described(str(source), f"read_parquet({_listed(files)})", connect(), files)
    if suffixes & _JSON:
        return _open_json(str(source), files)
    return _open_text(str(source), files)


def _open_query(query: str) -> Table:
    import duckdb

    connection = connect()
    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise ValueError(explain(str(error), QUERY)) from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise ValueError(f"{QUERY} must be one SELECT and nothing else.")
    return _described(QUERY, f"({query.strip().rstrip(';')}\n)", connection)


def _described(name: str, relation: str, connection: Any, files: Sequence[Path] = ()) -> Table:
    table = Table(name, {}, relation, connection, tuple(files))
    for column, kind, *_ in table.run(f"DESCRIBE SELECT * FROM {relation}").fetchall():
        table.columns[column] = Column(named(column), kind)
    return table


def _open_json(name: str, files: Sequence[Path]) -> Table:
    if not any(file.stat().st_size for file in files):
        raise ValueError(f"{name} is empty: give a table with at least one row.")
    style = ", format='newline_delimited'" if _suffix(files[0]) != ".json" else ""
    plain = _described(name, f"read_json({_listed(files)}{style}, sample_size=-1)", connect(), files)
    # a number is kept as it is written, for 2⁶⁴ is no float
    kinds = {
        column: "JSON" if re.fullmatch(r"[A-Z0-9(), ]+", known.type) else known.type
        for column, known in plain.columns.items()
    }
    struct = ", ".join(f"{quoted(column)}: {quoted(kind)}" for column, kind in kinds.items())
    relation = f"read_json({_listed(files)}{style}, columns={{{struct}}})"
    columns = {column: Column(named(column), kind) for column, kind in kinds.items()}
    return Table(name, columns, relation, plain.connection, tuple(files))


def _open_text(name: str, files: Sequence[Path]) -> Table:
    dialect = sniff_dialect(files[0])
    for file in files[1:]:
        other = sniff_dialect(file)
        if other.names != dialect.names:
            raise ValueError(
                f"{file} has the columns {', '.join(other.names)} but {files[0]} has "
                f"{', '.join(dialect.names)}: files read together need the same columns."
            )
    columns = {column: Column(f"c{i}", "VARCHAR") for i, column in enumerate(dialect.names)}
    notes = []
    if not dialect.sure:
        what = "names the columns" if dialect.header else "is taken as data, for it holds numbers"
        notes.append(f"{name}: the first line {what}.")
    return Table(name, columns, _read_csv(files, dialect), connect(), tuple(files), notes)


def _read_csv(files: Sequence[Path], dialect: Dialect) -> str:
    # never detected by DuckDB, which would rather drop lines than complain
    struct = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(dialect.names)))
    return (
        f"read_csv({_listed(files)}, auto_detect=false, header={str(dialect.header).lower()}, "
        f"skip={dialect.skip}, delim={quoted(dialect.delimiter)}, quote='\"', escape='\"', "
        f"columns={{{struct}}})"
    )


def _listed(files: Iterable[Path]) -> str:
    from glob import escape

    return "[" + ", ".join(quoted(escape(str(file))) for file in files) + "]"


def _suffix(file: Path) -> str:
    return Path(file.stem).suffix.lower() if file.suffix.lower() == ".gz" else file.suffix.lower()


def _unmasked(values: Any) -> np.ndarray:
    if not np.ma.isMaskedArray(values):
        return np.asarray(values)
    if values.dtype == object:
        plain = values.data.copy()
        plain[np.ma.getmaskarray(values)] = None
        return np.asarray(plain)
    if values.dtype.kind == "f":
        return np.asarray(values.filled(np.nan))
    return np.where(np.ma.getmaskarray(values), np.nan, values.data.astype(np.float64))
