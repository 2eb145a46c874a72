"""Read edges from a table, and count irregularities in the edges of a graph."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.io.edge_columns import choose_columns, tell_kinds
from gssl.io.edge_scanning import NotScannable, note_skipped, scan_edges
from gssl.io.edge_sides import check_shared, shared_sql, split_sql
from gssl.io.table_columns import encode_texts, note_spaces, number_sql, text_sql
from gssl.io.table_reading import Table, open_table
from gssl.wording import counted, quoted

# the SQL conditions for an edge to skip, for an invalid weight, and for such a weight of an edge to keep
NO_ID = "a IS NULL OR b IS NULL"
BAD_WEIGHT = "weight IS NULL OR NOT isfinite(weight) OR weight < 0"
BAD_EDGE = f"NOT ({NO_ID}) AND ({BAD_WEIGHT})"


@dataclass(frozen=True, eq=False)
class Edges:
    """Pairs of node ids, as codes into their distinct texts.

    Attributes
    ----------
    ids : object ndarray of shape (n,)
        The distinct ids, as text.
    source, target : int ndarray of shape (m,)
        Codes: edge k joins ``ids[source[k]]`` and ``ids[target[k]]``.
    weights : float64 ndarray of shape (m,) or None
    name : str
        The source, for messages.
    notes : list of str
        Irregularities in the table.
    columns : tuple of two str, or empty
        The columns of the source and the target.
    two_sided : bool
        Whether these are two kinds of nodes; ids that both have begin with the name of their column.
    """

    ids: np.ndarray
    source: np.ndarray
    target: np.ndarray
    weights: np.ndarray | None = None
    name: str = "edges"
    notes: list[str] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    two_sided: bool = False


def read_edges(
    source: Any,
    columns: Sequence[str] | None = None,
    *,
    header: bool | None = None,
    two_sided: bool | None = None,
    strict: bool = False,
) -> Edges:
    """Read edges; ids are kept as text, without surrounding white space.

    Parameters
    ----------
    source : path, glob, SQL or data frame
        See :func:`gssl.io.open_table`.
    columns : two or three names, optional
        The columns of the ends and the weight. If None: ``source, target``, ``src, dst``, ``from, to``, else
        the first two; the weight is ``weight``, or the third of three columns if it holds numbers that its
        name and values do not show to be distances, times or ids.
    header : bool, optional
        Whether the first line of a text file names the columns; detected if None.
    two_sided : bool, optional
        Whether equal ids in both columns are two nodes, which get the column's name as a prefix, such as
        ``user_id:1`` and ``item_id:1``. If None, the names tell: ``source, target`` or ``node1, node2`` are
        one kind of node, ``user, item`` two; other names raise an error if the columns share ids.
    strict : bool, default=False
        Raise on an edge without an id, instead of skipping it with a note.

    Returns
    -------
    Edges

    Examples
    --------
    >>> edges = read_edges("SELECT '007' AS src, '8' AS dst, 0.5 AS weight")
    >>> edges.ids[edges.source].tolist(), edges.ids[edges.target].tolist(), edges.weights.tolist()
    (['007'], ['8'], [0.5])
    """
    table = open_table(source, header=header)
    ends, weight = choose_columns(table, columns)
    note_spaces(table, ends)
    apart = tell_kinds(table, ends) if two_sided is None else two_sided
    try:
        ids, codes = scan_edges(table, ends, weight, strict=strict, apart=apart is not False)
    except NotScannable:
        _query_edges(table, ends, weight, apart, strict)
        ids, codes = encode_texts(table, "edges", ["a", "b"], [] if weight is None else ["weight"])
    weights = codes.get("weight")
    return Edges(ids, codes["a"], codes["b"], weights, table.name, table.notes, ends, apart is True)


def _query_edges(
    table: Table, ends: tuple[str, str], weight: str | None, apart: bool | None, strict: bool
) -> None:
    """Store the edges in the database, checked, with ids that two kinds of nodes share kept apart."""
    a, b = (text_sql(table, end) for end in ends)
    value = "" if weight is None else f", {number_sql(table.columns[weight])} AS weight"
    table.execute(f"CREATE TEMP TABLE edges AS SELECT {a} AS a, {b} AS b{value} FROM {table.relation}")
    bad = "false" if weight is None else BAD_EDGE
    count, odd, skipped, first = table.fetch_row(
        f"SELECT count(*), count(*) FILTER ({bad}), count(*) FILTER ({NO_ID}), min(rowid) FILTER ({NO_ID}) "
        "FROM edges"
    )
    check_counts(table, ends, weight, (count, odd, skipped), strict)
    split = False
    if apart is not False:
        table.execute(f"CREATE TEMP TABLE shared AS {shared_sql('edges')}")
        split = check_shared(table, ends, apart, "edges", "shared")
    if split:
        renamed = split_sql(ends, "edges", "shared")
        table.execute(f"CREATE OR REPLACE TEMP TABLE edges AS SELECT * FROM {renamed}")
    if skipped:
        note_skipped(table, skipped, first)
        table.execute(f"DELETE FROM edges WHERE {NO_ID}")


def check_counts(
    table: Table, ends: tuple[str, str], weight: str | None, counts: tuple[int, int, int], strict: bool
) -> None:
    """Raise on no edges, on invalid weights, and on missing ids if strict or if no edge has both.

    ``counts`` are those of all rows, of rows with an invalid weight, and of rows without an id.
    """
    count, odd, skipped = counts
    if not count:
        raise ValueError(f"{table.name} has no edges: give at least one row.")
    strict = strict or skipped == count
    if odd or (skipped and strict):
        _refuse_row(table, ends, weight, f"{NO_ID} OR {BAD_WEIGHT}" if strict else BAD_EDGE)


def _refuse_row(table: Table, ends: tuple[str, str], weight: str | None, bad: str) -> None:
    """Raise an error about the first row of a condition."""
    a, b = (text_sql(table, end) for end in ends)
    number, cell = "1.0", "NULL"
    if weight is not None:
        number, cell = number_sql(table.columns[weight]), table.columns[weight].sql
    first = table.fetch_row(
        f"SELECT row, a IS NULL, b IS NULL, cell FROM (SELECT row_number() OVER () - 1 AS row, {a} AS a, "
        f"{b} AS b, {number} AS weight, {cell} AS cell FROM {table.relation}) "
        f"WHERE {bad} ORDER BY row LIMIT 1"
    )
    row, no_source, no_target, value = first
    if no_source or no_target:
        raise table.missing_id_error(row, ends[0] if no_source else ends[1])
    raise ValueError(
        f"{table.row_name(row)}: column {quoted(weight)} is {quoted(value)}, but a weight "
        "must be a finite number of at least 0; repair it or name another column."
    )


@dataclass(frozen=True)
class EdgeFacts:
    """Counts of irregularities in an edge table."""

    # rows, all dropped
    self_loops: int = 0
    # rows beyond the first with the same ends in the same direction
    duplicates: int = 0
    # rows of weight 0, all dropped
    zeros: int = 0
    # whether any weight differs from 1 after repeated rows are summed
    summed: bool = False
    # edges listed in both directions, and in one
    two_way: int = 0
    one_way: int = 0
    # edges whose two directions have different weights
    differ: int = 0
    # nodes without an edge to another
    isolated: int = 0

    def notes(self, name: str) -> list[str]:
        """Return a sentence for each kind of oddity; ``name`` is the source of the edges."""
        notes = []
        if self.self_loops:
            notes.append(f"{name}: removed {counted(self.self_loops, 'self-loop')}.")
        if self.duplicates:
            what = "has the sum of their weights" if self.summed else "stays one"
            merged = counted(self.duplicates, "repeated edge")
            notes.append(f"{name}: merged {merged}; an edge listed twice {what}.")
        if self.zeros:
            notes.append(f"{name}: removed {counted(self.zeros, 'edge')} of weight 0.")
        if self.two_way and self.one_way:
            notes.append(
                f"{name}: {counted(self.two_way, 'edge')} listed in both directions and {self.one_way:,} in "
                "one; directions are ignored."
            )
        if self.differ:
            differ = counted(self.differ, "edge")
            notes.append(f"{name}: {differ} of two weights, one per direction; the larger counts.")
        if self.isolated:
            notes.append(f"{counted(self.isolated, 'node')} without any edge.")
        return notes


def count_facts(simple: csr_array, mirrored: csr_array, removed: tuple[int, int, int]) -> EdgeFacts:
    """Count irregularities in a graph with one entry per pair and direction, given its transpose.

    ``removed`` counts the self-loops, duplicates and zeros that were removed from it.
    """
    both = (simple != 0).multiply(mirrored != 0)
    two_way = int(both.nnz) // 2
    differ = int((simple.multiply(both) != mirrored.multiply(both)).nnz) // 2 if two_way else 0
    linked = (np.diff(simple.indptr) > 0) | (np.diff(mirrored.indptr) > 0)
    return EdgeFacts(
        *removed,
        summed=not bool((simple.data == 1).all()),
        two_way=two_way,
        one_way=int(simple.nnz) - 2 * two_way,
        differ=differ,
        isolated=len(linked) - int(np.count_nonzero(linked)),
    )
