"""Iterations on columns that are run apart but stop together, as they would side by side."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gssl.methods._base import iterate, last
from gssl.methods._execution import IN_MEMORY, Execution, FinishedStep, Journal, NoJournal
from gssl.operators import Filters

# takes the matrix and the arrays of a state; gives the next arrays and whether they stand still
Step = Callable[[Any, tuple[np.ndarray, ...]], tuple[tuple[np.ndarray, ...], bool]]

Accept = Callable[[tuple[np.ndarray, ...]], bool]
# steps between two states that are written down
_CHECKPOINT = 64


@dataclass(frozen=True)
class Keeping:
    """How an iteration runs, and where it writes its state down now and then."""

    execution: Execution
    journal: Journal = field(default_factory=NoJournal)


PLAINLY = Keeping(IN_MEMORY)


@dataclass(frozen=True)
class _State:
    arrays: tuple[np.ndarray, ...]
    done: int
    still: bool
    settled: bool


def settle_together(
    step: Step,
    start: tuple[np.ndarray, ...],
    matrix: Any,
    keeping: Keeping,
    max_iter: int,
    accept: Accept = lambda arrays: True,
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
    keeping : Keeping
        A state that it has written down takes the place of the start.
    max_iter : int
    accept : callable, optional
        Looks at all columns where they stand still, and tells whether they may stay: no slab could.

    Returns
    -------
    arrays : tuple of ndarray
    n_iter : int
    settled : bool
        Whether they stand still, and were accepted.

    Examples
    --------
    >>> halve = lambda matrix, arrays: ((arrays[0] / 2,), bool((arrays[0] <= 2).all()))
    >>> (end,), n_iter, settled = settle_together(halve, (np.array([[8.0, 2.0]]),), None, PLAINLY, 9)
    >>> end, n_iter, settled
    (array([[1.  , 0.25]]), 3, True)
    """
    cuts = np.cumsum([len(array) for array in start])
    # two rows more: the steps done, and whether the columns stand still
    columns = np.concatenate([*start, np.zeros((2, start[0].shape[1]))])
    filters, journal = Filters(matrix), keeping.journal
    # without a journal there is nothing to stop for
    stretch = max_iter if isinstance(journal, NoJournal) else _CHECKPOINT
    if journal.past:
        columns = journal.scores()
    goal, saved = 0, int(columns[cuts[-1]].max())
    limit = min(max_iter, saved + stretch)
    while True:
        columns = keeping.execution.run(_task(step, cuts, goal, limit), columns, lambda k: filters)
        done = columns[cuts[-1]]
        if (done != done.max()).any():
            goal = int(done.max())
            continue
        n_iter, still = int(done[0]), bool(columns[cuts[-1] + 1].all())
        if n_iter - saved >= stretch:
            nothing = np.zeros((1, 1))
            journal.finish(FinishedStep(nothing, nothing, {"n_iter": n_iter}), np.asarray(columns))
            saved = n_iter
        arrays = tuple(np.array(part) for part in np.split(columns, cuts)[:-1])
        settled = still and accept(arrays)
        if settled or n_iter >= max_iter:
            return arrays, n_iter, settled
        # what was not accepted takes a single step
        goal, limit = (n_iter + 1, n_iter + 1) if still else (0, min(max_iter, n_iter + stretch))


def _task(step: Step, cuts: np.ndarray, goal: int, max_iter: int) -> Any:
    """Give the task of a slab: go on until its columns stand still, at least as far as the slowest slab."""

    def task(columns: np.ndarray, filters: Any, _: slice) -> np.ndarray:
        *arrays, (done, still) = np.split(np.asarray(columns), cuts)
        begin = _State(tuple(arrays), int(done[0]), bool(still.all()), False)

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
