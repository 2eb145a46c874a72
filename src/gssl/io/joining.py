"""Join edges, features and labels of nodes by their ids."""

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.graph import check_adjacency
from gssl.graph.adjacency import ONE_KIND, TypedAdjacency, is_directed, relations_of, union_of
from gssl.graph.mapped import mapped_file
from gssl.graph.simplify import declare_simple, is_declared
from gssl.io.edge_sides import NodeKinds
from gssl.io.edge_tables import EdgeFacts, Edges, check_weights, left_out_note, relation_title
from gssl.io.feature_blocks import take_rows_or_zeros
from gssl.io.feature_reading import Features
from gssl.io.graph_store import GraphStore
from gssl.io.label_tables import Labels, Nodes
from gssl.io.pair_merging import merge_edges
from gssl.io.preparation import Preparation
from gssl.io.problem import Problem
from gssl.io.table_columns import check_distinct, missing_id_notes, spelling_hint
from gssl.wording import counted, listed

_Part: TypeAlias = Nodes | Features | Edges | Labels


def assemble(
    edges: Edges | GraphStore | None,
    features: Features | None = None,
    labels: Labels | None = None,
    *,
    nodes: Nodes | None = None,
    strict: bool = False,
    known: Problem | None = None,
) -> Problem:
    """Join edges, features and labels by node id.

    The nodes are the ids of all tables: first those of ``nodes``, then those of the features, of the edges
    and of the labels. A node without a row of features gets zeros, and one without edges is isolated; notes
    count both. Missing cells of features are filled with medians. Each row of the edges is one undirected
    edge, listed in one direction or in both; if the two weights differ, the larger counts. Edges of several
    relations, or with directions, become a :class:`gssl.graph.TypedAdjacency`.

    Parameters
    ----------
    edges : Edges, GraphStore or None
        The arrays of a graph store stay in its files; its nodes come first, and ids that it does not have
        become isolated nodes. Without edges the adjacency is empty.
    features : Features, optional
    labels : Labels, optional
    nodes : Nodes, optional
        All nodes, in order; ids that it does not list are added at the end, with a note.
    strict : bool, default=False
        Raise on ids that are not among the nodes or, without ``nodes``, on edges of ids without features and
        labels of ids without edges and features; with a graph store, also on nodes without features.
    known : Problem, optional
        That of a saved model, which :func:`extend` joins to this one. Its nodes need no row of features, and
        of two kinds of nodes each is named as there.

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
    if edges is None and features is None and nodes is None:
        raise ValueError("there are neither edges nor features: give at least one of them.")
    store = edges if isinstance(edges, GraphStore) else None
    links = None if isinstance(edges, GraphStore) else edges
    return _Join(strict, store, nodes, known).run(links, features, labels)


class _Join:
    """Collect nodes from one table after another, after those of a graph store if there is one."""

    def __init__(
        self, strict: bool, store: GraphStore | None, nodes: Nodes | None, known: Problem | None = None
    ) -> None:
        self.strict, self.store, self.nodes = strict, store, nodes
        self.known = frozenset[str](() if known is None else known.node_ids)
        self.kinds = None if known is None or known.kinds is None else known.kinds.copy()
        self.notes: list[str] = [] if store is None else list(store.notes)
        self.added: dict[str, int] = {}

    @property
    def n_nodes(self) -> int:
        """The number of nodes so far."""
        return len(self.added) + (0 if self.store is None else self.store.n_nodes)

    def run(self, edges: Edges | None, features: Features | None, labels: Labels | None) -> Problem:
        """Collect all ids, then put every table in node order."""
        kinds = self.kinds
        if kinds is not None:
            edges = kinds.resolve_edges(edges)
        else:
            kinds = _node_kinds(edges) if self.store is None else self.store.node_kinds
        features = _filled(features)
        if kinds is not None:
            self.nodes, features = kinds.resolve(self.nodes), kinds.resolve(features)
            labels = kinds.resolve(labels)
        elif features is not None and features.parts:
            check_distinct(features.ids, features.name)
        node_numbers = {}
        for part in (self.nodes, features, edges, labels):
            if part is not None:
                self.notes += [*part.notes, *missing_id_notes(part.name, part.ids)]
                node_numbers[part.name, type(part)] = self._add(part)
        node_ids = np.array(list(self.added), dtype=object)
        if self.store is not None:
            node_ids = np.concatenate([self.store.node_ids, node_ids]) if self.added else self.store.node_ids
        y = np.full(self.n_nodes, None, dtype=object)
        if labels is not None:
            y[node_numbers[labels.name, Labels]] = labels.labels
        matrix = None
        if features is not None:
            rows = np.full(self.n_nodes, -1, dtype=np.int64)
            rows[node_numbers[features.name, Features]] = np.arange(len(features.ids))
            self._tell_zeros(features, node_ids[rows < 0])
            matrix = take_rows_or_zeros(features.matrix, rows)
        adjacency = self._adjacency(edges, None if edges is None else node_numbers[edges.name, Edges])
        names = () if features is None else features.names
        return Problem(node_ids, adjacency, matrix, y, self.notes, names, kinds=kinds)

    def _add(self, part: _Part) -> np.ndarray:
        """Return the node numbers of the ids of a table; new ids become nodes."""
        numbers = self._find(part.ids)
        new = numbers < 0
        if new.any() and self.n_nodes:
            self._tell_new(part, new)
        numbers[new] = np.arange(self.n_nodes, self.n_nodes + np.count_nonzero(new))
        self.added.update(zip(part.ids[new], numbers[new].tolist(), strict=True))
        return numbers

    def _find(self, ids: np.ndarray) -> np.ndarray:
        if self.store is None:
            return np.array([self.added.get(node, -1) for node in ids], dtype=np.int64)
        numbers = self.store.nodes(ids)
        for row in np.flatnonzero(numbers < 0) if self.added else ():
            numbers[row] = self.added.get(ids[row], -1)
        return numbers

    def _tell_new(self, part: _Part, new: np.ndarray) -> None:
        """Note ids that no earlier table has; raise if strict, or if all ids of the table are new."""
        new = new & ~self._is_known(part.ids)
        if not new.any():
            return
        refused = new & (self.strict & self._given(part))
        unknown = list(part.ids[refused if refused.any() else new])
        count, ids = counted(len(unknown), "id"), f"{listed(unknown)}{spelling_hint(unknown, self._has)}"
        if refused.any() or new.all():
            raise ValueError(self._refusal(part, count, ids))
        if self.nodes is not None:
            self.notes.append(f"{part.name}: added {count} that {self.nodes.name} does not list: {ids}.")
        elif not isinstance(part, Edges):
            self.notes.append(
                f"{part.name}: {count} that no other table has became nodes without edges: {ids}."
            )

    def _is_known(self, ids: np.ndarray) -> np.ndarray:
        return np.array([node in self.known for node in ids], dtype=bool)

    def _given(self, part: _Part) -> np.ndarray:
        """Return a mask of the ids that strict checks: not those listed without a label."""
        if not isinstance(part, Labels):
            return np.ones(len(part.ids), dtype=bool)
        return np.array([label is not None for label in part.labels], dtype=bool)

    def _refusal(self, part: _Part, count: str, ids: str) -> str:
        owner = "the features do" if isinstance(part, Edges) else "the graph does"
        remedy = "remove them or add the nodes"
        if self.nodes is not None:
            owner, remedy = f"{self.nodes.name} does", "add them or remove them here"
        elif self.store is not None:
            owner, remedy = f"{self.store.directory} does", "remove them, or build the store with them"
        elif isinstance(part, Edges):
            remedy = "add their features or remove their edges"
        what = "has labels for" if isinstance(part, Labels) else "names"
        return f"{part.name} {what} {count} that {owner} not have: {ids}; {remedy}."

    def _tell_zeros(self, features: Features, missing: np.ndarray) -> None:
        missing = missing[~self._is_known(missing)]
        if not len(missing):
            return
        known = set(features.ids)
        if self.strict and self.store is not None:
            raise ValueError(
                f"{features.name} has no features for {counted(len(missing), 'id')} of "
                f"{self.store.directory}: {listed(missing)}; add them."
            )
        hint = spelling_hint(list(missing), lambda ids: [node in known for node in ids])
        self.notes.append(
            f"{features.name}: {counted(len(missing), 'node')} without a row got zeros: "
            f"{listed(missing)}{hint}."
        )

    def _adjacency(self, edges: Edges | None, numbers: np.ndarray | None) -> csr_array:
        n = self.n_nodes
        if self.store is not None:
            return _with_isolated(self.store.adjacency, len(self.added))
        if edges is None or numbers is None:
            return csr_array((n, n), dtype=np.float64)
        adjacency, notes = merge_relations(edges, numbers, n)
        self.notes += notes
        return adjacency

    def _has(self, ids: list[str]) -> np.ndarray:
        return self._find(np.array(ids, dtype=object)) >= 0


def merge_relations(edges: Edges, numbers: np.ndarray, n_nodes: int) -> tuple[csr_array, list[str]]:
    """Return the graph of edges, given the node number of each id, and notes about what was odd.

    A single relation without directions is a plain graph.
    """
    u, v = numbers[edges.source], numbers[edges.target]
    if not edges.directed and edges.relations is None and not edges.relation_weight:
        adjacency, facts = merge_edges(u, v, edges.weights, n_nodes)
        return adjacency, facts.notes(edges.name)
    notes, names = list[str](), edges.relation_names or (ONE_KIND,)
    relations: dict[str, csr_array] = {}
    for k, name in enumerate(names):
        rows = slice(None) if edges.relations is None else edges.relations == k
        given = None if edges.weights is None else edges.weights[rows]
        relation, facts = merge_edges(u[rows], v[rows], given, n_nodes, directed=edges.directed)
        notes += replace(facts, isolated=0).notes(relation_title(name, names, edges.name))
        if relation.nnz:
            relations[name] = relation
        elif len(names) > 1:
            notes.append(left_out_note(name))
    weights = check_weights(names, edges.relation_weight)
    if not relations:
        return csr_array((n_nodes, n_nodes), dtype=np.float64), notes
    weights = {name: weight for name, weight in weights.items() if name in relations}
    A = check_adjacency(relations, directed=edges.directed, relation_weight=weights, allow_empty=True)
    isolated = int(np.count_nonzero(np.diff(A.indptr) == 0))
    notes += EdgeFacts(isolated=isolated).notes(edges.name)
    plain = len(relations) == 1 and not is_directed(*relations_of(A).values())
    return (union_of(A) if plain else A), notes


def _node_kinds(edges: Edges | None) -> NodeKinds | None:
    if edges is None or not edges.two_sided or edges.sides is None:
        return None
    return NodeKinds.of(edges.columns, edges.ids, edges.sides)


def _filled(features: Features | None) -> Features | None:
    """Fill missing cells of features in memory; mapped features are already prepared."""
    if features is None or mapped_file(features.matrix) is not None:
        return features
    values = features.matrix.data if issparse(features.matrix) else features.matrix
    if not np.isnan(values).any():
        return features
    return Preparation.fit(features, "none").apply(features)


def _with_isolated(A: csr_array, count: int) -> csr_array:
    """Append isolated nodes to the graph of a store, whose indices stay in their file."""
    if not count:
        return A
    if relations := relations_of(A):
        larger_parts = {name: _with_isolated(relation, count) for name, relation in relations.items()}
        return TypedAdjacency.of(_with_isolated(union_of(A), count), larger_parts)
    n = A.shape[0] + count
    larger = csr_array((n, n), dtype=A.dtype)
    larger.indptr = np.concatenate([A.indptr, np.full(count, A.indptr[-1], A.indptr.dtype)])
    larger.indptr.flags.writeable = False
    larger.indices, larger.data = A.indices, A.data
    larger.has_canonical_format = True
    return declare_simple(larger) if is_declared(A) else larger
