"""Convert data frames and graphs of SciPy, NetworkX, PyTorch Geometric and DGL to problems."""

from collections import Counter
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse

from gssl.graph import check_finite, clean_adjacency
from gssl.io.edge_tables import read_edges
from gssl.io.feature_reading import read_features
from gssl.io.joining import assemble
from gssl.io.label_tables import Answers, read_labels
from gssl.io.predictions import Predictions, list_predictions
from gssl.io.problem import Problem
from gssl.methods.label_sets import UNKNOWN, read_label_sets
from gssl.methods.regressor import read_numbers
from gssl.wording import counted, is_missing, is_missing_text

# the kernels index nodes with int32
_MOST_NODES = 2**31


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
) -> Problem:
    """Build a problem from an adjacency matrix.

    Parameters
    ----------
    adjacency : sparse matrix of any format, or array-like, shape (n, n)
        Directions are ignored.
    y : array-like of shape (n,), optional
        Labels; None, NaN, −1, empty text and markers such as ``"NA"`` mean unlabelled. If all are whole
        numbers they become int, otherwise text.
    features : sparse matrix or array-like of shape (n, d), optional
    node_ids : array-like of shape (n,), optional
        Converted to text; ``"0", "1", …`` if None.
    feature_names : sequence of d str, optional
    answers : {"classes", "numbers", "sets"}, default="classes"
        What ``y`` holds: see :func:`gssl.io.read_labels`. −1 is a number among numbers.

    Returns
    -------
    Problem

    Examples
    --------
    >>> problem = from_scipy([[0, 1], [1, 0]], y=[3, -1])
    >>> problem.node_ids.tolist(), problem.y.tolist()
    (['0', '1'], [3, None])
    """
    cleaned, report = clean_adjacency(adjacency)
    n = cleaned.shape[0]
    two_way = cleaned.nnz // 2 - report.asymmetric
    notes = [
        message
        for message in report.messages()
        # no note about asymmetry if every edge is stored once, as is common for undirected graphs
        if two_way or "not symmetric" not in message
    ]
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
        values = y if answers != "classes" else list(y.tolist() if isinstance(y, np.ndarray) else y)
        _check_length(len(values), n, "labels")
        labels[:] = _read_answers(values, answers)
    return Problem(_texts(node_ids, n), cleaned, matrix, labels, notes, tuple(feature_names))


def from_networkx(
    graph: Any,
    label: str = "label",
    features: str | Sequence[str] | None = None,
    weight: str | None = "weight",
) -> Problem:
    """Build a problem from a NetworkX graph.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        Directions are ignored; weights of parallel edges are summed.
    label : str, default="label"
        The node attribute of the label; nodes without it are unlabelled.
    features : str or sequence of str, optional
        One node attribute that holds a list of numbers, or several that hold one number each.
    weight : str or None, default="weight"
        The edge attribute of the weight; missing weights are 1.

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
    directed = nx.to_scipy_sparse_array(graph, nodelist=nodes, weight=weight, dtype=np.float64, format="csr")
    labels = [graph.nodes[node].get(label) for node in nodes]
    matrix: Any = None
    names: tuple[str, ...] = ()
    if features is not None:
        matrix = np.array([_row(graph, node, features) for node in nodes], dtype=np.float64)
        names = tuple([features] if isinstance(features, str) else features)
        names = names if len(names) == matrix.shape[1] else ()
    return from_scipy(directed, labels, matrix, nodes, names)


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


def from_pyg(data: Any, mask: str | None = "train_mask") -> Problem:
    """Build a problem from a PyTorch Geometric ``Data`` object.

    Parameters
    ----------
    data : object with ``edge_index`` and optionally ``x``, ``y``, ``edge_weight``, ``num_nodes`` and masks
    mask : str or None, default="train_mask"
        The mask of labelled nodes; labels of other nodes are ignored. All labels are used if None or if
        there is no such mask.

    Returns
    -------
    Problem

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> data = SimpleNamespace(edge_index=np.array([[0, 1], [1, 0]]), y=np.array([5, 6]),
    ...                        train_mask=np.array([True, False]))
    >>> from_pyg(data).y.tolist()
    [5, None]
    """
    if getattr(data, "edge_index", None) is None:
        raise TypeError(f"{type(data).__name__} has no edge_index: give a PyTorch Geometric Data object.")
    edges = _tensor_array(data.edge_index, "edge_index")
    if edges.ndim != 2 or edges.shape[0] != 2:
        raise ValueError(f"edge_index has shape {edges.shape}: it must be 2 × edges.")
    columns = {name: _optional(data, name) for name in ("x", "y", "edge_weight")}
    known = None if mask is None else _optional(data, mask)
    return _tensor_problem(edges, columns, known, getattr(data, "num_nodes", None))


def from_dgl(
    graph: Any,
    features: str = "feat",
    label: str = "label",
    weight: str | None = None,
    mask: str | None = "train_mask",
) -> Problem:
    """Build a problem from a DGL graph.

    Parameters
    ----------
    graph : object with ``edges()``, ``num_nodes()``, ``ndata`` and ``edata``
    features, label : str
        Keys of ``ndata``; missing ones are ignored.
    weight : str, optional
        A key of ``edata``.
    mask : str or None, default="train_mask"
        As in :func:`from_pyg`.

    Returns
    -------
    Problem

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> graph = SimpleNamespace(edges=lambda: (np.array([0]), np.array([1])), num_nodes=lambda: 2,
    ...                         ndata={"label": np.array([5, 6])})
    >>> from_dgl(graph).y.tolist()
    [5, 6]
    """
    if not all(callable(getattr(graph, name, None)) for name in ("edges", "num_nodes")) or not hasattr(
        graph, "ndata"
    ):
        raise TypeError(f"{type(graph).__name__} has no edges(), num_nodes() and ndata: give a DGL graph.")
    source, target = (_tensor_array(ends, "edges()") for ends in graph.edges())
    if source.ndim != 1 or source.shape != target.shape:
        raise ValueError(
            f"edges() gives sources of shape {source.shape} and targets of shape {target.shape}: give one "
            "source and one target for each edge."
        )
    nodes, links = graph.ndata, getattr(graph, "edata", {})
    if weight is not None and weight not in links:
        raise ValueError(f"the graph has no edge data {weight!r}; it has {', '.join(links) or 'none'}.")
    columns = {
        "x": _tensor_array(nodes[features], features) if features in nodes else None,
        "y": _tensor_array(nodes[label], label) if label in nodes else None,
        "edge_weight": None if weight is None else _tensor_array(links[weight], weight),
    }
    known = _tensor_array(nodes[mask], mask) if mask is not None and mask in nodes else None
    return _tensor_problem(np.stack([source, target]), columns, known, graph.num_nodes())


def _read_answers(values: Any, answers: Answers) -> list[Any]:
    """Return labels, numbers or tuples of labels; None where there is none."""
    if answers == "numbers":
        return [None if np.isnan(x) else float(x) for x in read_numbers(values, learns=False)]
    if answers == "sets":
        names, cells = read_label_sets(values, learns=False)
        known = (cells != UNKNOWN).any(axis=1)
        rows = zip(known, cells, strict=True)
        return [tuple(names[row == 1].tolist()) if some else None for some, row in rows]
    return _read_labels(list(values))


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


def _tensor_problem(
    edges: np.ndarray, columns: dict[str, np.ndarray | None], known: np.ndarray | None, n_nodes: Any
) -> Problem:
    x, y, weights = columns["x"], columns["y"], columns["edge_weight"]
    if edges.dtype.kind not in "iu":
        raise ValueError(f"edges are {edges.dtype}: node numbers must be integers, starting at 0.")
    n = _count_nodes(n_nodes, [part for part in (x, y) if part is not None and part.ndim], edges)
    if edges.size and not 0 <= edges.min() <= edges.max() < n:
        raise ValueError(f"a node number of edges is outside 0 to {n - 1}: number the nodes from 0.")
    values = np.ones(edges.shape[1]) if weights is None else _tensor_weights(weights, edges.shape[1])
    adjacency = coo_array((values, (edges[0], edges[1])), shape=(n, n))
    labels = None
    if y is not None:
        if y.ndim != 1 and (y.ndim != 2 or y.shape[1] != 1):
            raise ValueError(f"y has shape {y.shape}: one class per node is needed.")
        labels = y.reshape(-1).tolist()
        if known is not None:
            if known.dtype != np.bool_ or known.shape != (len(labels),):
                raise ValueError(
                    f"the mask is {known.dtype} of shape {known.shape}, not true or false per node."
                )
            labels = [label if chosen else None for label, chosen in zip(labels, known, strict=True)]
    return from_scipy(adjacency, labels, x)


def _count_nodes(n_nodes: Any, parts: list[np.ndarray], edges: np.ndarray) -> int:
    if n_nodes is None:
        n = len(parts[0]) if parts else int(edges.max()) + 1 if edges.size else 0
    else:
        try:
            n = index(n_nodes)
        except TypeError as error:
            raise ValueError(f"num_nodes is {n_nodes!r}: give a whole number.") from error
    if not 0 <= n < _MOST_NODES:
        raise ValueError(
            f"there would be {n:,} nodes, and gssl needs fewer than {_MOST_NODES:,}: number nodes from 0 "
            "without gaps."
        )
    return n


def _tensor_weights(weights: np.ndarray, n_edges: int) -> np.ndarray:
    if weights.dtype.kind not in "fiub" or weights.size != n_edges:
        raise ValueError(
            f"the weights are {weights.dtype} of shape {weights.shape} for {n_edges} edges: give one number "
            "for each."
        )
    return weights.reshape(-1).astype(np.float64)


def _optional(data: Any, name: str) -> np.ndarray | None:
    value = getattr(data, name, None)
    return None if value is None else _tensor_array(value, name)


def _tensor_array(tensor: Any, name: str) -> np.ndarray:
    """Convert a tensor of any library to a NumPy array, detached from autograd and on the CPU."""
    if str(getattr(tensor, "dtype", "")) == "torch.bfloat16":
        # NumPy has no bfloat16; float32 represents all of its values exactly
        tensor = tensor.float()
    try:
        for step in ("detach", "cpu", "numpy"):
            if not isinstance(tensor, np.ndarray) and hasattr(tensor, step):
                tensor = getattr(tensor, step)()
        return np.asarray(tensor)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{name} cannot be read as an array of numbers: give a dense tensor, or an array."
        ) from error
