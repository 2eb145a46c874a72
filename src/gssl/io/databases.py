"""Copy a table, view or query of an SQLite or DuckDB file to Parquet; the file is opened read-only."""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from gssl.io.table_reading import (
    ERRORS,
    SQL_ERRORS,
    Column,
    connect,
    database_reason,
    interruptible,
    is_query,
    most_bytes,
    sql_name,
    sql_path,
    sql_string,
)
from gssl.wording import listed, printable, quoted, shortened

# first bytes of SQLite files; DuckDB files have theirs after a checksum of 8 bytes
_SQLITE, _DUCKDB = b"SQLite format 3\0", b"DUCK"
# versions at the end of the header of an SQLite file that writes changes to a log first
_LOGGED = b"\2\2"
# cells and bytes copied at a time, and cells read at a time, which all may be long
_CELLS, _BYTES, _FEW = 1 << 18, 1 << 26, 1 << 8
# bytes that a cell counts at least, and that it may always have
_LEAST, _LONGEST = 8, 1 << 20
# seconds to wait for another program that writes to a file
_PATIENCE = 2.0
# steps of SQLite's machine after which Python may handle Ctrl-C
_STEPS = 1 << 20
_SUFFIXES = (".db", ".sqlite", ".sqlite3", ".duckdb")
_ALLOWED = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
)
# schemas and names of tables and views; NULL for the schema that needs no name
_SQLITE_TABLES = (
    "SELECT NULL, name FROM sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_'"
)
_DUCKDB_TABLES = (
    "SELECT nullif(table_schema, 'main'), table_name FROM information_schema.tables "
    "WHERE table_catalog = current_database()"
)
_OWN_TABLES = "is only read: give one SELECT over its own tables"
# what the beginnings of messages of either database mean; None is an error in the SQL
_ERRORS = {
    SQL_ERRORS: None,
    "no such |ambiguous |near |incomplete input|unrecognized token|wrong number of |misuse of ": None,
    "database (table )?is locked|IO Error: Could not set lock|Connection Error: ": (
        "is open in another program that writes to it: close it there"
    ),
    "Permission Error: |Invalid Input Error: Cannot execute ": _OWN_TABLES,
    "not authorized|access to |You can only execute ": _OWN_TABLES,
    "attempt to write a readonly|unable to open": (
        "has changes beside it that are not finished: open and close it in its own program"
    ),
    "string or blob too big": "gives a cell that is longer than the file: select other columns",
    # the last is what DuckDB 1 says
    "Could not decode to UTF-8|Invalid Input Error: Python Conversion Failure: cannot encode|"
    "Out of Range Error: Cannot create a string of size: '-1'": ("holds text that is not UTF-8: repair it"),
    **{f"(?s:.*)({pattern})": meaning for pattern, meaning in ERRORS.items()},
}


def is_database(file: Path) -> bool:
    """Return whether a file is an SQLite or DuckDB database, by its first bytes."""
    start = _header(file)
    # the number of its version follows, as 8 bytes, and text has no zeros
    known = start.startswith(_SQLITE) or (start[8:12] == _DUCKDB and b"\0" in start[12:])
    if not known and b"\0" in start and file.suffix.lower() in _SUFFIXES:
        raise ValueError(f"{file} is not an SQLite or DuckDB database, or is damaged: check the file.")
    return known


def copy_database(
    file: Path, inside: str | None, folder: Path, most: int | None = None
) -> tuple[dict[str, Column], list[str]]:
    """Copy a table, or the result of a SELECT, to Parquet files in a folder; return columns and notes.

    If ``inside`` is None, the file must have one table or view only. Cells of more than ``most`` bytes are
    refused, by default more than a file of its size holds.
    """
    most = most_bytes(_size(file)) if most is None else most
    sqlite = _header(file).startswith(_SQLITE)
    with explained(file), _open_sqlite(file) if sqlite else _open_duckdb(file, folder) as connection:
        sql = _select(file, inside, connection, _SQLITE_TABLES if sqlite else _DUCKDB_TABLES)
        return (_copy_sqlite if sqlite else _copy_duckdb)(file, sql, connection, folder, most)


def _select(file: Path, inside: str | None, connection: Any, tables: str) -> str:
    """Return the SELECT that reads what is named inside a database."""
    if inside is not None and is_query(inside):
        return inside.strip().rstrip(";")
    parts = {
        ".".join(part for part in row if part is not None): ".".join(
            sql_name(part) for part in row if part is not None
        )
        for row in sorted(connection.execute(tables).fetchall(), key=str)
    }
    if not parts:
        raise ValueError(f"{file} has no tables: name another database.")
    if inside is None and len(parts) > 1:
        raise ValueError(
            f"{file} has {len(parts)} tables ({listed(parts)}): name one, as in {file}::{next(iter(parts))}, "
            f'or give SQL, as in "{file}::SELECT …".'
        )
    name = next(iter(parts)) if inside is None else inside
    if name not in parts:
        raise ValueError(f"{file} has no table {quoted(name)}; it has {listed(parts, 7)}.")
    return f"SELECT * FROM {parts[name]}"


@contextmanager
def explained(file: Path) -> Iterator[None]:
    """Turn errors of both databases into one sentence."""
    import duckdb

    try:
        with interruptible():
            yield
    except (sqlite3.Error, sqlite3.Warning, duckdb.Error) as error:
        message = str(error)
        if message == "interrupted" or isinstance(error, duckdb.InterruptException):
            raise KeyboardInterrupt from error
        for pattern, meaning in _ERRORS.items():
            if re.match(pattern, message):
                reason = shortened(printable(database_reason(message)), 200)
                raise ValueError(
                    f"{file} {meaning or f'cannot answer: {reason}; repair the SQL'}."
                ) from error
        raise ValueError(
            f"{file} cannot be read: it is damaged, or of a newer version of its database; write it again."
        ) from error


@contextmanager
def _open_sqlite(file: Path) -> Iterator[sqlite3.Connection]:
    """Open an SQLite file so that neither SQL nor views in it can write, attach files or load code."""
    file = file.resolve()
    # a database that uses a log and has none now is open nowhere: SQLite would make a log and leave it there
    closed = _header(file)[18:] == _LOGGED and not file.with_name(f"{file.name}-wal").exists()
    uri = f"{file.as_uri()}?mode=ro{'&immutable=1' if closed else ''}"
    with closing(sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)) as connection:
        for setting in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {setting}")
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        # no cell that is stored is longer than the file, but one that a view makes may be
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(max(_LONGEST, _size(file)), 2**31 - 1))
        connection.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
        )
        connection.set_progress_handler(lambda: None, _STEPS)
        yield connection


def _header(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(20)


@contextmanager
def _open_duckdb(file: Path, folder: Path) -> Iterator[Any]:
    """Open a DuckDB file so that neither SQL nor views in it can access other files than the copy."""
    import duckdb

    settings: Any = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    with closing(duckdb.connect(str(file.resolve()), read_only=True, config=settings)) as connection:
        for setting in (
            "enable_progress_bar = false",
            f"temp_directory = {sql_string(str(folder / 'spilled'))}",
            f"allowed_directories = [{sql_string(f'{folder}/')}]",
            "python_enable_replacements = false",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            connection.execute(f"SET {setting}")
        yield connection


def _copy_duckdb(
    file: Path, sql: str, connection: Any, folder: Path, most: int
) -> tuple[dict[str, Column], list[str]]:
    import duckdb

    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise ValueError(f"{file} {_OWN_TABLES}.")
    described = connection.execute(f"DESCRIBE {sql}").fetchall()
    names, kinds = [row[0] for row in described], [row[1] for row in described]
    numbered = [f"c{i}" for i in range(len(names))]
    # Parquet has no integers of 128 bits
    cells = [
        f"{column}::VARCHAR AS {column}" if kind.endswith("HUGEINT") else column
        for column, kind in zip(numbered, kinds, strict=True)
    ]
    part = folder / "0.parquet"
    rows = f"SELECT {', '.join(cells)} FROM ({sql}\n) AS q({', '.join(numbered)})"
    limit = most // (_LEAST * len(names))
    count = connection.execute(f"COPY ({rows} LIMIT {limit + 1}) TO {sql_string(str(part))}").fetchone()[0]
    if count > limit:
        raise _endless(file, most)
    stored = connect().execute(f"DESCRIBE SELECT * FROM read_parquet({sql_path(part)})").fetchall()
    columns = [Column(column, kind) for column, kind, *_ in stored]
    return dict(zip(_distinct(names, file), columns, strict=True)), []


def _copy_sqlite(
    file: Path, sql: str, connection: Any, folder: Path, most: int
) -> tuple[dict[str, Column], list[str]]:
    """Copy rows as text, and note the types of each column, because every cell may have another."""
    cursor = connection.execute(sql)
    names = _distinct([entry[0] for entry in cursor.description], file)
    kinds: list[set[type]] = [set() for _ in names]

    def chunks() -> Iterator[list[np.ndarray]]:
        for rows in _row_groups(file, cursor, len(names), most):
            columns = list(zip(*rows, strict=True))
            for cells, seen in zip(columns, kinds, strict=True):
                seen.update(map(type, cells))
            yield [_texts(cells) for cells in columns]

    write_parts(folder, len(names), chunks())
    columns = {name: _sqlite_column(i, seen) for i, (name, seen) in enumerate(zip(names, kinds, strict=True))}
    binary = [name for name, seen in zip(names, kinds, strict=True) if bytes in seen]
    notes = [f"{file}: left out what holds binary data: {listed(binary)}."] if binary else []
    return {name: column for name, column in columns.items() if name not in binary}, notes


def _row_groups(file: Path, cursor: Any, n_columns: int, most: int) -> Iterator[list[Any]]:
    """Read rows in groups of limited size; raise if there are far more than a file of its size has."""
    total, start = 0, 0
    group: list[Any] = []
    while rows := cursor.fetchmany(max(1, _FEW // n_columns)):
        total += sum(
            max(_LEAST, len(cell)) if isinstance(cell, str | bytes) else _LEAST
            for row in rows
            for cell in row
        )
        if total > most:
            raise _endless(file, most)
        group += rows
        if len(group) * n_columns >= _CELLS or total - start >= _BYTES:
            yield group
            group, start = [], total
    if group:
        yield group


def _size(file: Path) -> int:
    """Return the bytes of a database and of the log beside it."""
    return sum(part.stat().st_size for part in (file, file.with_name(f"{file.name}-wal")) if part.exists())


def _endless(file: Path, most: int) -> ValueError:
    return ValueError(
        f"{file} has {_size(file):,} bytes and gives more than {most:,}, as an endless view does: select "
        "fewer rows."
    )


def _sqlite_column(number: int, seen: set[type]) -> Column:
    kind = "VARCHAR"
    if seen - {type(None)} and seen <= {int, float, type(None)}:
        kind = "DOUBLE" if float in seen else "BIGINT"
    return Column(f"c{number}" if kind == "VARCHAR" else f"CAST(c{number} AS {kind})", kind)


def write_parts(folder: Path, n_columns: int, chunks: Iterable[Sequence[np.ndarray]]) -> None:
    """Write chunks of columns of text as numbered Parquet files with the columns c0, c1 and so on."""
    connection = connect()
    # DuckDB would guess the type of a column from its first cells, which may be missing
    connection.execute("SET pandas_analyze_sample = 0")
    # the first chunk has no rows, because there may be no other
    empty = [np.empty(0, dtype=object)] * n_columns
    for number, chunk in enumerate(chain([empty], chunks)):
        connection.register("chunk", {f"c{i}": column for i, column in enumerate(chunk)})
        connection.execute(f"COPY chunk TO {sql_string(str(folder / f'{number:09}.parquet'))}")
        connection.unregister("chunk")


def _texts(cells: Iterable[Any]) -> np.ndarray:
    """Return cells as text; missing cells and binary data are None."""
    texts = (None if cell is None or isinstance(cell, bytes) else str(cell) for cell in cells)
    return np.fromiter(texts, dtype=object)


def _distinct(names: list[str], file: Path) -> list[str]:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{file}: the SQL gives two columns named {quoted(twice)}: rename one by AS.")
    return names
