"""A graph store from edge tables of any size, within a memory budget: DuckDB sorts, with files to help it."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.lib import format as npy

from gssl.io.atomic import whole_folder
from gssl.io.edge_tables import BAD_WEIGHT, EdgeFacts, choose_columns, refuse_rows
from gssl.io.graph_store import GraphStore, open_graph_store, write_manifest
from gssl.io.table_columns import (
    IDS,
    counted,
    listed,
    note_spaces,
    number_sql,
    pick_column,
    shortened,
    text_sql,
)
from gssl.io.table_reading import Table, find_files, is_query, open_table, sql_string
from gssl.scale.memory import read_size, write_size
from gssl.scale.run_folder import write_all

# node numbers are 32 bits long with a sign
_MOST_NODES = 2**31 - 1
# what Python, its libraries and DuckDB itself take before there is any data
_BASE = 160 * 10**6
_LEAST = 400 * 10**6
# of what is left: DuckDB's buffers; it goes beyond them while it reads and writes files
_DATABASE_SHARE = 0.6
# bytes per row of a sorted part while it is merged
_MERGING = 120
# row pointers that are made at a time
_ROWS = 1 << 20


def build_graph_store(
    edges: Any,
    directory: str | Path,
    *,
    nodes: Any = None,
    columns: Sequence[str] | None = None,
    header: bool | None = None,
    memory_budget: Any = "2GB",
    threads: int | None = None,
) -> GraphStore:
    """Turn edge tables into a graph on disk that need not fit in memory.

    The graph is the one that :func:`gssl.io.assemble` makes in memory: ids stay the text they are, numbered
    in text order; self-loops and weights of 0 are left out; weights of repeated rows add up, unless every
    weight is 1; of two directions the larger weight counts. What was odd is told in the same words.

    Parameters
    ----------
    edges : path, glob, SQL or data frame
        See :func:`gssl.io.read_edges`.
    directory : path
        Where the store appears, whole or not at all. If the process is killed meanwhile, the same call goes
        on where it was.
    nodes : path, glob, SQL or data frame, optional
        A table whose ``id`` column names the nodes, in their order; those without edges too. An edge of
        another id is an error.
    columns : two or three names, optional
        Of the ends and the weight; guessed if None.
    header : bool, optional
        Whether the first lines of text files name the columns; detected if None.
    memory_budget : number of bytes or str, default="2GB"
        For this whole process, as far as it can be told beforehand; at least 400 MB. Beside it, the disk
        that holds ``directory`` lends some 50 bytes per row for the time of the build.
    threads : int, optional
        All CPUs if None; each takes a part of the budget.

    Returns
    -------
    GraphStore

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "store"
    >>> store = build_graph_store("SELECT '007' AS src, '8' AS dst UNION ALL SELECT '8', '9'", place)
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
    place = Path(directory).expanduser()
    mark = _mark(edges, nodes, columns, header)
    with whole_folder(place, mark) as folder:
        table = open_table(edges, header=header)
        work = _Build(table, folder, budget, *choose_columns(table, columns))
        work.limit(threads)
        note_spaces(table, work.ends)
        work.number_nodes(nodes, header)
        work.code_edges()
        facts = work.merge()
        work.finish(facts)
    return open_graph_store(place)


def _mark(edges: Any, nodes: Any, columns: Sequence[str] | None, header: bool | None) -> str:
    """Describe what a store is made of; what is not made of files is never the same again."""
    told: list[Any] = [2, list(columns or ()), header]
    for source in (edges, nodes):
        if source is None:
            told.append(None)
        elif isinstance(source, str | Path) and not is_query(source):
            files = [(file, file.stat()) for file in find_files(source)]
            told.append([(str(file.resolve()), stat.st_size, stat.st_mtime_ns) for file, stat in files])
        else:
            told.append(os.urandom(16).hex())
    return json.dumps(told)


@dataclass(frozen=True)
class Pairs:
    """Some rows of the sorted list in which every edge stands twice, once under each of its ends.

    ``mirrored`` is 0 where the table has the edge from row to column, 1 where it has it the other way.
    """

    row: np.ndarray
    column: np.ndarray
    mirrored: np.ndarray
    weight: np.ndarray | None = None


class PairMerging:
    r"""Merge sorted pairs: weights of one direction add up, the larger direction counts.

    .. math:: A_{ij} = \max\Big(\sum_{e: i \to j} w_e, \sum_{e: j \to i} w_e\Big)

    Sums run from the smallest weight to the largest, as they do in memory, so that both give the same bits.
    """

    def __init__(self, folder: Path, n_nodes: int, weighted: bool) -> None:
        self.folder = folder
        self.n_nodes = n_nodes
        self.weighted = weighted
        # key, direction and weight of the last pair, which may go on in the next part
        self._held = (np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0))
        self._next_row = 0
        self._linked = self._listed = self._directed = self._two_way = self._differ = 0
        self._summed = False

    def run(self, parts: Iterable[Pairs]) -> EdgeFacts:
        """Write ``indptr.npy``, ``indices.npy`` and, if any differs from 1, ``weights.npy``; count facts."""
        with (
            GrowingArray(self.folder / "indptr.npy", np.int64) as self._indptr,
            GrowingArray(self.folder / "indices.npy", np.int32) as self._indices,
            GrowingArray(self.folder / "weights.npy", np.float64) as self._weights,
        ):
            for part in parts:
                self._take(part)
            self._write(*self._held)
            self._point(np.empty(0, np.int64), self.n_nodes + 1)
        if not self._summed:
            (self.folder / "weights.npy").unlink()
        return EdgeFacts(
            duplicates=self._listed - self._directed,
            summed=self._summed,
            two_way=self._two_way,
            one_way=self._directed - 2 * self._two_way,
            differ=self._differ,
            isolated=self.n_nodes - self._linked,
        )

    def _take(self, part: Pairs) -> None:
        if not len(part.row):
            return
        self._listed += int(np.count_nonzero(part.mirrored == 0))
        key = part.row.astype(np.int64) << 32 | part.column
        key = np.concatenate([self._held[0], key])
        side = np.concatenate([self._held[1], part.mirrored.astype(np.int8)])
        first = np.r_[True, (key[1:] != key[:-1]) | (side[1:] != side[:-1])]
        sums: np.ndarray = np.ones(int(np.count_nonzero(first)))
        if part.weight is not None:
            # one after the other, from the front: NumPy's own sums take another order
            sums = np.bincount(np.cumsum(first) - 1, np.concatenate([self._held[2], part.weight]))
        key, side = key[first], side[first]
        done = int(np.searchsorted(key, key[-1]))
        self._held = (key[done:], side[done:], sums[done:])
        self._write(key[:done], side[:done], sums[:done])

    def _write(self, key: np.ndarray, side: np.ndarray, sums: np.ndarray) -> None:
        """Append pairs that are complete, each with one sum for each direction it is listed in."""
        if not len(key):
            return
        if not np.isfinite(sums).all():
            raise ValueError(
                "the weights of an edge that is listed more than once add up to more than float64 can hold: "
                "scale the weights down."
            )
        forward = side == 0
        self._directed += int(np.count_nonzero(forward))
        self._summed |= bool((sums != 1).any())
        starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
        weights = np.maximum.reduceat(sums, starts)
        both = np.diff(starts, append=len(key)) == 2
        pairs = key[starts]
        row, column = pairs >> 32, pairs & 0xFFFFFFFF
        # every pair is there twice, from either end
        once = both & (row < column)
        self._two_way += int(np.count_nonzero(once))
        seen_first = starts[once]
        self._differ += int(np.count_nonzero(sums[seen_first] != sums[seen_first + 1]))
        self._point(row, int(row[-1]) + 1)
        self._indices.append(column)
        if self.weighted:
            self._weights.append(weights)

    def _point(self, row: np.ndarray, stop: int) -> None:
        """Append the pointers of the rows before ``stop`` that have none, given the rows of new entries."""
        begun = self._next_row
        for start in range(begun, stop, _ROWS):
            rows = np.arange(start, min(start + _ROWS, stop))
            self._indptr.append(self._indices.size + np.searchsorted(row, rows))
        if len(row):
            # a row that was begun before is counted already
            starts = row[np.r_[True, row[1:] != row[:-1]]]
            self._linked += int(np.count_nonzero(starts >= begun))
        self._next_row = stop


class GrowingArray:
    """A one-dimensional ``.npy`` file that parts are appended to, whose length is known at the end."""

    def __init__(self, path: Path, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.size = 0
        self._file = path.open("wb")
        self._write_header()

    def append(self, values: np.ndarray) -> None:
        """Write more entries behind those that are there."""
        write_all(self._file, np.ascontiguousarray(values, dtype=self.dtype))
        self.size += len(values)

    def _write_header(self) -> None:
        # NumPy leaves room in it for a length of any number of digits
        npy.write_array_header_1_0(
            self._file,
            {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": (self.size,)},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            self._file.seek(0)
            self._write_header()


@dataclass
class _Build:
    """One build: its stages are tables of a database beside the store, and a table that is there is done."""

    table: Table
    folder: Path
    budget: int
    ends: tuple[str, str]
    weight: str | None
    n_nodes: int = 0

    def limit(self, threads: int | None) -> None:
        """Keep DuckDB to its part of the budget; what is more goes to files beside the store."""
        run = self.table.execute
        room = self.budget - _BASE
        run(f"SET memory_limit = '{int(room * _DATABASE_SHARE) // 1000}kB'")
        run(f"SET temp_directory = {sql_string(str(self.folder / 'spilled'))}")
        if threads is not None:
            run(f"SET threads = {int(threads)}")
        attach = f"ATTACH {sql_string(str(self.folder / 'build.duckdb'))} AS build"
        try:
            run(attach)
        except ValueError:
            # a process that was killed early leaves a file that is no database yet
            for file in self.folder.glob("build.duckdb*"):
                file.unlink()
            run(attach)

    def number_nodes(self, nodes: Any, header: bool | None) -> None:
        """Store the ids, so that the number of a row is the number of the node."""
        if not self._has("ids"):
            if nodes is None:
                a, b = (text_sql(self.table, end) for end in self.ends)
                ids = f"SELECT DISTINCT unnest([{a}, {b}]) AS id FROM {self.table.relation}"
                self._store("ids", f"SELECT id FROM ({ids}) WHERE id IS NOT NULL ORDER BY id")
            else:
                self._copy_nodes(nodes, header)
        self.n_nodes = self.table.fetch_row("SELECT count(*) FROM build.ids")[0]
        if self.n_nodes > _MOST_NODES:
            raise ValueError(
                f"{self.table.name} names {self.n_nodes:,} nodes, and a graph store holds fewer than 2³¹: "
                "split the graph."
            )

    def _copy_nodes(self, nodes: Any, header: bool | None) -> None:
        listing = open_table(nodes, header=header)
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
            raise ValueError(f"{listing.name} has more than one row for {shortened(twice[0])!r}; keep one.")
        self._store("ids", f"SELECT id FROM {read} ORDER BY file_row_number")
        path.unlink()

    def code_edges(self) -> None:
        """Store the edges as pairs of node numbers, sorted, each under both of its ends."""
        if self._has("sorted"):
            return
        if not self._has("coded"):
            a, b = (text_sql(self.table, end) for end in self.ends)
            named = "" if self.weight is None else ", weight"
            number = "NULL" if self.weight is None else number_sql(self.table.columns[self.weight])
            self._store(
                "coded",
                f"SELECT k.rowid::INTEGER AS u, l.rowid::INTEGER AS v{named} "
                f"FROM (SELECT {a} AS a, {b} AS b, {number} AS weight FROM {self.table.relation}) "
                "LEFT JOIN build.ids AS k ON a = k.id LEFT JOIN build.ids AS l ON b = l.id",
            )
        self._check()
        self._count()
        keep = "" if self.weight is None else " AND weight <> 0"
        weight = ", weight" if self._weighted else ""
        self._store(
            "sorted",
            f"SELECT u AS i, v AS j, 0::UTINYINT AS d{weight} FROM build.coded WHERE u <> v{keep} UNION ALL "
            f"SELECT v, u, 1{weight} FROM build.coded WHERE u <> v{keep} ORDER BY i, j, d{weight}",
        )
        self.table.execute("DROP TABLE build.coded")

    def _check(self) -> None:
        bad = "u IS NULL OR v IS NULL" + ("" if self.weight is None else f" OR {BAD_WEIGHT}")
        count, odd = self.table.fetch_row(f"SELECT count(*), count(*) FILTER ({bad}) FROM build.coded")
        if not count:
            raise ValueError(f"{self.table.name} has no edges: give at least one row.")
        if not odd:
            return
        refuse_rows(self.table, self.ends, self.weight)
        a, b = (text_sql(self.table, end) for end in self.ends)
        unknown = self.table.fetch_rows(
            f"SELECT DISTINCT id FROM (SELECT unnest([{a}, {b}]) AS id FROM {self.table.relation}) "
            "ANTI JOIN build.ids USING (id) ORDER BY id LIMIT 1000000"
        )
        raise ValueError(
            f"{self.table.name} names {counted(len(unknown), 'id')} that the table of nodes does not have: "
            f"{listed(node for (node,) in unknown)}; add them or remove their edges."
        )

    def _count(self) -> None:
        """Store what only the unsorted rows can tell."""
        if self._has("facts"):
            return
        weight = "1.0" if self.weight is None else "weight"
        self._store(
            "facts",
            f"SELECT count(*) FILTER (u = v AND {weight} <> 0) AS self_loops, "
            f"count(*) FILTER ({weight} = 0) AS zeros, "
            f"NOT bool_and({weight} IN (0, 1)) OR max({weight}) <> 1 AS weighted FROM build.coded",
        )

    @property
    def _weighted(self) -> bool:
        return bool(self.table.fetch_row("SELECT weighted FROM build.facts")[0])

    def merge(self) -> EdgeFacts:
        """Write the arrays of the graph."""
        merged = PairMerging(self.folder, self.n_nodes, self._weighted).run(self._parts())
        self_loops, zeros = self.table.fetch_row("SELECT self_loops, zeros FROM build.facts")
        return replace(merged, self_loops=self_loops, zeros=zeros)

    def _parts(self) -> Iterator[Pairs]:
        count = self.table.fetch_row("SELECT count(*) FROM build.sorted")[0]
        step = max(10**5, int((self.budget - _BASE) * (1 - _DATABASE_SHARE)) // (2 * _MERGING))
        names = ["i", "j", "d", *(["weight"] if self._weighted else [])]
        for start in range(0, count, step):
            found = self.table.fetch_columns(
                f"SELECT {', '.join(names)} FROM build.sorted "
                f"WHERE rowid >= {start} AND rowid < {start + step} ORDER BY rowid"
            )
            yield Pairs(*(found[name] for name in names))

    def finish(self, facts: EdgeFacts) -> None:
        """Write the ids and the manifest, and remove what only served the build."""
        path = sql_string(str(self.folder / "ids.parquet"))
        self.table.execute(
            f"COPY (SELECT id FROM build.ids ORDER BY rowid) TO {path} (FORMAT parquet, COMPRESSION zstd)"
        )
        self.table.execute("DETACH build")
        self.table.connection.close()
        for file in self.folder.glob("build.duckdb*"):
            file.unlink()
        notes = [*self.table.notes, *facts.notes(self.table.name)]
        write_manifest(self.folder, self.table.name, facts, notes)

    def _has(self, name: str) -> bool:
        return bool(
            self.table.fetch_row(
                "SELECT count(*) FROM duckdb_tables() "
                f"WHERE database_name = 'build' AND table_name = {sql_string(name)}"
            )[0]
        )

    def _store(self, name: str, query: str) -> None:
        self.table.execute(f"CREATE TABLE build.{name} AS {query}")
