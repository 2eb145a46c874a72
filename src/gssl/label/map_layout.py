"""Places of all nodes on a plane: a few landmarks by t-SNE, every other node between the nearest of them."""

import numpy as np
from threadpoolctl import threadpool_limits

from gssl.evaluation.node_map import node_map

LANDMARKS = 800
_NEAREST = 4
# cosines that differ by so much count e times
_SHARP = 0.05
# nodes placed at a time
_ROWS = 4096


def place_nodes(rows: np.ndarray) -> np.ndarray:
    """Return float32 places of shape (n, 2) within −1 and 1; similar rows lie together."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    U = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    n = len(U)
    if not U.shape[1]:
        return np.zeros((n, 2), dtype=np.float32)
    rng = np.random.default_rng(0)
    landmarks = np.arange(n) if n <= LANDMARKS else np.sort(rng.choice(n, LANDMARKS, replace=False))
    # threads would only wait for each other
    with threadpool_limits(1):
        _, xy = node_map(U[landmarks])
    if n <= LANDMARKS:
        return xy.astype(np.float32)
    places = np.empty((n, 2), dtype=np.float32)
    corners = U[landmarks].T
    for start in range(0, n, _ROWS):
        cosines = U[start : start + _ROWS] @ corners
        nearest = np.argpartition(-cosines, _NEAREST, axis=1)[:, :_NEAREST]
        near = np.take_along_axis(cosines, nearest, axis=1)
        weights = np.exp((near - near.max(axis=1, keepdims=True)) / _SHARP)
        weights /= weights.sum(axis=1, keepdims=True)
        places[start : start + _ROWS] = np.einsum("ik,ikd->id", weights, xy[nearest])
    # so that equal nodes do not hide each other
    places += rng.standard_normal(places.shape, dtype=np.float32) * np.float32(0.5 / np.sqrt(LANDMARKS))
    places[landmarks] = xy
    return np.asarray(places / np.abs(places).max())
