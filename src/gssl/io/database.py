"""DuckDB: a connection, names and texts in its SQL, and its complaints in one sentence."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# what errors call an SQL query, which has no name
QUERY = "the query"


def connect() -> Any:
    """Give a DuckDB connection of its own that keeps row order and fetches nothing from the network.

    Examples
    --------
    >>> connect().execute("SELECT 1").fetchall()
    [(1,)]
    """
    import duckdb

    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    connection.execute("SET enable_progress_bar = false")
    return connection


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C be Ctrl-C also while DuckDB works, which calls it a RuntimeError.

    Examples
    --------
    >>> try:
    ...     with interruptible():
    ...         raise RuntimeError("Query interrupted")
    ... except KeyboardInterrupt:
    ...     print("Ctrl-C")
    Ctrl-C
    """
    try:
        yield
    except RuntimeError as error:
        if "interrupt" not in str(error).lower():
            raise
        raise KeyboardInterrupt from error


def quoted(text: str) -> str:
    """Write a text as an SQL literal.

    Examples
    --------
    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def named(text: str) -> str:
    """Write a text as an SQL name.

    Examples
    --------
    >>> print(named("source"))
    "source"
    """
    return '"' + text.replace('"', '""') + '"'


def explain(message: str, name: str) -> str:
    r"""Turn DuckDB's paragraph into one sentence that names the file, the line and what to do.

    Examples
    --------
    >>> text = "CSV Error on Line: 3\nExpected Number of Columns: 2 Found: 1\n  file = a.csv\n"
    >>> explain(text, "*.csv")
    'a.csv, line 3 has 1 cell where there should be 2: repair the line.'
    """
    file = re.search(r"^\s*file = (.+)$", message, re.M)
    name = file.group(1) if file else name
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f"{name}, line {line.group(1)}" if line else name
    if "offload data block" in message or "No space left" in message:
        return (
            f"{where} needs more room on the disk while it is read: make room, or set TMPDIR to another disk."
        )
    if "Out of Memory Error" in message:
        return (
            f"{where} does not fit into the memory that it may take: give a larger memory budget, fewer "
            "columns or fewer rows."
        )
    ragged = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if ragged:
        cells = f"{ragged.group(2)} cell" + ("s" if ragged.group(2) != "1" else "")
        return f"{where} has {cells} where there should be {ragged.group(1)}: repair the line."
    if "utf-8" in message.lower() or "unicode" in message.lower() or "utf8" in message.lower():
        return f"{where} is not UTF-8 text: save the file as UTF-8."
    if "unterminated quote" in message:
        return f"{where} opens a quotation mark that is never closed: repair the line."
    first = next((part for part in message.splitlines() if part.strip()), message)
    first = re.sub(r"^(\w+ )*Error: ", "", first).rstrip(" .")
    if name == QUERY:
        return f"{where} cannot be read: {first.rstrip('!')}; repair it."
    return f"{where} cannot be read: {first}; write the file again."
