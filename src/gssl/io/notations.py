"""Read columns of numbers in other notations: decimal commas, thousands separators, dates."""

import re
from collections.abc import Iterable

from gssl.io.table_columns import given_sql, is_text, raw_text_sql
from gssl.io.table_reading import Column, Table, sql_string
from gssl.wording import counted, listed

_DECIMAL = r"[+-]?(\d+|\d{1,3}(\.\d{3})+)?,\d+([eE][+-]?\d+)?"
_THOUSANDS = r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?"
# name of each order in notes, and its format; the one that reads most cells wins, ties go to the first
_DATES = {
    "year-month-day": "",
    "day.month.year": "%d.%m.%Y",
    "month/day/year": "%m/%d/%Y",
    "day/month/year": "%d/%m/%Y",
    "day-month-year": "%d-%m-%Y",
}
_DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?!\d).*|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}(?!\d).*", re.S)
_DATE_TYPES = ("DATE", "TIMESTAMP")
# a column of dates may have this share of other cells, which count as missing
_MOST_OTHERS = 0.1
# rows sampled before a whole column is read
_SAMPLE_ROWS = 10_000
_SAMPLE_DATES = 100


def read_commas(table: Table, names: Iterable[str], *, sample: bool = True) -> list[str]:
    """Convert text columns whose numbers have commas to plain numbers; return their names.

    Commas are decimal if more cells fit only that reading than only thousands, or in a tie if the table is
    separated by semicolons. ``sample`` skips columns without a comma in the first rows.
    """
    decimal, thousands = list[str](), list[str]()
    rows = f"(SELECT * FROM {table.relation} LIMIT {_SAMPLE_ROWS})"
    for name in names:
        if not is_text(table.columns[name]):
            continue
        raw = raw_text_sql(table.columns[name])
        if sample and not table.fetch_row(f"SELECT bool_or(contains({raw}, ',')) FROM {rows}")[0]:
            continue
        is_decimal, is_thousands = (f"regexp_full_match(t, '{form}')" for form in (_DECIMAL, _THOUSANDS))
        filled, plain, only_decimal, only_thousands, either = table.fetch_row(
            f"SELECT count(t), count(TRY_CAST(t AS DOUBLE)), "
            f"count(*) FILTER ({is_decimal} AND NOT {is_thousands}), "
            f"count(*) FILTER ({is_thousands} AND NOT {is_decimal}), "
            f"count(*) FILTER ({is_decimal} AND {is_thousands}) "
            f"FROM (SELECT {given_sql(table, name)} AS t FROM {table.relation})"
        )
        numbers = only_decimal + only_thousands + either
        # the same majority as for plain numbers
        if not numbers or 2 * (plain + numbers) <= filled:
            continue
        points = only_decimal > only_thousands or (
            only_decimal == only_thousands and table.dialect is not None and table.dialect.delimiter == ";"
        )
        sql = f"CASE WHEN contains({raw}, ',') THEN translate({raw}, ',.', '.') ELSE {raw} END"
        table.columns[name] = Column(sql if points else f"replace({raw}, ',', '')", "VARCHAR")
        (decimal if points else thousands).append(name)
    if decimal:
        table.notes.append(f"{table.name}: decimal commas are read as points in {listed(decimal)}.")
    if thousands:
        table.notes.append(
            f"{table.name}: commas are read as separators of thousands in {listed(thousands)}."
        )
    return [*decimal, *thousands]


def read_dates(table: Table, names: Iterable[str]) -> list[str]:
    """Convert columns of dates to days since 1970; return their names."""
    found = dict[str, list[str]]()
    others = 0
    for name in names:
        column = table.columns[name]
        if column.type.startswith(_DATE_TYPES) and not column.type.endswith("]"):
            table.columns[name] = Column(f"epoch({column.sql}) / 86400.0", "DOUBLE")
            found.setdefault("", []).append(name)
        elif is_text(column) and _look_like_dates(table, name):
            raw = raw_text_sql(column)
            times = ", ".join(f"count({_time_sql(form, 't')})" for form in _DATES.values())
            filled, *dates = table.fetch_row(
                f"SELECT count(t), {times} FROM (SELECT {given_sql(table, name)} AS t FROM {table.relation})"
            )
            best = max(dates)
            if not best or filled - best > _MOST_OTHERS * filled:
                continue
            others += filled - best
            order, form = list(_DATES.items())[dates.index(best)]
            table.columns[name] = Column(f"epoch({_time_sql(form, f'trim({raw})')}) / 86400.0", "DOUBLE")
            found.setdefault(f" ({order})", []).append(name)
    for order, columns in found.items():
        table.notes.append(f"{table.name}: dates{order} are read as days since 1970 in {listed(columns)}.")
    if others:
        table.notes.append(f"{table.name}: {counted(others, 'cell')} among dates taken as missing.")
    return [name for columns in found.values() for name in columns]


def _look_like_dates(table: Table, name: str) -> bool:
    """Return whether most of the first cells look like dates."""
    text = given_sql(table, name)
    cells = table.fetch_rows(
        f"SELECT t FROM (SELECT {text} AS t FROM {table.relation}) WHERE t IS NOT NULL LIMIT {_SAMPLE_DATES}"
    )
    return 2 * sum(bool(_DATE.fullmatch(cell)) for (cell,) in cells) > len(cells)


def _time_sql(form: str, text: str) -> str:
    if not form:
        return f"TRY_CAST({text} AS TIMESTAMP)"
    forms = ", ".join(sql_string(f"{form}{time}") for time in ("", " %H:%M", " %H:%M:%S"))
    return f"try_strptime({text}, [{forms}])"
