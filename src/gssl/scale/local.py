"""Slabs through a memory budget on one machine: numba threads on one slab at a time, the rest in files."""

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import numpy as np

from gssl.methods.base import iterate
from gssl.methods.label_space import Pulls
from gssl.operators import Filters
from gssl.scale.execution import SlabExecution, buffers_of
from gssl.scale.files import RunFolder
from gssl.scale.guided import SlabEmbedding
from gssl.scale.guided_slab import GuidedSlab
from gssl.scale.kept_slabs import begin_steps, forget_steps, last_whole_step
from gssl.scale.plan import Load, SlabPlan, graph_bytes, guided_load
from gssl.scale.precise import add_product
from gssl.scale.source import ColumnSource
from gssl.scale.states import SlabsInMemory, SlabsOnDisk, picked_rows

# slabs in memory go to the folder of a run no more often than this
_SNAPSHOT_SECONDS = 30.0


class LocalExecution(SlabExecution):
    """Run tasks on slabs of columns, one after the other, so that they keep to a memory budget.

    Parameters
    ----------
    memory_budget : number or str, optional
        For what a run holds beside the features and the process as it was: graph, slabs, scores. Half of the
        memory that is free if None.
    resume : path, optional
        A folder that keeps finished work, for a run that was stopped to go on from.
    description : str, default=""
        What runs, to tell one run in that folder from another.
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

    def run(self, task: Callable[..., Any], X: Any, filters: Any) -> np.ndarray:
        """Run a task slab by slab; a result larger than a quarter of the budget is a file that is mapped."""
        n, d = X.shape
        load = Load(buffers_of(task) * n * X.dtype.itemsize, graph_bytes(filters(1)))
        results = self.results(self.plan(d, load), X, filters, task)

        source = ColumnSource(X, results.plan)

        def step(_: None, s: int) -> None:
            results.put(s, np.asarray(task(source.read(s), filters, results.plan.slabs[s])))

        for _ in iterate(step, None, results.todo):
            pass
        return results.give() if d else np.empty((n, 0), X.dtype)

    def each(self, task: Callable[..., Any], X: Any, filters: Any) -> Iterator[np.ndarray]:
        """Run a task that yields on all columns at once: what it yields are whole embeddings anyway."""
        yield from task(X, filters, slice(0, X.shape[1]))

    def guided(
        self, X: Any, filters: Filters, beta: float, labelled: np.ndarray, anchors: np.ndarray
    ) -> SlabEmbedding:
        """Hold the embeddings of OGC in slabs."""
        return SlabEmbedding(LocalCrew(self, X, GuidedSlab(filters, beta, labelled, anchors)), X.dtype)


class LocalCrew:
    """One machine that moves the slabs of U one after the other."""

    def __init__(self, execution: LocalExecution, X: Any, work: GuidedSlab) -> None:
        self._execution, self._X, self._work = execution, X, work
        self._folder = RunFolder() if execution.resume is None else RunFolder(execution.resume / "slabs")
        self._plan = SlabPlan(X.shape[1], max(1, X.shape[1]))
        self._slabs: Any = None
        self._labelled: dict[int, np.ndarray] = {}
        self._step, self._saved = 0, monotonic()
        self.n_bytes = 0  # what it holds at most, once it has started

    @property
    def step(self) -> int:
        """How many steps the slabs have taken."""
        return self._step

    def start(self, W: np.ndarray) -> np.ndarray:
        """Plan for so many classes, and give XW."""
        self._plan, in_memory = self._plan_for(W.shape[1])
        if in_memory:
            self._slabs = SlabsInMemory(self._X, self._plan)
        else:
            self._slabs = SlabsOnDisk(self._X, self._plan, self._folder)
        return self.scores(W)

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
        """Move every slab and give UW; whoever asks for a step has written down the one before."""
        if self._step == 0 and self._folder.durable:
            begin_steps(self._folder, W, pull)
        self._save()
        self._step += 1
        return self._sum(W, lambda s: self._moved(s, W, pull))

    def scores(self, W: np.ndarray) -> np.ndarray:
        """Give UW as U is now."""
        return self._sum(W, self._slabs.load)

    def rows(self, nodes: np.ndarray) -> np.ndarray:
        """Give rows of U."""
        parts = [picked_rows(self._slabs, s, nodes) for s in range(len(self._plan.slabs))]
        return np.concatenate(parts, axis=1)

    def resume(self, pulls: Pulls) -> None:
        """Take the slabs up from their files, and take the steps again that those have not seen."""
        n_slabs = len(self._plan.slabs)
        if self._folder.durable:
            pull, W = pulls[0]
            begin_steps(self._folder, W, pull)
        first = last_whole_step(self._folder, self._plan.n_columns, len(pulls))
        forget_steps(self._folder, first)
        for s in range(n_slabs if first else 0):
            self._slabs.recall(s, first, self._folder)
        if not isinstance(self._slabs, SlabsInMemory):
            # other slabs of an earlier run, which these were cut out of
            forget_steps(self._folder, first, self._plan)
        for s in range(n_slabs):
            for k in range(first + 1, len(pulls) + 1):
                self._step = k
                pull, W = pulls[k - 1]
                # only the last step is one to go on from
                self._moved(s, W, pull, passing=k < len(pulls))
        for s in range(n_slabs):
            self._labelled[s] = picked_rows(self._slabs, s, self._work.labelled)
        self._step = len(pulls)

    def _moved(self, s: int, W: np.ndarray, pull: np.ndarray, passing: bool = False) -> np.ndarray:
        out = self._slabs.free(s)
        U = self._work.advance(self._slabs.load(s), W[self._plan.slabs[s]], pull, out)
        if passing:
            self._slabs.hold(s, U)
        else:
            self._slabs.keep(s, self._step, U)
        return U

    def _save(self) -> None:
        """Let go of files that are no longer needed; put slabs that are in memory into files now and then."""
        self._slabs.settle()
        in_memory = isinstance(self._slabs, SlabsInMemory)
        if in_memory and self._folder.durable and monotonic() - self._saved > _SNAPSHOT_SECONDS:
            self._slabs.snapshot(self._step, self._folder)
            self._saved = monotonic()

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
        size, n_labelled = self._X.dtype.itemsize, len(self._work.labelled)
        load, in_memory = guided_load(
            self._X.shape, n_classes, n_labelled, size, self._work.n_bytes, self._execution.budget
        )
        plan = self._execution.plan(self._X.shape[1], load)
        self.n_bytes = load.of(plan.width)
        return plan, in_memory


def execution(**options: Any) -> LocalExecution:
    """Make the execution that methods find by the name ``slabs``.

    Examples
    --------
    >>> execution(memory_budget="4GB").budget
    4000000000
    """
    return LocalExecution(**options)
