"""Read columns of numbers in other notations: decimal commas, thousands separators, dates."""

from collections.abc import Iterable, Mapping, Sequence

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


# how the numbers of a column are written: plain, with commas, as dates of a date type, or as dates in text
DATES = ("date", *_DATES)
NOTATIONS = ("number", "decimal comma", "thousands comma", *DATES)


def read_commas(table: Table, names: Iterable[str]) -> None:
    """Convert text columns whose numbers have commas, if any does in the first rows, with a note."""
    texts = [name for name in names if is_text(table.columns[name])]
    commas = aggregate_texts(table, texts, "bool_or(contains(raw, ','))", _SAMPLE_ROWS)
    notations = convert_commas(table, [name for name in texts if commas[name][0]], {})
    table.notes += comma_notes(table.name, notations)


def convert_commas(table: Table, names: Sequence[str], known: Mapping[str, str]) -> dict[str, str]:
    """Convert text columns whose numbers have commas to plain numbers; return their notations.

    Commas are read as in the ``known`` notation of a column, unless most cells contradict it. Else they are
    decimal if more cells fit only that, or in a tie if the table is separated by semicolons.
    """
    is_decimal, is_thousands = (f"regexp_full_match(t, '{form}')" for form in (_DECIMAL, _THOUSANDS))
    counts = aggregate_texts(
        table,
        names,
        f"count(t), count(TRY_CAST(t AS DOUBLE)), count(*) FILTER ({is_decimal} AND NOT {is_thousands}), "
        f"count(*) FILTER ({is_thousands} AND NOT {is_decimal}), "
        f"count(*) FILTER ({is_decimal} AND {is_thousands})",
    )
    notations = dict[str, str]()
    for name, (filled, plain, only_decimal, only_thousands, either) in counts.items():
        numbers = only_decimal + only_thousands + either
        # the same majority as for plain numbers
        if not numbers or (2 * (plain + numbers) <= filled and name not in known):
            continue
        points = only_decimal > only_thousands or (
            only_decimal == only_thousands and table.dialect is not None and table.dialect.delimiter == ";"
        )
        against = {"decimal comma": only_thousands, "thousands comma": only_decimal}.get(known.get(name, ""))
        if against is not None and 2 * against <= numbers:
            points = known[name] == "decimal comma"
        raw = raw_text_sql(table.columns[name])
        sql = f"CASE WHEN contains({raw}, ',') THEN translate({raw}, ',.', '.') ELSE {raw} END"
        table.columns[name] = Column(sql if points else f"replace({raw}, ',', '')", "VARCHAR")
        notations[name] = "decimal comma" if points else "thousands comma"
    return notations


def comma_notes(table: str, notations: Mapping[str, str]) -> list[str]:
    """Return notes about columns of numbers with commas, by their notations."""
    return [
        f"{table}: {what} in {listed(names)}."
        for notation, what in (
            ("decimal comma", "decimal commas are read as points"),
            ("thousands comma", "commas are read as separators of thousands"),
        )
        if (names := [name for name, form in notations.items() if form == notation])
    ]


def convert_dates(table: Table, names: Iterable[str], known: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """Convert columns of dates to days since 1970; return their notations, and how many cells are not dates.

    Dates in text are in the ``known`` order of a column, unless another reads more than twice as many cells.
    """
    notations, texts = dict[str, str](), list[str]()
    for name in names:
        column = table.columns[name]
        if column.type.startswith(_DATE_TYPES) and not column.type.endswith("]"):
            table.columns[name] = Column(f"epoch({column.sql}) / 86400.0", "DOUBLE")
            notations[name] = "date"
        elif is_text(column):
            texts.append(name)
    others, orders = 0, list(_DATES)
    times = ", ".join(f"count({_time_sql(form, 't')})" for form in _DATES.values())
    likely = set(_look_like_dates(table, texts))
    asked = [name for name in texts if name in likely or name in known]
    for name, (filled, *dates) in aggregate_texts(table, asked, f"count(t), {times}").items():
        best, order = max(dates), orders[dates.index(max(dates))]
        if known.get(name) in _DATES and best <= 2 * dates[orders.index(known[name])]:
            order = known[name]
        read = dates[orders.index(order)]
        if name not in known and (not best or filled - best > _MOST_OTHERS * filled):
            continue
        others += filled - read
        text = f"trim({raw_text_sql(table.columns[name])})"
        table.columns[name] = Column(f"epoch({_time_sql(_DATES[order], text)}) / 86400.0", "DOUBLE")
        notations[name] = order
    return notations, others


def date_notes(table: str, notations: Mapping[str, str], others: int) -> list[str]:
    """Return notes about columns of dates, by their notations, and about cells in them that are not dates."""
    notes = list[str]()
    for order in dict.fromkeys(notations.values()):
        names = listed(name for name, form in notations.items() if form == order)
        shown = "" if order == "date" else f" ({order})"
        notes.append(f"{table}: dates{shown} are read as days since 1970 in {names}.")
    if others:
        notes.append(f"{table}: {counted(others, 'cell')} among dates taken as missing.")
    return notes


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
