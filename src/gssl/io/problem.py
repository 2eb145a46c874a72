"""A graph, its features and labels, joined by node id."""

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse

from gssl.graph.simplify import simplify
from gssl.io.edge_tables import Edges, count_facts
from gssl.io.feature_reading import Features
from gssl.io.graph_store import GraphStore, check_rows
from gssl.io.label_tables import Labels
from gssl.io.table_columns import counted, listed


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """The inputs of a method, all in the same order of nodes.

    Attributes
    ----------
    node_ids : object ndarray of str, shape (n,)
    adjacency : csr_array of shape (n, n)
        Symmetric, without self-loops.
    features : csr_array or ndarray of shape (n, d), or None
    y : object ndarray of shape (n,)
        A label or None. Labels from tables are text.
    notes : list of str
        What was odd about the data, in plain words.
    feature_names : tuple of str
    """

    node_ids: np.ndarray
    adjacency: csr_array
    features: csr_array | np.ndarray | None
    y: np.ndarray
    notes: list[str] = field(default_factory=list)
    feature_names: tuple[str, ...] = ()

    @property
    def given(self) -> np.ndarray:
        """Which nodes have a label."""
        return np.array([label is not None for label in self.y], dtype=bool)

    def __repr__(self) -> str:
        d = "no" if self.features is None else str(self.features.shape[1])
        return (
            f"Problem(nodes={len(self.node_ids)}, edges={self.adjacency.nnz // 2}, features={d}, "
            f"labels={int(self.given.sum())})"
        )


def assemble(edges: Edges | None, features: Features | None = None, labels: Labels | None = None) -> Problem:
    """Join edges, features and labels by node id.

    With features, their ids are the nodes, in their order: an edge or a label of another id is an error, and
    a node without edges is isolated. Without features, the ids of the edges are the nodes, in text order; a
    label of another id is an error, but an id that is listed *without* a label becomes an isolated node. Each
    row of the edges is one undirected edge, listed in one direction or in both; if the two weights differ,
    the larger counts.

    Parameters
    ----------
    edges : Edges or None
        Without edges the adjacency is empty.
    features : Features, optional
    labels : Labels, optional

    Returns
    -------
    Problem

    Examples
    --------
    >>> from gssl.io import read_edges, read_labels
    >>> edges = read_edges("SELECT 'a' AS src, 'b' AS dst")
    >>> problem = assemble(edges, labels=read_labels("SELECT 'a' AS id, 'spy' AS label"))
    >>> problem
    Problem(nodes=2, edges=1, features=no, labels=1)
    >>> problem.y.tolist()
    ['spy', None]
    """
    notes = [note for part in (edges, features, labels) if part is not None for note in part.notes]
    node_ids = _nodes(edges, features, labels)
    places = {node: i for i, node in enumerate(node_ids)}
    adjacency = _adjacency(edges, places, notes)
    y = np.full(len(node_ids), None, dtype=object)
    if labels is not None:
        found = np.array([places.get(node, -1) for node in labels.ids], dtype=np.int64)
        unknown = _place_labels(y, labels, found, notes)
        if unknown:
            raise ValueError(
                f"{labels.name} has labels for {counted(len(unknown), 'id')} that the graph does not have: "
                f"{listed(unknown)}{_hint(unknown, places)}; remove them or add the nodes."
            )
    matrix = None if features is None else features.matrix
    names = () if features is None else features.names
    return Problem(node_ids, adjacency, matrix, y, notes, names)


def join_store(store: GraphStore, features: Features | None = None, labels: Labels | None = None) -> Problem:
    """Join features and labels to a graph store, in the order of its nodes.

    Only the ids are read into memory; the arrays of the graph stay in their files.

    Parameters
    ----------
    store : GraphStore
    features : Features, optional
        One row for each node of the store; rows of other ids are an error.
    labels : Labels, optional
        A label of another id is an error; other ids without a label are ignored.

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
        unknown = _place_labels(y, labels, store.nodes(labels.ids), notes)
        if unknown:
            raise ValueError(
                f"{labels.name} has labels for {counted(len(unknown), 'id')} that {store.directory} does not "
                f"have: {listed(unknown)}; remove them or build the store with them among its nodes."
            )
    if features is None:
        return Problem(store.node_ids, store.adjacency, None, y, notes)
    places = store.nodes(features.ids)
    check_rows(store, places, features.name, lambda row: str(features.ids[row]))
    matrix = features.matrix
    if not np.array_equal(places, np.arange(len(places))):
        row = np.argsort(places)
        matrix = csr_array(matrix[row]) if issparse(matrix) else matrix[row]
    return Problem(store.node_ids, store.adjacency, matrix, y, notes, features.names)


def _nodes(edges: Edges | None, features: Features | None, labels: Labels | None) -> np.ndarray:
    if features is not None:
        return features.ids
    if edges is None:
        raise ValueError("there are neither edges nor features: give at least one of them.")
    if labels is None:
        return edges.ids
    known = set(edges.ids)
    added = [
        i for i, label in zip(labels.ids, labels.labels, strict=True) if label is None and i not in known
    ]
    return np.array([*edges.ids, *added], dtype=object) if added else edges.ids


def _adjacency(edges: Edges | None, places: dict[str, int], notes: list[str]) -> csr_array:
    n = len(places)
    if edges is None:
        return csr_array((n, n), dtype=np.float64)
    unknown = [node for node in edges.ids if node not in places]
    if unknown:
        raise ValueError(
            f"{edges.name} names {counted(len(unknown), 'id')} that the features do not have: "
            f"{listed(unknown)}{_hint(unknown, places)}; add their features or remove their edges."
        )
    where = np.array([places[node] for node in edges.ids], dtype=np.int64)
    u, v = where[edges.source], where[edges.target]
    weights = np.ones(len(u)) if edges.weights is None else edges.weights
    if edges.weights is not None:
        # sort, so that sums of repeated edges do not depend on the order in which threads deliver rows
        order = np.lexsort((weights, v, u))
        u, v, weights = u[order], v[order], weights[order]
    simple, self_loops, duplicates, zeros = simplify(coo_array((weights, (u, v)), shape=(n, n)))
    mirrored = simple.T.tocsr()
    adjacency = simple.maximum(mirrored)
    notes += count_facts(simple, mirrored, (self_loops, duplicates, zeros)).notes(edges.name)
    return csr_array(adjacency)


def _place_labels(y: np.ndarray, labels: Labels, places: np.ndarray, notes: list[str]) -> list[str]:
    """Write labels into y at ``places``, and return the labelled ids whose place is −1."""
    known = places >= 0
    y[places[known]] = labels.labels[known]
    given = np.array([label is not None for label in labels.labels], dtype=bool)
    unlabelled = int(np.count_nonzero(~known & ~given))
    if unlabelled:
        notes.append(
            f"{labels.name}: {counted(unlabelled, 'id')} without a label that the graph does not have."
        )
    return list(labels.ids[~known & given])


def _hint(unknown: list[str], places: dict[str, int]) -> str:
    """Return a likely reason why an id was not found."""
    node = unknown[0]
    if node.endswith(".0") and node[:-2] in places:
        return f" ({node!r} is {node[:-2]!r} there: a table program made ids decimal)"
    if node.strip() in places:
        return f" ({node!r} has spaces around it)"
    if node.lstrip("0") in places or any(node.zfill(width) in places for width in range(2, 12)):
        return f" ({node!r} differs there in leading zeros)"
    return ""
