"""Statistics of a graph and its labels, before any method is run."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.graph import TypedAdjacency, clean_adjacency, connected_components
from gssl.graph.adjacency import is_directed, relations_of
from gssl.methods.labels import label_codes


@dataclass(frozen=True)
class Health:
    """Statistics of a graph and its labels.

    ``degrees`` holds the ``min``, ``median``, ``mean``, ``p90`` and ``max`` number of neighbours, without
    weights and self-loops. ``n_unreached`` nodes are in components without a label. ``homophily`` is the
    fraction of the ``n_labelled_edges`` edges between labelled nodes whose labels agree, None without any.
    """

    n_nodes: int
    n_edges: int
    n_features: int | None
    n_components: int
    largest_component: int
    n_isolated: int
    degrees: dict[str, float]
    n_labelled: int
    label_counts: dict[str, int]
    n_unreached: int
    homophily: float | None
    n_labelled_edges: int


def graph_health(adjacency: Any, y: Any, n_features: int | None = None) -> Health:
    """Compute statistics of a graph and its labels; no labels, or a single class, are allowed.

    Parameters
    ----------
    adjacency : sparse matrix or array-like, shape (n, n)
        Directions, weights, duplicates and self-loops are ignored.
    y : array-like of shape (n,)
        Labels; −1, None or NaN where there is none.
    n_features : int, optional
        Copied to the result.

    Returns
    -------
    Health

    Examples
    --------
    >>> health = graph_health([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], ["a", "a", "b", None])
    >>> health.n_edges, health.n_components, health.n_isolated, health.n_unreached
    (2, 2, 1, 1)
    >>> health.homophily, health.label_counts
    (0.5, {'a': 2, 'b': 1})
    """
    A, _ = clean_adjacency(adjacency)
    n = A.shape[0]
    if n == 0:
        raise ValueError("the graph has zero nodes: give at least one.")
    classes, codes = label_codes(y)
    if len(codes) != n:
        raise ValueError(f"y has {len(codes)} entries but the graph has {n} nodes: give one label per node.")
    labelled = codes >= 0
    component = connected_components(A)
    sizes = np.bincount(component)
    degree = np.diff(A.indptr)
    agree = _agreeing(A, codes, directed=False)
    reached = np.zeros(len(sizes), dtype=bool)
    reached[component[labelled]] = True
    return Health(
        n_nodes=n,
        n_edges=A.nnz // 2,
        n_features=n_features,
        n_components=len(sizes),
        largest_component=int(sizes.max()),
        n_isolated=int((degree == 0).sum()),
        degrees={
            "min": float(degree.min()),
            "median": float(np.median(degree)),
            "mean": float(degree.mean()),
            "p90": float(np.percentile(degree, 90)),
            "max": float(degree.max()),
        },
        n_labelled=int(labelled.sum()),
        label_counts={str(name): int((codes == code).sum()) for code, name in enumerate(classes)},
        n_unreached=int(sizes[~reached].sum()),
        homophily=float(agree.mean()) if agree.size else None,
        n_labelled_edges=int(agree.size),
    )


def _agreeing(A: csr_array, codes: np.ndarray, *, directed: bool) -> np.ndarray:
    """Return for each link between labelled nodes whether their labels agree."""
    known, degree = np.flatnonzero(codes >= 0), np.diff(A.indptr)
    source = np.repeat(known, degree[known])
    # the links of labelled nodes alone: a graph in files may not fit into memory
    offset = A.indptr[known] - np.cumsum(degree[known]) + degree[known]
    target = A.indices[np.arange(len(source)) + np.repeat(offset, degree[known])]
    counted = codes[target] >= 0
    if not directed:
        # each edge is stored in both directions: count it once
        counted &= source < target
    return np.asarray(codes[source[counted]] == codes[target[counted]])


@dataclass(frozen=True)
class RelationHealth:
    """Statistics of one relation of a graph and the labels.

    ``homophily`` is the fraction of the ``n_labelled_links`` links between labelled nodes whose labels agree,
    and ``reach`` the fraction of the unlabelled nodes that these links alone connect to a label; None
    without any.
    """

    name: str
    directed: bool
    n_links: int
    n_nodes: int
    homophily: float | None
    n_labelled_links: int
    reach: float | None


def relation_health(adjacency: TypedAdjacency, y: Any) -> list[RelationHealth]:
    """Compute statistics of every relation of a graph.

    Parameters
    ----------
    adjacency : TypedAdjacency of shape (n, n)
        A graph without relations gives an empty list.
    y : array-like of shape (n,)
        Labels; −1, None or NaN where there is none.

    Returns
    -------
    list of RelationHealth

    Examples
    --------
    >>> from gssl.graph import check_adjacency
    >>> cites, likes = [[0, 1, 0], [0, 0, 1], [0, 0, 0]], [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    >>> A = check_adjacency({"cites": cites, "likes": likes}, directed=True)
    >>> for relation in relation_health(A, ["a", "a", None]):
    ...     print(relation.name, relation.directed, relation.n_links, relation.homophily, relation.reach)
    cites True 2 1.0 1.0
    likes False 1 1.0 0.0
    """
    _, codes = label_codes(y)
    relations = []
    for name, relation in relations_of(adjacency).items():
        directed = is_directed(relation)
        both = clean_adjacency(relation)[0]
        health = graph_health(both, y)
        n_unlabelled = health.n_nodes - health.n_labelled
        agree = _agreeing(relation, codes, directed=directed)
        relations.append(
            RelationHealth(
                name=name,
                directed=directed,
                n_links=int(relation.nnz if directed else relation.nnz // 2),
                n_nodes=health.n_nodes - health.n_isolated,
                homophily=float(agree.mean()) if agree.size else None,
                n_labelled_links=int(agree.size),
                reach=1.0 - health.n_unreached / n_unlabelled if n_unlabelled else None,
            )
        )
    return relations
