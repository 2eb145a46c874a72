"""Choose columns of a table, and generate the SQL that reads them as text or numbers."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gssl.io.dialect import unguarded_sql
from gssl.io.table_reading import Column, Table, sql_string
from gssl.wording import MISSING, counted, listed, quoted

# white space, as an RE2 regular expression and in SQL
_SPACED = r"^[\s\x{a0}\x{3000}\x{feff}]|[\s\x{a0}\x{3000}\x{feff}]$"
_SPACES = "concat(' ', chr(9), chr(10), chr(11), chr(12), chr(13), chr(160), chr(12288), chr(65279))"
# number of ids for which a spelling hint is searched
_HINTED = 20
IDS = ("id", "node", "node_id", "nodeid", "name", "key", "")


def pick_column(table: Table, name: str | None, guesses: Sequence[str], fallback: int) -> str:
    """Return the column ``name`` or, if None, the first guess that exists, else the one at ``fallback``."""
    there = list(table.columns)
    if name is not None:
        if name not in table.columns:
            raise ValueError(f"{table.name} has no column {quoted(name)}; it has {listed(there, 7)}.")
        return name
    by_lower = {column.lower(): column for column in reversed(there)}
    for guess in guesses:
        if guess in by_lower:
            return by_lower[guess]
    if fallback >= len(there):
        raise ValueError(
            f"{table.name} has only {counted(len(there), 'column')} ({listed(there, 7)}) and needs "
            f"{fallback + 1}: check the separator of the file."
        )
    return there[fallback]


def text_sql(table: Table, name: str) -> str:
    """Return the SQL that reads a column as text without surrounding white space, and empty cells as NULL.

    Whole numbers stored as floats lose their ``.0``: integers with missing cells are often stored so.
    """
    column = table.columns[name]
    kind, sql = column.type, column.sql
    if kind == "VARCHAR":
        sql = sql if table.stripped else stripped_sql(sql)
        return f"nullif({unguarded_sql(sql) if table.guarded else sql}, '')"
    if kind == "JSON":
        text = f"({sql}->>'$')"
        whole = f"regexp_replace({text}, '\\.0+$', '')"
        return f"nullif(CASE WHEN json_type({sql}) = 'DOUBLE' THEN {whole} ELSE {stripped_sql(text)} END, '')"
    if kind == "BLOB":
        return f"nullif(decode({sql}), '')"
    if kind in ("DOUBLE", "FLOAT") or kind.startswith("DECIMAL"):
        return _text_of_floats(table, name, column)
    if kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION")):
        raise ValueError(
            f"{table.name}: column {quoted(name)} holds lists, but text or numbers are expected: name "
            "another column."
        )
    if kind == "BOOLEAN":
        return f"CASE {sql} WHEN true THEN '{table.truths[1]}' WHEN false THEN '{table.truths[0]}' END"
    return f"CAST({sql} AS VARCHAR)"


def raw_text_sql(column: Column) -> str:
    """Return the SQL that reads a column as text, unchanged."""
    if column.type == "JSON":
        return f"({column.sql}->>'$')"
    return column.sql if column.type == "VARCHAR" else f"CAST({column.sql} AS VARCHAR)"


def given_sql(table: Table, name: str) -> str:
    """Return the SQL that reads a column as text, with empty cells and missing-value markers as NULL."""
    text, markers = text_sql(table, name), ", ".join(sql_string(marker) for marker in MISSING)
    return f"CASE WHEN {text} IN ({markers}) THEN NULL ELSE {text} END"


def stripped_sql(sql: str) -> str:
    """Return the SQL that strips white space; testing for it first is faster than always using ``trim``."""
    return f"CASE WHEN regexp_matches({sql}, '{_SPACED}') THEN trim({sql}, {_SPACES}) ELSE {sql} END"


def note_spaces(table: Table, names: Iterable[str]) -> None:
    """Note how many cells have surrounding white space or a guard, and how many texts it kept apart."""
    for name in names:
        column = table.columns[name]
        if column.type not in ("VARCHAR", "JSON"):
            continue
        sql = raw_text_sql(column)
        if not table.stripped:
            _note_change(table, name, "white space around", sql, stripped_sql(sql))
        if table.guarded:
            sql = sql if table.stripped else stripped_sql(sql)
            _note_change(table, name, "the apostrophe of a guarded formula from", sql, unguarded_sql(sql))


def _note_change(table: Table, name: str, what: str, sql: str, changed: str) -> None:
    texts = f"(SELECT {sql} AS old, {changed} AS new FROM {table.relation})"
    count = table.fetch_row(f"SELECT count(*) FROM {texts} WHERE old <> new")[0]
    if not count:
        return
    before, after = table.fetch_row(f"SELECT count(DISTINCT old), count(DISTINCT new) FROM {texts}")
    merged = f", which merged {before - after:,} with others" if after < before else ""
    table.notes.append(
        f"{table.name}: removed {what} {counted(count, 'cell')} of column {quoted(name)}{merged}."
    )


def leave_out_row_numbers(table: Table) -> None:
    """Drop the first column, with a note, if it is an unnamed row index as written by pandas."""
    name = next(iter(table.columns))
    if name.strip() and not re.fullmatch(r"Unnamed: 0(\.\d+)?", name):
        return
    number = number_sql(table.columns[name])
    counted_rows = table.fetch_row(
        f"SELECT bool_and(number = row OR number = row - 1) AND (min(number) < 2) FROM "
        f"(SELECT {number} AS number, row_number() OVER () AS row FROM {table.relation} LIMIT 10000)"
    )[0]
    if counted_rows:
        del table.columns[name]
        table.notes.append(f"{table.name}: left out the first column, which has no name and counts the rows.")


def _text_of_floats(table: Table, name: str, column: Column) -> str:
    value = f"nullif({column.sql}::DOUBLE, 'nan'::DOUBLE)"
    exact = 2**24 if column.type == "FLOAT" else 2**53
    whole, largest = table.fetch_row(
        f"SELECT coalesce(bool_and({value} = trunc({value})), true), coalesce(max(abs({value})), 0) "
        f"FROM {table.relation}"
    )
    if not whole:
        return f"CAST({column.sql} AS VARCHAR)"
    if column.type.startswith("DECIMAL"):
        return f"CAST({column.sql}::HUGEINT AS VARCHAR)"
    if largest > exact:
        raise ValueError(
            f"{table.name}: column {quoted(name)} holds whole numbers as floats up to {largest:.3g}, which "
            "have lost digits: store them as integers or text."
        )
    return f"CAST({value}::BIGINT AS VARCHAR)"


def number_sql(column: Column) -> str:
    """Return the SQL that reads a column as a number, NULL where that fails; booleans are 0 and 1."""
    if column.type in ("VARCHAR", "JSON"):
        # a cast to DOUBLE ignores white space
        text = raw_text_sql(column)
        truth = f"CASE lower(trim({text})) WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 END"
        return f"coalesce(TRY_CAST({text} AS DOUBLE), {truth})"
    return f"CAST({column.sql} AS DOUBLE)"


def cells_sql(relation: str, cells: str, count: int, *, numbered: bool = False) -> str:
    """Return a subquery with a row for each cell t of some columns, its column k and, if asked, its row.

    ``cells`` is a list in SQL of ``count`` cells. Queries over it stay short, and DuckDB takes minutes to
    plan thousands of expressions.
    """
    if not numbered:
        return f"(SELECT unnest(range({count})) AS k, unnest({cells}) AS t FROM {relation})"
    by_row = f"(SELECT row_number() OVER () - 1 AS row, {cells} AS cells FROM {relation})"
    return f"(SELECT row, unnest(range({count})) AS k, unnest(cells) AS t FROM {by_row})"


def text_cells_sql(
    table: Table, names: Sequence[str], *, numbered: bool = False, first: int | None = None
) -> str:
    """Return :func:`cells_sql` of text columns: ``raw`` as written, and ``t``, NULL if missing.

    ``first`` takes only so many rows.
    """
    texts = [
        table.columns[name].sql if table.columns[name].type == "VARCHAR" else text_sql(table, name)
        for name in names
    ]
    relation = table.relation if first is None else f"(SELECT * FROM {table.relation} LIMIT {first})"
    cells = cells_sql(relation, f"[{', '.join(texts)}]", len(texts), numbered=numbered)
    given = given_sql(replace(table, columns={"t": Column("t", "VARCHAR")}), "t")
    return f"(SELECT {'row, ' if numbered else ''}k, t AS raw, {given} AS t FROM {cells})"


def aggregate_texts(
    table: Table, names: Sequence[str], asked: str, first: int | None = None
) -> dict[str, tuple[Any, ...]]:
    """Return aggregates over the cells of each text column; see :func:`text_cells_sql`."""
    if not names:
        return {}
    answers = table.fetch_rows(
        f"SELECT k, {asked} FROM {text_cells_sql(table, names, first=first)} GROUP BY k"
    )
    if not answers:
        nothing = table.fetch_row(f"SELECT {asked} FROM (SELECT '' AS t, '' AS raw LIMIT 0)")
        return dict.fromkeys(names, nothing)
    by_column = {names[k]: tuple(values) for k, *values in answers}
    return {name: by_column[name] for name in names}


def is_text(column: Column) -> bool:
    """Return whether a column holds text."""
    return column.type in ("VARCHAR", "JSON") or column.type.startswith("ENUM")


def is_number(column: Column) -> bool:
    """Return whether a column holds numbers or booleans."""
    # match the whole type: INTEGER[] and ENUM('MINT') contain INT as well; "NULL" has nothing but gaps
    return bool(
        re.fullmatch(r"\"NULL\"|BOOLEAN|FLOAT|DOUBLE|[A-Z]*INT(EGER)?|DECIMAL(\([0-9, ]+\))?", column.type)
    )


def encode_texts(
    table: Table, stored: str, columns: Sequence[str], beside: Sequence[str] = ()
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Encode columns of text as int32 codes into their sorted distinct texts.

    Return the texts, and a dict of the codes of each column and the values of the columns ``beside``. Texts
    must not be NULL; the order of rows may change.
    """
    every = " UNION ALL ".join(f"SELECT {column} AS text FROM {stored}" for column in columns)
    table.execute(
        "CREATE OR REPLACE TEMP TABLE codes AS "
        "SELECT text, (row_number() OVER (ORDER BY text) - 1)::INTEGER AS code "
        f"FROM (SELECT DISTINCT text FROM ({every}))"
    )
    joins = " ".join(f"JOIN codes AS k{i} ON s.{column} = k{i}.text" for i, column in enumerate(columns))
    picked = [f"k{i}.code AS {column}" for i, column in enumerate(columns)]
    picked += [f"s.{column}" for column in beside]
    encoded = table.fetch_columns(f"SELECT {', '.join(picked)} FROM {stored} AS s {joins}")
    return table.fetch_columns("SELECT text FROM codes ORDER BY code")["text"], encoded


def check_ids(table: Table, stored: str, column: str) -> int:
    """Return the number of rows of a stored table; raise if a row has no id."""
    count, row = table.fetch_row(f"SELECT count(*), min(rowid) FILTER (id IS NULL) FROM {stored}")
    if row is not None:
        raise table.missing_id_error(row, column)
    return int(count)


def check_distinct(ids: np.ndarray, name: str) -> None:
    """Raise if an id occurs twice."""
    if len(set(ids)) < len(ids):
        twice = [node for node, count in Counter(ids).items() if count > 1]
        raise ValueError(
            f"{name} has more than one row for {listed(twice)}; keep one, or name the columns id, feature "
            "and value if each row is one feature of an id."
        )


def spelling_hint(unknown: Sequence[str], known: Callable[[list[str]], Iterable[bool]]) -> str:
    """Return a likely reason why ids were not found; ``known`` tests which ids exist."""
    tried = [(node, other, why) for node in unknown[:_HINTED] for other, why in _spellings(node)]
    for (node, other, why), there in zip(tried, known([other for _, other, _ in tried]), strict=True):
        if there:
            return f" ({quoted(node)} is {quoted(other)} there: {why})"
    return ""


def _spellings(node: str) -> Iterator[tuple[str, str]]:
    """Yield other spellings of an id, each with its likely cause."""
    if node.endswith(".0"):
        yield node[:-2], "a program may have written the ids as decimals"
    if node != node.strip():
        yield node.strip(), "it has spaces around it"
    zeros = "a spreadsheet may have removed leading zeros"
    if node != node.lstrip("0"):
        yield node.lstrip("0"), zeros
    yield from ((node.zfill(width), zeros) for width in range(len(node) + 1, 12))


def missing_id_notes(name: str, ids: Iterable[str]) -> list[str]:
    """Return a note if ids look like missing-value markers; they are kept as ids."""
    markers = [node for node in ids if node in MISSING]
    if not markers:
        return []
    are, noun, them = ("is", "id", "it") if len(markers) == 1 else ("are", "ids", "them")
    return [
        f"{name}: {listed(markers)} {are} kept as node {noun}; remove the rows with {them} where no id is "
        "known."
    ]
