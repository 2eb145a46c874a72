"""Labels from a table."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gssl.io.table_columns import IDS, check_ids, counted, listed, pick_column, text_sql
from gssl.io.table_reading import Table, open_table

_LABELS = ("label", "class", "y", "category", "target", "labels", "subject")


@dataclass(frozen=True, eq=False)
class Labels:
    """One label, or none, for each of some node ids.

    Attributes
    ----------
    ids : object ndarray of shape (n,)
        Distinct, as text, in the order of the table.
    labels : object ndarray of shape (n,)
        Text, or None where there is no label.
    name : str
        Where they came from.
    notes : list of str
        What was odd.
    """

    ids: np.ndarray
    labels: np.ndarray
    name: str = "labels"
    notes: list[str] = field(default_factory=list)


def read_labels(source: Any, columns: Sequence[str] | None = None) -> Labels:
    """Read labels; an empty cell is no label, and ids and labels stay the text they are.

    Parameters
    ----------
    source : path, glob, SQL or data frame
        See :func:`gssl.io.open_table`.
    columns : two names, optional
        Of the id and the label. Guessed if None: ``id`` or ``node``, else the first; ``label`` or
        ``class``, else the second.

    Returns
    -------
    Labels
        An id that is listed twice with one label is merged; with two labels it is an error.

    Examples
    --------
    >>> labels = read_labels("SELECT '007' AS id, 'spy' AS label UNION ALL SELECT '8', NULL")
    >>> labels.ids.tolist(), labels.labels.tolist()
    (['007', '8'], ['spy', None])
    """
    table = open_table(source)
    if columns is not None and (isinstance(columns, str) or len(columns) != 2):
        raise ValueError(f"labels need two column names, of the id and the label, not {columns!r}.")
    name, label = columns or (None, None)
    name = pick_column(table, name, IDS, 0)
    if label is None:
        # never the column of the ids, even if its name is among the guesses
        place = 1 if list(table.columns).index(name) == 0 else 0
        label = pick_column(table, None, [guess for guess in _LABELS if guess != name.lower()], place)
    label = pick_column(table, label, (), 0)
    ids, labels = text_sql(table, name), text_sql(table, label)
    table.execute(f"CREATE TEMP TABLE labels AS SELECT {ids} AS id, {labels} AS label FROM {table.relation}")
    _check(table, name)
    found = table.fetch_columns(
        "SELECT id, min(label) AS label, count(*) AS n FROM labels GROUP BY id ORDER BY min(rowid)"
    )
    repeats = int(found["n"].sum()) - len(found["n"])
    if repeats:
        table.notes.append(f"{table.name}: merged {counted(repeats, 'repeated row')}.")
    return Labels(found["id"].astype(object), found["label"].astype(object), table.name, table.notes)


def _check(table: Table, name: str) -> None:
    if not check_ids(table, "labels", name):
        raise ValueError(f"{table.name} has no rows: give at least one label.")
    twice = table.fetch_rows(
        "SELECT id, min(label), max(label) FROM labels GROUP BY id HAVING min(label) <> max(label) "
        "ORDER BY min(rowid)"
    )
    if twice:
        first, one, other = twice[0]
        also = f"; so have {listed([row[0] for row in twice[1:]])}" if len(twice) > 1 else ""
        raise ValueError(
            f"{table.name}: id {first!r} has two labels, {one!r} and {other!r}{also}; keep one each."
        )
