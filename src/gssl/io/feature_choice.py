"""What of a table are features: one decision, whoever reads them."""

from collections.abc import Sequence

from gssl.io.columns import IDS, pick
from gssl.io.source import Table

_LONG = (("feature", "word", "term"), ("value", "count"))
# such a column holds the answer
_ANSWERS = ("label", "labels", "class")


def long_columns(table: Table) -> tuple[str, str, str] | None:
    """Give the columns of id, feature and value of a long table; None if a table is wide.

    Examples
    --------
    >>> from gssl.io.source import open_table
    >>> long_columns(open_table("SELECT 'a' AS node, 7 AS word, 2 AS count"))
    ('node', 'word', 'count')
    >>> long_columns(open_table("SELECT 'a' AS node, 7 AS x, 2 AS count")) is None
    True
    """
    lower = [name.lower() for name in table.columns]
    if len(lower) != 3 or not all(any(guess in lower for guess in guesses) for guesses in _LONG):
        return None
    feature, value = (pick(table, None, guesses, 0) for guesses in _LONG)
    return next(name for name in table.columns if name not in (feature, value)), feature, value


def wide_columns(
    table: Table, id: str | None = None, columns: Sequence[str] | None = None, text: str | None = None
) -> tuple[str, list[str]]:
    """Choose the columns of id and features of a wide table; what is left out is noted in it.

    Parameters
    ----------
    table : Table
    id : str, optional
        The id's column; ``id`` or ``node`` or the first if None.
    columns : sequence of str, optional
        The columns to use; all if None, except one that is named like a label.
    text : str, optional
        A column that is a feature whatever its name.

    Returns
    -------
    id : str
    chosen : list of str
        At least one.

    Examples
    --------
    >>> from gssl.io.source import open_table
    >>> table = open_table("SELECT 2 AS x, 'a' AS id, 'spy' AS label")
    >>> wide_columns(table), table.notes
    (('id', ['x']), ["the query: column 'label' is named like a label and is no feature."])
    """
    name = pick(table, id, IDS, 0)
    if text is not None:
        pick(table, text, (), 0)
    if columns is None:
        beside = [column for column in table.columns if column != name]
        answers = [column for column in beside if column.lower() in _ANSWERS and column != text]
        table.notes += [
            f"{table.name}: column {column!r} is named like a label and is no feature." for column in answers
        ]
        chosen = [column for column in beside if column not in answers]
    else:
        chosen = [pick(table, column, (), 0) for column in columns]
        chosen += [text] if text is not None and text not in chosen else []
    if not chosen:
        raise ValueError(f"{table.name} has no features beside the column {name!r}: give at least one.")
    return name, chosen
