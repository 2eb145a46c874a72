"""Convert data frames and graphs of SciPy and NetworkX to problems."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import block_diag, coo_array, csr_array, issparse

from gssl.graph import check_adjacency, check_finite, clean_adjacency
from gssl.graph.adjacency import ONE_KIND, is_directed, relations_of, union_of
from gssl.graph.simplify import CleaningReport, simplify
from gssl.io.edge_coding import OTHER
from gssl.io.edge_sides import NodeKinds
from gssl.io.edge_tables import read_edges
from gssl.io.feature_reading import read_features
from gssl.io.joining import assemble
from gssl.io.label_tables import Answers, read_labels
from gssl.io.predictions import Predictions, list_predictions
from gssl.io.problem import Problem
from gssl.methods.label_sets import UNKNOWN, read_label_sets
from gssl.methods.regressor import read_numbers
from gssl.wording import counted, is_missing, is_missing_text, listed, quoted


def from_frames(edges: Any, labels: Any = None, features: Any = None) -> Problem:
    """Join edges, labels and features given as data frames.

    Parameters
    ----------
    edges : pandas, polars or pyarrow table, or None
        Two id columns and, optionally, a weight: see :func:`gssl.io.read_edges`.
    labels : the same, optional
        Id and label: see :func:`gssl.io.read_labels`.
    features : the same, optional
        Id, and numbers, categories or lists: see :func:`gssl.io.read_features`.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": ["007", "8"], "dst": ["8", "9"]})
    >>> problem = from_frames(edges, pd.DataFrame({"id": ["007"], "label": ["spy"]}))
    >>> problem.node_ids.tolist(), problem.y.tolist()
    (['007', '8', '9'], ['spy', None, None])
    """
    return assemble(
        None if edges is None else read_edges(edges),
        None if features is None else read_features(features),
        None if labels is None else read_labels(labels),
    )


def from_scipy(
    adjacency: Any,
    y: Any = None,
    features: Any = None,
    node_ids: Any = None,
    feature_names: Sequence[str] = (),
    answers: Answers = "classes",
    *,
    directed: bool = False,
    relation_weight: Mapping[str, float] | None = None,
) -> Problem:
    """Build a problem from an adjacency matrix.

    Parameters
    ----------
    adjacency : sparse matrix of any format, or array-like, shape (n, n), or mapping of str to such
        A mapping has a matrix for each relation (kind of link).
    y : array-like of shape (n,), optional
        Labels; None, NaN, −1, empty text and markers such as ``"NA"`` mean unlabelled. If all are whole
        numbers they become int, otherwise text.
    features : sparse matrix or array-like of shape (n, d), optional
    node_ids : array-like of shape (n,), optional
        Converted to text; ``"0", "1", …`` if None.
    feature_names : sequence of d str, optional
    answers : {"classes", "numbers", "sets"}, default="classes"
        What ``y`` holds: see :func:`gssl.io.read_labels`. −1 is a number among numbers.
    directed : bool, default=False
        Whether entry (u, v) is a link from u to v. Otherwise directions are ignored.
    relation_weight : mapping of str to float, optional
        The weights of relations in their union: see :func:`gssl.graph.check_adjacency`.

    Returns
    -------
    Problem

    Examples
    --------
    >>> problem = from_scipy([[0, 1], [1, 0]], y=[3, -1])
    >>> problem.node_ids.tolist(), problem.y.tolist()
    (['0', '1'], [3, None])
    """
    cleaned, notes = _clean(adjacency, directed, relation_weight)
    n = cleaned.shape[0]
    isolated = int(np.count_nonzero(np.diff(cleaned.indptr) == 0))
    if isolated:
        notes.append(f"{counted(isolated, 'node')} without any edge")
    matrix = None
    if features is not None:
        check_finite(features, "features")
        matrix = csr_array(features) if issparse(features) else np.asarray(features)
        _check_length(matrix.shape[0], n, "rows of features")
        matrix = matrix.astype(np.result_type(matrix.dtype, np.float32), copy=False)
    labels = np.full(n, None, dtype=object)
    if y is not None:
        _check_length(len(y), n, "labels")
        labels[:] = _read_answers(y, answers)
    return Problem(_texts(node_ids, n), cleaned, matrix, labels, notes, tuple(feature_names))


def _clean(
    adjacency: Any, directed: bool, relation_weight: Mapping[str, float] | None
) -> tuple[csr_array, list[str]]:
    """Return a checked graph, which is plain if all links are of one kind without directions, and notes."""
    if not directed and not relation_weight and not isinstance(adjacency, Mapping):
        return _clean_symmetric(adjacency)
    matrices = adjacency if isinstance(adjacency, Mapping) else {ONE_KIND: adjacency}
    relations, notes = dict[Any, Any](matrices), list[str]()
    for name, matrix in matrices.items() if all(isinstance(name, str) for name in matrices) else ():
        about = f"relation {quoted(name)}: " if len(matrices) > 1 else ""
        try:
            if directed:
                relations[name], *counts = simplify(matrix)
                messages = CleaningReport(counts[0], counts[1], 0, counts[2]).messages()
            else:
                relations[name], messages = _clean_symmetric(matrix)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{about}{error}") from error
        notes += [f"{about}{message}" for message in messages]
    A = check_adjacency(relations, directed=directed, relation_weight=relation_weight, allow_empty=True)
    plain = len(relations) == 1 and not is_directed(*relations_of(A).values())
    return (union_of(A) if plain else A), notes


def _clean_symmetric(adjacency: Any) -> tuple[csr_array, list[str]]:
    cleaned, report = clean_adjacency(adjacency)
    two_way = cleaned.nnz // 2 - report.asymmetric
    return cleaned, [
        message
        for message in report.messages()
        # no note about asymmetry if every edge is stored once, as is common for undirected graphs
        if two_way or "not symmetric" not in message
    ]


def from_matrices(
    relations: Mapping[tuple[str, str, str], Any],
    y: Mapping[str, Any] | None = None,
    features: Mapping[str, Any] | None = None,
    answers: Answers = "classes",
    *,
    directed: bool = False,
    relation_weight: Mapping[str, float] | None = None,
) -> Problem:
    """Build a problem from matrices between kinds of nodes.

    Parameters
    ----------
    relations : mapping of tuples of three str to sparse matrices or array-likes
        The matrix of ``("author", "wrote", "paper")`` has a row for each author and a column for each paper.
    y : mapping of str to array-like, optional
        For some kinds a label of each node, missing if unknown: see :func:`from_scipy`.
    features : mapping of str to sparse matrix or array-like, optional
        For some kinds a row of features of each node. Kinds have columns of their own, which are zero for
        nodes of other kinds.
    answers : {"classes", "numbers", "sets"}, default="classes"
        What ``y`` holds.
    directed : bool, default=False
        Whether links lead from the kind of the rows to that of the columns.
    relation_weight : mapping of str to float, optional
        The weights of relations in their union: see :func:`gssl.graph.check_adjacency`.

    Returns
    -------
    Problem
        The ids of nodes are ``"author:0"`` and so on; kinds are in the order in which relations name them.

    Examples
    --------
    >>> problem = from_matrices({("author", "wrote", "paper"): [[1, 0], [1, 1]]}, {"paper": ["a", None]})
    >>> problem.node_ids.tolist(), problem.y.tolist()
    (['author:0', 'author:1', 'paper:0', 'paper:1'], [None, None, 'a', None])
    """
    for key in relations:
        if not isinstance(key, tuple) or len(key) != 3 or not all(isinstance(part, str) for part in key):
            raise ValueError(
                f"a relation is named {key!r}: name all like ('author', 'wrote', 'paper'), or all by a text."
            )
    matrices = {key: coo_array(matrix) for key, matrix in relations.items()}
    sizes = _count_kinds(matrices, features or {}, y or {})
    start = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    n = sum(sizes.values())
    middles = Counter(name for _, name, _ in matrices)
    placed = {
        name if middles[name] == 1 else f"{one} {name} {other}": coo_array(
            (matrix.data, (matrix.row + start[one], matrix.col + start[other])), shape=(n, n)
        )
        for (one, name, other), matrix in matrices.items()
    }
    labels: list[Any] | None = None
    if y:
        labels = [None] * n
        for kind, values in y.items():
            labels[start[kind] : start[kind] + sizes[kind]] = _read_answers(values, answers)
    X, names = _join_blocks(features or {}, sizes)
    ids = [f"{kind}:{k}" for kind, size in sizes.items() for k in range(size)]
    options: Any = {"directed": directed, "relation_weight": relation_weight}
    problem = from_scipy(placed, None, X, ids, names, **options)
    if labels is not None:
        problem.y[:] = labels
    if len(sizes) < 2:
        return problem
    sides = np.repeat(np.arange(len(sizes)), list(sizes.values()))
    return replace(problem, kinds=NodeKinds.of(tuple(sizes), problem.node_ids, sides))


def _count_kinds(
    matrices: Mapping[tuple[str, str, str], Any], features: Mapping[str, Any], y: Mapping[str, Any]
) -> dict[str, int]:
    """Return the number of nodes of each kind; raise if two sources disagree."""
    sizes: dict[str, tuple[int, str]] = {}
    claims = [
        (kind, size, f"{what} of {key!r}")
        for key, matrix in matrices.items()
        for kind, size, what in zip(key[::2], matrix.shape, ("the rows", "the columns"), strict=True)
    ]
    claims += [(kind, np.shape(X)[0], f"the features of {kind!r}") for kind, X in features.items()]
    claims += [(kind, len(values), f"the labels of {kind!r}") for kind, values in y.items()]
    linked = {kind for key in matrices for kind in key[::2]}
    for kind, size, source in claims:
        if kind not in linked:
            raise ValueError(f"{source} are of no kind of the relations, which are {listed(sorted(linked))}.")
        known, first = sizes.setdefault(kind, (size, source))
        if size != known:
            raise ValueError(
                f"{source} are {counted(size, 'node')} but {first} are {known:,}: give each kind one number "
                "of nodes."
            )
    return {kind: size for kind, (size, _) in sizes.items()}


def _join_blocks(features: Mapping[str, Any], sizes: Mapping[str, int]) -> tuple[Any, list[str]]:
    """Return the features of all nodes, of which each kind has its own columns, and their names."""
    given = {kind: X if issparse(X) else np.asarray(X) for kind, X in features.items()}
    if not given:
        return None, []
    for kind, X in given.items():
        if X.ndim != 2:
            raise ValueError(f"the features of {kind!r} have shape {X.shape}: give a row for each node.")
    blocks = [given.get(kind, csr_array((size, 0))) for kind, size in sizes.items()]
    joined = csr_array(block_diag([csr_array(block) for block in blocks]))
    names = [f"{kind}[{k}]" for kind in sizes if kind in given for k in range(given[kind].shape[1])]
    dense = len(given) == 1 and not any(issparse(X) for X in given.values())
    return joined.toarray() if dense else joined, names


def from_networkx(
    graph: Any,
    label: str = "label",
    features: str | Sequence[str] | None = None,
    weight: str | None = "weight",
    *,
    edge_type: str | None = None,
    directed: bool = False,
    relation_weight: Mapping[str, float] | None = None,
) -> Problem:
    """Build a problem from a NetworkX graph.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        Weights of parallel edges are summed.
    label : str, default="label"
        The node attribute of the label; nodes without it are unlabelled.
    features : str or sequence of str, optional
        One node attribute that holds a list of numbers, or several that hold one number each.
    weight : str or None, default="weight"
        The edge attribute of the weight; missing weights are 1.
    edge_type : str, optional
        The edge attribute of the relation (kind of link); edges without it are of the relation ``other``.
    directed : bool, default=False
        Whether to keep the directions of a directed graph.
    relation_weight : mapping of str to float, optional
        The weights of relations in their union: see :func:`gssl.graph.check_adjacency`.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import networkx as nx
    >>> graph = nx.Graph([("a", "b")])
    >>> graph.nodes["a"]["label"] = "spy"
    >>> problem = from_networkx(graph)
    >>> problem.node_ids.tolist(), problem.y.tolist()
    (['a', 'b'], ['spy', None])
    """
    import networkx as nx

    nodes = list(graph)
    if not nodes:
        raise ValueError("the graph has no nodes: give at least one.")
    options: Any = {"nodelist": nodes, "weight": weight, "dtype": np.float64, "format": "csr"}
    parts = {ONE_KIND: graph} if edge_type is None else _split_edges(graph, edge_type)
    relations = {name: nx.to_scipy_sparse_array(part, **options) for name, part in parts.items()}
    links = relations[ONE_KIND] if edge_type is None else relations
    labels = [graph.nodes[node].get(label) for node in nodes]
    matrix: Any = None
    names: tuple[str, ...] = ()
    if features is not None:
        matrix = np.array([_row(graph, node, features) for node in nodes], dtype=np.float64)
        names = tuple([features] if isinstance(features, str) else features)
        names = names if len(names) == matrix.shape[1] else ()
    about: Any = {"directed": directed, "relation_weight": relation_weight}
    return from_scipy(links, labels, matrix, nodes, names, **about)


def _split_edges(graph: Any, edge_type: str) -> dict[str, Any]:
    """Return a graph of all nodes for each kind of edges of a NetworkX graph."""
    parts: dict[str, Any] = {}
    for *ends, values in graph.edges(data=True):
        kind = values.get(edge_type)
        name = OTHER if is_missing(kind) or is_missing_text(str(kind)) else str(kind).strip()
        if name not in parts:
            parts[name] = type(graph)()
            parts[name].add_nodes_from(graph)
        parts[name].add_edge(*ends, **values)
    if not any(edge_type in values for *_, values in graph.edges(data=True)):
        raise ValueError(f"no edge of the graph has the attribute {quoted(edge_type)}: name another.")
    return parts


def to_networkx(problem: Problem, model: Any = None) -> Any:
    """Return a NetworkX graph with labels and, from a fitted model, predictions as node attributes.

    Parameters
    ----------
    problem : Problem
    model : fitted classifier or Predictions, optional
        Fitted to this problem.

    Returns
    -------
    networkx.Graph
        Nodes carry ``label`` (where there is one) and ``predicted, confidence, runner_up, reached``; edges
        carry ``weight``.

    Examples
    --------
    >>> import gssl, networkx as nx
    >>> problem = from_networkx(nx.Graph([("a", "b"), ("c", "d")]))
    >>> problem.y[[0, 2]] = ["spy", "cook"]
    >>> model = gssl.LabelPropagation().fit(None, problem.y, adjacency=problem.adjacency)
    >>> to_networkx(problem, model).nodes["b"]["predicted"]
    'spy'
    """
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(problem.node_ids)
    entries = problem.adjacency.tocoo()
    upper = entries.row < entries.col
    ends = (problem.node_ids[part[upper]] for part in (entries.row, entries.col))
    graph.add_weighted_edges_from(zip(*ends, entries.data[upper].tolist(), strict=True))
    for node, label in zip(problem.node_ids, problem.y, strict=True):
        if label is not None:
            graph.nodes[node]["label"] = label
    if model is None:
        return graph
    known = isinstance(model, Predictions)
    n = len(model if known else model.transduction_)
    if n != len(problem.node_ids):
        raise ValueError(
            f"the model has predictions for {n} nodes but the graph has {len(problem.node_ids)}: fit the "
            "model to this graph."
        )
    rows = model if known else list_predictions(model, problem.node_ids, problem.given)
    for row in rows:
        graph.nodes[row.id].update(
            predicted=row.label, confidence=row.confidence, runner_up=row.runner_up, reached=row.reached
        )
    return graph


def _read_answers(values: Any, answers: Answers) -> list[Any]:
    """Return labels, numbers or tuples of labels; None where there is none."""
    if answers == "numbers":
        return [None if np.isnan(x) else float(x) for x in read_numbers(values, learns=False)]
    if answers == "sets":
        names, cells = read_label_sets(values, learns=False)
        known = (cells != UNKNOWN).any(axis=1)
        rows = zip(known, cells, strict=True)
        return [tuple(names[row == 1].tolist()) if some else None for some, row in rows]
    return _read_labels(list(values.tolist() if isinstance(values, np.ndarray) else values))


def _read_labels(values: list[Any]) -> list[Any]:
    """Return labels as int if all are whole numbers, else as text; None, NaN, −1 and markers become None."""
    labels = [_whole_or_text(value) for value in values]
    if any(isinstance(label, str) for label in labels):
        return [label if label is None or isinstance(label, str) else str(label) for label in labels]
    return labels


def _whole_or_text(value: Any) -> int | str | None:
    if is_missing(value):
        return None
    if isinstance(value, str):
        return None if is_missing_text(value) else value
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if whole or (isinstance(value, float | np.floating) and float(value).is_integer()):
        return None if value == -1 else int(value)
    return str(value)


def _texts(node_ids: Any, n: int) -> np.ndarray:
    texts = np.empty(n, dtype=object)
    if node_ids is None:
        texts[:] = [str(i) for i in range(n)]
        return texts
    _check_length(len(node_ids), n, "node ids")
    texts[:] = [str(node) for node in node_ids]
    twice = next((text for text, count in Counter(texts).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"two nodes have the id {twice!r}: as text, ids must differ.")
    return texts


def _check_length(count: int, n: int, what: str) -> None:
    if count != n:
        raise ValueError(f"there are {count} {what} but {n} nodes in the graph: give one for each node.")


def _row(graph: Any, node: Any, features: str | Sequence[str]) -> list[float]:
    attributes = graph.nodes[node]
    for name in [features] if isinstance(features, str) else features:
        if name not in attributes:
            raise ValueError(f"node {node!r} has no attribute {name!r}: give every node its features.")
    if isinstance(features, str):
        return [float(value) for value in np.ravel(attributes[features])]
    return [float(attributes[name]) for name in features]
