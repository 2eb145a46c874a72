"""Labels and features joined to the nodes of a graph on disk."""

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.io.columns import listed
from gssl.io.edge_facts import counted
from gssl.io.features import Features
from gssl.io.graph_store import GraphStore
from gssl.io.labels import Labels
from gssl.io.problem import Problem


def join_store(store: GraphStore, features: Features | None = None, labels: Labels | None = None) -> Problem:
    """Join features and labels to a graph store, in the order of its nodes.

    Only the ids are in memory then; the arrays of the graph stay in their files.

    Parameters
    ----------
    store : GraphStore
    features : Features, optional
        One row for each node of the store; rows of other ids are an error.
    labels : Labels, optional
        A label of another id is an error; an id that is listed without a label may be any.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from gssl.io import build_graph_store, read_labels
    >>> store = build_graph_store("SELECT 'a' AS src, 'b' AS dst", Path(tempfile.mkdtemp()) / "s")
    >>> problem = join_store(store, labels=read_labels("SELECT 'b' AS id, 'spy' AS label"))
    >>> problem.y.tolist()
    [None, 'spy']
    """
    notes = [*store.notes, *(note for part in (features, labels) if part is not None for note in part.notes)]
    y = np.full(store.n_nodes, None, dtype=object)
    if labels is not None:
        places = store.nodes(labels.ids)
        _check_labels(store, labels, places, notes)
        y[places[places >= 0]] = labels.labels[places >= 0]
    matrix = None if features is None else _in_order(store, features)
    names = () if features is None else features.names
    return Problem(store.node_ids, store.adjacency, matrix, y, notes, names)


def _check_labels(store: GraphStore, labels: Labels, places: np.ndarray, notes: list[str]) -> None:
    given = np.array([label is not None for label in labels.labels], dtype=bool)
    unknown = labels.ids[(places < 0) & given]
    if len(unknown):
        raise ValueError(
            f"{labels.name} has labels for {counted(len(unknown), 'id')} that {store.directory} does not "
            f"have: {listed(unknown)}; remove them or build the store with them among its nodes."
        )
    silent = int(np.count_nonzero((places < 0) & ~given))
    if silent:
        notes.append(f"{labels.name}: {counted(silent, 'id')} without a label that the graph does not have.")


def _in_order(store: GraphStore, features: Features) -> csr_array | np.ndarray:
    places = store.nodes(features.ids)
    strange = features.ids[places < 0]
    if len(strange):
        raise ValueError(
            f"{features.name} names {counted(len(strange), 'id')} that {store.directory} does not have: "
            f"{listed(strange)}; build the store with --nodes {features.name}, or remove them."
        )
    row = np.full(store.n_nodes, -1, dtype=np.int64)
    row[places] = np.arange(len(places))
    missing = np.flatnonzero(row < 0)
    if len(missing):
        raise ValueError(
            f"{features.name} has no features for {counted(len(missing), 'id')} of {store.directory}: "
            f"{listed(store.ids(missing[:6]))}; add them."
        )
    if np.array_equal(row, np.arange(len(row))):
        return features.matrix
    return csr_array(features.matrix[row]) if issparse(features.matrix) else features.matrix[row]
