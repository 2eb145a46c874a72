"""numba loops that walk over a graph; their twin is in ``walks_numpy``.

From v, having come from u, a walk goes on to a neighbour x with a chance in proportion to w_vx·b(u, x), where
b is 1/p back to u, 1 to a neighbour of u and 1/q further away. A neighbour is drawn by weight alone and taken
with the chance b(u, x) / max b, so nothing is stored per pair of edges. Where p and q make nearly all draws
fail, a few failures are followed by one draw from all neighbours at their true chances, which is the same
distribution: what was refused before says nothing about what comes next.

Each walk has its own random numbers (splitmix64), so the number of threads changes no walk.
"""

from functools import cache
from typing import Any

import numba
import numpy as np
from numba import types

from gssl.operators._kernels.rows import compiled, given

# refused draws after which all neighbours are looked at
TRIES = 32

_inlined = numba.njit(error_model="numpy")


@_inlined
def _next_state(state):  # type: ignore[no-untyped-def]
    return state + np.uint64(0x9E3779B97F4A7C15)


@_inlined
def _uniform(state):  # type: ignore[no-untyped-def]
    """Give the number in [0, 1) that belongs to a state."""
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * 2.0**-53


@_inlined
def _pick(cumulative, first, stop, share):  # type: ignore[no-untyped-def]
    """Give the first place whose running sum of weights is beyond a share of the row's sum."""
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
    """Give b(u, x): how much a step to x is liked by a walk that came from u."""
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
    """Give the place of a neighbour of v, drawn from all of them at their true chances."""
    first, stop = indptr[v], indptr[v + 1]
    chances = np.empty(stop - first)
    total, before = 0.0, 0.0
    for e in range(first, stop):
        total += (cumulative[e] - before) * _bias(indptr, indices, u, indices[e], back, away)
        before = cumulative[e]
        chances[e - first] = total
    return first + _pick(chances, 0, stop - first, share)


@cache
def write_walks() -> Any:
    """Make the loop that fills the rows of ``walks``, whose first column says where each begins."""

    def write_walk_rows(start, stop, indptr, indices, cumulative, states, back, away, walks):  # type: ignore[no-untyped-def]
        top = max(1.0, back, away)
        biased = back != 1.0 or away != 1.0
        for i in range(start, stop):
            state = states[i]
            u, v = np.int64(-1), np.int64(walks[i, 0])
            for step in range(1, walks.shape[1]):
                first, last = indptr[v], indptr[v + 1]
                if first == last:
                    # a node without links stays where it is
                    walks[i, step] = v
                    continue
                # no choice, or nowhere to have come from
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
