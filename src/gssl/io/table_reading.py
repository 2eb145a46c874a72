"""Open tables in DuckDB: from files, a query or a data frame."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from glob import escape, glob, has_magic
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any

import numpy as np

from gssl.files import readable
from gssl.io.dialect import Dialect, copy_lines, find_oddities, open_plain, sniff_dialect
from gssl.scale.run_folder import RunFolder
from gssl.wording import listed, quoted, shortened

_PARQUET = {".parquet", ".pq"}
_JSON = {".json", ".jsonl", ".ndjson"}
# decompression bombs: beyond _LARGE bytes, contents may be at most so many times as large as their file; gzip
# files from _SMALL on are not checked, and Parquet may have a larger ratio, for columns of zeros
_LARGE, _SMALL = 1 << 30, 1 << 26
_BOMB, _PARQUET_BOMB = 200, 2000
# characters of a DuckDB message to show in an error
_LONGEST = 200
# the name of an SQL query in errors
_QUERY = "the query"
# DuckDB's messages about SQL name columns and tables, which may be called like another error
SQL_ERRORS = "(Binder|Catalog|Parser) Error: "
# explanations of its other messages
ERRORS = {
    "offload data block|No space left": (
        "needs more disk space while it is read: free some space, or set TMPDIR to another disk"
    ),
    "Out of Memory Error": (
        "does not fit into the available memory: give a larger memory budget, fewer columns or fewer rows"
    ),
    "(?i:utf-?8|unicode)": "is not UTF-8 text: save the file as UTF-8",
    "unterminated quote": "opens a quotation mark that is never closed: repair the line",
    "Maximum line size": "is longer than 2 MB: check the quotation marks and the ends of lines",
}


@dataclass(frozen=True)
class Column:
    """The SQL expression that reads a column, and its DuckDB type."""

    sql: str
    type: str


@dataclass
class Table:
    """An open table."""

    # for messages
    name: str
    columns: dict[str, Column]
    # follows FROM in SQL
    relation: str
    connection: Any
    # empty for a query or a data frame
    files: tuple[Path, ...] = ()
    # sentences about irregularities
    notes: list[str] = field(default_factory=list)
    # whether it is known that no cell has surrounding white space
    stripped: bool = False
    # how false and true are written
    truths: tuple[str, str] = ("false", "true")
    # whether cells may have an apostrophe as a guard against formulas
    guarded: bool = False
    # if files are cleaned copies of text files: originals by copy, and the folder of the copies
    originals: dict[str, str] = field(default_factory=dict)
    folder: RunFolder | None = None
    # only for delimited text
    dialect: Dialect | None = None
    # only for a data frame: its columns, which are registered in the connection
    frame: dict[str, np.ndarray] | None = None

    def use_connection(self, connection: Any, frame_name: str) -> None:
        """Read the table in another connection, in which a data frame has this name."""
        self.connection = connection
        if self.frame is not None:
            self.relation = frame_name
            connection.register(frame_name, self.frame)

    def execute(self, sql: str) -> None:
        """Run SQL without a result."""
        self._query(sql, lambda answer: None)

    def fetch_row(self, sql: str) -> Any:
        """Return the first row of a query, or None."""
        return self._query(sql, lambda answer: answer.fetchone())

    def fetch_rows(self, sql: str) -> list[Any]:
        """Return all rows of a query."""
        return list(self._query(sql, lambda answer: answer.fetchall()))

    def fetch_columns(self, sql: str) -> dict[str, np.ndarray]:
        """Return the columns of a query; missing text is None, missing numbers are NaN."""
        columns = self._query(sql, lambda answer: answer.fetchnumpy())
        return {name: _unmasked(values) for name, values in columns.items()}

    def _query(self, sql: str, take: Callable[[Any], Any]) -> Any:
        """Run SQL and fetch its result; turn DuckDB's errors in either into one sentence."""
        import duckdb

        try:
            with interruptible():
                return take(self.connection.execute(sql))
        except (duckdb.Error, UnicodeDecodeError) as error:
            raise ValueError(_explain(str(error), self.name, self.originals)) from error

    def row_name(self, number: int) -> str:
        """Return the file and row number, from 1, of a row that is numbered from 0 over all files."""
        if len(self.files) > 1:
            counts = self.fetch_rows(
                f"SELECT filename, count(*) FROM {self.relation[:-1]}, filename=true) GROUP BY ALL"
            )
            rows = {str(file): int(count) for file, count in counts}
            for file in self.files:
                if number < rows.get(str(file), 0):
                    return f"{self.originals.get(str(file), file)}, row {number + 1}"
                number -= rows.get(str(file), 0)
        return f"{self.name}, row {number + 1}"

    def missing_id_error(self, number: int, column: str) -> ValueError:
        """Return the error about a row without an id."""
        return ValueError(
            f"{self.row_name(number)}: column {quoted(column)} has no id; remove the row or fill it in."
        )


def open_table(source: Any, *, header: bool | None = None, graph_part: str = "edges") -> Table:
    r"""Open a table without reading its rows yet.

    Parameters
    ----------
    source : path, glob, SQL or data frame
        CSV, TSV or other delimited text (also ``.gz``), Parquet or JSON lines, by suffix; ``"part-*.csv"``
        for many files with the same columns; ``"SELECT …"`` or ``"WITH …"``, run by DuckDB; or a pandas,
        polars or pyarrow table. All cells of a text file are read as text, without the apostrophe that
        :func:`gssl.io.write_columns` puts before formulas. In a query, DuckDB guesses types from a sample:
        use ``read_csv('…', all_varchar=true)`` if ids may have leading zeros.

        In an SQLite or DuckDB file, ``"file.db::table"`` is a table or view, ``"file.db::SELECT …"`` a query
        over them, and ``"file.db"`` its only table. A graph file (GraphML, GEXF, GML or node-link JSON) has
        the tables ``"file.gml::edges"`` and ``"file.gml::nodes"``.
    header : bool, optional
        Whether the first line of a text file names the columns; detected if None.
    graph_part : "edges" or "nodes", default="edges"
        The table of a graph file if the source names none.

    Returns
    -------
    Table

    Examples
    --------
    >>> table = open_table("SELECT '007' AS id, 1.5 AS x")
    >>> list(table.columns)
    ['id', 'x']
    >>> table.fetch_row(f"SELECT * FROM {table.relation}")[0]
    '007'
    """
    if not isinstance(source, str | Path):
        return _open_frame(source)
    if is_query(source):
        return _open_query(str(source))
    files, inside = find_files(source), split_inside(source)[1]
    suffixes = {_suffix(file) for file in files}
    for file in files:
        refuse_packed_bomb(file)
    container = _open_container(str(source), files, inside, graph_part)
    if container is not None:
        return container
    if suffixes & _PARQUET:
        refuse_wide_claims(files)
        return _described(str(source), f"read_parquet({_sql_list(files)})", connect(), files)
    if suffixes & _JSON:
        return _open_json(str(source), files)
    return _open_text(str(source), files, header)


def refuse_packed_bomb(file: Path, large: int = _LARGE) -> None:
    """Raise if a small gzip file unpacks to far more than text would; read it without keeping it."""
    packed = file.stat().st_size
    # deflate compresses at most 1032-fold, and a file that is not small may have large contents
    if file.suffix.lower() != ".gz" or not large // 1032 < packed < _SMALL:
        return
    most, unpacked = most_bytes(packed, large), 0
    with open_plain(file) as stream:
        while part := stream.read(1 << 20):
            unpacked += len(part)
            if unpacked > most:
                raise ValueError(
                    f"{file} unpacks from {packed:,} bytes to more than {most:,} and may be a decompression "
                    "bomb: if you trust it, unpack it first."
                )


def most_bytes(packed: int, large: int = _LARGE) -> int:
    """Return how many bytes a file of some size may contain without being taken for a bomb."""
    return max(large, _BOMB * packed)


def refuse_wide_claims(files: Sequence[Path], large: int = _LARGE) -> None:
    """Raise if the footer of a Parquet file claims far more cells than the file has bytes."""
    table = Table(str(files[0]), {}, "", connect(), tuple(files))
    for file in files:
        about = sql_path(file)
        rows = table.fetch_row(f"SELECT num_rows FROM parquet_file_metadata({about})")
        columns = table.fetch_row(f"SELECT count(*) FROM parquet_schema({about}) WHERE num_children IS NULL")
        n_bytes, packed = 8 * int(rows[0] or 0) * int(columns[0]), file.stat().st_size
        if n_bytes > max(large, _PARQUET_BOMB * packed):
            raise ValueError(
                f"{file} claims {rows[0]:,} rows in {packed:,} bytes and may be a decompression bomb: if you "
                "trust it, write it as several files, or without compression."
            )


def _open_container(name: str, files: Sequence[Path], inside: str | None, graph_part: str) -> Table | None:
    """Open a table of a database or a graph file as a copy; return None for files that are one table."""
    from gssl.io.databases import copy_database, explained, is_database, write_parts
    from gssl.io.graph_files import PARTS, is_graph_file, read_graph_file

    file, suffix = files[0], _suffix(files[0])
    database, graph = is_database(file), is_graph_file(file, suffix)
    if not database and not graph:
        if inside is not None:
            raise ValueError(f"{file} is neither a database nor a graph: leave out ::{shortened(inside)}.")
        return None
    if len(files) > 1:
        raise ValueError(f"{name} matches {len(files)} files, and {file} has tables in it: name one file.")
    folder = RunFolder()
    with folder.explained(folder.path):
        if database:
            columns, notes = copy_database(file, inside, folder.path)
        else:
            if (part := inside or graph_part) not in PARTS:
                raise ValueError(f"{file} has the parts {' and '.join(PARTS)}, not {quoted(part)}.")
            arrays, notes = read_graph_file(file, suffix, part)
            with explained(file):
                write_parts(folder.path, len(arrays), [list(arrays.values())])
            columns = {column: Column(f"c{i}", "VARCHAR") for i, column in enumerate(arrays)}
    relation = f"read_parquet({_sql_list(sorted(folder.path.glob('*.parquet')))})"
    return Table(name, columns, relation, connect(), notes=notes, folder=folder)


def split_inside(source: str | Path) -> tuple[str, str | None]:
    """Split ``file.db::table`` into the file and what is named inside it, None if there is nothing."""
    file, mark, inside = str(source).partition("::")
    if not mark or isinstance(source, Path) or S_ISREG(_mode(Path(source))):
        return str(source), None
    return file, inside.strip()


def _mode(path: Path) -> int:
    """Return the mode of what is at a path, 0 if nothing is there or the text cannot be a path."""
    try:
        return path.expanduser().stat().st_mode
    except (OSError, ValueError):
        return 0


def is_query(source: Any) -> bool:
    """Return whether a source is an SQL query, not a path."""
    if not isinstance(source, str) or not re.match(r"\s*\(?\s*(select|with)\s", source, re.I):
        return False
    # a file may be named "with labels.csv"
    return not S_ISREG(_mode(Path(split_inside(source)[0])))


def find_files(source: str | Path) -> list[Path]:
    """Return the files that match a path or glob, sorted; the path of an existing file is never a glob."""
    text = split_inside(source)[0]
    if not text.strip():
        raise ValueError("a table has no name: give a file, a glob or a query.")
    if re.match(r"\w+://", text):
        raise ValueError(f"{text} is not on this machine: download it and name the file.")
    path = Path(text).expanduser()
    mode = _mode(path)
    if S_ISREG(mode):
        return [readable(path)]
    if S_ISDIR(mode):
        raise ValueError(f"{text} is a folder: name a file, or files by {text.rstrip('/')}/*.csv.")
    if has_magic(text):
        files = sorted(Path(name) for name in glob(str(path), recursive=True) if Path(name).is_file())  # noqa: PTH207
        if not files:
            raise FileNotFoundError(f"no file matches {text}: check its name and folder.")
        return [readable(file) for file in files]
    if mode:
        raise ValueError(
            f"{text} is not a regular file, and tables are read more than once: save it as a file."
        )
    raise FileNotFoundError(f"{text} does not exist: check its name and folder.")


def find_file(source: str | Path) -> Path:
    """Return the one file that matches a path or glob."""
    files = find_files(source)
    if len(files) > 1:
        raise ValueError(f"{source} matches {len(files)} files: name one.")
    return files[0]


def connect() -> Any:
    """Open a new DuckDB connection that keeps row order and loads no extensions from the network."""
    import duckdb

    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    connection.execute("SET enable_progress_bar = false")
    return connection


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn the RuntimeError that DuckDB raises on Ctrl-C into KeyboardInterrupt."""
    try:
        yield
    except RuntimeError as error:
        if "interrupt" not in str(error).lower():
            raise
        raise KeyboardInterrupt from error


def sql_string(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def sql_path(file: Path) -> str:
    """Return the path of a file as an SQL literal; DuckDB would take brackets in it for a glob."""
    return sql_string(escape(str(file)))


def sql_name(text: str) -> str:
    """Return a text as an SQL identifier."""
    return '"' + text.replace('"', '""') + '"'


def database_reason(message: str) -> str:
    """Return the first line of a DuckDB message, without the error type."""
    first = next((part for part in message.splitlines() if part.strip()), message)
    return re.sub(r"^(\w+ )*Error: ", "", first).rstrip(" .!")


def _explain(message: str, name: str, originals: dict[str, str]) -> str:
    """Turn an error of DuckDB into one sentence with the file, the line and what to do."""
    file = re.search(r"^\s*file = (.+)$", message, re.M)
    name = originals.get(file.group(1), file.group(1)) if file else name
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f"{name}, line {line.group(1)}" if line else name
    ragged = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if ragged:
        cells = f"{ragged.group(2)} cell" + ("s" if ragged.group(2) != "1" else "")
        return f"{where} has {cells} where there should be {ragged.group(1)}: repair the line."
    for pattern, explanation in ERRORS.items():
        if re.search(pattern, message) and not re.match(SQL_ERRORS, message):
            return f"{where} {explanation}."
    if name == _QUERY:
        # DuckDB's message is about the user's SQL
        return f"{where} cannot be read: {database_reason(message)[:_LONGEST]}; repair it."
    if line:
        return f"{where} cannot be read: check its quotation marks and the number of its cells."
    return f"{where} cannot be read: it is damaged or of another format than its name says; write it again."


def _open_query(query: str) -> Table:
    import duckdb

    connection = connect()
    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise ValueError(_explain(str(error), _QUERY, {})) from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise ValueError(f"{_QUERY} must be one SELECT and nothing else.")
    return _described(_QUERY, f"({query.strip().rstrip(';')}\n)", connection)


def _open_frame(source: Any) -> Table:
    from gssl.io.data_frames import NamedFrame, frame_columns

    frame = source if isinstance(source, NamedFrame) else NamedFrame(source)
    (columns, notes), connection = frame_columns(frame), connect()
    connection.register("frame", columns)
    table = _described(frame.name, "frame", connection)
    table.notes += notes
    table.frame = columns
    # as pandas writes them to CSV
    table.truths = ("False", "True")
    return table


def _described(name: str, relation: str, connection: Any, files: Sequence[Path] = ()) -> Table:
    table = Table(name, {}, relation, connection, tuple(files))
    for column, kind, *_ in table.fetch_rows(f"DESCRIBE SELECT * FROM {relation}"):
        table.columns[column] = Column(sql_name(column), kind)
    return table


def _open_json(name: str, files: Sequence[Path]) -> Table:
    if not any(file.stat().st_size for file in files):
        raise ValueError(f"{name} is empty: give a table with at least one row.")
    style = ", format='newline_delimited'" if _suffix(files[0]) != ".json" else ""
    plain = _described(name, f"read_json({_sql_list(files)}{style}, sample_size=-1)", connect(), files)
    # numbers are kept as text, because floats cannot represent an integer such as 2⁶⁴ + 1
    kinds = {
        column: "JSON" if re.fullmatch(r"[A-Z0-9(), ]+", known.type) else known.type
        for column, known in plain.columns.items()
    }
    struct = ", ".join(f"{sql_string(column)}: {sql_string(kind)}" for column, kind in kinds.items())
    relation = f"read_json({_sql_list(files)}{style}, columns={{{struct}}})"
    columns = {column: Column(sql_name(column), kind) for column, kind in kinds.items()}
    return Table(name, columns, relation, plain.connection, tuple(files))


def _open_text(name: str, files: Sequence[Path], header: bool | None) -> Table:
    dialect = sniff_dialect(files[0], header)
    for file in files[1:]:
        other = sniff_dialect(file, header)
        if other.names != dialect.names:
            raise ValueError(
                f"{file} has the columns {listed(other.names, 3)} but {files[0]} has "
                f"{listed(dialect.names, 3)}: files read together need the same columns."
            )
    table = _clean_table(name, files, dialect)
    if header is None and not dialect.sure:
        dialect = _resolve_header(table, files[0], dialect)
        table.columns = _text_columns(dialect)
        assert table.dialect is not None
        table.dialect = replace(table.dialect, header=dialect.header, names=dialect.names)
        table.relation = _read_csv(table.files, table.dialect)
        what = "names the columns" if dialect.header else "is taken as data"
        table.notes.append(f"{name}: the first line {what}.")
    return table


def _clean_table(name: str, files: Sequence[Path], dialect: Dialect) -> Table:
    """Open text files, or cleaned copies of all of them if DuckDB would misread any."""
    odd = [find_oddities(file, dialect) for file in files]
    runs = dialect.delimiter == " " and any(facts.spaces for facts in odd)
    table = Table(name, _text_columns(dialect), "", connect(), tuple(files))
    if runs or any(facts.mixed_line_ends or facts.comments for facts in odd):
        table.folder = RunFolder()
        copies = [table.folder.path / f"{i}.csv" for i in range(len(files))]
        with table.folder.explained(table.folder.path):
            separators = [
                copy_lines(file, copy, dialect, runs) for file, copy in zip(files, copies, strict=True)
            ]
        dialect = replace(dialect, delimiter=separators[0])
        table.files = tuple(copies)
        table.originals = {str(copy): str(file) for copy, file in zip(copies, files, strict=True)}
    table.relation = _read_csv(table.files, dialect)
    table.dialect = dialect
    table.stripped = runs or not any(facts.spaces for facts in odd)
    table.guarded = any(facts.guards for facts in odd)
    return table


def _resolve_header(table: Table, file: Path, dialect: Dialect) -> Dialect:
    """Treat an uncertain header as data if one of its cells recurs, as an id or in its column."""
    if not dialect.header:
        return dialect
    ends = ", ".join(sql_string(cell) for cell in dialect.first[:2] if cell)
    asked = [f"c{i} IN ({ends})" for i in range(min(2, len(dialect.first)))]
    asked += [f"c{i} = {sql_string(cell)}" for i, cell in enumerate(dialect.first[2:50], start=2) if cell]
    recurs = table.fetch_row(f"SELECT 1 FROM {table.relation} WHERE {' OR '.join(asked)} LIMIT 1")
    return dialect if recurs is None else sniff_dialect(file, header=False)


def _text_columns(dialect: Dialect) -> dict[str, Column]:
    return {column: Column(f"c{i}", "VARCHAR") for i, column in enumerate(dialect.names)}


def _read_csv(files: Sequence[Path], dialect: Dialect) -> str:
    # without DuckDB's detection, which drops malformed lines instead of raising
    struct = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(dialect.names)))
    # DuckDB takes a carriage return inside a name for the end of all lines, and then reads no row
    ends = ", new_line='\\n'" if any("\r" in cell for cell in dialect.first) else ""
    return (
        f"read_csv({_sql_list(files)}, auto_detect=false, header={str(dialect.header).lower()}, "
        f"skip={dialect.skip}, delim={sql_string(dialect.delimiter)}, quote='\"', escape='\"', "
        f"columns={{{struct}}}{ends})"
    )


def _sql_list(files: Iterable[Path]) -> str:
    return "[" + ", ".join(sql_path(file) for file in files) + "]"


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
