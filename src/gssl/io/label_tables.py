"""Read labels, or a list of nodes, from a table."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from gssl.io.notations import read_commas
from gssl.io.table_columns import IDS, check_ids, leave_out_row_numbers, note_spaces, pick_column, text_sql
from gssl.io.table_reading import Table, open_table, sql_string
from gssl.methods.labels import MINUS, is_minus_missing, name_classes, refuse_measurements
from gssl.wording import MISSING, counted, listed, listed_counts, quoted, shortened

_LABELS = ("label", "class", "y", "category", "target", "labels", "subject")
_NUMBERS = ("value", "y", "target", "number", "amount", "price", "label")

# between the labels of one node in a table of predictions
SEPARATOR = "; "

Answers = Literal["classes", "numbers", "sets"]


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of some nodes; a label may be missing.

    Attributes
    ----------
    ids : object ndarray of shape (n,)
        Distinct, as text, in the order of the table.
    labels : object ndarray of shape (n,)
        Text, or None where there is no label.
    name : str
        The source, for messages.
    notes : list of str
        Irregularities in the table.
    id_column : str or None
        The name of the column of the ids.
    """

    ids: np.ndarray
    labels: np.ndarray
    name: str = "labels"
    notes: list[str] = field(default_factory=list)
    id_column: str | None = None


@dataclass(frozen=True, eq=False)
class Nodes:
    """A list of node ids.

    Attributes
    ----------
    ids : object ndarray of shape (n,)
        Distinct, as text, in the order of the table.
    name : str
        The source, for messages.
    notes : list of str
        Irregularities in the table.
    id_column : str or None
        The name of the column of the ids.
    """

    ids: np.ndarray
    name: str = "nodes"
    notes: list[str] = field(default_factory=list)
    id_column: str | None = None


def read_nodes(source: Any, *, header: bool | None = None) -> Nodes:
    """Read a list of nodes: the column ``id`` or ``node``, else the first.

    Parameters
    ----------
    source : path, glob, SQL or data frame
        See :func:`gssl.io.open_table`.
    header : bool, optional
        Whether the first line of a text file names the columns; detected if None.

    Returns
    -------
    Nodes

    Examples
    --------
    >>> read_nodes("SELECT unnest(['007', '8']) AS id").ids.tolist()
    ['007', '8']
    """
    table = open_table(source, header=header, graph_part="nodes")
    name = pick_column(table, None, IDS, 0)
    note_spaces(table, [name])
    table.execute(f"CREATE TEMP TABLE nodes AS SELECT {text_sql(table, name)} AS id FROM {table.relation}")
    count = check_ids(table, "nodes", name)
    if not count:
        raise ValueError(f"{table.name} has no rows: give at least one node.")
    ids = table.fetch_columns("SELECT id FROM nodes GROUP BY id ORDER BY min(rowid)")["id"].astype(object)
    if len(ids) < count:
        table.notes.append(f"{table.name}: merged {counted(count - len(ids), 'repeated row')}.")
    return Nodes(ids, table.name, table.notes, name)


def read_labels(
    source: Any,
    columns: Sequence[str] | None = None,
    *,
    na: Sequence[str] | None = None,
    header: bool | None = None,
    answers: Answers = "classes",
) -> Labels:
    """Read labels; ids and labels are kept as text, without surrounding white space.

    Parameters
    ----------
    source : path, glob, SQL or data frame
        See :func:`gssl.io.open_table`.
    columns : two names, optional
        The columns of the id and the label. If None: ``id`` or ``node``, else the first; ``label`` or
        ``class``, else the second.
    na : sequence of str, optional
        Texts that mean no label, besides empty cells. If None, common ones, such as ``NA``, ``nan``,
        ``None``, ``null`` and ``?``; and ``-1``, if there are at least two other classes.
    header : bool, optional
        Whether the first line of a text file names the columns; detected if None.
    answers : {"classes", "numbers", "sets"}, default="classes"
        What the labels are. Numbers may have decimal commas or separators of thousands. Of sets, every row
        has one label, and an id may have several rows.

    Returns
    -------
    Labels
        Repeated rows are merged. An id with two different labels is an error; of two numbers, the mean is
        taken.

    Examples
    --------
    >>> labels = read_labels("SELECT '007' AS id, 'spy' AS label UNION ALL SELECT '8', 'NA'")
    >>> labels.ids.tolist(), labels.labels.tolist()
    (['007', '8'], ['spy', None])
    """
    if answers not in get_args(Answers):
        raise ValueError(f"answers must be one of {', '.join(get_args(Answers))}, not {answers!r}.")
    table = open_table(source, header=header, graph_part="nodes")
    name, label = _choose_columns(table, columns, _NUMBERS if answers == "numbers" else _LABELS)
    note_spaces(table, [name, label])
    if answers == "numbers":
        read_commas(table, [label])
    ids, labels = text_sql(table, name), text_sql(table, label)
    relation = table.relation
    predicted = columns is None and "model_says" in table.columns
    if predicted and answers == "numbers" and "given" not in table.columns:
        raise ValueError(
            f"{table.name} holds predictions of gssl predict and no given numbers: to take them as given, "
            "name the columns (--label-columns id,value)."
        )
    if predicted and "model_confidence" in table.columns and "given" not in table.columns:
        raise ValueError(
            f"{table.name} holds predictions of gssl predict and no given labels: to take them as labels, "
            "name the columns (--label-columns id,label)."
        )
    if predicted and "given" in table.columns:
        relation += f" WHERE lower({text_sql(table, 'given')}) IN ('true', 't', '1')"
        table.notes.append(f"{table.name}: a table of predictions, of which only given labels are read.")
    table.execute(f"CREATE TEMP TABLE labels AS SELECT {ids} AS id, {labels} AS label FROM {relation}")
    if not check_ids(table, "labels", name):
        raise ValueError(f"{table.name} has no rows: give at least one label.")
    if answers == "numbers":
        return _numbers(table, name, label, na)
    counts = _empty_missing(table, na)
    if answers == "sets":
        return _sets(table, name, joined=predicted)
    refuse_measurements(f"{table.name}: column {quoted(label)}", counts)
    _refuse_two_labels(table)
    _note_case(table)
    rows = table.fetch_columns(
        "SELECT id, min(label) AS label, count(*) AS n FROM labels GROUP BY id ORDER BY min(rowid)"
    )
    repeats = int(rows["n"].sum()) - len(rows["n"])
    if repeats:
        table.notes.append(f"{table.name}: merged {counted(repeats, 'repeated row')}.")
    # a remaining text that looks like a missing value is a class, because na excludes it
    given = name_classes(rows["label"].astype(object))
    return Labels(rows["id"].astype(object), given, table.name, table.notes, name)


def _sets(table: Table, name: str, *, joined: bool) -> Labels:
    """Read all labels of every id; an id without any is unknown."""
    rows = table.fetch_rows(
        "SELECT id, list_sort(list(DISTINCT label) FILTER (label IS NOT NULL)) FROM labels "
        "GROUP BY id ORDER BY min(rowid)"
    )
    _note_case(table)
    ids, sets = np.empty(len(rows), dtype=object), np.empty(len(rows), dtype=object)
    for k, (node, labels) in enumerate(rows):
        # a table of predictions has all labels of a node in one cell
        parts = [part for label in labels or () for part in (label.split(SEPARATOR) if joined else [label])]
        mixed = next((part for part in parts if SEPARATOR in part), None)
        if mixed is not None:
            raise ValueError(
                f"{table.name}: the label {quoted(mixed)} of id {quoted(node)} has {SEPARATOR!r} inside, "
                "which separates labels in predictions: give each label a row of its own, or rename it."
            )
        ids[k], sets[k] = node, tuple(sorted(set(parts))) if parts else None
    return Labels(ids, sets, table.name, table.notes, name)


def _numbers(table: Table, name: str, label: str, na: Sequence[str] | None) -> Labels:
    """Read the labels of a table as numbers."""
    _empty_missing(table, (*MISSING, "") if na is None else na)
    odd = table.fetch_rows(
        "SELECT id, label FROM labels WHERE label IS NOT NULL "
        "AND NOT coalesce(isfinite(TRY_CAST(label AS DOUBLE)), false) ORDER BY rowid LIMIT 1"
    )
    if odd:
        raise ValueError(
            f"{table.name}: {quoted(odd[0][1])} of id {quoted(odd[0][0])} in column {quoted(label)} is not a "
            "finite number: correct it, or leave it empty."
        )
    rows = table.fetch_columns(
        "SELECT id, avg(number) AS number, count(DISTINCT number) AS different, count(*) AS n FROM "
        "(SELECT id, CAST(label AS DOUBLE) AS number, rowid FROM labels) GROUP BY id ORDER BY min(rowid)"
    )
    several = int((rows["different"] > 1).sum())
    if several:
        table.notes.append(
            f"{table.name}: of {counted(several, 'id')} with several numbers, the mean is taken."
        )
    repeats = int(rows["n"].sum()) - len(rows["n"])
    if repeats and not several:
        table.notes.append(f"{table.name}: merged {counted(repeats, 'repeated row')}.")
    numbers = np.ma.filled(np.ma.asarray(rows["number"], dtype=np.float64), np.nan)
    labels = np.array([None if np.isnan(number) else float(number) for number in numbers], dtype=object)
    return Labels(rows["id"].astype(object), labels, table.name, table.notes, name)


def _choose_columns(
    table: Table, columns: Sequence[str] | None, names: Sequence[str] = _LABELS
) -> tuple[str, str]:
    if columns is not None:
        if isinstance(columns, str) or len(columns) != 2:
            raise ValueError(f"labels need two column names, of the id and the label, not {columns!r}.")
        return pick_column(table, columns[0], (), 0), pick_column(table, columns[1], (), 0)
    if len(table.columns) > 2:
        leave_out_row_numbers(table)
    name = pick_column(table, None, IDS, 0)
    # never the column of the ids, even if its name is among the guesses
    default = 1 if list(table.columns).index(name) == 0 else 0
    guesses = [guess for guess in names if guess != name.lower()]
    label = pick_column(table, None, guesses, default)
    unused = [column for column in table.columns if column not in (name, label)]
    if unused and label.lower() not in guesses:
        table.notes.append(
            f"{table.name}: labels are taken from column {quoted(label)}; not used: {listed(unused)}."
        )
    return name, label


def _note_case(table: Table) -> None:
    """Note classes that differ only in case, which are kept apart."""
    twins = table.fetch_rows(
        "SELECT min(label), max(label) FROM labels WHERE label IS NOT NULL "
        "GROUP BY lower(label) HAVING count(DISTINCT label) > 1 ORDER BY 1"
    )
    if twins:
        first, other = (shortened(text) for text in twins[0])
        more = f", and so do {counted(len(twins) - 1, 'other pair')}" if len(twins) > 1 else ""
        table.notes.append(
            f"{table.name}: {first!r} and {other!r} differ only in case and are two classes{more}."
        )


def _empty_missing(table: Table, na: Sequence[str] | None) -> dict[str, int]:
    """Set labels that mean none to NULL, and note how many there were; return counts of the others."""
    counts = dict(table.fetch_rows("SELECT label, count(*) FROM labels WHERE label IS NOT NULL GROUP BY ALL"))
    markers = [text.strip() for text in (MISSING if na is None else na)]
    if na is None and is_minus_missing(counts.keys() - markers):
        markers.append(MINUS)
    missing = {text: counts[text] for text in markers if text in counts}
    if not missing:
        return counts
    texts = ", ".join(sql_string(text) for text in missing)
    table.execute(f"UPDATE labels SET label = NULL WHERE label IN ({texts})")
    cells = counted(sum(missing.values()), "cell")
    table.notes.append(
        f"{table.name}: {cells} taken as no label: {listed_counts(missing)} (--na sets which)."
    )
    return {text: count for text, count in counts.items() if text not in missing}


def _refuse_two_labels(table: Table) -> None:
    twice = table.fetch_rows(
        "SELECT id, min(label), max(label) FROM labels GROUP BY id HAVING min(label) <> max(label) "
        "ORDER BY min(rowid)"
    )
    if twice:
        first, one, other = (shortened(text) for text in twice[0])
        also = f"; so have {listed([row[0] for row in twice[1:]], 4)}" if len(twice) > 1 else ""
        raise ValueError(
            f"{table.name}: id {first!r} has two labels, {one!r} and {other!r}{also}; keep one each, or read "
            "several labels per node (--several)."
        )
