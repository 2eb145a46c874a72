"""Graphs on disk, with memory-mapped arrays and ids that are looked up on demand."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.checksums import CHECKSUMS, file_checksum, read_sealed, seal
from gssl.files import check_real_folder, open_regular, readable
from gssl.graph import TypedAdjacency
from gssl.graph.adjacency import declare_directed
from gssl.graph.simplify import declare_simple
from gssl.io.edge_sides import NodeKinds
from gssl.io.edge_tables import EdgeFacts
from gssl.io.numpy_files import map_npy
from gssl.io.table_reading import Table, connect, sql_path
from gssl.wording import counted, printable, shortened

_FORMAT = "gssl graph store"
# stores with relations have version 2, others 1, which earlier releases of gssl read
_VERSION = 2
_MANIFEST = "manifest.json"
_LONGEST_NOTE = 1000


@dataclass(frozen=True)
class StoredRelation:
    """A relation of a graph store, whose arrays are in a folder of their own."""

    folder: Path
    name: str
    n_edges: int
    weighted: bool
    directed: bool


@dataclass(frozen=True, eq=False, repr=False)
class GraphStore:
    """A graph whose arrays stay in files, made by :func:`build_graph_store`.

    Attributes
    ----------
    directory : Path
    n_nodes, n_edges : int
    weighted : bool
    notes : list of str
        Irregularities in the tables it was built from.
    facts : EdgeFacts
        Counts of these irregularities.
    kind_columns : tuple of str
        The columns of the edges, if these name kinds of nodes that share ids.
    relations : tuple of StoredRelation
        The relations, if links have several kinds or directions.
    """

    directory: Path
    n_nodes: int
    n_edges: int
    weighted: bool
    notes: list[str] = field(default_factory=list)
    facts: EdgeFacts = field(default_factory=EdgeFacts)
    kind_columns: tuple[str, ...] = ()
    relations: tuple[StoredRelation, ...] = ()
    # of its files, by name; those found right are removed, and earlier stores have none
    _checksums: dict[str, str] = field(default_factory=dict, init=False)

    @cached_property
    def adjacency(self) -> csr_array:
        """The symmetric adjacency matrix without self-loops; its arrays are read-only memory maps.

        With relations, it is a :class:`gssl.graph.TypedAdjacency` of such matrices. ``indptr`` is always
        int64 and ``indices`` int32, and an unweighted graph broadcasts a single weight, so the matrix itself
        takes no memory. SciPy's operations on it may copy the arrays.
        """
        for name in [name for name in self._checksums if name.endswith(".npy")]:
            self.check_file(name)
        union = declare_simple(map_edges(self.directory, self.n_nodes, self.n_edges, weighted=self.weighted))
        relations = {}
        for one in self.relations:
            about: Any = {"weighted": one.weighted, "directed": one.directed}
            relation = map_edges(one.folder, self.n_nodes, one.n_edges, **about)
            relations[one.name] = declare_directed(
                relation if one.directed else declare_simple(relation), one.directed
            )
        return TypedAdjacency.of(union, relations) if relations else union

    @cached_property
    def node_ids(self) -> np.ndarray:
        """All ids as text in node order, read into memory."""
        return self._ids().fetch_columns(f"SELECT id FROM {id_relation(self)} ORDER BY file_row_number")["id"]

    @property
    def node_kinds(self) -> NodeKinds | None:
        """The kind of each node that has edges, or None if there is one kind."""
        if len(self.kind_columns) < 2:
            return None
        sides = self._ids().fetch_columns(f"SELECT side FROM {id_relation(self)} ORDER BY file_row_number")
        return NodeKinds.of(self.kind_columns, self.node_ids, sides["side"])

    def ids(self, nodes: Sequence[int] | np.ndarray) -> np.ndarray:
        """Look up the ids of some nodes."""
        wanted, inverse = np.unique(np.asarray(nodes, dtype=np.int64), return_inverse=True)
        if wanted.size and not 0 <= wanted[0] <= wanted[-1] < self.n_nodes:
            raise ValueError(f"node {wanted[-1]} is not one of 0 … {self.n_nodes - 1} of {self.directory}.")
        table = self._ids()
        table.connection.register("wanted", {"node": wanted})
        columns = table.fetch_columns(
            f"SELECT id FROM wanted JOIN {id_relation(self)} ON node = file_row_number ORDER BY node"
        )
        return np.asarray(columns["id"][inverse])

    def nodes(self, ids: Sequence[str] | np.ndarray) -> np.ndarray:
        """Look up the node numbers of some ids; −1 for unknown ids."""
        texts = np.empty(len(ids), dtype=object)
        texts[:] = [str(text) for text in ids]
        table = self._ids()
        table.connection.register("wanted", {"position": np.arange(len(texts)), "id": texts})
        matches = table.fetch_columns(
            f"SELECT position, file_row_number AS node FROM wanted JOIN {id_relation(self)} USING (id)"
        )
        numbers = np.full(len(texts), -1, dtype=np.int64)
        numbers[matches["position"]] = matches["node"]
        return numbers

    def check_file(self, name: str) -> None:
        """Raise ValueError if a file of the store has changed since it was built; it is read only once."""
        known, path = self._checksums.get(name), self.directory / name
        if known is None:
            open_regular(path).close()  # refuses links, which others read files by
        elif file_checksum(path) != known:
            raise ValueError(f"{path} is damaged, its checksum does not match: build the store again.")
        self._checksums.pop(name, None)

    def __repr__(self) -> str:
        facts = ", weighted" if self.weighted else ""
        facts += f", relations={len(self.relations)}" if self.relations else ""
        return f"GraphStore({self.directory.name!r}, nodes={self.n_nodes}, edges={self.n_edges}{facts})"

    def _ids(self) -> Table:
        table = Table(str(self.directory / "ids.parquet"), {}, id_relation(self), connect())
        # fast, because Parquet files store their number of rows
        count = int(table.fetch_columns(f"SELECT count(*) AS n FROM {id_relation(self)}")["n"][0])
        if count != self.n_nodes:
            raise ValueError(
                f"{table.name} has {counted(count, 'id')} for {counted(self.n_nodes, 'node')}: build the "
                "store again."
            )
        return table


def open_graph_store(directory: str | Path) -> GraphStore:
    """Open a graph that :func:`build_graph_store` made.

    Parameters
    ----------
    directory : path

    Returns
    -------
    GraphStore

    Examples
    --------
    >>> open_graph_store("nowhere")
    Traceback (most recent call last):
    FileNotFoundError: nowhere is not a graph store that can be read: build one with gssl graph build.
    """
    folder = Path(directory).expanduser()
    manifest = folder / _MANIFEST
    if not os.path.isfile(manifest):  # noqa: PTH113 - Path.is_file() fails without permission
        raise FileNotFoundError(
            f"{directory} is not a graph store that can be read: build one with gssl graph build."
        )
    try:
        with open_regular(readable(manifest)) as opened:
            data = read_sealed(opened.read())
        if data["format"] != _FORMAT:
            raise ValueError
        version = int(data["version"])
        store = GraphStore(
            folder,
            int(data["nodes"]),
            int(data["edges"]),
            bool(data["weighted"]),
            # they are printed, and the manifest may be from anybody
            [shortened(printable(str(note)), _LONGEST_NOTE) for note in data["notes"]],
            EdgeFacts(**data["facts"]),
            tuple(str(column) for column in data.get("kind_columns", ())),
            _read_relations(folder, data.get("relations", [])),
        )
        store._checksums.update({str(name): str(known) for name, known in data.get(CHECKSUMS, {}).items()})
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(
            f"{manifest} is not the manifest of a graph store: build the store again."
        ) from error
    if version > _VERSION:
        raise ValueError(f"{directory} was made by a newer gssl: update gssl or build the store again.")
    return store


def _read_relations(folder: Path, listed: list[Any]) -> tuple[StoredRelation, ...]:
    check_real_folder(folder / "relations")
    relations = tuple(
        StoredRelation(
            _real_folder(relation_folder(folder, k)),
            str(one["name"]),
            int(one["edges"]),
            bool(one["weighted"]),
            bool(one["directed"]),
        )
        for k, one in enumerate(listed)
    )
    if len({one.name for one in relations}) < len(relations):
        raise ValueError
    return relations


def _real_folder(path: Path) -> Path:
    check_real_folder(path)
    return path


def relation_folder(folder: Path, number: int) -> Path:
    """Return the folder of the arrays of a relation, in that of a store."""
    return folder / "relations" / str(number)


def id_relation(store: GraphStore) -> str:
    """Return the SQL relation of the ids; its ``file_row_number`` is the node number."""
    store.check_file("ids.parquet")
    return numbered_rows(store.directory / "ids.parquet")


def numbered_rows(file: Path) -> str:
    """Return the SQL relation of the rows of a Parquet file, with their ``file_row_number`` from 0."""
    return f"read_parquet({sql_path(file)}, file_row_number = true)"


def write_manifest(
    folder: Path,
    name: str,
    facts: EdgeFacts,
    notes: list[str],
    kind_columns: tuple[str, ...],
    relations: Sequence[StoredRelation] = (),
) -> None:
    """Write the manifest of a store whose arrays are complete."""
    indptr = np.load(folder / "indptr.npy", mmap_mode="r")
    data = {
        "format": _FORMAT,
        "version": _VERSION if relations else 1,
        "source": name,
        "nodes": len(indptr) - 1,
        "edges": int(indptr[-1]) // 2,
        "weighted": (folder / "weights.npy").exists(),
        "facts": asdict(facts),
        "notes": notes,
        "kind_columns": kind_columns,
    }
    if relations:
        data["relations"] = [
            {"name": one.name, "edges": one.n_edges, "weighted": one.weighted, "directed": one.directed}
            for one in relations
        ]
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".npy", ".parquet"))
    data[CHECKSUMS] = {path.relative_to(folder).as_posix(): file_checksum(path) for path in files}
    text = json.dumps(data, indent=2, ensure_ascii=False)
    (folder / _MANIFEST).write_bytes(seal(text.encode()))


def map_edges(
    folder: Path, n_nodes: int, n_edges: int, *, weighted: bool, directed: bool = False
) -> csr_array:
    """Map the arrays of a graph in a folder; raise if they are not those of so many nodes and edges."""
    n_entries = n_edges if directed else 2 * n_edges
    indptr, indices = _map(folder, "indptr"), _map(folder, "indices")
    if not _are_consistent(indptr, indices, n_nodes, n_entries):
        raise ValueError(
            f"the arrays of {folder} are not those of {counted(n_nodes, 'node')} and "
            f"{counted(n_edges, 'edge')}: build the store again."
        )
    A = csr_array((n_nodes, n_nodes), dtype=np.float64)
    A.indptr, A.indices = indptr, indices
    A.data = _map_weights(folder, n_entries) if weighted else np.broadcast_to(np.float64(1.0), n_entries)
    # sorted and merged by the build
    A.has_canonical_format = True
    return A


def _map(folder: Path, name: str) -> np.ndarray:
    path = folder / f"{name}.npy"
    open_regular(path).close()  # says what else it is
    try:
        return np.asarray(map_npy(path, follows=False))
    except ValueError as error:
        raise ValueError(f"{path} is not a whole NumPy file: build the store again.") from error


def _map_weights(folder: Path, n_entries: int) -> np.ndarray:
    weights = _map(folder, "weights")
    right = weights.dtype == np.float64 and weights.shape == (n_entries,)
    if not right or not all(bool((np.isfinite(part) & (part > 0)).all()) for part in _parts(weights)):
        raise ValueError(
            f"the weights of {folder} are not {n_entries} positive numbers: build the store again."
        )
    return weights


def _are_consistent(indptr: np.ndarray, indices: np.ndarray, n_nodes: int, n_entries: int) -> bool:
    """Return whether the arrays are those of a graph; else the kernels would read out of bounds."""
    return bool(
        indptr.dtype == np.int64
        and indices.dtype == np.int32
        and indptr.shape == (n_nodes + 1,)
        and indices.shape == (n_entries,)
        and indptr[0] == 0
        and indptr[-1] == len(indices)
        and all(bool((np.diff(part) >= 0).all()) for part in _parts(indptr, overlap=1))
        and all(part.min() >= 0 and part.max() < n_nodes for part in _parts(indices))
    )


def _parts(array: np.ndarray, overlap: int = 0, length: int = 1 << 22) -> Any:
    from gssl.graph.mapped import release_pages

    for start in range(0, len(array), length):
        yield array[start : start + length + overlap]
        release_pages(array)
