"""Read columns of numbers in other notations: decimal commas, thousands separators, dates."""

from collections.abc import Iterable

from gssl.io.table_columns import aggregate_texts, is_text, raw_text_sql
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
_DATE = r"(\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})(\D.*)?"
_DATE_TYPES = ("DATE", "TIMESTAMP")
# a column of dates may have this share of other cells, which count as missing
_MOST_OTHERS = 0.1
# rows sampled before a whole column is read
_SAMPLE_ROWS = 10_000


def read_commas(table: Table, names: Iterable[str], *, sample: bool = True) -> list[str]:
    """Convert text columns whose numbers have commas to plain numbers; return their names.

    Commas are decimal if more cells fit only that reading than only thousands, or in a tie if the table is
    separated by semicolons. ``sample`` skips columns without a comma in the first rows.
    """
    asked = [name for name in names if is_text(table.columns[name])]
    if sample:
        commas = aggregate_texts(table, asked, "bool_or(contains(raw, ','))", _SAMPLE_ROWS)
        asked = [name for name in asked if commas[name][0]]
    is_decimal, is_thousands = (f"regexp_full_match(t, '{form}')" for form in (_DECIMAL, _THOUSANDS))
    counts = aggregate_texts(
        table,
        asked,
        f"count(t), count(TRY_CAST(t AS DOUBLE)), count(*) FILTER ({is_decimal} AND NOT {is_thousands}), "
        f"count(*) FILTER ({is_thousands} AND NOT {is_decimal}), "
        f"count(*) FILTER ({is_decimal} AND {is_thousands})",
    )
    decimal, thousands = list[str](), list[str]()
    for name, (filled, plain, only_decimal, only_thousands, either) in counts.items():
        numbers = only_decimal + only_thousands + either
        # the same majority as for plain numbers
        if not numbers or 2 * (plain + numbers) <= filled:
            continue
        points = only_decimal > only_thousands or (
            only_decimal == only_thousands and table.dialect is not None and table.dialect.delimiter == ";"
        )
        raw = raw_text_sql(table.columns[name])
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
    by_order = dict[str, list[str]]()
    texts = list[str]()
    for name in names:
        column = table.columns[name]
        if column.type.startswith(_DATE_TYPES) and not column.type.endswith("]"):
            table.columns[name] = Column(f"epoch({column.sql}) / 86400.0", "DOUBLE")
            by_order.setdefault("", []).append(name)
        elif is_text(column):
            texts.append(name)
    others = 0
    times = ", ".join(f"count({_time_sql(form, 't')})" for form in _DATES.values())
    counts = aggregate_texts(table, _look_like_dates(table, texts), f"count(t), {times}")
    for name, (filled, *dates) in counts.items():
        best = max(dates)
        if not best or filled - best > _MOST_OTHERS * filled:
            continue
        others += filled - best
        order, form = list(_DATES.items())[dates.index(best)]
        text = f"trim({raw_text_sql(table.columns[name])})"
        table.columns[name] = Column(f"epoch({_time_sql(form, text)}) / 86400.0", "DOUBLE")
        by_order.setdefault(f" ({order})", []).append(name)
    for order, columns in by_order.items():
        table.notes.append(f"{table.name}: dates{order} are read as days since 1970 in {listed(columns)}.")
    if others:
        table.notes.append(f"{table.name}: {counted(others, 'cell')} among dates taken as missing.")
    return [name for columns in by_order.values() for name in columns]


def _look_like_dates(table: Table, names: list[str]) -> list[str]:
    """Return the text columns of which most of the first cells look like dates."""
    asked = f"count(t), count(*) FILTER (regexp_full_match(t, '{_DATE}', 's'))"
    counts = aggregate_texts(table, names, asked, _SAMPLE_ROWS)
    # a column may begin with missing cells
    return [name for name, (filled, dates) in counts.items() if not filled or 2 * dates > filled]


def _time_sql(form: str, text: str) -> str:
    if not form:
        return f"TRY_CAST({text} AS TIMESTAMP)"
    forms = ", ".join(sql_string(f"{form}{time}") for time in ("", " %H:%M", " %H:%M:%S"))
    return f"try_strptime({text}, [{forms}])"
