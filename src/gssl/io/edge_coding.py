"""Number the ids of edge tables, and their edges by these numbers, in DuckDB.

All edges take this way: to arrays in memory (:func:`gssl.io.read_edges`), and to a graph on disk
(:func:`gssl.io.build_graph_store`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gssl.io.edge_columns import choose_columns
from gssl.io.edge_sides import EndKinds
from gssl.io.table_columns import given_sql, note_spaces, number_sql, text_sql
from gssl.io.table_reading import Table, open_table, sql_string
from gssl.wording import counted, listed, quoted

# the SQL conditions for an edge to skip, and for an invalid weight
_NO_ID = "a IS NULL OR b IS NULL"
_BAD_WEIGHT = "weight IS NULL OR NOT isfinite(weight) OR weight < 0"
# the relation of links without a kind
OTHER = "other"
# a column with more texts does not tell kinds of links
_MOST_RELATIONS = 1000


class EdgePart:
    """One table of edges: which of its columns are the ends, the weight and the kind, and what is odd."""

    def __init__(self, table: Table, columns: Sequence[str] | None, edge_type: str | None) -> None:
        self.table, self.edge_type = table, edge_type
        self.ends, self.weight = choose_columns(table, columns, edge_type)
        note_spaces(table, self.ends if edge_type is None else (*self.ends, edge_type))

    def texts_sql(self, part: int | None, *, weighted: bool) -> str:
        """Return the query of the ids ``a`` and ``b``, with weight, kind and number of the table if any."""
        columns = [
            f"{text_sql(self.table, end)} AS {name}" for end, name in zip(self.ends, "ab", strict=True)
        ]
        if weighted:
            columns.append(f"{self._weight_sql('1.0')} AS weight")
        if self.edge_type is not None:
            kind = given_sql(self.table, self.edge_type)
            columns.append(f"coalesce({kind}, {sql_string(OTHER)}) AS kind")
        if part is not None:
            columns.append(f"{part} AS part")
        return f"SELECT {', '.join(columns)} FROM {self.table.relation}"

    def _weight_sql(self, otherwise: str) -> str:
        return otherwise if self.weight is None else number_sql(self.table.columns[self.weight])

    def note_kinds(self) -> None:
        """Note how many links have no kind; raise if there are too many kinds for a column of kinds."""
        if self.edge_type is None:
            return
        table, kind = self.table, given_sql(self.table, self.edge_type)
        blank, kinds = table.fetch_row(
            f"SELECT count(*) FILTER ({kind} IS NULL), count(DISTINCT {kind}) FROM {table.relation}"
        )
        if kinds > _MOST_RELATIONS:
            raise ValueError(
                f"{table.name}: column {quoted(self.edge_type)} has {kinds:,} different texts and may not be "
                f"a column of kinds, of which {_MOST_RELATIONS:,} are possible: name another as `edge_type`."
            )
        if blank:
            table.notes.append(
                f"{table.name}: {counted(blank, 'edge')} without a kind in column {quoted(self.edge_type)} "
                f"became the relation {quoted(OTHER)}."
            )

    def check(self, count: int, odd: int, skipped: int, *, strict: bool, texts: str) -> None:
        """Raise on no edges and invalid weights; note missing ids, or raise if strict or no edge has both."""
        if not count:
            raise ValueError(f"{self.table.name} has no edges: give at least one row.")
        strict = strict or skipped == count
        if odd or (skipped and strict):
            weight = "false" if self.weight is None else _BAD_WEIGHT
            self._refuse_row(f"{_NO_ID} OR {weight}" if strict else f"NOT ({_NO_ID}) AND ({weight})")
        if skipped:
            self._note_skipped(skipped, texts)

    def _refuse_row(self, bad: str) -> None:
        """Raise an error about the first row of a condition."""
        cell = "NULL" if self.weight is None else self.table.columns[self.weight].sql
        a, b = (text_sql(self.table, end) for end in self.ends)
        row, no_source, no_target, value = self.table.fetch_row(
            f"SELECT row, a IS NULL, b IS NULL, cell FROM (SELECT row_number() OVER () - 1 AS row, {a} AS a, "
            f"{b} AS b, {self._weight_sql('NULL')} AS weight, {cell} AS cell FROM {self.table.relation}) "
            f"WHERE {bad} ORDER BY row LIMIT 1"
        )
        if no_source or no_target:
            raise self.table.missing_id_error(row, self.ends[0] if no_source else self.ends[1])
        raise ValueError(
            f"{self.table.row_name(row)}: column {quoted(self.weight)} is {quoted(value)}, but a weight "
            "must be a finite number of at least 0; repair it or name another column."
        )

    def _note_skipped(self, count: int, texts: str) -> None:
        rows = f"SELECT row_number() OVER () - 1 AS row, a, b FROM {texts}"
        first = self.table.fetch_row(f"SELECT min(row) FROM ({rows}) WHERE {_NO_ID}")[0]
        name = self.table.name
        row = self.table.row_name(first).removeprefix(f"{name}, ")
        where = "in" if count == 1 else "the first in"
        self.table.notes.append(f"{name}: skipped {counted(count, 'edge')} without an id, {where} {row}.")


class EdgeCoding:
    """The edges of one or several tables as pairs of node numbers, in tables of a database.

    ``ids`` has the ids in the order of their numbers. ``coded`` has the columns ``u``, ``v`` and, if there
    are any, ``weight`` and ``relation``, a position in ``relations``; u is −1 for an edge without an id. A
    database in a file keeps the tables that are done.
    """

    def __init__(
        self,
        tables: Mapping[str, Table],
        columns: Any = None,
        *,
        edge_type: str | None = None,
        two_sided: bool | None = None,
        strict: bool = False,
        database: str = "memory",
    ) -> None:
        self.strict, self.database, self.edge_type = strict, database, edge_type
        # the names of the relations; those of a column are known once its texts are
        self.relations = tuple(name for name in tables if name)
        if edge_type is not None and self.relations:
            raise ValueError(
                "`edge_type` cannot be combined with tables that are a relation each: leave one out."
            )
        self.parts = [
            EdgePart(table, columns.get(name) if isinstance(columns, Mapping) else columns, edge_type)
            for name, table in tables.items()
        ]
        self.tables = list(tables.values())
        self.table = self.tables[0]
        self.name = " and ".join(dict.fromkeys(table.name for table in self.tables))
        self.kinds = EndKinds.of(self.tables, [part.ends for part in self.parts], two_sided)
        self.weighted = any(part.weight is not None for part in self.parts)
        # whether kinds of nodes share ids
        self.split = False
        numbered = [k if len(self.parts) > 1 else None for k in range(len(self.parts))]
        texts = " UNION ALL ".join(
            part.texts_sql(k, weighted=self.weighted) for part, k in zip(self.parts, numbered, strict=True)
        )
        self._texts = f"({texts})"

    @property
    def notes(self) -> list[str]:
        """What was odd about the tables."""
        return [note for table in self.tables for note in table.notes]

    @property
    def repeatable(self) -> bool:
        """Whether all tables have the same rows whenever they are read, which those of a query may not."""
        return not any(table.relation.startswith("(") for table in self.tables)

    def copy_texts(self) -> None:
        """Copy the columns into the database, so that files are read and queries run only once."""
        self.store("texts", f"SELECT * FROM {self._texts}", in_order=True)
        self._texts = f"{self.database}.texts"

    def number_nodes(self, listed_ids: str | None = None) -> int:
        """Number the ids, in text order or as the rows of a query, and return how many there are."""
        if any(apart is not False for apart in self.kinds.apart.values()):
            if not self.has("shared"):
                self.store("shared", self.kinds.shared_sql(self._texts))
            shared = f"{self.database}.shared"
            self.split = self.kinds.check_shared(self.tables, self._texts, shared)
            self._texts = self.kinds.split_sql(self._texts, shared) if self.split else self._texts
        if not self.has("ids"):
            ids = f"SELECT DISTINCT unnest([a, b]) AS id FROM {self._texts} WHERE NOT ({_NO_ID})"
            self.store("ids", listed_ids or f"SELECT id FROM ({ids}) ORDER BY id")
        return int(self.table.fetch_row(f"SELECT count(*) FROM {self.database}.ids")[0])

    def number_edges(self, *, nodes_listed: bool = False) -> None:
        """Replace the ids of all edges by their numbers, and check the edges.

        If a table lists the nodes, edges may name others.
        """
        self._name_relations()
        if not self.has("coded"):
            ids = f"{self.database}.ids"
            # joining hashes takes less memory than joining texts; no two ids may share one
            distinct = f"SELECT count(*) = count(DISTINCT hash(id)) FROM {ids}"
            hashed = not nodes_listed and self.table.fetch_row(distinct)[0]
            key, a, b = (f"hash({text})" if hashed else text for text in ("id", "a", "b"))
            named = ", weight" if self.weighted else ""
            taken, coded, joined = named, named, ""
            if len(self.parts) > 1:
                taken, coded = f"{named}, part", f"{named}, part::SMALLINT AS relation"
            elif self.edge_type is not None:
                taken, coded = f"{named}, kind", f"{named}, r.relation"
                names = f"(SELECT kind, rowid::SMALLINT AS relation FROM {self.database}.relations)"
                joined = f" LEFT JOIN {names} AS r USING (kind)"
            keys = f"(SELECT {key} AS key, rowid::INTEGER AS number FROM {ids})"
            self.store(
                "coded",
                f"SELECT CASE WHEN skipped THEN -1 ELSE k.number END AS u, l.number AS v{coded} "
                f"FROM (SELECT {a} AS a, {b} AS b{taken}, {_NO_ID} AS skipped FROM {self._texts}) "
                f"LEFT JOIN {keys} AS k ON a = k.key LEFT JOIN {keys} AS l ON b = l.key{joined}",
            )
        self._check()

    def _name_relations(self) -> None:
        """Number the texts of the column of kinds, in text order."""
        if self.edge_type is None:
            return
        self.parts[0].note_kinds()
        if not self.has("relations"):
            self.store("relations", f"SELECT DISTINCT kind FROM {self._texts} ORDER BY kind")
        rows = self.table.fetch_rows(f"SELECT kind FROM {self.database}.relations ORDER BY rowid")
        self.relations = tuple(kind for (kind,) in rows)

    def _check(self) -> None:
        """Check the edges of each table; raise on ids that a table of all nodes does not have."""
        bad = f"u IS DISTINCT FROM -1 AND ({_BAD_WEIGHT})" if self.weighted else "false"
        several = len(self.parts) > 1
        strange = 0
        for k, part in enumerate(self.parts):
            within, texts = "", self._texts
            if several:
                within, texts = f" WHERE relation = {k}", f"(SELECT * FROM {self._texts} WHERE part = {k})"
            count, odd, skipped, unknown = self.table.fetch_row(
                f"SELECT count(*), count(*) FILTER ({bad}), count(*) FILTER (u = -1), "
                "count(*) FILTER (u IS NULL OR (u >= 0 AND v IS NULL)) "
                f"FROM {self.database}.coded{within}"
            )
            strange += unknown
            part.check(count, odd, skipped, strict=self.strict, texts=texts)
        if strange:
            self._refuse_unknown()

    def _refuse_unknown(self) -> None:
        unknown = self.table.fetch_rows(
            f"SELECT DISTINCT id FROM (SELECT unnest([a, b]) AS id FROM {self._texts} "
            f"WHERE NOT ({_NO_ID})) ANTI JOIN {self.database}.ids USING (id) ORDER BY id LIMIT 1000000"
        )
        raise ValueError(
            f"{self.name} names {counted(len(unknown), 'id')} that the table of nodes does not have: "
            f"{listed(node for (node,) in unknown)}; add them or remove their edges."
        )

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


def open_tables(edges: Any, header: bool | None = None) -> dict[str, Table]:
    """Open tables of edges in one connection, by the names of their relations; a single one may have none."""
    tables = {name: open_table(source, header=header) for name, source in named_sources(edges).items()}
    first, *others = tables.values()
    for k, table in enumerate(others):
        table.use_connection(first.connection, f"frame{k}")
    return tables


def named_sources(edges: Any) -> dict[str, Any]:
    """Return the sources of edges by the names of their relations, in text order; a single one has none."""
    if not isinstance(edges, Mapping):
        return {"": edges}
    if not edges:
        raise ValueError("there are no tables of edges: give at least one relation.")
    for name in edges:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"a table of edges is named {name!r}: name its relation by a text.")
    return {name: edges[name] for name in sorted(edges)}
