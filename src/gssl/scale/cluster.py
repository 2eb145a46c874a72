"""Slabs on the workers of a Dask cluster, each of which holds its own from step to step.

A scheduler and its workers run what clients send them, so they must trust each other: see docs/scale.md.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gssl.methods.base import iterate
from gssl.operators import Filters
from gssl.scale import worker
from gssl.scale.cluster_crew import ClusterCrew
from gssl.scale.columns import read_columns
from gssl.scale.execution import SlabExecution, buffers_of
from gssl.scale.guided import SlabEmbedding
from gssl.scale.local import LocalExecution
from gssl.scale.plan import Load, SlabPlan, graph_bytes, plan_slabs, spread_slabs
from gssl.scale.shared import FileColumns, SharedFilters


class ClusterExecution(SlabExecution):
    """Run tasks on slabs of columns, on all workers of a cluster at once.

    Parameters
    ----------
    client : distributed.Client
        Used as it is. It does not survive a pickle: an unpickled model computes on its own machine.
    memory_budget : number or str, optional
        For what each worker holds. Columns are shared out evenly if None.
    resume : path, optional
    description : str, default=""
    width : int, optional
        As for :class:`gssl.scale.local.LocalExecution`.
    """

    def __init__(
        self,
        client: Any,
        memory_budget: Any = None,
        resume: Any = None,
        description: str = "",
        width: int | None = None,
    ) -> None:
        super().__init__(memory_budget, resume, description, width)
        self._client = client
        self._shared_out = memory_budget is None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_client": None}

    @property
    def width(self) -> int | None:
        """Columns of a slab, where that was given."""
        return self._width

    def team(self) -> Any:
        """Gather the workers."""
        from gssl.scale.team import Team

        keep = (
            ""
            if self.resume is None
            else f" with the same resume={str(self.resume)!r}: finished work is kept"
        )
        return Team(self._client, keep)

    def room(self, team: Any) -> int:
        """Give what each worker may hold: the budget, or what the tightest of them has room for."""
        return int(team.room()) if self._shared_out else self.budget

    def run(self, task: Callable[..., Any], X: Any, filters: Any) -> np.ndarray:
        """Run a task on every slab, one at a time on each worker."""
        if self._client is None or self._client.status in ("closing", "closed"):
            # what is asked for after a fit, when its client was closed, is computed here
            return LocalExecution(self.budget).run(task, X, filters)
        team = self.team()
        n, d = X.shape
        # the next columns are sent while a worker has its own
        load = Load((buffers_of(task) + 1) * n * X.dtype.itemsize, graph_bytes(filters(1)))
        results = self.results(self.plan_for(d, load, len(team.workers())), X, filters, task)
        job = [team.send((task, _packed(team, filters)))]

        def prepare(s: int, address: str) -> Any:
            file, columns = team.file_of(X), results.plan.slabs[s]
            return (
                team.send(read_columns(X, columns), address) if file is None else FileColumns(file, columns)
            )

        def ask(s: int, part: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
            if job[0].status != "finished":  # whoever had the graph is gone
                job[0] = team.send((task, _packed(team, filters)))
            return worker.embed, (job[0], part, results.plan.slabs[s])

        parts = team.spread(results.todo, prepare, ask)
        for _ in iterate(lambda _, s: results.put(*next(parts)), None, results.todo):
            pass
        return results.give() if d else np.empty((n, 0), X.dtype)

    def each(self, task: Callable[..., Any], X: Any, filters: Any) -> Iterator[np.ndarray]:
        """Run a task that yields on this machine: what it yields are whole embeddings anyway."""
        yield from task(X, filters, slice(0, X.shape[1]))

    def guided(
        self, X: Any, filters: Filters, beta: float, labelled: np.ndarray, anchors: np.ndarray
    ) -> SlabEmbedding:
        """Hold the embeddings of OGC on the workers."""
        return SlabEmbedding(ClusterCrew(self, X, (filters, beta, labelled, anchors)), X.dtype)

    def plan_for(self, n_columns: int, load: Load, n_workers: int) -> SlabPlan:
        """Share columns out evenly, in slabs that keep to the budget of a worker if there is one."""
        if self._width is not None:
            return SlabPlan(n_columns, self._width)
        even = spread_slabs(n_columns, n_workers)
        if self._shared_out:
            return even
        return SlabPlan(n_columns, min(even.width, plan_slabs(n_columns, load, self.budget).width))


def _packed(team: Any, filters: Any) -> Any:
    """Give the matrices as such where they are the same in every iteration, else what makes them."""
    first = filters(1)
    if first is not filters(1):
        return filters
    return SharedFilters.of(first, team.sees_file)


def execution(client: Any, **options: Any) -> ClusterExecution:
    """Make the execution that methods find by the name ``dask``.

    Examples
    --------
    >>> execution(client="tcp://host:8786")
    Traceback (most recent call last):
        ...
    TypeError: client is 'tcp://host:8786', not a Dask client: give client=distributed.Client('tcp://host:8786').
    """
    try:
        from distributed import Client
    except ImportError as missing:
        raise ImportError("a Dask client needs the extra: pip install 'gssl[distributed]'.") from missing
    if not isinstance(client, Client):
        given = repr(client) if isinstance(client, str) else "…"
        raise TypeError(f"client is {client!r}, not a Dask client: give client=distributed.Client({given}).")
    if client.asynchronous:
        raise ValueError("the Dask client is asynchronous: give one that is made with asynchronous=False.")
    if client.status != "running":
        raise ConnectionError(f"the Dask client is {client.status}: make a new one, and fit with that.")
    return ClusterExecution(client, **options)
