"""Nearest-neighbour graphs, for data without a graph.

The same points give the same neighbours for any number of threads: distances that differ by no more than
their rounding error count as equal, and among equals the lowest index wins.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from gssl.graph.validate import check_finite, read_matrix, row_pointers

Metric = Literal["euclidean", "cosine"]
Indices = npt.NDArray[np.int64]

# beyond this many points "auto" prefers the approximate search, if it is installed
_LARGE = 50_000
# rounding error of |x|² + |y|² − 2x·y, relative to |x|² and |y|²
_ROUNDING = 1e-14
# distances in memory at a time when breaking ties: 64 MB
_DISTANCES = 2**23
_DESCENT_WIDTH = 40


def knn_graph(
    X: Any,
    n_neighbors: int = 10,
    *,
    metric: Metric = "euclidean",
    method: Literal["auto", "exact", "approximate"] = "auto",
) -> csr_array:
    """Build the graph that links each row of X with its nearest rows, in both directions.

    Parameters
    ----------
    X : sparse matrix or array-like, shape (n, d)
    n_neighbors : int, default=10
        Neighbours to find for each point, at most n − 1; a point may be a neighbour of more points.
    metric : {"euclidean", "cosine"}, default="euclidean"
    method : {"auto", "exact", "approximate"}, default="auto"
        "approximate" needs pynndescent (``pip install gssl[knn]``); "auto" uses it above 50,000 points if
        installed.

    Returns
    -------
    csr_array, shape (n, n)
        Symmetric, with the value 1 for each edge and no self-loops.

    Examples
    --------
    >>> knn_graph([[0.0], [1.0], [3.0]], n_neighbors=1).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    if method not in ("auto", "exact", "approximate"):
        raise ValueError(f'method must be "auto", "exact" or "approximate", got {method!r}.')
    points = _read_points(X, "X", metric)
    n = points.shape[0]
    k = min(_check_count(n_neighbors), n - 1)
    if k < 1:
        return csr_array((n, n), dtype=np.float64)
    if method == "auto":
        method = cheaper_method(n)
    if method == "approximate":
        chosen = approximate_neighbors(points, k)
    else:
        chosen = exact_neighbors(points, points, k, same=True)
    chosen = np.sort(chosen, axis=1)
    exists = chosen >= 0
    pointers = row_pointers(exists.sum(axis=1))
    directed = csr_array((np.ones(pointers[-1]), chosen[exists], pointers), shape=(n, n))
    return directed.maximum(directed.T.tocsr())


def nearest_rows(X_query: Any, X_fit: Any, n_neighbors: int = 10, *, metric: Metric = "euclidean") -> Indices:
    """Find the nearest fitted rows of each query row, nearest first, ties by lowest index.

    Parameters
    ----------
    X_query : sparse matrix or array-like, shape (n_query, d)
    X_fit : sparse matrix or array-like, shape (n_fit, d)
    n_neighbors : int, default=10
        At most n_fit.
    metric : {"euclidean", "cosine"}, default="euclidean"

    Returns
    -------
    ndarray of int64, shape (n_query, k)
        Indices of rows of X_fit, k = min(n_neighbors, n_fit).

    Examples
    --------
    >>> nearest_rows([[1.0]], [[2.0], [0.0], [1.0]], n_neighbors=2)
    array([[2, 0]])
    """
    query, fitted = _read_points(X_query, "X_query", metric), _read_points(X_fit, "X_fit", metric)
    if query.shape[1] != fitted.shape[1]:
        raise ValueError(
            f"X_query has {query.shape[1]} features but X_fit has {fitted.shape[1]}: use the same."
        )
    k = min(_check_count(n_neighbors), fitted.shape[0])
    return exact_neighbors(query, fitted, k, same=False)


def _read_points(X: Any, name: str, metric: str) -> Any:
    check_finite(X, name)
    points = read_matrix(X, name)
    if points.shape[0] == 0:
        raise ValueError(f"{name} has no rows: give at least one point.")
    points = points.tocsr() if issparse(points) else points
    if metric == "euclidean":
        return points
    if metric == "cosine":
        from sklearn.preprocessing import normalize

        # unit vectors have the same order in both metrics
        return normalize(points)
    raise ValueError(f'metric must be "euclidean" or "cosine", got {metric!r}.')


def _check_count(n_neighbors: int) -> int:
    if not isinstance(n_neighbors, int | np.integer) or n_neighbors < 1:
        raise ValueError(f"n_neighbors must be a whole number of at least 1, got {n_neighbors!r}.")
    return int(n_neighbors)


def cheaper_method(n: int) -> Literal["exact", "approximate"]:
    """Return the method to use for n points."""
    return "approximate" if n > _LARGE and find_spec("pynndescent") else "exact"


def exact_neighbors(
    query: Any, fitted: Any, k: int, *, same: bool, most_distances: int = _DISTANCES
) -> Indices:
    """Find one more candidate than needed; where it ties with the k-th, compare all rows."""
    from sklearn.neighbors import NearestNeighbors
    from sklearn.utils.extmath import row_norms

    # a point is among its own candidates, unless enough duplicates come first: then the row is tied anyway
    n_candidates = min(k + 1 + same, fitted.shape[0])
    distance, index = NearestNeighbors(n_neighbors=n_candidates).fit(fitted).kneighbors(query)
    squared = distance.astype(np.float64) ** 2
    norms = row_norms(query, squared=True).astype(np.float64)
    if same:
        squared[index == np.arange(len(index))[:, None]] = np.inf
    chosen = _in_order(squared, index, norms)
    nearest = np.sort(squared, axis=1)
    if n_candidates > k:
        last, following = nearest[:, k - 1], nearest[:, k]
        tied = np.flatnonzero(following - last <= _ROUNDING * (norms + last))
        height = max(most_distances // fitted.shape[0], 1)
        for start in range(0, len(tied), height):
            rows = tied[start : start + height]
            chosen[rows, :k] = _break_ties(query, fitted, k, rows, norms[rows], same)
    return chosen[:, :k].astype(np.int64)


def _break_ties(
    query: Any, fitted: Any, k: int, rows: npt.NDArray[np.intp], norms: npt.NDArray[np.float64], same: bool
) -> Indices:
    """Take rows clearly nearer than the k-th distance, then the lowest indices among those equal to it."""
    from sklearn.metrics.pairwise import euclidean_distances

    squared = euclidean_distances(query[rows], fitted, squared=True).astype(np.float64)
    if same:
        squared[np.arange(len(rows)), rows] = np.inf
    last = np.partition(squared, k - 1, axis=1)[:, k - 1 : k]
    slack = _ROUNDING * (norms[:, None] + last)
    nearer = squared < last - slack
    equal = ~nearer & (squared <= last + slack)
    free = k - nearer.sum(axis=1, keepdims=True)
    index = np.nonzero(nearer | (equal & (np.cumsum(equal, axis=1) <= free)))[1].reshape(-1, k)
    return _in_order(np.take_along_axis(squared, index, axis=1), index, norms)


def _in_order(squared: npt.NDArray[np.float64], index: Any, norms: npt.NDArray[np.float64]) -> Indices:
    """Sort each row's indices by distance, and by index where distances are equal up to rounding."""
    order = np.argsort(squared, axis=1, kind="stable")
    squared, index = np.take_along_axis(squared, order, axis=1), np.take_along_axis(index, order, axis=1)
    apart = np.diff(squared, axis=1) > _ROUNDING * (norms[:, None] + squared[:, :-1])
    rank = np.cumsum(np.pad(apart, ((0, 0), (1, 0))), axis=1)
    return np.asarray(np.take_along_axis(index, np.lexsort((index, rank)), axis=1), dtype=np.int64)


def approximate_neighbors(points: Any, k: int) -> Indices:
    """Return neighbours found by nearest-neighbour descent, −1 where none was found."""
    try:
        pynndescent = import_module("pynndescent")
    except ImportError as error:
        raise ImportError("approximate neighbours need pynndescent: pip install gssl[knn].") from error
    # the descent gets stuck early with few neighbours, so search for more and keep the nearest k
    width = min(max(k + 1, _DESCENT_WIDTH), points.shape[0])
    # even with a fixed seed, the result depends on the number of threads
    neighbors, _ = pynndescent.NNDescent(points, n_neighbors=width, random_state=0, n_jobs=1).neighbor_graph
    neighbors = np.array(neighbors, dtype=np.int64)
    neighbors[neighbors == np.arange(len(neighbors))[:, None]] = -1
    neighbors[np.cumsum(neighbors >= 0, axis=1) > k] = -1
    return neighbors
