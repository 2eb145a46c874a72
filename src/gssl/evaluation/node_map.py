"""Two-dimensional layout of nodes."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

# t-SNE takes half a second for 400 nodes on one core; others are placed near similar nodes
_ANCHORS, _ITERATIONS = 400, 300
_N_COMPONENTS = 50
_N_NEIGHBORS = 3


def node_map(
    embedding: Any, max_nodes: int = 5000, random_state: int = 0, always: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Lay out nodes on a plane so that nodes with similar embeddings lie together.

    The embedding is reduced to 50 principal components, and these to two dimensions by t-SNE for 400 nodes;
    each further node is placed near the three most similar ones. Distances between distant groups mean
    little.

    Parameters
    ----------
    embedding : array-like or sparse matrix of shape (n, d)
    max_nodes : int, default=5000
        If there are more, a random sample is drawn.
    random_state : int, default=0
    always : indices or bool mask, optional
        Nodes that are always on the map, such as the labelled ones.

    Returns
    -------
    indices : int ndarray of shape (m,), sorted
        The nodes on the map.
    xy : float64 ndarray of shape (m, 2)
        Both axes lie within −1 and 1.

    Examples
    --------
    >>> indices, xy = node_map([[0.0, 1.0], [0.0, 1.1], [5.0, 0.0]], max_nodes=2, always=[2])
    >>> len(indices), xy.shape, 2 in indices
    (2, (2, 2), True)
    """
    if max_nodes < 1:
        raise ValueError(f"a map needs at least 1 node, not {max_nodes}.")
    rows = embedding.tocsr() if issparse(embedding) else np.asarray(embedding)
    n, rng = rows.shape[0], np.random.default_rng(random_state)
    indices = np.arange(n)
    if n > max_nodes:
        kept = indices[:0] if always is None else np.unique(indices[always])
        others = np.setdiff1d(indices, kept)
        drawn = rng.choice(others, size=min(len(others), max(0, max_nodes - len(kept))), replace=False)
        indices = np.sort(np.concatenate([kept, drawn]))
        rows = rows[indices]
    # on one thread: on a busy machine, threads that wait for each other take twenty times as long
    with threadpool_limits(1):
        xy = _place(_components(rows, random_state), rng, random_state)
    xy = xy - (xy.max(axis=0, initial=0.0) + xy.min(axis=0, initial=0.0)) / 2
    return indices, xy / (np.abs(xy).max(initial=0.0) or 1.0)


def place_all(rows: np.ndarray, n_mapped: int = 800) -> np.ndarray:
    """Map some nodes by :func:`node_map`, and place the others near the most similar of these."""
    indices, xy = node_map(rows, n_mapped)
    positions = np.empty((len(rows), 2))
    positions[indices] = xy
    rest = np.setdiff1d(np.arange(len(rows)), indices)
    if len(rest):
        with threadpool_limits(1):
            positions[rest] = _beside(rows[indices], xy, rows[rest], np.random.default_rng(0))
    return positions


def _place(Z: np.ndarray, rng: np.random.Generator, random_state: int) -> np.ndarray:
    m = len(Z)
    anchors = np.arange(m) if m <= _ANCHORS else np.sort(rng.choice(m, size=_ANCHORS, replace=False))
    xy = np.empty((m, 2))
    xy[anchors] = _layout(Z[anchors], random_state)
    rest = np.setdiff1d(np.arange(m), anchors)
    if len(rest):
        xy[rest] = _beside(Z[anchors], xy[anchors], Z[rest], rng)
    return xy


def _beside(Z: np.ndarray, xy: np.ndarray, new: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Place nodes between their nearest anchors, by random weights, so that equal nodes do not coincide."""
    if not Z.shape[1]:  # the embedding has no columns
        return np.zeros((len(new), 2))
    _, nearest = NearestNeighbors(n_neighbors=_N_NEIGHBORS).fit(Z).kneighbors(new)
    weights = rng.dirichlet(np.ones(_N_NEIGHBORS), size=len(new))
    # the nearest counts most
    weights = -np.sort(-weights, axis=1)
    return np.asarray(np.einsum("ik,ikj->ij", weights, xy[nearest]))


def _components(rows: Any, random_state: int) -> np.ndarray:
    """Return principal components; sparse rows are not centred, which would make them dense."""
    if not issparse(rows):
        rows = rows.astype(np.float64)
        rows -= rows.mean(axis=0)
    size = min(_N_COMPONENTS, *rows.shape)
    if size == 0:
        return np.zeros((rows.shape[0], 0))
    left, values, _ = randomized_svd(rows, size, random_state=random_state)
    return np.asarray(left * values)


def _layout(Z: np.ndarray, random_state: int) -> np.ndarray:
    n = len(Z)
    scale = Z[:, :1].std() if Z.size else 0.0
    if n < 4 or scale == 0.0:
        plane = np.zeros((n, 2))
        plane[:, : min(2, Z.shape[1])] = Z[:, :2]
        return plane
    start = np.zeros((n, 2))
    start[:, : min(2, Z.shape[1])] = Z[:, :2] / scale * 1e-4
    tsne = TSNE(
        perplexity=min(30.0, (n - 1) / 3), init=start, max_iter=_ITERATIONS, random_state=random_state
    )
    return np.asarray(tsne.fit_transform(Z), dtype=np.float64)
