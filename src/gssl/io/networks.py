"""NetworkX graphs, in and out."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gssl.io.matrices import make_problem
from gssl.io.predictions import Predictions
from gssl.io.problem import Problem


def from_networkx(
    graph: Any,
    label: str = "label",
    features: str | Sequence[str] | None = None,
    weight: str | None = "weight",
) -> Problem:
    """Take nodes, edges, labels and features from a NetworkX graph.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        Directions are ignored; of parallel edges the weights are added.
    label : str, default="label"
        The node attribute that holds the label; a node without it is unlabelled.
    features : str or sequence of str, optional
        One node attribute that holds a row of numbers, or some that hold a number each.
    weight : str or None, default="weight"
        The edge attribute that holds the weight, 1 where it is missing.

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
    return make_problem(directed, labels, matrix, nodes, names)


def to_networkx(problem: Problem, model: Any = None) -> Any:
    """Give a NetworkX graph with labels and, from a fitted model, predictions as node attributes.

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

    from gssl.io.predictions import list_predictions

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


def _row(graph: Any, node: Any, features: str | Sequence[str]) -> list[float]:
    attributes = graph.nodes[node]
    for name in [features] if isinstance(features, str) else features:
        if name not in attributes:
            raise ValueError(f"node {node!r} has no attribute {name!r}: give every node its features.")
    if isinstance(features, str):
        return [float(value) for value in np.ravel(attributes[features])]
    return [float(attributes[name]) for name in features]
