"""Slabs on the workers of a Dask cluster, each of which holds its own from step to step.

A scheduler and its workers run what clients send them, so they must trust each other: see docs/scale.md.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

import numpy as np

from gssl.methods._base import iterate
from gssl.methods._guided import Pulls
from gssl.operators import Filters
from gssl.scale import worker
from gssl.scale.columns import read_columns
from gssl.scale.execution import SlabExecution
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

    def team(self) -> Any:
        """Gather the workers."""
        from gssl.scale.team import Team

        keep = (
            ""
            if self.resume is None
            else f" with the same resume={str(self.resume)!r}: finished work is kept"
        )
        return Team(self._client, keep)

    def run(self, task: Callable[..., Any], X: Any, filters: Any) -> np.ndarray:
        """Run a task on every slab, one at a time on each worker."""
        if self._client is None or self._client.status != "running":
            # what is asked for when the cluster has gone is computed here
            return LocalExecution(self.budget).run(task, X, filters)
        team = self.team()
        n, d = X.shape
        first = filters(1)
        load = Load(5 * n * X.dtype.itemsize, graph_bytes(first))
        results = self.results(self.plan_for(d, load, len(team.workers())), X, filters)
        job = [team.send((task, _packed(team, filters)))]

        def ask(s: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
            columns = results.plan.slabs[s]
            return worker.embed, (job[0], self._part(team, X, s, columns), columns)

        def again(s: int) -> None:
            # whoever had the graph may be gone as well
            job[0] = team.send((task, _packed(team, filters)))

        def step(_: None, k: int) -> None:
            # as many at a time as there are workers, so that no worker holds two
            batch = results.todo[k : k + n_workers]
            team.owners = {}
            team.assign(batch)
            for s, part in sorted(team.collect(batch, ask, again).items()):
                results.put(s, part)

        n_workers = len(team.workers())
        for _ in iterate(step, None, range(0, len(results.todo), n_workers)):
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

    def _part(self, team: Any, X: Any, s: int, columns: slice) -> Any:
        file = self._file(team, X)
        if file is not None:
            return FileColumns(file, columns)
        return team.send(read_columns(X, columns), team.owners[s])

    def _file(self, team: Any, X: Any) -> Any:
        """Ask once whether the workers see the file of X."""
        if getattr(team, "file_of_X", None) is None:
            team.file_of_X = (team.sees(X),)
        return team.file_of_X[0]


class ClusterCrew:
    """Workers that hold slabs of U and move them; a slab that is lost is computed again from its pulls."""

    def __init__(self, execution: ClusterExecution, X: Any, setup: tuple[Any, ...]) -> None:
        self._execution, self._X, self._setup = execution, X, setup
        self._run = uuid4().hex
        self._pulls: list[tuple[np.ndarray, np.ndarray]] = []
        self._team = execution.team()
        self._plan = SlabPlan(X.shape[1], max(1, X.shape[1]))
        self._shared: Any = None

    def start(self, W: np.ndarray) -> np.ndarray:
        """Give every worker its slabs, and give XW."""
        n, d = self._X.shape
        size = self._X.dtype.itemsize
        load = Load(2 * n * size, graph_bytes(self._setup[0]) + n * W.shape[1] * 8)
        self._plan = self._execution.plan_for(d, load, len(self._team.workers()))
        self._share()
        self._team.assign(self._slabs())
        self._begin()
        return self._sum(lambda s: (worker.score, (self._run, s, W[self._plan.slabs[s]])), W.shape[1])

    def gradient(self, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give U_Lᵀ R and U_L of it."""
        answers = self._collect(lambda s: (worker.gradient, (self._run, s, R)))
        pushed = np.zeros(R.shape)
        for s in self._slabs():
            pushed += answers[s][1]
        return np.concatenate([answers[s][0] for s in self._slabs()]), pushed

    def advance(self, W: np.ndarray, pull: np.ndarray) -> np.ndarray:
        """Move every slab and give UW."""
        k = len(self._pulls) + 1

        def ask(s: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
            return worker.advance, (self._run, s, k, W[self._plan.slabs[s]], pull)

        scores = self._sum(ask, W.shape[1])
        self._pulls.append((pull, W))
        return scores

    def rows(self, nodes: np.ndarray) -> np.ndarray:
        """Give rows of U, after which the workers are free."""
        answers = self._collect(lambda s: (worker.rows, (self._run, s, nodes)))
        return np.concatenate([answers[s] for s in self._slabs()], axis=1)

    def resume(self, pulls: Pulls) -> None:
        """Take the same steps again."""
        self._pulls = list(pulls)
        self._begin()

    def __del__(self) -> None:
        with suppress(Exception):  # the cluster may be gone before this
            self._team.release(self._run)

    def _slabs(self) -> range:
        return range(len(self._plan.slabs))

    def _share(self) -> None:
        filters, *rest = self._setup
        self._shared = self._team.send((SharedFilters.of(filters, self._visible), *rest))

    def _visible(self, file: Any) -> bool:
        return self._team.sees(file.open()) is not None

    def _begin(self) -> None:
        self._collect(self._beginning)

    def _beginning(self, s: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        columns = self._plan.slabs[s]
        part = self._execution._part(self._team, self._X, s, columns)
        pulls = [(pull, W[columns]) for pull, W in self._pulls]
        return worker.begin, (self._run, s, part, self._shared, pulls)

    def _revive(self, s: int) -> None:
        """Bring a lost slab to where it was, on its new owner; the graph may have gone with the old one."""
        self._share()
        self._team.collect([s], self._beginning, lambda s: self._share())

    def _collect(self, ask: Any) -> dict[int, Any]:
        answers: dict[int, Any] = self._team.collect(self._slabs(), ask, self._revive)
        return answers

    def _sum(self, ask: Any, n_classes: int) -> np.ndarray:
        """Add up the parts of the slabs in their order."""
        answers = self._collect(ask)
        total = np.zeros((self._X.shape[0], n_classes))
        for s in self._slabs():
            total += answers.pop(s)
        return total


def _packed(team: Any, filters: Any) -> Any:
    """Give the matrices as such where they are the same in every iteration, else what makes them."""
    first = filters(1)
    if first is not filters(1):
        return filters
    return SharedFilters.of(first, lambda file: team.sees(file.open()) is not None)


def execution(**options: Any) -> ClusterExecution:
    """Make the execution that methods find by the name ``dask``.

    Examples
    --------
    >>> execution(client=None, memory_budget="1GB").budget
    1000000000
    """
    try:
        import distributed  # noqa: F401
    except ImportError as missing:
        raise ImportError("a Dask client needs the extra: pip install 'gssl[distributed]'.") from missing
    return ClusterExecution(**options)
