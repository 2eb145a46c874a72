"""Which nodes speak for which: short rows whose cosines say who is alike, and a greedy choice among them."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.random import sample_without_replacement

from gssl.methods import SSGC
from gssl.operators import multiply

# columns that stand for all features: cosines are then right to about a fifteenth
_COLUMNS = 256
# two nodes are like each other by the cosine to this power: far ones hardly count
_POWER = 4
# nodes among which picks are sought, and that they speak for; of more, so many are drawn
_MANY = 6000
_SEED = 0
_BLOCK = 512
# what is less is rounding
_NOTHING = 1e-6


def smoothed_signature(X: Any, A: csr_array) -> np.ndarray:
    r"""Return every node a short row of unit length whose cosines are those of smoothed features, about.

    .. math:: U = f(\hat A)\, X R
    """
    rng = np.random.default_rng(_SEED)
    n = A.shape[0]
    if X is None or not X.shape[1]:
        V = rng.standard_normal((n, _COLUMNS), dtype=np.float32)
    elif X.shape[1] <= _COLUMNS:
        V = (X.toarray() if hasattr(X, "toarray") else np.array(X)).astype(np.float32)
    else:
        R = rng.standard_normal((X.shape[1], _COLUMNS), dtype=np.float32)
        V = multiply(X.astype(np.float32), R)
    smoother = SSGC(depth=8)
    U = smoother._apply(V, smoother._filters(A, np.float32))
    lengths = np.linalg.norm(U, axis=1, keepdims=True)
    return np.asarray(np.divide(U, lengths, out=np.zeros_like(U), where=lengths > 0))


def cover(U: np.ndarray, u: np.ndarray, labelled: np.ndarray, n: int) -> tuple[list[int], list[int]]:
    """Pick greedily by the equation of :func:`suggest`."""
    open_nodes = np.setdiff1d(np.arange(len(u)), labelled)
    candidates = audience = _some(open_nodes)
    share = len(open_nodes) / max(1, len(audience))
    weights = u[audience].astype(np.float32)
    covered = np.zeros(len(audience), dtype=np.float32)
    for start in range(0, len(labelled), _BLOCK):
        alike = _alike(U[audience], U[labelled[start : start + _BLOCK]])
        covered = np.maximum(covered, alike.max(axis=1, initial=0.0))

    def added(part: np.ndarray) -> np.ndarray:
        """Return how much better each candidate would cover the audience, itself left out."""
        new = np.maximum(_alike(U[audience], U[candidates[part]]) - covered[:, None], 0.0)
        new[part, np.arange(len(part))] = 0.0  # candidates and audience are the same nodes
        return np.asarray(new)

    # upper bounds: what a candidate adds can only shrink
    parts = np.split(np.arange(len(candidates)), range(_BLOCK, len(candidates), _BLOCK))
    gains = u[candidates] * np.concatenate([weights @ added(part) for part in parts])
    picks: list[int] = []
    counts: list[int] = []
    while len(picks) < n and len(gains) and gains.max() > _NOTHING:
        best = int(gains.argmax())
        new = added(np.array([best]))[:, 0]
        gains[best] = u[candidates[best]] * float(weights @ new)
        # rounding may put a bound a hair too low
        if gains[best] < np.delete(gains, best).max(initial=0.0) * (1.0 - 1e-6):
            continue
        if gains[best] > _NOTHING:
            picks.append(int(candidates[best]))
            counts.append(round(share * np.count_nonzero(new > _NOTHING)))
            covered = np.maximum(covered, _alike(U[audience], U[candidates[[best]]])[:, 0])
        gains[best] = 0.0
    return picks, counts


def _alike(U: np.ndarray, V: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(U @ V.T, 0.0) ** _POWER, dtype=np.float32)


def _some(nodes: np.ndarray) -> np.ndarray:
    if len(nodes) <= _MANY:
        return nodes
    return np.asarray(nodes[np.sort(sample_without_replacement(len(nodes), _MANY, random_state=_SEED))])
