"""Build a graph store from edge tables of any size, within a memory budget.

Ids are numbered by a scan of plain text, or by DuckDB, which may spill to disk. The rows become a file of
pairs of node numbers, which are sorted as integers, one range of keys at a time.
"""

import json
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from gssl.files import write_all
from gssl.io.atomic import whole_folder
from gssl.io.edge_columns import choose_columns, tell_kinds
from gssl.io.edge_scanning import EdgeScan, NotScannable, check_utf8, note_skipped
from gssl.io.edge_sides import ambiguous_id_error, check_shared, shared_sql, split_sql
from gssl.io.edge_tables import BAD_WEIGHT, NO_ID, EdgeFacts, check_counts
from gssl.io.graph_store import GraphStore, open_graph_store, write_manifest
from gssl.io.pair_merging import PairMerging, Pairs
from gssl.io.table_columns import IDS, missing_id_notes, note_spaces, number_sql, pick_column, text_sql
from gssl.io.table_reading import Table, find_files, is_query, open_table, split_inside, sql_string
from gssl.scale.memory import read_size
from gssl.wording import MISSING, counted, listed, quoted, write_size

# node numbers are int32
_MOST_NODES = 2**31 - 1
# bytes that Python, its libraries and DuckDB take before any data is read
_BASE = 220 * 10**6
_LEAST = 400 * 10**6
# share of the rest for DuckDB's buffers or the ids of a scan; DuckDB exceeds it while it reads and writes
_DATABASE_SHARE = 0.6
# bytes per pair while a part is merged, and while it is sorted or waits; parts that are sorted or wait
_MERGING, _WAITING, _AHEAD = 120, 32, 2
# rows sampled to decide where to cut the pairs into parts
_SAMPLE = 20_000
# rows to code or select at a time
_ROWS = 1 << 17
# temporary files of rows
_WORKING = ("codes", "ends", "order", "weights")


def build_graph_store(
    edges: Any,
    directory: str | Path,
    *,
    nodes: Any = None,
    columns: Sequence[str] | None = None,
    header: bool | None = None,
    two_sided: bool | None = None,
    strict: bool = False,
    memory_budget: Any = "2GB",
    threads: int | None = None,
) -> GraphStore:
    """Build a graph on disk, which may be larger than memory, from edge tables.

    The graph is the one that :func:`gssl.io.assemble` makes in memory: ids are kept as text and numbered in
    text order; self-loops and edges of weight 0 are dropped; weights of repeated rows are summed, unless all
    are 1; if two directions differ in weight, the larger counts. The notes about irregularities are the same.

    Parameters
    ----------
    edges : path, glob, SQL or data frame
        See :func:`gssl.io.read_edges`.
    directory : path
        The folder to create, atomically. If the process is killed, the same call continues where it
        stopped.
    nodes : path, glob, SQL or data frame, optional
        A table whose ``id`` column lists all nodes in order, including those without edges. An edge of
        another id is an error.
    columns : two or three names, optional
        The columns of the ends and the weight; guessed if None.
    header : bool, optional
        Whether the first lines of text files name the columns; detected if None.
    two_sided : bool, optional
        Whether equal ids in both columns are two nodes; the names of the columns tell if None.
    strict : bool, default=False
        Raise on an edge without an id, instead of skipping it with a note.
    memory_budget : number of bytes or str, default="2GB"
        For the whole process, as an estimate; at least 400 MB. During the build, the disk of ``directory``
        also needs about 50 bytes per row.
    threads : int, optional
        All CPUs if None; each takes part of the budget.

    Returns
    -------
    GraphStore

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "store"
    >>> store = build_graph_store("SELECT '007' AS src, '8' AS dst UNION ALL SELECT '8', '9'", path)
    >>> store
    GraphStore('store', nodes=3, edges=2)
    >>> store.adjacency.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    budget = read_size(memory_budget)
    if budget < _LEAST:
        raise ValueError(f"a memory budget of {write_size(budget)} is too small: give at least 400 MB.")
    path = Path(directory).expanduser()
    mark = _mark(edges, nodes, columns, header, two_sided, strict)
    with whole_folder(path, mark) as folder:
        table = open_table(edges, header=header)
        # also closed after an error: the database of a build can only be open once
        with closing(table.connection):
            ends, weight = choose_columns(table, columns)
            apart = tell_kinds(table, ends) if two_sided is None else two_sided
            work = _Build(table, folder, budget, strict, ends, weight, apart)
            work.limit(threads)
            note_spaces(table, work.ends)
            work.number_nodes(nodes, header)
            work.code_edges(nodes)
            work.write_ids()
        work.finish(work.merge())
    return open_graph_store(path)


def _mark(edges: Any, nodes: Any, columns: Sequence[str] | None, *settings: bool | None) -> str:
    """Return a text that identifies the inputs of a store; it is unique if any of them is not a file."""
    parts: list[Any] = [3, list(columns or ()), *settings]
    for source in (edges, nodes):
        if source is None:
            parts.append(None)
        elif isinstance(source, str | Path) and not is_query(source):
            files = [(file, file.stat()) for file in find_files(source)]
            parts.append(split_inside(source)[1])
            parts.append([(str(file.resolve()), stat.st_size, stat.st_mtime_ns) for file, stat in files])
        else:
            parts.append(os.urandom(16).hex())
    return json.dumps(parts)


@dataclass
class _Build:
    """One build; its finished stages are the tables of a database in its folder."""

    table: Table
    folder: Path
    budget: int
    strict: bool
    ends: tuple[str, str]
    weight: str | None
    # whether the ends are two kinds of nodes, None if unknown; and whether these share ids
    apart: bool | None
    split: bool = False
    n_nodes: int = 0
    _facts: tuple[int, int, int, bool] = (0, 0, 0, False)
    # the number of rows without an id, and the position of the first
    _skipped: tuple[int, int | None] = (0, None)

    def limit(self, threads: int | None) -> None:
        """Limit DuckDB to its share of the budget, let it spill to the folder, and attach the database."""
        run = self.table.execute
        available = self.budget - _BASE
        run(f"SET memory_limit = '{int(available * _DATABASE_SHARE) // 1000}kB'")
        run(f"SET temp_directory = {sql_string(str(self.folder / 'spilled'))}")
        if threads is not None:
            run(f"SET threads = {int(threads)}")
        attach = f"ATTACH {sql_string(str(self.folder / 'build.duckdb'))} AS build"
        try:
            run(attach)
        except ValueError:
            # a process that was killed early leaves a file that is not a database yet
            for file in self.folder.glob("build.duckdb*"):
                file.unlink()
            run(attach)

    def number_nodes(self, nodes: Any, header: bool | None) -> None:
        """Store the ids so that the row number of an id is its node number."""
        if not self._has("scanned"):
            self._scan()
        if self.apart is not False and not self._was_scanned():
            if not self._has("shared"):
                self._store("shared", shared_sql(self._texts()))
            self.split = check_shared(self.table, self.ends, self.apart, self._texts(), "build.shared")
        if not self._has("ids"):
            if nodes is not None:
                self._copy_nodes(nodes, header)
            elif self._was_scanned():
                order = "" if (self.folder / "order").exists() else " ORDER BY id"
                self._store("ids", f"SELECT id, code FROM build.scanned{order}", in_order=True)
            else:
                ids = f"SELECT DISTINCT unnest([a, b]) AS id FROM {self._texts()} WHERE NOT ({NO_ID})"
                self._store("ids", f"SELECT id FROM ({ids}) ORDER BY id")
        self.n_nodes = self.table.fetch_row("SELECT count(*) FROM build.ids")[0]
        if self.n_nodes > _MOST_NODES:
            raise ValueError(
                f"{self.table.name} names {self.n_nodes:,} nodes, and a graph store holds fewer than 2³¹: "
                "split the graph."
            )

    def _scan(self) -> None:
        """Store the ids of plain text, and write its rows as codes; store no ids of other tables.

        If the ids could be stored in text order right away, a file ``order`` holds their codes.
        """
        lines = self.folder / "ids.txt"
        ids = "SELECT ''::VARCHAR AS id, 0 AS code LIMIT 0"
        skipped, first = 0, None
        try:
            most_bytes = (self.budget - _BASE) * _DATABASE_SHARE
            apart = self.apart is not False
            scan = EdgeScan(self.table, self.ends, self.weight, most_bytes, strict=self.strict, apart=apart)
            with (self.folder / "codes").open("wb") as codes, (self.folder / "weights").open("wb") as values:
                for ends, weights in scan.blocks():
                    write_all(codes, ends)
                    write_all(values, weights)
            order = scan.order()
            if order is not None:
                order.tofile(self.folder / "order")
            with lines.open("wb") as stream:
                write_all(stream, scan.lines(order))
            if scan.n_ids and check_utf8(scan.lines()):
                skipped, first = scan.n_skipped, scan.first_skipped
                assert self.table.dialect is not None
                separator = sql_string(self.table.dialect.delimiter)
                ids = (
                    "SELECT id, (row_number() OVER () - 1)::INTEGER AS code "
                    f"FROM read_csv({sql_string(str(lines))}, auto_detect=false, header=false, "
                    f"delim={separator}, quote='', escape='', columns={{'id': 'VARCHAR'}})"
                )
        except NotScannable:
            pass
        self._store("skipped", _skipped_sql(skipped, first))
        self._store("scanned", ids, in_order=True)
        lines.unlink(missing_ok=True)

    def _was_scanned(self) -> bool:
        return self.table.fetch_row("SELECT 1 FROM build.scanned LIMIT 1") is not None

    def _copy_nodes(self, nodes: Any, header: bool | None) -> None:
        listing = open_table(nodes, header=header, graph_part="nodes")
        name = pick_column(listing, None, IDS, 0)
        text = text_sql(listing, name)
        path = self.folder / "nodes.parquet"
        listing.execute(f"COPY (SELECT {text} AS id FROM {listing.relation}) TO {sql_string(str(path))}")
        read = f"read_parquet({sql_string(str(path))}, file_row_number = true)"
        row = self.table.fetch_row(f"SELECT min(file_row_number) FROM {read} WHERE id IS NULL")[0]
        if row is not None:
            raise listing.missing_id_error(row, name)
        twice = self.table.fetch_row(
            f"SELECT id FROM {read} GROUP BY id HAVING count(*) > 1 ORDER BY min(file_row_number) LIMIT 1"
        )
        if twice is not None:
            raise ValueError(f"{listing.name} has more than one row for {quoted(twice[0])}; keep one.")
        if self.split:
            shared = self.table.fetch_row(f"SELECT min(id) FROM {read} SEMI JOIN build.shared USING (id)")[0]
            if shared is not None:
                # it lists all nodes, so that the name of its column cannot tell the kind of one
                raise ambiguous_id_error(listing.name, shared, self.ends, one_kind=False)
        self._store("ids", f"SELECT id FROM {read} ORDER BY file_row_number")
        path.unlink()

    def code_edges(self, nodes: Any) -> None:
        """Write the edges as pairs of node numbers."""
        if self._has("facts"):
            return
        number = self._numbers_of_codes(nodes) if self._was_scanned() else None
        blocks = self._join(nodes)
        self._skipped = self.table.fetch_row("SELECT skipped, first FROM build.skipped")
        if number is not None:
            scanned = self._rows("codes", self.weight is not None)
            blocks = ((number[codes], weights) for codes, weights in scanned)
        count = self_loops = zeros = 0
        weighted, largest = False, 0.0
        with (self.folder / "ends").open("wb") as stream:
            for ends, weights in blocks:
                write_all(stream, ends)
                loops = ends[:, 0] == ends[:, 1]
                count += len(ends)
                self_loops += int(np.count_nonzero(loops & (weights != 0) if len(weights) else loops))
                zeros += len(weights) - int(np.count_nonzero(weights))
                weighted |= bool(((weights != 0) & (weights != 1)).any())
                largest = max(largest, float(weights.max(initial=0.0)))
        weighted |= self.weight is not None and largest != 1
        self._store(
            "facts",
            f"SELECT {count} AS n_rows, {self_loops} AS self_loops, {zeros} AS zeros, {weighted} AS weighted"
            f", skipped, first FROM ({_skipped_sql(*self._skipped)})",
        )

    def _numbers_of_codes(self, nodes: Any) -> np.ndarray | None:
        """Return the node number of each code of the scan; None if the table of nodes lacks an id."""
        if nodes is None:
            coded = self.table.fetch_columns("SELECT code FROM build.ids ORDER BY rowid")
            coded["number"] = np.arange(self.n_nodes, dtype=np.int32)
        else:
            pairs = "build.scanned LEFT JOIN build.ids USING (id)"
            coded = self.table.fetch_columns(f"SELECT code, ids.rowid::INTEGER AS number FROM {pairs}")
            if np.isnan(coded["number"]).any():
                return None
        codes = coded["code"]
        if (self.folder / "order").exists():
            codes = np.fromfile(self.folder / "order", np.int64)[codes]
        number = np.empty(len(codes), np.int32)
        number[codes] = coded["number"]
        return number

    def _join(self, nodes: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the ends and weights of the rows, joined with the ids by DuckDB."""
        if not self._has("coded"):
            # join on hashes of ids if all ids come from the edges and no two share a hash
            distinct = "SELECT count(*) = count(DISTINCT hash(id)) FROM build.ids"
            hashed = nodes is None and self.table.fetch_row(distinct)[0]
            key, a, b = (f"hash({text})" if hashed else text for text in ("id", "a", "b"))
            named = "" if self.weight is None else ", weight"
            keys = f"(SELECT {key} AS key, rowid::INTEGER AS number FROM build.ids)"
            self._store(
                "coded",
                f"SELECT CASE WHEN skipped THEN -1 ELSE k.number END AS u, l.number AS v{named} "
                f"FROM (SELECT {a} AS a, {b} AS b, weight, {NO_ID} AS skipped FROM {self._texts()}) "
                f"LEFT JOIN {keys} AS k ON a = k.key LEFT JOIN {keys} AS l ON b = l.key",
            )
        self._check()
        count = self.table.fetch_row("SELECT count(*) FROM build.coded")[0]
        with (self.folder / "weights").open("wb") as stream:
            for start in range(0, count, _ROWS):
                part = self.table.fetch_columns(
                    f"SELECT * FROM build.coded WHERE rowid >= {start} AND rowid < {start + _ROWS} AND u >= 0"
                )
                weights = part.get("weight", np.empty(0))
                write_all(stream, weights)
                yield np.stack([part["u"], part["v"]], axis=1), weights

    def _rows(self, name: str, weighted: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield blocks of a file of pairs, with their weights."""
        weights = np.empty(0)
        with (self.folder / name).open("rb") as ends, (self.folder / "weights").open("rb") as values:
            while len(block := np.fromfile(ends, np.int32, 2 * _ROWS)):
                if weighted:
                    weights = np.fromfile(values, np.float64, len(block) // 2)
                yield block.reshape(-1, 2), weights

    def _texts(self) -> str:
        """Return the SQL relation of the ids and the weight, as text and number."""
        a, b = (text_sql(self.table, end) for end in self.ends)
        number = "NULL" if self.weight is None else number_sql(self.table.columns[self.weight])
        texts = f"(SELECT {a} AS a, {b} AS b, {number} AS weight FROM {self.table.relation})"
        return split_sql(self.ends, texts, "build.shared") if self.split else texts

    def _check(self) -> None:
        bad = "false" if self.weight is None else f"u IS DISTINCT FROM -1 AND ({BAD_WEIGHT})"
        count, odd, skipped, strange = self.table.fetch_row(
            f"SELECT count(*), count(*) FILTER ({bad}), count(*) FILTER (u = -1), "
            "count(*) FILTER (u IS NULL OR (u >= 0 AND v IS NULL)) FROM build.coded"
        )
        check_counts(self.table, self.ends, self.weight, (count, odd, skipped), self.strict)
        if skipped:
            rows = f"SELECT row_number() OVER () - 1 AS row, a, b FROM {self._texts()}"
            first = self.table.fetch_row(f"SELECT min(row) FROM ({rows}) WHERE {NO_ID}")[0]
            self._skipped = (skipped, first)
        if not strange:
            return
        unknown = self.table.fetch_rows(
            f"SELECT DISTINCT id FROM (SELECT unnest([a, b]) AS id FROM {self._texts()} WHERE NOT ({NO_ID})) "
            "ANTI JOIN build.ids USING (id) ORDER BY id LIMIT 1000000"
        )
        raise ValueError(
            f"{self.table.name} names {counted(len(unknown), 'id')} that the table of nodes does not have: "
            f"{listed(node for (node,) in unknown)}; add them or remove their edges."
        )

    def write_ids(self) -> None:
        """Write the ids and detach the database."""
        path = sql_string(str(self.folder / "ids.parquet"))
        *facts, skipped, first = self.table.fetch_row("SELECT * FROM build.facts")
        self._facts = tuple(facts)
        note_skipped(self.table, skipped, first)
        markers = ", ".join(sql_string(text) for text in MISSING)
        odd = self.table.fetch_rows(f"SELECT id FROM build.ids WHERE id IN ({markers}) ORDER BY rowid")
        self.table.notes += missing_id_notes(self.table.name, [node for (node,) in odd])
        sides = ""
        if self.split:
            u, v = (f"rowid IN (SELECT {end} FROM build.coded)" for end in "uv")
            sides = f", CASE WHEN {u} THEN 0 WHEN {v} THEN 1 ELSE -1 END::TINYINT AS side"
        self.table.execute(
            f"COPY (SELECT id{sides} FROM build.ids ORDER BY rowid) TO {path} "
            "(FORMAT parquet, COMPRESSION zstd)"
        )
        self.table.execute("DETACH build")

    def merge(self) -> EdgeFacts:
        """Write the arrays of the graph."""
        _, self_loops, zeros, weighted = self._facts
        merged = PairMerging(self.folder, self.n_nodes, weighted).run(self._parts())
        return replace(merged, self_loops=self_loops, zeros=zeros)

    def _parts(self) -> Iterator[Pairs]:
        """Yield the pairs in order; the next parts are sorted while one is merged."""
        waiting: deque[Future[Pairs]] = deque()
        with ThreadPoolExecutor(_AHEAD) as pool:
            for low, high in pairwise(self._cuts()):
                waiting.append(pool.submit(self._between, low, high))
                if len(waiting) > _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _cuts(self) -> list[int]:
        """Return keys that cut the pairs into parts of about the size that can be merged at a time."""
        count = self._facts[0]
        step = max(10**5, int((self.budget - _BASE) * _DATABASE_SHARE) // (2 * _MERGING + _AHEAD * _WAITING))
        n_parts = max(-(-2 * count // step), min(_AHEAD + 1, count // 10**5))
        cuts = np.empty(0, np.int64)
        if n_parts > 1:
            ends = np.memmap(self.folder / "ends", np.int32, "r", shape=(count, 2))
            rows = np.random.default_rng(1).integers(count, size=_SAMPLE)
            u, v = ends[np.sort(rows)].astype(np.int64).T
            keys = np.sort(np.concatenate([u << 32 | v << 1, v << 32 | u << 1]))
            cuts = np.unique(keys[np.arange(1, n_parts) * len(keys) // n_parts])
        return [0, *cuts.tolist(), 2**63 - 1]

    def _between(self, low: int, high: int) -> Pairs:
        """Return the pairs with keys in [low, high), sorted."""
        from gssl.io._scan_loops import compiled_loop, select_pairs

        select, weighted = compiled_loop(select_pairs), self._facts[3]
        key, weight = np.empty(2 * _ROWS + 1, np.int64), np.empty(2 * _ROWS + 1)
        count = np.zeros(1, np.int64)
        keys, weights = [], []
        for ends, values in self._rows("ends", self.weight is not None):
            select(ends, values, low, high, key, weight, count)
            keys.append(key[: count[0]].copy())
            if weighted:
                weights.append(weight[: count[0]].copy())
        return Pairs(np.concatenate(keys), np.concatenate(weights) if weighted else None).sorted()

    def finish(self, facts: EdgeFacts) -> None:
        """Write the manifest and delete temporary files."""
        for file in (*self.folder.glob("build.duckdb*"), *(self.folder / name for name in _WORKING)):
            file.unlink(missing_ok=True)
        notes = [*self.table.notes, *facts.notes(self.table.name)]
        write_manifest(self.folder, self.table.name, facts, notes, self.ends if self.split else ())

    def _has(self, name: str) -> bool:
        return bool(
            self.table.fetch_row(
                "SELECT count(*) FROM duckdb_tables() "
                f"WHERE database_name = 'build' AND table_name = {sql_string(name)}"
            )[0]
        )

    def _store(self, name: str, query: str, *, in_order: bool = False) -> None:
        # keeping the order of rows costs time and memory
        self.table.execute(f"SET preserve_insertion_order = {str(in_order).lower()}")
        self.table.execute(f"CREATE OR REPLACE TABLE build.{name} AS {query}")
        self.table.execute("SET preserve_insertion_order = true")


def _skipped_sql(count: int, first: int | None) -> str:
    return f"SELECT {count} AS skipped, {'NULL' if first is None else first}::BIGINT AS first"
