"""Features larger than memory: read by columns, put into the order of a graph, kept column by column."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from gssl.io.atomic import whole_file
from gssl.io.feature_sources import ArraySource, TableSource, open_matrix
from gssl.io.graph_store import GraphStore
from gssl.io.row_order import Order
from gssl.scale.columns import read_columns
from gssl.scale.memory import Load, plan_slabs, read_size


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
    given: ArraySource | TableSource
    if isinstance(source, str | Path) and Path(source).suffix.lower() == ".npy":
        given = ArraySource(Path(source), Order(store))
    else:
        given = TableSource(source, Order(store), id, columns, budget // 2)
    if not given.n_columns:
        raise ValueError(f"{given.name} has no columns of features: give at least one.")
    with whole_file(path) as part:
        write_columns(given, part, budget // 2)
    return open_feature_slabs(path)


def write_columns(given: ArraySource | TableSource, path: Path, budget: int) -> None:
    """Write features column by column, as many at a time as a budget in bytes has room for."""
    n, d = given.order.n_nodes, given.n_columns
    # a column as it was read, the same in order, and a copy on its way from the database
    plan = plan_slabs(d, Load(per_column=16 * n, fixed=16 * n), budget)
    with path.open("wb") as file:
        head = {"descr": npy.dtype_to_descr(np.dtype("f4")), "fortran_order": True, "shape": (n, d)}
        npy.write_array_header_1_0(file, head)
        for slab in plan.slabs:
            for column in given.read(slab):
                column.tofile(file)


def open_feature_slabs(path: str | Path) -> FeatureSlabs:
    """Open a file that :func:`build_feature_slabs` wrote, or any matrix of numbers in an ``.npy`` file.

    Examples
    --------
    >>> open_feature_slabs("nowhere.npy")
    Traceback (most recent call last):
    FileNotFoundError: nowhere.npy is not there: check its name and folder.
    """
    matrix = open_matrix(path)
    if matrix.dtype.kind != "f":
        raise ValueError(f"{path} holds {matrix.dtype}, and methods take floats: write it as float32.")
    return FeatureSlabs(matrix)
