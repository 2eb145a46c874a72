"""Build a graph store from edge tables of any size, within a memory budget.

DuckDB, which may spill to disk, numbers the ids and sorts the edges as pairs of node numbers.
"""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from gssl.io.atomic import whole_folder
from gssl.io.edge_coding import EdgeCoding, named_sources, open_tables
from gssl.io.edge_sides import ambiguous_id_error
from gssl.io.graph_merging import merge_relations, merge_sorted
from gssl.io.graph_store import GraphStore, StoredRelation, numbered_rows, open_graph_store, write_manifest
from gssl.io.table_columns import IDS, missing_id_notes, pick_column, text_sql
from gssl.io.table_reading import Table, find_files, is_query, open_table, split_inside, sql_string
from gssl.scale.memory import read_size
from gssl.wording import MISSING, quoted, write_size

# node numbers are int32
_MOST_NODES = 2**31 - 1
# bytes that Python, its libraries and DuckDB take before any data is read
_BASE = 220 * 10**6
_LEAST = 400 * 10**6
# share of the rest for DuckDB's buffers, which exceeds it while it reads and writes
_DATABASE_SHARE = 0.6
# bytes that each of its threads needs at least
_PER_THREAD = 100 * 10**6
# the name of the database of a build, and of its file
_DATABASE = "build"
_IN_ORDER = "ORDER BY file_row_number"


def build_graph_store(
    edges: Any,
    directory: str | Path,
    *,
    nodes: Any = None,
    columns: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    edge_type: str | None = None,
    directed: bool = False,
    relation_weight: Mapping[str, float] | None = None,
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
    edges : path, glob, SQL or data frame, or mapping of str to such
        See :func:`gssl.io.read_edges`.
    directory : path
        The folder to create, atomically. If the process is killed, the same call continues where it
        stopped.
    nodes : path, glob, SQL or data frame, optional
        A table whose ``id`` column lists all nodes in order, including those without edges. An edge of
        another id is an error.
    columns : two or three names, or mapping of str to such, optional
        The columns of the ends and the weight; guessed if None.
    edge_type, directed, relation_weight : optional
        The column of the relation, whether links have directions, and weights of relations in the union, as
        in :func:`gssl.io.read_edges`. The store keeps the relations.
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
    options: Any = {"edge_type": edge_type, "two_sided": two_sided, "strict": strict}
    settings = {**options, "header": header, "columns": columns, "directed": directed}
    settings["relation_weight"] = relation_weight
    with whole_folder(path, _mark(edges, nodes, settings)) as folder:
        tables = open_tables(edges, header)
        table = next(iter(tables.values()))
        # also closed after an error: the database of a build can only be open once
        with closing(table.connection):
            _open_database(table, folder, budget - _BASE, threads)
            coding = EdgeCoding(tables, columns, **options, database=_DATABASE)
            if not coding.repeatable:
                coding.copy_texts()
            n_nodes = _number_nodes(coding, nodes, header, folder)
            coding.number_edges(nodes_listed=nodes is not None)
            odd_ids = _write_ids(coding, folder)
            relations: list[StoredRelation] = []
            if directed or len(coding.relations) > 1 or relation_weight:
                facts, notes, relations = merge_relations(
                    coding, n_nodes, folder, directed=directed, relation_weight=relation_weight
                )
            else:
                facts = merge_sorted(coding, n_nodes, folder)
                notes = facts.notes(coding.name)
        for file in folder.glob(f"{_DATABASE}.duckdb*"):
            file.unlink()
        columns_of_kinds = coding.kinds.columns if coding.split else ()
        notes = [*coding.notes, *odd_ids, *notes]
        write_manifest(folder, coding.name, facts, notes, columns_of_kinds, relations)
    return open_graph_store(path)


def _mark(edges: Any, nodes: Any, settings: Mapping[str, Any]) -> str:
    """Return a text that identifies the inputs of a store; it is unique if any of them is not a file."""
    tables = named_sources(edges)
    parts: list[Any] = [5, {name: value and _plain(value) for name, value in settings.items()}, *tables]
    for source in (*tables.values(), nodes):
        if source is None:
            parts.append(None)
        elif isinstance(source, str | Path) and not is_query(source):
            files = [(file, file.stat()) for file in find_files(source)]
            parts.append(split_inside(source)[1])
            parts.append([(str(file.resolve()), stat.st_size, stat.st_mtime_ns) for file, stat in files])
        else:
            parts.append(os.urandom(16).hex())
    return json.dumps(parts)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _open_database(table: Table, folder: Path, memory: int, threads: int | None) -> None:
    """Attach the database of a build, give it a share of the memory, and let it spill to the folder."""
    run, share = table.execute, int(memory * _DATABASE_SHARE)
    run(f"SET memory_limit = '{share // 1000}kB'")
    run(f"SET temp_directory = {sql_string(str(folder / 'spilled'))}")
    run(f"SET threads = {max(1, min(threads or os.cpu_count() or 1, share // _PER_THREAD))}")
    attach = f"ATTACH {sql_string(str(folder / f'{_DATABASE}.duckdb'))} AS {_DATABASE}"
    try:
        run(attach)
    except ValueError:
        # a process that was killed early leaves a file that is not a database yet
        for file in folder.glob(f"{_DATABASE}.duckdb*"):
            file.unlink()
        run(attach)


def _number_nodes(coding: EdgeCoding, nodes: Any, header: bool | None, folder: Path) -> int:
    """Number the ids, in the order of a table of nodes if there is one; return how many there are."""
    path = folder / "nodes.parquet"
    listing = None
    if nodes is not None and not coding.has("ids"):
        listing = open_table(nodes, header=header, graph_part="nodes")
        name = pick_column(listing, None, IDS, 0)
        ids = f"SELECT {text_sql(listing, name)} AS id FROM {listing.relation}"
        listing.execute(f"COPY ({ids}) TO {sql_string(str(path))}")
        _check_nodes(listing, name, path)
    n_nodes = coding.number_nodes(
        None if listing is None else f"SELECT id FROM {numbered_rows(path)} {_IN_ORDER}"
    )
    if listing is not None and coding.split:
        shared = f"SELECT min(id) FROM {numbered_rows(path)} SEMI JOIN {_DATABASE}.shared USING (id)"
        node = coding.table.fetch_row(shared)[0]
        if node is not None:
            # it lists all nodes, so that the name of its column cannot tell the kind of one
            raise ambiguous_id_error(listing.name, node, coding.kinds.columns, one_kind=False)
    path.unlink(missing_ok=True)
    check_count(coding.name, n_nodes)
    return n_nodes


def check_count(name: str, n_nodes: int) -> None:
    """Raise if there are more nodes than a graph store holds."""
    if n_nodes > _MOST_NODES:
        raise ValueError(
            f"{name} names {n_nodes:,} nodes, and a graph store holds fewer than 2³¹: split the graph."
        )


def _check_nodes(listing: Table, name: str, path: Path) -> None:
    """Raise on rows of a table of nodes without an id, and on ids that it repeats."""
    row = listing.fetch_row(f"SELECT min(file_row_number) FROM {numbered_rows(path)} WHERE id IS NULL")[0]
    if row is not None:
        raise listing.missing_id_error(row, name)
    twice = listing.fetch_row(
        f"SELECT id FROM {numbered_rows(path)} GROUP BY id HAVING count(*) > 1 ORDER BY min(file_row_number) "
        "LIMIT 1"
    )
    if twice is not None:
        raise ValueError(f"{listing.name} has more than one row for {quoted(twice[0])}; keep one.")


def _write_ids(coding: EdgeCoding, folder: Path) -> list[str]:
    """Write the ids and, where kinds of nodes share some, the kind of each; return notes about odd ones."""
    table, ids = coding.table, f"{_DATABASE}.ids"
    markers = ", ".join(sql_string(text) for text in MISSING)
    odd = table.fetch_rows(f"SELECT id FROM {ids} WHERE id IN ({markers}) ORDER BY rowid")
    sides = f", {coding.kinds.side_sql(f'{_DATABASE}.coded')} AS side" if coding.split else ""
    table.execute(
        f"COPY (SELECT id{sides} FROM {ids} ORDER BY rowid) TO {sql_string(str(folder / 'ids.parquet'))} "
        "(FORMAT parquet, COMPRESSION zstd)"
    )
    return missing_id_notes(coding.name, [node for (node,) in odd])
