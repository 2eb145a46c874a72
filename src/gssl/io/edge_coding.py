"""Number the ids of an edge table, and its edges by these numbers, in DuckDB.

All edges take this way: to arrays in memory (:func:`gssl.io.read_edges`), and to a graph on disk
(:func:`gssl.io.build_graph_store`).
"""

from collections.abc import Sequence

from gssl.io.edge_columns import choose_columns, tell_kinds
from gssl.io.edge_sides import check_shared, shared_sql, split_sql
from gssl.io.table_columns import note_spaces, number_sql, text_sql
from gssl.io.table_reading import Table, sql_string
from gssl.wording import counted, listed, quoted

# the SQL conditions for an edge to skip, and for an invalid weight
_NO_ID = "a IS NULL OR b IS NULL"
_BAD_WEIGHT = "weight IS NULL OR NOT isfinite(weight) OR weight < 0"


class EdgeCoding:
    """The edges of a table as pairs of node numbers, in tables of a database.

    ``ids`` has the ids in the order of their numbers. ``coded`` has the columns ``u``, ``v`` and, if there is
    one, ``weight``; u is −1 for an edge without an id. A database in a file keeps the tables that are done.
    """

    def __init__(
        self,
        table: Table,
        columns: Sequence[str] | None = None,
        *,
        two_sided: bool | None = None,
        strict: bool = False,
        database: str = "memory",
    ) -> None:
        self.table, self.strict, self.database = table, strict, database
        self.ends, self.weight = choose_columns(table, columns)
        note_spaces(table, self.ends)
        # whether the ends are two kinds of nodes, None if unknown; and whether these share ids
        self.apart = tell_kinds(table, self.ends) if two_sided is None else two_sided
        self.split = False
        a, b = (text_sql(table, end) for end in self.ends)
        number = "" if self.weight is None else f", {number_sql(table.columns[self.weight])} AS weight"
        self._texts = f"(SELECT {a} AS a, {b} AS b{number} FROM {table.relation})"

    def copy_texts(self) -> None:
        """Copy the columns into the database, so that files are read and queries run only once."""
        self.store("texts", f"SELECT * FROM {self._texts}", in_order=True)
        self._texts = f"{self.database}.texts"

    def number_nodes(self, listed_ids: str | None = None) -> int:
        """Number the ids, in text order or as the rows of a query, and return how many there are."""
        if self.apart is not False:
            if not self.has("shared"):
                self.store("shared", shared_sql(self._texts))
            shared = f"{self.database}.shared"
            self.split = check_shared(self.table, self.ends, self.apart, self._texts, shared)
            self._texts = split_sql(self.ends, self._texts, shared) if self.split else self._texts
        if not self.has("ids"):
            ids = f"SELECT DISTINCT unnest([a, b]) AS id FROM {self._texts} WHERE NOT ({_NO_ID})"
            self.store("ids", listed_ids or f"SELECT id FROM ({ids}) ORDER BY id")
        return int(self.table.fetch_row(f"SELECT count(*) FROM {self.database}.ids")[0])

    def number_edges(self, *, nodes_listed: bool = False) -> None:
        """Replace the ids of all edges by their numbers, and check the edges.

        If a table lists the nodes, edges may name others.
        """
        if not self.has("coded"):
            ids = f"{self.database}.ids"
            # joining hashes takes less memory than joining texts; no two ids may share one
            distinct = f"SELECT count(*) = count(DISTINCT hash(id)) FROM {ids}"
            hashed = not nodes_listed and self.table.fetch_row(distinct)[0]
            key, a, b = (f"hash({text})" if hashed else text for text in ("id", "a", "b"))
            named = "" if self.weight is None else ", weight"
            keys = f"(SELECT {key} AS key, rowid::INTEGER AS number FROM {ids})"
            self.store(
                "coded",
                f"SELECT CASE WHEN skipped THEN -1 ELSE k.number END AS u, l.number AS v{named} "
                f"FROM (SELECT {a} AS a, {b} AS b{named}, {_NO_ID} AS skipped FROM {self._texts}) "
                f"LEFT JOIN {keys} AS k ON a = k.key LEFT JOIN {keys} AS l ON b = l.key",
            )
        self._check()

    def _check(self) -> None:
        """Raise on no edges, unknown ids, invalid weights and, if strict or no edge has both, missing ids."""
        bad = "false" if self.weight is None else f"u IS DISTINCT FROM -1 AND ({_BAD_WEIGHT})"
        count, odd, skipped, strange = self.table.fetch_row(
            f"SELECT count(*), count(*) FILTER ({bad}), count(*) FILTER (u = -1), "
            f"count(*) FILTER (u IS NULL OR (u >= 0 AND v IS NULL)) FROM {self.database}.coded"
        )
        if not count:
            raise ValueError(f"{self.table.name} has no edges: give at least one row.")
        strict = self.strict or skipped == count
        if odd or (skipped and strict):
            weight = "false" if self.weight is None else _BAD_WEIGHT
            self._refuse_row(f"{_NO_ID} OR {weight}" if strict else f"NOT ({_NO_ID}) AND ({weight})")
        if strange:
            self._refuse_unknown()
        if skipped:
            self._note_skipped(skipped)

    def _refuse_row(self, bad: str) -> None:
        """Raise an error about the first row of a condition."""
        cell = "NULL" if self.weight is None else self.table.columns[self.weight].sql
        a, b = (text_sql(self.table, end) for end in self.ends)
        number = "NULL" if self.weight is None else number_sql(self.table.columns[self.weight])
        row, no_source, no_target, value = self.table.fetch_row(
            f"SELECT row, a IS NULL, b IS NULL, cell FROM (SELECT row_number() OVER () - 1 AS row, {a} AS a, "
            f"{b} AS b, {number} AS weight, {cell} AS cell FROM {self.table.relation}) "
            f"WHERE {bad} ORDER BY row LIMIT 1"
        )
        if no_source or no_target:
            raise self.table.missing_id_error(row, self.ends[0] if no_source else self.ends[1])
        raise ValueError(
            f"{self.table.row_name(row)}: column {quoted(self.weight)} is {quoted(value)}, but a weight "
            "must be a finite number of at least 0; repair it or name another column."
        )

    def _refuse_unknown(self) -> None:
        unknown = self.table.fetch_rows(
            f"SELECT DISTINCT id FROM (SELECT unnest([a, b]) AS id FROM {self._texts} "
            f"WHERE NOT ({_NO_ID})) ANTI JOIN {self.database}.ids USING (id) ORDER BY id LIMIT 1000000"
        )
        raise ValueError(
            f"{self.table.name} names {counted(len(unknown), 'id')} that the table of nodes does not have: "
            f"{listed(node for (node,) in unknown)}; add them or remove their edges."
        )

    def _note_skipped(self, count: int) -> None:
        rows = f"SELECT row_number() OVER () - 1 AS row, a, b FROM {self._texts}"
        first = self.table.fetch_row(f"SELECT min(row) FROM ({rows}) WHERE {_NO_ID}")[0]
        name = self.table.name
        row = self.table.row_name(first).removeprefix(f"{name}, ")
        where = "in" if count == 1 else "the first in"
        self.table.notes.append(f"{name}: skipped {counted(count, 'edge')} without an id, {where} {row}.")

    def has(self, name: str) -> bool:
        """Return whether a table is done."""
        return bool(
            self.table.fetch_row(
                f"SELECT count(*) FROM duckdb_tables() WHERE database_name = {sql_string(self.database)} "
                f"AND table_name = {sql_string(name)}"
            )[0]
        )

    def store(self, name: str, query: str, *, in_order: bool = False) -> None:
        """Store the rows of a query; without ORDER BY, keeping their order costs time and memory."""
        self.table.execute(f"SET preserve_insertion_order = {str(in_order).lower()}")
        self.table.execute(f"CREATE OR REPLACE TABLE {self.database}.{name} AS {query}")
        self.table.execute("SET preserve_insertion_order = true")
