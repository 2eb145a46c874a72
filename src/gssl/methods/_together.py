"""Iterations on columns that are run apart but stop together, as they would side by side."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gssl.methods._base import iterate, last
from gssl.methods._execution import Execution
from gssl.operators import Filters

# takes the matrix and the arrays of a state; gives the next arrays and whether they stand still
Step = Callable[[Any, tuple[np.ndarray, ...]], tuple[tuple[np.ndarray, ...], bool]]


@dataclass(frozen=True)
class _State:
    arrays: tuple[np.ndarray, ...]
    done: int
    still: bool
    settled: bool


def settle_together(
    step: Step, start: tuple[np.ndarray, ...], matrix: Any, execution: Execution, max_iter: int
) -> tuple[tuple[np.ndarray, ...], int, bool]:
    """Run an iteration until all columns stand still after the same step, however they are cut into slabs.

    Every slab runs until its own columns stand still; then all of them go on to where the slowest is, until
    that is the same step for all.

    Parameters
    ----------
    step : callable
        Treats columns independently.
    start : tuple of ndarray of shape (rows, c)
        What a state holds, each with a column for every class.
    matrix : csr_array
        What the step multiplies with.
    execution : Execution
    max_iter : int

    Returns
    -------
    arrays : tuple of ndarray
    n_iter : int
    settled : bool

    Examples
    --------
    >>> from gssl.methods._execution import InMemory
    >>> halve = lambda matrix, arrays: ((arrays[0] / 2,), bool((arrays[0] <= 2).all()))
    >>> (end,), n_iter, settled = settle_together(halve, (np.array([[8.0, 2.0]]),), None, InMemory(), 9)
    >>> end, n_iter, settled
    (array([[1.  , 0.25]]), 3, True)
    """
    cuts = np.cumsum([len(array) for array in start])
    # two rows more: the steps done, and whether the columns stand still
    columns = np.concatenate([*start, np.zeros((2, start[0].shape[1]))])
    filters = Filters(matrix)
    goal = 0
    while True:
        columns = execution.run(_task(step, cuts, goal, max_iter), columns, lambda k: filters)
        done = columns[cuts[-1]]
        if (done == done.max()).all():
            arrays = tuple(np.array(part) for part in np.split(columns, cuts)[:-1])
            return arrays, int(done[0]), bool(columns[cuts[-1] + 1].all())
        goal = int(done.max())


def _task(step: Step, cuts: np.ndarray, goal: int, max_iter: int) -> Any:
    """Give the task of a slab: go on until its columns stand still, at least as far as the slowest slab."""

    def task(columns: np.ndarray, filters: Any, _: slice) -> np.ndarray:
        *arrays, (done, still) = np.split(np.asarray(columns), cuts)
        begin = _State(tuple(arrays), int(done[0]), bool(still[0]), False)

        def move(state: _State, k: int) -> _State:
            following, stands = step(filters(1).A_hat, state.arrays)
            return _State(following, k + 1, stands, settled=stands and k + 1 >= goal)

        state = begin
        if begin.done < max_iter and not (begin.still and begin.done >= goal):
            state = last(iterate(move, begin, range(begin.done, max_iter)))
        width = columns.shape[1]
        facts = np.array([[state.done] * width, [float(state.still)] * width])
        return np.concatenate([*state.arrays, facts])

    return task
