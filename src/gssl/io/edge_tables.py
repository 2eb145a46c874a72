"""Read edges from tables into memory, and tell what was odd about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gssl.graph import check_adjacency
from gssl.io.edge_coding import EdgeCoding, open_tables
from gssl.wording import counted, quoted


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
    columns : tuple of str
        The columns of the source and the target; of several tables, those that name a kind of node.
    two_sided : bool
        Whether these are different kinds of nodes; ids that several have begin with the name of their column.
    sides : int8 ndarray of shape (n,) or None
        For each id the position of its column in ``columns``, −1 if it is in several or in none.
    relations : int ndarray of shape (m,) or None
        For each edge the position of its relation in ``relation_names``; None if there is one relation.
    relation_names : tuple of str
        Empty if the edges are of one kind without a name.
    directed : bool
        Whether edges lead from source to target.
    relation_weight : mapping of str to float, or None
        The weights of relations in their union.
    """

    ids: np.ndarray
    source: np.ndarray
    target: np.ndarray
    weights: np.ndarray | None = None
    name: str = "edges"
    notes: list[str] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    two_sided: bool = False
    sides: np.ndarray | None = None
    relations: np.ndarray | None = None
    relation_names: tuple[str, ...] = ()
    directed: bool = False
    relation_weight: Mapping[str, float] | None = None


def read_edges(
    source: Any,
    columns: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    *,
    edge_type: str | None = None,
    directed: bool = False,
    relation_weight: Mapping[str, float] | None = None,
    header: bool | None = None,
    two_sided: bool | None = None,
    strict: bool = False,
) -> Edges:
    """Read edges; ids are kept as text, without surrounding white space.

    Parameters
    ----------
    source : path, glob, SQL or data frame, or mapping of str to such
        See :func:`gssl.io.open_table`. A mapping has a table for each relation (kind of link).
    columns : two or three names, or mapping of str to such, optional
        The columns of the ends and the weight. If None: ``source, target``, ``src, dst``, ``from, to``, else
        the first two; the weight is ``weight``, or the third of three columns if it holds numbers that its
        name and values do not show to be distances, times or ids.
    edge_type : str, optional
        The column that tells the relation of each edge; edges without a text there are of the relation
        ``other``.
    directed : bool, default=False
        Whether edges lead from the first end to the second. Otherwise directions are ignored.
    relation_weight : mapping of str to float, optional
        The weights of relations in their union, one if not given: see :func:`gssl.graph.check_adjacency`.
    header : bool, optional
        Whether the first line of a text file names the columns; detected if None.
    two_sided : bool, optional
        Whether equal ids in both columns are two nodes, which get the column's name as a prefix, such as
        ``user_id:1`` and ``item_id:1``. If None, the names tell: ``source, target`` or ``node1, node2`` are
        one kind of node, ``user, item`` two; other names raise an error if the columns share ids. The
        columns of several tables are compared in the same way; ids in columns whose names tell no kind are
        those of any.
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
    >>> edges = read_edges("SELECT 'a' AS src, 'b' AS dst, 'cites' AS kind", edge_type="kind")
    >>> edges.relation_names, edges.relations.tolist()
    (('cites',), [0])
    """
    tables = open_tables(source, header)
    coding = EdgeCoding(tables, columns, edge_type=edge_type, two_sided=two_sided, strict=strict)
    coding.copy_texts()
    coding.number_nodes()
    coding.number_edges()
    table, kinds = coding.table, coding.kinds
    ids = table.fetch_columns("SELECT id FROM memory.ids ORDER BY rowid")["id"].astype(object)
    pairs = table.fetch_columns("SELECT * FROM memory.coded WHERE u >= 0")
    u, v, relations = pairs["u"], pairs["v"], pairs.get("relation")
    return Edges(
        ids,
        u,
        v,
        pairs.get("weight"),
        coding.name,
        coding.notes,
        kinds.columns,
        kinds.several,
        kinds.sides(len(ids), u, v, relations),
        relations,
        coding.relations,
        directed,
        relation_weight,
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


def check_weights(names: Sequence[str], relation_weight: Mapping[str, float] | None) -> dict[str, float]:
    """Return the weight of each relation in the union; raise on other names and on invalid weights."""
    weights = relation_weight or {}
    link = [[0.0, 1.0], [1.0, 0.0]]
    try:
        check_adjacency(dict.fromkeys(names, link), relation_weight=weights, allow_empty=True)
    except ValueError as error:
        raise ValueError(str(error).replace("relation_weight", "`relation_weight`")) from error
    return {name: float(weights.get(name, 1.0)) for name in names}


def relation_title(name: str, names: Sequence[str], source: str) -> str:
    """Return what notes call the edges of a relation."""
    return f"relation {quoted(name)}" if len(names) > 1 else source


def left_out_note(name: str) -> str:
    """Return the note about a relation without edges between different nodes."""
    return f"relation {quoted(name)} has no edges between different nodes and is left out."
