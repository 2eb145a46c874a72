"""A graph, its features and labels, joined by node id."""

from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse, vstack

from gssl.frames import Backend, html_table, installed_backend
from gssl.graph.mapped import mapped_file, nonzero_rows
from gssl.graph.simplify import declare_simple, simplify
from gssl.io.edge_sides import NodeKinds
from gssl.io.edge_tables import Edges, count_facts
from gssl.io.feature_reading import Features
from gssl.io.feature_slabs import take_rows_or_zeros
from gssl.io.graph_store import GraphStore
from gssl.io.label_tables import Labels, Nodes
from gssl.io.predictions import Predictions, list_predictions, tabulate
from gssl.io.preparation import Preparation
from gssl.io.table_columns import missing_id_notes, spelling_hint
from gssl.methods.labels import decide, decode_labels
from gssl.operators import dense
from gssl.wording import counted, listed


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """The inputs of a method, all in the same node order.

    Attributes
    ----------
    node_ids : object ndarray of str, shape (n,)
    adjacency : csr_array of shape (n, n)
        Symmetric, without self-loops.
    features : csr_array or ndarray of shape (n, d), or None
    y : object ndarray of shape (n,)
        A label or None. Labels from tables are text.
    notes : list of str
        Irregularities in the data, in plain words.
    feature_names : tuple of str
    preparation : Preparation or None
        How the features were filled and scaled.
    kinds : NodeKinds or None
        Which node is of which kind, if the columns of the edges name two; its ``resolve`` finds the nodes
        that another table of labels names.
    frames : str or None
        The library of the data frames that it was read from: "pandas", "polars" or "pyarrow".
    """

    node_ids: np.ndarray
    adjacency: csr_array
    features: csr_array | np.ndarray | None
    y: np.ndarray
    notes: list[str] = field(default_factory=list)
    feature_names: tuple[str, ...] = ()
    preparation: Preparation | None = None
    kinds: NodeKinds | None = None
    frames: Backend | None = None

    @property
    def given(self) -> np.ndarray:
        """A mask of the labelled nodes."""
        return np.array([label is not None for label in self.y], dtype=bool)

    def __repr__(self) -> str:
        d = "no" if self.features is None else str(self.features.shape[1])
        return (
            f"Problem(nodes={len(self.node_ids)}, edges={self.adjacency.nnz // 2}, features={d}, "
            f"labels={int(self.given.sum())})"
        )

    def _repr_html_(self) -> str:
        names, counts = np.unique([str(label) for label in self.y if label is not None], return_counts=True)
        classes = html_table({"class": names.tolist(), "labels": counts.tolist()})
        notes = "".join(f"<li>{escape(text)}</li>" for text in self.notes)
        return f"<p>{escape(repr(self))}</p>{classes if len(names) else ''}<ul>{notes}</ul>"

    def tabulate(self, model: Any) -> Any:
        """Return the predictions of a model for these nodes: see :meth:`GraphClassifier.predictions`."""
        predictions, backend = predictions_of(model, self), self.frames or installed_backend()
        return predictions if backend is None else predictions.to_frame(backend)


def is_problem_of_fit(model: Any, problem: Problem, *, begins: bool = False) -> bool:
    """Return whether a problem has, or begins with, the nodes of a model's fit, judged by their labels."""
    expected, y = decode_labels(model.classes_, model.fit_codes), problem.y
    if len(y) < len(expected) or (len(y) > len(expected) and not begins):
        return False
    codes = model.fit_codes.tolist()
    return all(
        (None if code < 0 else label) == y[k]
        for k, (code, label) in enumerate(zip(codes, expected, strict=True))
    )


def predictions_of(model: Any, problem: Problem) -> Predictions:
    """Return the predictions of a fitted model for a problem, that of fit or another one."""
    if is_problem_of_fit(model, problem):
        return list_predictions(model, problem.node_ids, problem.given)
    if model.knows_nodes and not is_problem_of_fit(model, problem, begins=True):
        raise ValueError(
            f"this {type(model).__name__} uses the labels of the nodes it was fitted to: give the problem of "
            "fit, or join new nodes to it with gssl.io.extend(problem, new)."
        )
    P, informed = model.predict_informed(problem.features, problem.adjacency)
    chosen = decide(P, informed, model.fit_codes)
    classes = [str(name) for name in model.classes_]
    return tabulate(problem.node_ids, P, classes, chosen, None, informed)


def assemble(
    edges: Edges | None,
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
    edge, listed in one direction or in both; if the two weights differ, the larger counts.

    Parameters
    ----------
    edges : Edges or None
        Without edges the adjacency is empty.
    features : Features, optional
    labels : Labels, optional
    nodes : Nodes, optional
        All nodes, in order; ids that it does not list are added at the end, with a note.
    strict : bool, default=False
        Raise on ids that are not among the nodes or, without ``nodes``, on edges of ids without features and
        labels of ids without edges and features.
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
    return _Join(strict, None, nodes, known).run(edges, features, labels)


def extend(known: Problem, new: Problem) -> tuple[Problem, np.ndarray]:
    """Join new nodes and edges to a known problem, whose nodes come first and keep features and labels.

    Parameters
    ----------
    known, new : Problem
        In memory, with the same features. If ``new`` has none, its nodes get zeros.

    Returns
    -------
    Problem
    int ndarray
        The positions of the nodes of ``new`` in it.

    Examples
    --------
    >>> from gssl.io import from_scipy
    >>> known = from_scipy([[0, 1], [1, 0]], node_ids=["a", "b"], features=[[1.0], [2.0]])
    >>> new = from_scipy([[0, 1], [1, 0]], node_ids=["c", "a"], features=[[3.0], [0.0]])
    >>> problem, positions = extend(known, new)
    >>> problem.node_ids.tolist(), problem.features.tolist(), positions.tolist()
    (['a', 'b', 'c'], [[1.0], [2.0], [3.0]], [2, 0])
    >>> problem.adjacency.toarray()[0].tolist()
    [0.0, 1.0, 1.0]
    """
    positions = positions_of(new.node_ids, known)
    fresh = positions < 0
    n_known, n_fresh = len(known.node_ids), int(np.count_nonzero(fresh))
    positions[fresh] = np.arange(n_known, n_known + n_fresh)
    parts = [
        coo_array((A.data, (nodes[A.row], nodes[A.col])), shape=(n_known + n_fresh,) * 2).tocsr()
        for A, nodes in (
            (known.adjacency.tocoo(), np.arange(n_known)),
            (new.adjacency.tocoo(), positions),
        )
    ]
    X = known.features
    if X is not None:
        empty = csr_array((n_fresh, X.shape[1]), dtype=X.dtype)
        rows = empty if new.features is None else new.features[fresh].astype(X.dtype)
        X = csr_array(vstack([X, rows])) if issparse(X) else np.vstack([X, dense(rows)])
    return replace(
        known,
        node_ids=np.concatenate([known.node_ids, new.node_ids[fresh]]),
        adjacency=csr_array(parts[0].maximum(parts[1])),
        features=X,
        y=np.concatenate([known.y, np.full(n_fresh, None, dtype=object)]),
        notes=new.notes,
    ), positions


def positions_of(ids: np.ndarray, problem: Problem) -> np.ndarray:
    """Return the node numbers of ids, −1 for those that the problem does not have."""
    numbers = {node: k for k, node in enumerate(problem.node_ids)}
    return np.array([numbers.get(node, -1) for node in ids], dtype=np.int64)


def differing_rows(known: Problem, new: Problem) -> np.ndarray:
    """Return for every row of features that ``new`` has of a known node whether it differs."""
    if known.features is None or new.features is None:
        return np.empty(0, dtype=bool)
    positions = positions_of(new.node_ids, known)
    common = np.flatnonzero((positions >= 0) & nonzero_rows(new.features))
    difference = abs(new.features[common] - known.features[positions[common]])
    largest = dense(difference.max(axis=1)).ravel()
    return np.asarray(largest > 1e-4 * max(1.0, float(abs(known.features).max())))


def join_store(
    store: GraphStore,
    features: Features | None = None,
    labels: Labels | None = None,
    *,
    nodes: Nodes | None = None,
    strict: bool = False,
) -> Problem:
    """Join features and labels to a graph store, in the order of its nodes.

    Only the ids are read into memory; the arrays of the graph stay in their files. Ids that the store does
    not have become isolated nodes after its own, and a node without a row of features gets zeros.

    Parameters
    ----------
    store : GraphStore
    features : Features, optional
    labels : Labels, optional
    nodes : Nodes, optional
        Additional nodes, without edges.
    strict : bool, default=False
        Raise on ids that the store does not have, and on nodes without features.

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
    return _Join(strict, store, nodes).run(None, features, labels)


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

    def _add(self, part: "Nodes | Features | Edges | Labels") -> np.ndarray:
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

    def _tell_new(self, part: "Nodes | Features | Edges | Labels", new: np.ndarray) -> None:
        """Note ids that no earlier table has; raise if strict, or if all ids of the table are new."""
        new = new & ~self._is_known(part.ids)
        if not new.any():
            return
        refused = new & self._given(part) if self.strict else new
        unknown = list(part.ids[refused])
        ids = f"{listed(unknown)}{spelling_hint(unknown, self._has)}"
        if (self.strict and unknown) or new.all():
            raise ValueError(self._refusal(part, counted(len(unknown), "id"), ids))
        count = counted(int(np.count_nonzero(new)), "id")
        ids = ids or listed(part.ids[new])
        if self.nodes is not None:
            self.notes.append(f"{part.name}: added {count} that {self.nodes.name} does not list: {ids}.")
        elif not isinstance(part, Edges):
            self.notes.append(
                f"{part.name}: {count} that no other table has became nodes without edges: {ids}."
            )

    def _is_known(self, ids: np.ndarray) -> np.ndarray:
        return np.array([node in self.known for node in ids], dtype=bool)

    def _given(self, part: "Nodes | Features | Edges | Labels") -> np.ndarray:
        """Return a mask of the ids that strict checks: not those listed without a label."""
        if not isinstance(part, Labels):
            return np.ones(len(part.ids), dtype=bool)
        return np.array([label is not None for label in part.labels], dtype=bool)

    def _refusal(self, part: "Nodes | Features | Edges | Labels", count: str, ids: str) -> str:
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
        u, v = numbers[edges.source], numbers[edges.target]
        weights = np.ones(len(u)) if edges.weights is None else edges.weights
        if edges.weights is not None:
            # sort, so that sums of repeated edges do not depend on the order in which threads deliver rows
            order = np.lexsort((weights, v, u))
            u, v, weights = u[order], v[order], weights[order]
        simple, self_loops, duplicates, zeros = simplify(coo_array((weights, (u, v)), shape=(n, n)))
        mirrored = simple.T.tocsr()
        self.notes += count_facts(simple, mirrored, (self_loops, duplicates, zeros)).notes(edges.name)
        return csr_array(simple.maximum(mirrored))

    def _has(self, ids: list[str]) -> np.ndarray:
        return self._find(np.array(ids, dtype=object)) >= 0


def _node_kinds(edges: Edges | None) -> NodeKinds | None:
    if edges is None or not edges.two_sided:
        return None
    sides = np.zeros(len(edges.ids), np.int8)
    sides[edges.target] = 1
    return NodeKinds.of(edges.columns, edges.ids, sides)


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
    n = A.shape[0] + count
    larger = csr_array((n, n), dtype=A.dtype)
    larger.indptr = np.concatenate([A.indptr, np.full(count, A.indptr[-1], A.indptr.dtype)])
    larger.indptr.flags.writeable = False
    larger.indices, larger.data = A.indices, A.data
    larger.has_canonical_format = True
    return declare_simple(larger)
