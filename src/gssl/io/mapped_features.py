"""Features for a run within a budget: in a file, of which no more is in memory than a few columns."""

from pathlib import Path
from typing import Any

import numpy as np

from gssl.graph.mapped import iterate_blocks
from gssl.io.feature_slabs import open_feature_slabs, write_columns
from gssl.io.feature_sources import ArraySource, TableSource, is_numeric, open_matrix
from gssl.io.features import Features
from gssl.io.graph_store import GraphStore
from gssl.io.row_order import Order
from gssl.scale.memory import read_size
from gssl.scale.run_folder import RunFolder


def map_features(
    source: str,
    *,
    id: str | None = None,
    store: GraphStore | None = None,
    normalize: str = "none",
    memory_budget: Any = "2GB",
) -> Features | None:
    """Put features into a temporary file, some columns at a time, and map it.

    Parameters
    ----------
    source : path, glob or SQL
        Numbers, or lists of them, beside an id; or ``.npy`` with ``<name>.ids.npy`` beside it.
    id : str, optional
        The id's column; ``id`` or ``node`` or the first if None.
    store : GraphStore, optional
        Rows are put in the order of its nodes; in their own if None.
    normalize : {"none", "l1", "auto"}, default="none"
        Whether rows are scaled to sum to one: never, always, or where no feature is negative.
    memory_budget : number of bytes or str, default="2GB"

    Returns
    -------
    Features or None
        Its matrix is a memory-mapped file that goes with its last user. None where features are not
        a row of numbers for each node, so that :func:`gssl.io.read_features` must decide what they are.

    Examples
    --------
    >>> features = map_features("SELECT 'b' AS id, 3.0 AS x, 1.0 AS y", normalize="l1")
    >>> features.ids.tolist(), features.names, features.matrix.tolist()
    (['b'], ('x', 'y'), [[0.75, 0.25]])
    """
    budget, order = read_size(memory_budget), Order(store)
    given: ArraySource | TableSource
    if Path(source).suffix.lower() == ".npy":
        if not open_matrix(source).size:
            return None  # nothing can be mapped
        given = ArraySource(Path(source), order)
    elif Path(source).suffix.lower() == ".npz" or not is_numeric(source, id):
        return None
    else:
        given = TableSource(source, order, id, None, budget // 2)
    if not given.n_columns:
        return None
    folder = RunFolder()
    path = folder.path / "features.npy"
    with folder.explained(path):
        # a column at a time if need be: it is for the fit to say what is too little
        write_columns(given, path, max(budget // 2, 64 * order.n_nodes))
        matrix = open_feature_slabs(path).matrix
        if normalize == "l1" or (normalize == "auto" and not any_negative(matrix)):
            _scale_rows(path, matrix)
    matrix._gssl_folder = folder  # type: ignore[attr-defined]
    return Features(order.node_ids, matrix, given.names, given.name, given.notes)


def any_negative(X: np.ndarray) -> bool:
    """Tell whether a matrix, which may be a file, has a number below zero.

    Examples
    --------
    >>> any_negative(np.eye(2)), any_negative(-np.eye(2))
    (False, True)
    """
    return any(bool((X[rows, columns] < 0).any()) for rows, columns in iterate_blocks(X))


def _scale_rows(path: Path, matrix: np.ndarray) -> None:
    """Divide every row by the sum of its absolute values, in place, unless that is zero."""
    sums = np.zeros(len(matrix))
    for rows, columns in iterate_blocks(matrix):
        sums[rows] += np.abs(matrix[rows, columns]).sum(axis=1, dtype=np.float64)
    sums[sums == 0] = 1.0
    written = np.load(path, mmap_mode="r+", allow_pickle=False)
    for rows, columns in iterate_blocks(written):
        written[rows, columns] = written[rows, columns] / sums[rows, None]
        written.flush()
