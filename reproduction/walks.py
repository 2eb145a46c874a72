"""First-order and second-order random walks on a graph, drawn by a compiled loop.

A walk that came from u to v continues to a neighbour x with probability proportional to w_vx·b(u, x), where
b is 1/p back to u, 1 to a neighbour of u and 1/q otherwise. Steps are drawn by rejection sampling: a
neighbour is drawn by weight alone and accepted with probability b(u, x) / max b, so nothing is stored per
pair of edges. After a number of rejections, one draw from all neighbours with their exact probabilities
follows; rejected draws are independent of it, so the distribution is the same.

Each walk has its own random number stream (splitmix64), so results do not depend on the number of threads.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from numba import types
from scipy.sparse import csr_array

from gssl.operators._kernels.rows import given
from gssl.operators._kernels.threads import run_parts, split_rows
from gssl.operators.compiling import compiled

# rejected draws before a draw with exact probabilities
TRIES = 32
_inlined = numba.njit(error_model="numpy")


@dataclass(frozen=True)
class Transitions:
    """A graph prepared for walks: the sorted neighbours of each node, and cumulative sums of their weights.

    ``cumulative`` is in units of each row's largest weight.
    """

    indptr: np.ndarray
    indices: np.ndarray
    cumulative: np.ndarray


def transitions(A: csr_array) -> Transitions:
    r"""Prepare the transition probabilities :math:`P(x \mid v) = A_{vx} / \sum_y A_{vy}`."""
    A = csr_array(A)
    if not A.has_sorted_indices:
        A = A.sorted_indices()
    indptr = A.indptr.astype(np.int64)
    linked = np.flatnonzero(np.diff(indptr))
    weights = A.data.astype(np.float64)
    if linked.size:
        # scale the largest weight of each row to 1, so that sums do not overflow
        largest = np.maximum.reduceat(weights, indptr[linked])
        weights /= np.repeat(largest, np.diff(indptr)[linked])
    for v in linked[np.diff(indptr)[linked] > 1]:
        row = slice(indptr[v], indptr[v + 1])
        np.cumsum(weights[row], out=weights[row])
    return Transitions(indptr, A.indices.astype(np.int32), weights)


def random_walks(
    graph: Transitions,
    starts: npt.ArrayLike,
    length: int,
    random_state: int | np.random.Generator | None = None,
    *,
    p: float = 1.0,
    q: float = 1.0,
) -> npt.NDArray[np.int32]:
    r"""Draw random walks on a graph, one from each start.

    .. math:: P(x \mid v, u) \propto A_{vx} b(u, x), \qquad
              b(u, x) = \begin{cases} 1/p & x = u \\ 1 & A_{ux} > 0 \\ 1/q & \text{otherwise} \end{cases}

    is the probability of a step from v to x in a walk that came from u (Grover and Leskovec, 2016); with
    :math:`p = q = 1` it does not depend on u. A walk stays at a node without links.
    """
    first = np.asarray(starts, dtype=np.int32)
    walks = np.zeros((len(first), length), dtype=np.int32)
    walks[:, 0] = first
    # the random state of each walk
    states = np.random.default_rng(random_state).integers(2**64, size=len(first), dtype=np.uint64)
    arrays: Any = (graph.indptr, graph.indices, graph.cumulative, states, 1.0 / p, 1.0 / q, walks)
    loop = compiled_walks()
    bounds = split_rows(np.arange(len(walks) + 1) * length, width=4)
    run_parts(lambda k: loop(bounds[k], bounds[k + 1], *arrays), len(bounds) - 1)
    return walks


@_inlined
def _next_state(state):  # type: ignore[no-untyped-def]
    return state + np.uint64(0x9E3779B97F4A7C15)


@_inlined
def _uniform(state):  # type: ignore[no-untyped-def]
    """Return the uniform number in [0, 1) of a state."""
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * 2.0**-53


@_inlined
def _pick(cumulative, first, stop, share):  # type: ignore[no-untyped-def]
    """Return the first position whose cumulative weight exceeds a share of the row's sum."""
    goal, low, high = share * cumulative[stop - 1], first, stop - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > goal:
            high = middle
        else:
            low = middle + 1
    return low


@_inlined
def _bias(indptr, indices, u, x, back, away):  # type: ignore[no-untyped-def]
    """Return b(u, x), the bias of a step to x in a walk that came from u."""
    if x == u:
        return back
    low, high = indptr[u], indptr[u + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < x:
            low = middle + 1
        else:
            high = middle
    return 1.0 if low < indptr[u + 1] and indices[low] == x else away


@_inlined
def _pick_exactly(indptr, indices, cumulative, u, v, back, away, share):  # type: ignore[no-untyped-def]
    """Return the position of a neighbour of v, drawn with the exact probabilities."""
    first, stop = indptr[v], indptr[v + 1]
    chances = np.empty(stop - first)
    total, before = 0.0, 0.0
    for e in range(first, stop):
        total += (cumulative[e] - before) * _bias(indptr, indices, u, indices[e], back, away)
        before = cumulative[e]
        chances[e - first] = total
    return first + _pick(chances, 0, stop - first, share)


@cache
def compiled_walks() -> Any:
    """Compile the loop that fills the rows of ``walks``, whose first column has the starts."""

    def write_walk_rows(start, stop, indptr, indices, cumulative, states, back, away, walks):  # type: ignore[no-untyped-def]
        top = max(1.0, back, away)
        biased = back != 1.0 or away != 1.0
        for i in range(start, stop):
            state = states[i]
            u, v = np.int64(-1), np.int64(walks[i, 0])
            for step in range(1, walks.shape[1]):
                first, last = indptr[v], indptr[v + 1]
                if first == last:
                    # a walk stays at a node without links
                    walks[i, step] = v
                    continue
                # no rejection: unbiased, first step, or a single neighbour
                free = not biased or u < 0 or last - first == 1
                e, accepted = first, False
                for _ in range(TRIES):
                    state = _next_state(state)
                    e = _pick(cumulative, first, last, _uniform(state))
                    if free:
                        accepted = True
                        break
                    state = _next_state(state)
                    if _uniform(state) * top < _bias(indptr, indices, u, indices[e], back, away):
                        accepted = True
                        break
                if not accepted:
                    state = _next_state(state)
                    e = _pick_exactly(indptr, indices, cumulative, u, v, back, away, _uniform(state))
                u, v = v, np.int64(indices[e])
                walks[i, step] = v

    whole, real, written = types.int64, types.float64, types.Array(types.int32, 2, "C")
    graph = [given(types.int64), given(types.int32), given(types.float64)]
    return compiled(write_walk_rows, whole, whole, *graph, given(types.uint64), real, real, written)
