"""A map of the nodes on a plane."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.manifold import TSNE
from sklearn.utils.extmath import randomized_svd

# t-SNE takes about 6 s for 2,700 nodes and 500 iterations on two cores; PCA shows classes less well
_MAX_TSNE = 5000
_MANY, _FEW = 500, 300
_N_COMPONENTS = 50


def node_map(embedding: Any, max_nodes: int = 5000, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Lay out nodes on a plane so that nodes with similar embeddings lie together.

    The embedding is reduced to 50 principal components, and these to two dimensions by t-SNE; above 5,000
    nodes the first two components are used. Distances between far groups mean little.

    Parameters
    ----------
    embedding : array-like or sparse matrix of shape (n, d)
    max_nodes : int, default=5000
        Beyond it, nodes are drawn at random.
    random_state : int, default=0

    Returns
    -------
    indices : int ndarray of shape (m,), sorted
        The nodes on the map.
    xy : float64 ndarray of shape (m, 2)
        Both axes lie within −1 and 1.

    Examples
    --------
    >>> indices, xy = node_map([[0.0, 1.0], [0.0, 1.1], [5.0, 0.0]], max_nodes=2)
    >>> len(indices), xy.shape
    (2, (2, 2))
    """
    if max_nodes < 1:
        raise ValueError(f"a map needs at least 1 node, not {max_nodes}.")
    rows = embedding.tocsr() if issparse(embedding) else np.asarray(embedding)
    n = rows.shape[0]
    indices = np.arange(n)
    if n > max_nodes:
        indices = np.sort(np.random.default_rng(random_state).choice(n, size=max_nodes, replace=False))
        rows = rows[indices]
    xy = _layout(_components(rows, random_state), random_state)
    xy = xy - (xy.max(axis=0, initial=0.0) + xy.min(axis=0, initial=0.0)) / 2
    return indices, xy / (np.abs(xy).max(initial=0.0) or 1.0)


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
    if n < 4 or n > _MAX_TSNE or scale == 0.0:
        plane = np.zeros((n, 2))
        plane[:, : min(2, Z.shape[1])] = Z[:, :2]
        return plane
    iterations = _MANY if n <= 3000 else _FEW
    start = np.zeros((n, 2))
    start[:, : min(2, Z.shape[1])] = Z[:, :2] / scale * 1e-4
    tsne = TSNE(perplexity=min(30.0, (n - 1) / 3), init=start, max_iter=iterations, random_state=random_state)
    return np.asarray(tsne.fit_transform(Z), dtype=np.float64)
