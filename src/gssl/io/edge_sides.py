"""Keep kinds of nodes apart that have the same ids, such as users and items that are both counted from 1.

Where columns of two kinds have an id, it gets the name of its column as a prefix: ``user_id:1``. Other tables
name such a node in the same way, or have an id column of that name.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from gssl.io.edge_columns import names_kind, same_kind, tell_kinds, tell_names
from gssl.io.table_columns import check_distinct
from gssl.io.table_reading import Table, sql_string
from gssl.wording import counted, listed, quoted

# a table with ids, their column's name and its own name: nodes, features or labels
_Part = TypeVar("_Part", bound=Any)


@dataclass(frozen=True)
class EndKinds:
    """The kinds of nodes at the ends of the edges of one or several tables.

    ``columns`` name the kinds. ``ends`` are the kinds of both ends of each table, −1 if the names of its
    columns do not tell. ``apart`` says of pairs of kinds whether their ids are different nodes; None raises
    an error if they share ids.
    """

    columns: tuple[str, ...]
    ends: tuple[tuple[int, int], ...]
    apart: dict[tuple[int, int], bool | None]

    @classmethod
    def of(
        cls, tables: Sequence[Table], pairs: Sequence[tuple[str, str]], two_sided: bool | None
    ) -> "EndKinds":
        """Return the kinds by the names of the columns of each table."""
        if len(tables) == 1:
            apart = tell_kinds(tables[0], pairs[0]) if two_sided is None else two_sided
            return cls(pairs[0], ((0, 1),), {(0, 1): apart})
        named = [_kind_names(table, ends) for table, ends in zip(tables, pairs, strict=True)]
        # of the columns of one kind the shortest names it, whatever the order of the tables
        columns = list[str]()
        for name in sorted(
            {name for ends in named for name in ends if name}, key=lambda name: (len(name), name)
        ):
            if not any(same_kind(name, column) for column in columns):
                columns.append(name)

        def kind(name: str) -> int:
            return next((k for k, column in enumerate(columns) if name and same_kind(name, column)), -1)

        ends = tuple((kind(a), kind(b)) for a, b in named)
        named_apart = {
            (i, j): tell_names(columns[i], columns[j]) if two_sided is not False else False
            for i, j in combinations(range(len(columns)), 2)
        }
        apart_by_pair = {pair: two_sided if apart is None else apart for pair, apart in named_apart.items()}
        return cls(tuple(columns), ends, apart_by_pair)

    @property
    def several(self) -> bool:
        """Whether there are two kinds or more."""
        return True in self.apart.values()

    def shared_sql(self, edges: str) -> str:
        """Return the query of the ids that two kinds have in edges with the columns a, b and perhaps part."""
        pairs = [self._common_sql(pair, edges) for pair, apart in self.apart.items() if apart is not False]
        return " UNION ".join(f"({pair})" for pair in pairs)

    def _common_sql(self, pair: tuple[int, int], edges: str) -> str:
        return " INTERSECT ".join(f"({self._ids_sql(kind, edges)})" for kind in pair)

    def _ids_sql(self, kind: int, edges: str) -> str:
        return " UNION ALL ".join(self._side_sql(*end, edges) for end in self.sides_of(kind))

    def _side_sql(self, part: int, side: str, edges: str) -> str:
        whole = f"a IS NOT NULL AND b IS NOT NULL{self._in_part(part)}"
        return f"SELECT {side} AS id FROM {edges} WHERE {whole}"

    def sides_of(self, kind: int) -> list[tuple[int, str]]:
        """Return the tables, and in each the side (a or b), that have a kind."""
        return [
            (part, side)
            for part, ends in enumerate(self.ends)
            for side, end in zip("ab", ends, strict=True)
            if end == kind
        ]

    def _in_part(self, part: int) -> str:
        return f" AND part = {part}" if len(self.ends) > 1 else ""

    def check_shared(self, tables: Sequence[Table], edges: str, shared: str) -> bool:
        """Return whether ids must be split, with a note; raise if names do not tell whether they are one."""
        split, table = False, tables[0]
        name = table.name if len(tables) == 1 else "the edges"
        for pair, apart in self.apart.items():
            if apart is False:
                continue
            ids = shared if len(self.apart) == 1 else f"({self._common_sql(pair, edges)})"
            count, first = table.fetch_row(f"SELECT count(*), min(id) FROM {ids}")
            if not count:
                continue
            columns = tuple(self.columns[kind] for kind in pair)
            both = f"columns {quoted(columns[0])} and {quoted(columns[1])} share {counted(count, 'id')}"
            if apart is None:
                raise ValueError(
                    f"{name}: {both}, such as {quoted(first)}, and their names do not tell whether that is "
                    "one node or two: give --same-nodes or --two-sided (two_sided=False or True in Python)."
                )
            self._refuse_taken(table, f"{name}: {both}", pair, edges, ids)
            one, other = _named(columns, first)
            table.notes.append(
                f"{name}: {both}; each is two nodes, such as {one} and {other} (--same-nodes makes them one)."
            )
            split = True
        if split:
            self._refuse_ambiguous(tables, edges, shared)
        return split

    def _refuse_taken(self, table: Table, both: str, pair: tuple[int, int], edges: str, ids: str) -> None:
        """Raise if an id with a prefix is an id already."""
        prefixed = " UNION ALL ".join(
            f"SELECT {_prefix_sql(self.columns[kind])} || id AS id FROM {ids}" for kind in pair
        )
        others = " UNION ALL ".join(self._ids_sql(kind, edges) for kind in range(len(self.columns)))
        taken = table.fetch_row(f"SELECT id FROM ({prefixed}) WHERE id IN ({others}) ORDER BY id LIMIT 1")
        if taken is not None:
            raise ValueError(
                f"{both}, and {quoted(taken[0])}, which would name one of these nodes, is an id already: "
                "rename the column."
            )

    def _refuse_ambiguous(self, tables: Sequence[Table], edges: str, shared: str) -> None:
        """Raise if a column that does not tell the kind of its nodes has an id that several kinds have."""
        for part, side in self.sides_of(-1):
            ids = self._side_sql(part, side, edges)
            node = tables[part].fetch_row(f"SELECT min(id) FROM ({ids}) SEMI JOIN {shared} USING (id)")[0]
            if node is not None:
                kinds = [
                    column
                    for kind, column in enumerate(self.columns)
                    if tables[part].fetch_row(
                        f"SELECT 1 FROM ({self._ids_sql(kind, edges)}) WHERE id = {sql_string(node)} LIMIT 1"
                    )
                ]
                raise ambiguous_id_error(tables[part].name, node, tuple(kinds), one_kind=True)

    def split_sql(self, edges: str, shared: str) -> str:
        """Return the relation of edges whose shared ids have the name of their column as a prefix."""
        a, b = (self._named_sql(side, shared) for side in "ab")
        return f"(SELECT * REPLACE ({a} AS a, {b} AS b) FROM {edges})"

    def _named_sql(self, side: str, shared: str) -> str:
        ends = {part: ends["ab".index(side)] for part, ends in enumerate(self.ends)}
        cases = " ".join(
            f"WHEN {side} IN (SELECT id FROM {shared}){self._in_part(part)} "
            f"THEN {_prefix_sql(self.columns[kind])} || {side}"
            for part, kind in ends.items()
            if kind >= 0
        )
        return f"CASE {cases} ELSE {side} END" if cases else side

    def side_sql(self, coded: str) -> str:
        """Return the SQL of the kind of the node ``rowid``; ``coded`` has the node numbers u and v."""
        cases = (
            f"WHEN rowid IN (SELECT {'uv'['ab'.index(side)]} FROM {coded}"
            + (f" WHERE relation = {part}" if len(self.ends) > 1 else "")
            + f") THEN {kind}"
            for kind in range(len(self.columns))
            for part, side in self.sides_of(kind)
        )
        return f"CASE {' '.join(cases)} ELSE -1 END::TINYINT"

    def sides(self, n_nodes: int, u: np.ndarray, v: np.ndarray, parts: np.ndarray | None) -> np.ndarray:
        """Return the kind of each node in edges between node numbers; −1 if it is of several, or unknown."""
        unseen = -2
        sides = np.full(n_nodes, unseen, dtype=np.int8)
        for kind in range(len(self.columns)):
            for part, side in self.sides_of(kind):
                nodes = u if side == "a" else v
                nodes = nodes if parts is None or len(self.ends) == 1 else nodes[parts == part]
                before = sides[nodes]
                sides[nodes] = np.where((before == unseen) | (before == kind), kind, -1)
        sides[sides == unseen] = -1
        return sides


def _kind_names(table: Table, ends: tuple[str, str]) -> tuple[str, str]:
    """Return the columns that name the kinds of both ends of one of several tables, "" where none does."""
    if tell_kinds(table, ends) is not False:
        return ends
    # without a certain header, a name may be an id
    sure = table.dialect is None or (table.dialect.header and table.dialect.sure)
    name = min((end for end in ends if sure and names_kind(end)), key=lambda end: (len(end), end), default="")
    return name, name


def ambiguous_id_error(name: str, node: str, ends: tuple[str, ...], *, one_kind: bool) -> ValueError:
    """Return the error about an id that several kinds have, in a table that does not say which it means.

    ``one_kind`` tells whether the table may list one kind only, which its column would then name.
    """
    renamed = f", or name the id column {_any_of([quoted(end) for end in ends])}" if one_kind else ""
    return ValueError(
        f"{name}: id {quoted(node)} may be {_any_of(_named(ends, node))} of the edges: write it so{renamed}."
    )


def _named(ends: tuple[str, ...], node: str) -> list[str]:
    return [quoted(f"{end}:{node}") for end in ends]


def _any_of(texts: list[str]) -> str:
    return " or ".join([", ".join(texts[:-1]), texts[-1]])


def _prefix_sql(end: str) -> str:
    return sql_string(f"{end}:")


@dataclass(eq=False)
class NodeKinds:
    """Two or more kinds of nodes that may have ids in common, by the columns of the edges that name them.

    It learns the ids of new nodes. Where an id is new to all kinds, the first node that names it has it
    without a prefix.
    """

    columns: tuple[str, ...]
    # positions in columns by id, as the edges name their nodes
    kinds: dict[str, int]

    @classmethod
    def of(cls, columns: tuple[str, ...], ids: np.ndarray, sides: np.ndarray) -> "NodeKinds":
        """Take the kind of each id; −1 if it is unknown."""
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
        ids = np.empty(len(part.ids), dtype=object)
        sides = self._sides_of_rows(part)
        ids[:] = [self._learn(node, side, part.name) for node, side in zip(part.ids, sides, strict=True)]
        check_distinct(ids, part.name)
        return replace(part, ids=ids)

    def resolve_edges(self, edges: _Part) -> _Part:
        """Return other edges, if any, with each end as the node of its column's kind is named here."""
        if edges is None or not edges.columns:
            return edges
        ids = edges.ids.copy()
        for position, column in enumerate(edges.columns):
            side = self._side(column)
            for k in np.flatnonzero(edges.sides == position).tolist():
                ids[k] = self._learn(self._with_prefix(ids[k], column, side), side, edges.name)
        for k in np.flatnonzero(edges.sides < 0).tolist():
            ids[k] = self._find(ids[k], None, edges.name)
        notes, renamed = edges.notes, ids[ids != edges.ids]
        if len(renamed):
            notes = [
                *notes,
                f"{edges.name}: {counted(len(renamed), 'id')} named as in the model, which has nodes of "
                f"{'two' if len(self.columns) == 2 else len(self.columns)} kinds: {listed(renamed)}.",
            ]
        ids, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
        source, target = inverse[edges.source], inverse[edges.target]
        return replace(edges, ids=ids, source=source, target=target, notes=notes, sides=edges.sides[first])

    def _sides_of_rows(self, part: Any) -> list[int | None]:
        """Return the kind of each row of a table, by the name of its ids or, if it has several, of each."""
        parts = getattr(part, "parts", ())
        if not parts:
            return [self._side(part.id_column or "")] * len(part.ids)
        unknown = next((one.kind for one in parts if self._side(one.kind) is None), None)
        if unknown is not None:
            raise ValueError(
                f"{part.name}: the edges have no nodes of the kind {quoted(unknown)}: name one of "
                f"{listed(self.columns)}."
            )
        return [self._side(one.kind) for one in parts for _ in range(one.n_rows)]

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
        owners = tuple(end for end in self.columns if f"{end}:{node}" in self.kinds)
        if kind is None and side is not None and self.columns[side] in owners:
            return f"{self.columns[side]}:{node}"
        shared = kind is None and len(owners) > 1
        if side is None and shared:
            raise ambiguous_id_error(name, node, owners, one_kind=True)
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
