"""Read edges from a table into memory, and tell what was odd about them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gssl.io.edge_coding import EdgeCoding
from gssl.io.table_reading import open_table
from gssl.wording import counted


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
    coding = EdgeCoding(table, columns, two_sided=two_sided, strict=strict)
    coding.copy_texts()
    coding.number_nodes()
    coding.number_edges()
    ids = table.fetch_columns("SELECT id FROM memory.ids ORDER BY rowid")["id"].astype(object)
    pairs = table.fetch_columns("SELECT * FROM memory.coded WHERE u >= 0")
    ends, apart = coding.ends, coding.apart is True
    return Edges(ids, pairs["u"], pairs["v"], pairs.get("weight"), table.name, table.notes, ends, apart)


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
