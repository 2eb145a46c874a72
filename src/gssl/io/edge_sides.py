"""Keep two kinds of nodes apart that have the same ids, such as users and items that are both counted from 1.

Where both columns of the edges have an id, it gets the name of its column as a prefix: ``user_id:1``. Other
tables name such a node in the same way, or have an id column of that name.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from gssl.io.edge_columns import same_kind
from gssl.io.table_columns import check_distinct
from gssl.io.table_reading import Table, sql_string
from gssl.wording import counted, listed, quoted

# a table with ids, their column's name and its own name: nodes, features or labels
_Part = TypeVar("_Part", bound=Any)


def shared_sql(edges: str) -> str:
    """Return the query of the ids that both ends of some edges have; ``edges`` has the columns a and b."""
    whole = f"FROM {edges} WHERE a IS NOT NULL AND b IS NOT NULL"
    return f"SELECT a AS id {whole} INTERSECT SELECT b {whole}"


def check_shared(table: Table, ends: tuple[str, str], apart: bool | None, edges: str, shared: str) -> bool:
    """Return whether ids must be split, with a note; raise if they are shared and ``apart`` is None."""
    count, first = table.fetch_row(f"SELECT count(*), min(id) FROM {shared}")
    if not count:
        return False
    both = f"columns {quoted(ends[0])} and {quoted(ends[1])} share {counted(count, 'id')}"
    if apart is None:
        raise ValueError(
            f"{table.name}: {both}, such as {quoted(first)}, and their names do not tell whether that is one "
            "node or two: give --same-nodes or --two-sided (two_sided=False or True in Python)."
        )
    prefixed = " UNION ALL ".join(f"SELECT {_prefix_sql(end)} || id AS id FROM {shared}" for end in ends)
    taken = table.fetch_row(
        f"SELECT id FROM ({prefixed}) WHERE id IN (SELECT a FROM {edges} UNION ALL SELECT b FROM {edges}) "
        "ORDER BY id LIMIT 1"
    )
    if taken is not None:
        raise ValueError(
            f"{table.name}: {both}, and {quoted(taken[0])}, which would name one of these nodes, is an id "
            "already: rename the column."
        )
    one, other = _named(ends, first)
    table.notes.append(
        f"{table.name}: {both}; each is two nodes, such as {one} and {other} (--same-nodes makes them one)."
    )
    return True


def split_sql(ends: tuple[str, str], edges: str, shared: str) -> str:
    """Return the relation of edges whose shared ids have the name of their column as a prefix."""
    a, b = (
        f"CASE WHEN {side} IN (SELECT id FROM {shared}) THEN {_prefix_sql(end)} || {side} ELSE {side} END"
        for side, end in zip("ab", ends, strict=True)
    )
    return f"(SELECT * REPLACE ({a} AS a, {b} AS b) FROM {edges})"


def ambiguous_id_error(name: str, node: str, ends: tuple[str, ...], *, one_kind: bool) -> ValueError:
    """Return the error about an id that both kinds have, in a table that does not say which it means.

    ``one_kind`` tells whether the table may list one kind only, which its column would then name.
    """
    one, other = _named(ends, node)
    renamed = f", or name the id column {quoted(ends[0])} or {quoted(ends[1])}" if one_kind else ""
    return ValueError(
        f"{name}: id {quoted(node)} may be {one} or {other} of the edges: write it so{renamed}."
    )


def _named(ends: tuple[str, ...], node: str) -> Iterable[str]:
    return (quoted(f"{end}:{node}") for end in ends)


def _prefix_sql(end: str) -> str:
    return sql_string(f"{end}:")


@dataclass(eq=False)
class NodeKinds:
    """Two kinds of nodes that may have ids in common, by the columns of the edges that name them.

    It learns the ids of new nodes. Where an id is new to both kinds, the first node that names it has it
    without a prefix.
    """

    columns: tuple[str, ...]
    # 0 or 1 by id, as the edges name their nodes
    kinds: dict[str, int]

    @classmethod
    def of(cls, columns: tuple[str, ...], ids: np.ndarray, sides: np.ndarray) -> "NodeKinds":
        """Take the kind of each id; −1 if an id occurs in no edge."""
        pairs = zip(ids.tolist(), sides.tolist(), strict=True)
        return cls(columns, {node: side for node, side in pairs if side >= 0})

    def copy(self) -> "NodeKinds":
        """Return the same kinds, which learn on their own."""
        return NodeKinds(self.columns, dict(self.kinds))

    def sides(self, ids: np.ndarray) -> np.ndarray:
        """Return the kind of each id, −1 if unknown: the inverse of :meth:`of`."""
        return np.array([self.kinds.get(node, -1) for node in ids], dtype=np.int8)

    def resolve(self, part: _Part) -> _Part:
        """Return a table, if any, with its ids as the edges name these nodes; learn ids of new nodes."""
        if part is None:
            return part
        side = self._side(part.id_column or "")
        ids = np.empty(len(part.ids), dtype=object)
        ids[:] = [self._learn(node, side, part.name) for node in part.ids]
        check_distinct(ids, part.name)
        return replace(part, ids=ids)

    def resolve_edges(self, edges: _Part) -> _Part:
        """Return other edges, if any, with each end as the node of its column's kind is named here."""
        if edges is None or not edges.columns:
            return edges
        ids = edges.ids.copy()
        both = np.intersect1d(edges.source, edges.target)
        for codes, column in zip((edges.source, edges.target), edges.columns, strict=True):
            side = self._side(column)
            for k in np.setdiff1d(codes, both).tolist():
                ids[k] = self._learn(self._with_prefix(ids[k], column, side), side, edges.name)
        ids[both] = [self._find(node, None, edges.name) for node in ids[both]]
        notes, renamed = edges.notes, ids[ids != edges.ids]
        if len(renamed):
            notes = [
                *notes,
                f"{edges.name}: {counted(len(renamed), 'id')} named as in the model, which has nodes of two "
                f"kinds: {listed(renamed)}.",
            ]
        ids, inverse = np.unique(ids, return_inverse=True)
        source, target = inverse[edges.source], inverse[edges.target]
        return replace(edges, ids=ids, source=source, target=target, notes=notes)

    def _side(self, column: str) -> int | None:
        return next((i for i, end in enumerate(self.columns) if same_kind(column, end)), None)

    def _with_prefix(self, node: str, column: str, side: int | None) -> str:
        """Return an id whose prefix, if it has one, is spelled as here."""
        plain = node.removeprefix(f"{column}:")
        return node if side is None or plain == node else f"{self.columns[side]}:{plain}"

    def _learn(self, node: str, side: int | None, name: str) -> str:
        resolved = self._find(node, side, name)
        if side is not None:
            self.kinds.setdefault(resolved, side)
        return resolved

    def _find(self, node: str, side: int | None, name: str) -> str:
        kind = self.kinds.get(node)
        if kind is not None and side in (None, kind):
            return node
        shared = kind is None and all(f"{end}:{node}" in self.kinds for end in self.columns)
        if side is None and shared:
            raise ambiguous_id_error(name, node, self.columns, one_kind=True)
        if side is not None and (shared or kind is not None):
            return f"{self.columns[side]}:{node}"
        return self._without_prefix(node)

    def _without_prefix(self, node: str) -> str:
        """Return an id without a prefix that its node does not need."""
        for side, end in enumerate(self.columns):
            plain = node.removeprefix(f"{end}:")
            if plain != node and self.kinds.get(plain) == side:
                return plain
        return node
