"""Slabs through a memory budget on one machine: numba threads on one slab at a time, the rest in files."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gssl.methods._base import iterate
from gssl.operators import Filters
from gssl.scale.columns import read_columns
from gssl.scale.files import ColumnFile, RunFolder
from gssl.scale.guided import SlabEmbedding
from gssl.scale.guided_slab import GuidedSlab
from gssl.scale.plan import Load, SlabPlan, graph_bytes, plan_slabs, read_size
from gssl.scale.precise import add_product
from gssl.scale.states import SlabsInMemory, SlabsOnDisk, picked_rows

# arrays of a slab's size that a task may hold at once: its input, two that take turns, a running total, and
# one that is on its way to the file
_BUFFERS = 5


class LocalExecution:
    """Run tasks on slabs of columns, one after the other, so that they keep to a memory budget.

    Parameters
    ----------
    memory_budget : number or str
        For what a run holds beside the features and the process as it was: graph, slabs, scores.
    resume : path, optional
        A folder that keeps finished work, for a run that was stopped to go on from.
    width : int, optional
        Columns of a slab, in place of as many as the budget has room for.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> model = gssl.SGC()
    >>> filters = model._filters(data.adjacency, data.features.dtype)
    >>> slabs = LocalExecution("1MB", width=5)
    >>> U = slabs.run(lambda X, filters, columns: model._apply(X, filters), data.features, filters)
    >>> bool(np.allclose(U, model._apply(data.features, filters)))
    True
    """

    def __init__(self, memory_budget: Any, resume: Any = None, width: int | None = None) -> None:
        self.budget = read_size(memory_budget)
        self.resume = None if resume is None else Path(resume)
        self._width = width

    def filters(self, filters: Filters) -> Filters:
        """Give the matrices as they are."""
        return filters

    def run(self, task: Callable[..., Any], X: Any, filters: Any) -> np.ndarray:
        """Run a task slab by slab; a result larger than a quarter of the budget is a file that is mapped."""
        n, d = X.shape
        plan = self.plan(d, Load(_BUFFERS * n * X.dtype.itemsize, graph_bytes(filters(1))))
        results = _Results(self.budget // 4, d, X.dtype)

        def step(_: None, s: int) -> None:
            columns = plan.slabs[s]
            results.put(columns, np.asarray(task(read_columns(X, columns), filters, columns)))

        for _ in iterate(step, None, range(len(plan.slabs))):
            pass
        return results.give(n)

    def each(self, task: Callable[..., Any], X: Any, filters: Any) -> Iterator[np.ndarray]:
        """Run a task that yields on all columns at once: what it yields are whole embeddings anyway."""
        yield from task(X, filters, slice(0, X.shape[1]))

    def guided(
        self, X: Any, filters: Filters, beta: float, labelled: np.ndarray, anchors: np.ndarray
    ) -> SlabEmbedding:
        """Hold the embeddings of OGC in slabs."""
        return SlabEmbedding(LocalCrew(self, X, GuidedSlab(filters, beta, labelled, anchors)), X.dtype)

    def plan(self, n_columns: int, load: Load) -> SlabPlan:
        """Cut columns into slabs."""
        if self._width is not None:
            return SlabPlan(n_columns, self._width)
        return plan_slabs(n_columns, load, self.budget)


class _Results:
    """What a task gives for each slab, side by side: in memory, or in a file where that is too much."""

    def __init__(self, most: int, n_columns: int, dtype: Any) -> None:
        self._most, self._n_columns, self._dtype = most, n_columns, dtype
        self._kept: Any = None

    def put(self, columns: slice, part: np.ndarray) -> None:
        if columns.stop - columns.start == self._n_columns and self._kept is None:
            self._kept = part
            return
        shape = len(part), self._n_columns
        if self._kept is None:
            small = shape[0] * shape[1] * part.itemsize <= self._most
            folder = None if small else RunFolder()
            self._kept = (
                np.empty(shape, part.dtype)
                if folder is None
                else ColumnFile(folder, "embedding.npy", shape, part.dtype)
            )
        if isinstance(self._kept, ColumnFile):
            self._kept.write(columns, part)
        else:
            self._kept[:, columns] = part

    def give(self, n_rows: int) -> np.ndarray:
        if self._kept is None:  # there are no columns
            return np.empty((n_rows, 0), self._dtype)
        return self._kept.open() if isinstance(self._kept, ColumnFile) else np.asarray(self._kept)


class LocalCrew:
    """One machine that moves the slabs of U one after the other."""

    def __init__(self, execution: LocalExecution, X: Any, work: GuidedSlab) -> None:
        self._execution, self._X, self._work = execution, X, work
        self._plan = SlabPlan(X.shape[1], max(1, X.shape[1]))
        self._slabs: Any = None
        self._labelled: dict[int, np.ndarray] = {}
        self._step = 0

    def start(self, W: np.ndarray) -> np.ndarray:
        """Plan for so many classes, and give XW."""
        self._plan, in_memory = self._plan_for(W.shape[1])
        if in_memory:
            self._slabs = SlabsInMemory(self._X, self._plan)
        else:
            self._slabs = SlabsOnDisk(self._X, self._plan, RunFolder())
        return self._sum(W, lambda s: self._slabs.load(s))

    def gradient(self, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give U_Lᵀ R and U_L of it, from the labelled rows alone."""
        pushed = np.zeros(R.shape)
        parts = []
        for s in range(len(self._plan.slabs)):
            G, part = self._work.gradient(self._labelled[s], R)
            parts.append(G)
            pushed += part
        return np.concatenate(parts), pushed

    def advance(self, W: np.ndarray, pull: np.ndarray) -> np.ndarray:
        """Move every slab and give UW."""
        self._step += 1
        scores = self._sum(W, lambda s: self._moved(s, W, pull))
        self._slabs.settle(self._step)
        return scores

    def rows(self, nodes: np.ndarray) -> np.ndarray:
        """Give rows of U."""
        parts = [picked_rows(self._slabs, s, nodes) for s in range(len(self._plan.slabs))]
        return np.concatenate(parts, axis=1)

    def _moved(self, s: int, W: np.ndarray, pull: np.ndarray) -> np.ndarray:
        out = self._slabs.free(s)
        U = self._work.advance(self._slabs.load(s), W[self._plan.slabs[s]], pull, out)
        self._slabs.keep(s, self._step, U)
        return U

    def _sum(self, W: np.ndarray, slab: Callable[[int], Any]) -> np.ndarray:
        """Add up U_s W_s in the order of the slabs, and remember the labelled rows of each."""
        total = np.zeros((self._X.shape[0], W.shape[1]))
        for s, columns in enumerate(self._plan.slabs):
            U = slab(s)
            add_product(total, U, W[columns])
            self._labelled[s] = self._work.pick(U)
        return total

    def _plan_for(self, n_classes: int) -> tuple[SlabPlan, bool]:
        """Hold all slabs in memory and one to write to if the budget has room, else two in all."""
        n, d = self._X.shape
        column = n * self._X.dtype.itemsize
        # scores in double precision, those of two steps in single, and the labelled rows
        fixed = self._work.n_bytes + n * n_classes * (8 + 2 * self._X.dtype.itemsize)
        fixed += len(self._work.labelled) * d * self._X.dtype.itemsize
        if fixed + (d + min(d, 16)) * column < self._execution.budget * 15 // 16:
            return self._execution.plan(d, Load(column, fixed + d * column)), True
        return self._execution.plan(d, Load(2 * column, fixed)), False


def execution(**options: Any) -> LocalExecution:
    """Make the execution that methods find by the name ``slabs``.

    Examples
    --------
    >>> execution(memory_budget="4GB").budget
    4000000000
    """
    return LocalExecution(**options)
