"""Random walks over a graph, first-order and second-order."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gssl.operators._kernels.threads import run_parts, split_rows


@dataclass(frozen=True)
class Transitions:
    """A graph made ready for walks.

    Attributes
    ----------
    indptr : int64 ndarray of shape (n + 1,)
    indices : int32 ndarray
        The neighbours of each node, in order.
    cumulative : float64 ndarray
        The running sum of the weights within each row, in units of the row's largest.
    """

    indptr: np.ndarray
    indices: np.ndarray
    cumulative: np.ndarray


def transitions(A: csr_array) -> Transitions:
    r"""Prepare the chances of each step: :math:`P(x \mid v) = A_{vx} / \sum_y A_{vy}`.

    Parameters
    ----------
    A : csr_array of shape (n, n)
        Weights are positive; as :func:`gssl.graph.check_adjacency` gives it.

    Returns
    -------
    Transitions

    Examples
    --------
    >>> transitions(csr_array([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]])).cumulative
    array([1. , 1.5, 1. , 1. ])
    """
    A = csr_array(A)
    if not A.has_sorted_indices:
        A = A.sorted_indices()
    indptr = A.indptr.astype(np.int64)
    linked = np.flatnonzero(np.diff(indptr))
    weights = A.data.astype(np.float64)
    if linked.size:
        # the largest weight of a row counts one: sums of huge weights would be infinite
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
    r"""Walk over a graph, one walk from each start.

    .. math:: P(x \mid v, u) \propto A_{vx} b(u, x), \qquad
              b(u, x) = \begin{cases} 1/p & x = u \\ 1 & A_{ux} > 0 \\ 1/q & \text{otherwise} \end{cases}

    is the chance of a step from v to x in a walk that came from u (Grover and Leskovec, 2016); with
    :math:`p = q = 1` it forgets u. A node without links stays where it is.

    Parameters
    ----------
    graph : Transitions
        From :func:`transitions`.
    starts : array-like of int, shape (m,)
    length : int
        The nodes of a walk, its start included.
    random_state : int, Generator or None, default=None
    p : float, default=1.0
        A large p avoids going back at once.
    q : float, default=1.0
        A large q keeps a walk near its last node.

    Returns
    -------
    int32 ndarray of shape (m, length)

    Examples
    --------
    >>> path = transitions(csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> random_walks(path, [0, 2], length=2, random_state=0)
    array([[0, 1],
           [2, 1]], dtype=int32)
    """
    from reproduction import walk_kernels as kernels  # numba loads when something is computed

    walks, states = empty_walks(starts, length, random_state)
    given: Any = (graph.indptr, graph.indices, graph.cumulative, states, 1.0 / p, 1.0 / q, walks)
    loop = kernels.write_walks()
    bounds = split_rows(np.arange(len(walks) + 1) * length, width=4)
    run_parts(lambda k: loop(bounds[k], bounds[k + 1], *given), len(bounds) - 1)
    return walks


def empty_walks(
    starts: npt.ArrayLike, length: int, random_state: int | np.random.Generator | None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint64]]:
    """Give walks that have only begun, and the state of each one's own random numbers.

    Examples
    --------
    >>> empty_walks([4, 2], length=3, random_state=0)[0]
    array([[4, 0, 0],
           [2, 0, 0]], dtype=int32)
    """
    first = np.asarray(starts, dtype=np.int32)
    walks = np.zeros((len(first), length), dtype=np.int32)
    walks[:, 0] = first
    states = np.random.default_rng(random_state).integers(2**64, size=len(first), dtype=np.uint64)
    return walks, states
