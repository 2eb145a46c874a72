"""Features larger than memory: read by columns, put into the order of a graph, kept column by column."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from gssl.datasets.array_files import map_npy
from gssl.io.atomic import whole_file
from gssl.io.columns import IDS, is_number, listed, number_of, pick, text_of
from gssl.io.database import quoted
from gssl.io.edge_facts import counted
from gssl.io.graph_store import GraphStore
from gssl.io.paths import is_query
from gssl.io.source import Column, Table, open_table
from gssl.scale.columns import read_columns
from gssl.scale.plan import Load, plan_slabs, read_size

# such a column holds the answer
_ANSWERS = ("label", "labels", "class")


@dataclass(frozen=True, eq=False)
class FeatureSlabs:
    """A matrix of features in a file, of which some columns at a time are read.

    Attributes
    ----------
    matrix : float32 memmap of shape (n, d)
        Column by column in the file, so that any columns are one piece of it; methods take it as X.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "x.npy"
    >>> np.save(file, np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)))
    >>> open_feature_slabs(file).slab(1, 3)
    array([[1., 2.],
           [4., 5.]], dtype=float32)
    """

    matrix: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Nodes and features."""
        return self.matrix.shape[0], self.matrix.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return self.matrix.dtype

    def slab(self, start: int, stop: int) -> np.ndarray:
        """Read the columns from ``start`` to before ``stop``, in row order, in memory of their own."""
        return np.asarray(read_columns(self.matrix, slice(start, stop)))


def build_feature_slabs(
    source: Any,
    path: str | Path,
    store: GraphStore,
    *,
    id: str | None = None,
    columns: Sequence[str] | None = None,
    memory_budget: Any = "2GB",
) -> FeatureSlabs:
    """Write features to a file in the order of a graph's nodes, some columns at a time.

    Parameters
    ----------
    source : path, glob, SQL or data frame; or .npy with ``<name>.ids.npy`` beside it
        Numbers, or lists of numbers of one length, beside an id; one row for each node of the store. Parquet
        is best: a pass over a text file reads all of its columns.
    path : path ending in .npy
        Appears whole or not at all.
    store : GraphStore
    id : str, optional
        The id's column; ``id`` or ``node`` or the first if None.
    columns : sequence of str, optional
        The columns to use; all if None, except one that is named like a label.
    memory_budget : number of bytes or str, default="2GB"

    Returns
    -------
    FeatureSlabs

    Examples
    --------
    >>> import tempfile
    >>> from gssl.io import build_graph_store
    >>> folder = Path(tempfile.mkdtemp())
    >>> store = build_graph_store("SELECT 'a' AS src, 'b' AS dst", folder / "s")
    >>> query = "SELECT 'b' AS id, 3.0 AS x, [5, 6] AS y UNION ALL SELECT 'a', 4.0, [7, 8]"
    >>> build_feature_slabs(query, folder / "x.npy", store).matrix.tolist()
    [[4.0, 7.0, 8.0], [3.0, 5.0, 6.0]]
    """
    path, budget = Path(path), read_size(memory_budget)
    if path.suffix.lower() != ".npy":
        raise ValueError(f"{path} must end in .npy: rename it.")
    given: Any
    if isinstance(source, str | Path) and Path(source).suffix.lower() == ".npy":
        given = _Array(Path(source), store)
    else:
        given = _Columns(source, store, id, columns, budget // 2)
    n, d = store.n_nodes, given.n_columns
    # a column as it was read, the same in order, and a copy on its way from the database
    plan = plan_slabs(d, Load(per_column=16 * n, fixed=16 * n), budget // 2)
    with whole_file(path) as part, part.open("wb") as file:
        head = {"descr": npy.dtype_to_descr(np.dtype("f4")), "fortran_order": True, "shape": (n, d)}
        npy.write_array_header_1_0(file, head)
        for slab in plan.slabs:
            for column in given.read(slab):
                column.tofile(file)
    return open_feature_slabs(path)


def open_feature_slabs(path: str | Path) -> FeatureSlabs:
    """Open a file that :func:`build_feature_slabs` wrote, or any matrix of numbers in an ``.npy`` file.

    Examples
    --------
    >>> open_feature_slabs("nowhere.npy")
    Traceback (most recent call last):
    ValueError: nowhere.npy is not a NumPy file with a matrix of numbers: write it again.
    """
    try:
        matrix = map_npy(Path(path))
    except ValueError as error:
        raise ValueError(f"{path} is not a NumPy file with a matrix of numbers: write it again.") from error
    if matrix.ndim != 2 or matrix.dtype.kind != "f":
        raise ValueError(f"{path} is not a NumPy file with a matrix of numbers: write it again.")
    return FeatureSlabs(matrix)


class _Array:
    """Columns of an ``.npy`` file, whose rows are named by the file of ids beside it."""

    def __init__(self, path: Path, store: GraphStore) -> None:
        self.name, self.store = str(path), store
        self.matrix = open_feature_slabs(path).matrix
        beside = path.with_suffix(".ids.npy")
        if not beside.is_file():
            raise ValueError(f"{path} has no ids: put them into {beside.name} beside it.")
        try:
            ids = map_npy(beside)
        except ValueError as error:
            raise ValueError(f"{beside} is not a NumPy file with the ids of {path.name}: {error}.") from error
        if ids.ndim != 1:
            raise ValueError(f"{beside} has {ids.ndim} dimensions: give a list of ids.")
        if len(ids) != len(self.matrix):
            raise ValueError(f"{beside} has {len(ids)} ids for {len(self.matrix)} rows; give one for each.")
        self.places = _check_places(store.nodes(ids), self.name, store, lambda row: str(ids[row]))
        self.n_columns = int(self.matrix.shape[1])

    def read(self, slab: slice) -> Iterator[np.ndarray]:
        part = read_columns(self.matrix, slab)
        for j in range(part.shape[1]):
            yield _placed(part[:, j], self.places, self.store, f"{self.name}: column {slab.start + j}")


class _Columns:
    """Columns of a table, lists taken apart."""

    def __init__(
        self, source: Any, store: GraphStore, id: str | None, columns: Sequence[str] | None, budget: int
    ) -> None:
        self.table, self.store = open_table(source), store
        self.table.run(f"SET memory_limit = '{budget // 1000}kB'")
        if is_query(source):
            # a query may give its rows in another order each time, and every slab asks again
            self.table.run(f"CREATE TEMP TABLE gssl_rows AS SELECT * FROM {self.table.relation}")
            self.table = replace(self.table, relation="gssl_rows")
        name = pick(self.table, id, IDS, 0)
        chosen = [column for column in self.table.columns if column != name] if columns is None else columns
        if columns is None:
            chosen = [column for column in chosen if column.lower() not in _ANSWERS]
        if not chosen:
            raise ValueError(f"{self.table.name} has no features beside {name!r}: give at least one.")
        self._asked = [asked for column in chosen for asked in _numbers(self.table, column)]
        self.n_columns = len(self._asked)
        self.places = self._places(name)

    def _places(self, name: str) -> np.ndarray:
        relation = (
            f"read_parquet({quoted(str(self.store.directory / 'ids.parquet'))}, file_row_number = true)"
        )
        text, run = text_of(self.table, name), self.table.run
        found = self.table.fetch(
            f"SELECT coalesce(k.file_row_number, -1)::INTEGER AS node FROM (SELECT {text} AS text, "
            f"row_number() OVER () AS row FROM {self.table.relation}) LEFT JOIN {relation} AS k "
            "ON text = k.id ORDER BY row"
        )["node"]

        def row_name(row: int) -> str:
            sql = f"SELECT {text} FROM {self.table.relation} LIMIT 1 OFFSET {row}"
            return str(run(sql).fetchone()[0])

        return _check_places(found, self.table.name, self.store, row_name)

    def read(self, slab: slice) -> Iterator[np.ndarray]:
        asked = self._asked[slab]
        sql = ", ".join(f"{number}::FLOAT AS x{j}" for j, (_, number) in enumerate(asked))
        found = self.table.fetch(f"SELECT {sql} FROM {self.table.relation}")
        for j, (name, _) in enumerate(asked):
            where = f"{self.table.name}: column {name}"
            yield _placed(found.pop(f"x{j}"), self.places, self.store, where)


def _numbers(table: Table, name: str) -> list[tuple[str, str]]:
    """Give what to call the numbers of a column and the SQL that reads them."""
    column = table.columns[name]
    if not column.type.endswith("]"):
        if is_number(column) or column.type in ("VARCHAR", "JSON"):
            return [(repr(name), _single(number_of(column)))]
        raise ValueError(f"{table.name}: column {name!r} is of type {column.type}, no number; leave it out.")
    shortest, longest = table.run(
        f"SELECT min(len({column.sql})), max(len({column.sql})) FROM {table.relation}"
    ).fetchone()
    if shortest != longest:
        raise ValueError(
            f"{table.name}: the lists of column {name!r} have {shortest} to {longest} numbers; "
            "give all the same length."
        )
    parts = (number_of(Column(f"{column.sql}[{j + 1}]", "DOUBLE")) for j in range(longest))
    return [(repr(f"{name}[{j}]"), _single(part)) for j, part in enumerate(parts)]


def _single(number: str) -> str:
    """Give NULL for what single precision cannot hold, which DuckDB refuses with the whole query."""
    return f"CASE WHEN abs({number}) <= 3.4028235e38 THEN {number} END"


def _check_places(places: np.ndarray, name: str, store: GraphStore, row_name: Any) -> np.ndarray:
    """Refuse features of other nodes, of the same node twice, or of too few nodes."""
    strange = np.flatnonzero(places < 0)
    if len(strange):
        raise ValueError(
            f"{name} names {counted(len(strange), 'id')} that {store.directory} does not have: "
            f"{listed(row_name(row) for row in strange[:5])}; remove them, or build the store with them."
        )
    counts = np.bincount(places, minlength=store.n_nodes)
    if counts.max(initial=0) > 1:
        twice = store.ids(np.flatnonzero(counts > 1)[:5])
        raise ValueError(f"{name} has more than one row for {listed(twice)}; keep one.")
    missing = np.flatnonzero(counts == 0)
    if len(missing):
        raise ValueError(
            f"{name} has no features for {counted(len(missing), 'id')} of {store.directory}: "
            f"{listed(store.ids(missing[:5]))}; add them."
        )
    return places


def _placed(values: np.ndarray, places: np.ndarray, store: GraphStore, where: str) -> np.ndarray:
    column = np.empty(store.n_nodes, np.float32)
    with np.errstate(over="ignore"):
        column[places] = np.ma.filled(values, np.nan)
    bad = np.flatnonzero(~np.isfinite(column))
    if len(bad):
        node = store.ids(bad[:1])[0]
        raise ValueError(f"{where} of id {node!r} is not a finite number; fill it in or leave it out.")
    return column
