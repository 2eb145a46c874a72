"""What the loop of ``walks`` computes, written for reading: one walk after the other."""

from collections.abc import Iterator

import numpy as np

from reproduction.walk_kernels import TRIES

_WORD = 2**64 - 1
Graph = tuple[np.ndarray, np.ndarray, np.ndarray]


def uniforms(state: int) -> Iterator[float]:
    """Yield the numbers in [0, 1) that follow a state of splitmix64 (Steele et al., 2014).

    Examples
    --------
    >>> numbers = uniforms(0)
    >>> round(next(numbers), 6), round(next(numbers), 6)
    (0.883311, 0.431528)
    """
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _WORD
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
        yield ((z ^ (z >> 31)) >> 11) * 2.0**-53


def chances(graph: Graph, u: int, v: int, back: float, away: float) -> tuple[np.ndarray, np.ndarray]:
    """Give the weights w_vx of v's neighbours and the biases b(u, x) of a walk that came from u."""
    indptr, indices, cumulative = graph
    row = slice(indptr[v], indptr[v + 1])
    weights = np.diff(cumulative[row], prepend=0.0)
    if u < 0:
        return weights, np.ones_like(weights)
    near = np.isin(indices[row], indices[indptr[u] : indptr[u + 1]])
    return weights, np.where(indices[row] == u, back, np.where(near, 1.0, away))


def write_walks(graph: Graph, states: np.ndarray, back: float, away: float, walks: np.ndarray) -> None:
    """Fill the rows of ``walks``, whose first column says where each begins: see ``walks.write_walks``."""
    indptr, indices, _ = graph
    for i, state in enumerate(states):
        numbers = uniforms(int(state))
        u, v = -1, int(walks[i, 0])
        for step in range(1, walks.shape[1]):
            neighbours = indices[indptr[v] : indptr[v + 1]]
            if len(neighbours):
                weights, bias = chances(graph, u, v, back, away)
                if u < 0 or len(neighbours) == 1 or back == away == 1.0:
                    e = _pick(np.cumsum(weights), next(numbers))
                else:
                    e = _pick_biased(weights, bias, max(1.0, back, away), numbers)
                u, v = v, int(neighbours[e])
            walks[i, step] = v


def _pick(cumulative: np.ndarray, share: float) -> int:
    beyond = np.searchsorted(cumulative, share * cumulative[-1], side="right")
    return min(int(beyond), len(cumulative) - 1)


def _pick_biased(weights: np.ndarray, bias: np.ndarray, top: float, numbers: Iterator[float]) -> int:
    for _ in range(TRIES):
        e = _pick(np.cumsum(weights), next(numbers))
        if next(numbers) * top < bias[e]:
            return e
    return _pick(np.cumsum(weights * bias), next(numbers))
