"""Where a fit runs: in memory, in slabs within a memory budget, on a Dask cluster, or with torch.

A method writes its equations once, for any columns, and asks the current execution to run them:
:class:`InMemory`, ``SlabExecution`` (slabs.py), ``ClusterExecution`` (cluster.py) or that of torch.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from gssl.operators import DenseEmbedding, Embedding, Filters
from gssl.scale.memory import read_size

BACKENDS = ("numba", "torch")
# from the number of an iteration to its matrices
FiltersOf = Callable[[int], Filters]
# default number of arrays as large as its input that a task holds at once: the input, two alternating
# buffers, a running total, and a copy of the result
BUFFERS = 5


@dataclass(frozen=True)
class Task:
    """A computation on some columns of X that treats columns independently."""

    # takes some columns of X, the matrices of each iteration, and the slice of these columns; returns as many
    # columns, with any number of rows
    function: Callable[[Any, FiltersOf, slice], Any]
    # text, numbers and arrays: all that the result depends on beside X, the graph and the parameters of the
    # method; finished work is found by it
    identity: tuple[Any, ...]
    # arrays as large as its input that it holds at once, including the input
    buffers: int = BUFFERS

    def __call__(self, X: Any, filters: FiltersOf, columns: slice) -> Any:
        """Run the function."""
        return self.function(X, filters, columns)


@dataclass(frozen=True)
class Step:
    """A finished step of OGC: the R of its pull on the anchors, W after it, and numbers of its state."""

    pull: np.ndarray
    W: np.ndarray
    facts: dict[str, float]


class Checkpoint:
    """The finished steps of a run, from which it resumes if it was stopped; this one records nothing."""

    past: Sequence[Step] = ()

    def scores(self) -> np.ndarray:
        """Return the scores of all nodes after the last finished step."""
        raise ValueError("a run without a checkpoint has no past: begin at the first step.")

    def finish(self, step: Step, scores: np.ndarray) -> None:
        """Record a step and the scores after it."""


_watcher: ContextVar[Callable[[int, int | None], None] | None] = ContextVar("watcher", default=None)


def report_progress(done: int, total: int | None) -> None:
    """Report to :func:`watching` how many steps an iteration has done, and how many it does at most."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(done, total)


@contextmanager
def watching(watcher: Callable[[int, int | None], None]) -> Iterator[None]:
    """Call ``watcher(done, total)`` after each step of every iteration in this block, for progress bars."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


class Execution(ABC):
    """What methods need from the place where their passes over the graph run."""

    # bytes, where memory is limited
    budget: int | None = None
    # the folder that finished work is kept in, if it is
    resume: Path | None = None

    @abstractmethod
    def map_columns(self, task: Task, X: Any, filters: FiltersOf) -> np.ndarray:
        """Run a task on all columns, possibly some at a time, and return the results side by side."""

    @abstractmethod
    def embedding(self, X: Any, filters: Filters, labelled: np.ndarray) -> Embedding:
        """Return the embeddings of OGC, which start at X; every step reads the rows of labelled nodes."""

    def place(self, filters: Filters) -> Filters:
        """Return the same matrices where this execution computes, for narrow arrays such as scores."""
        return filters

    def each(self, task: Task, X: Any, filters: FiltersOf) -> Iterator[np.ndarray]:
        """Run a task that yields whole embeddings on all columns, and yield each result as a new array."""
        yield from task(X, filters, slice(0, X.shape[1]))

    def checkpoint(self, *inputs: Any) -> Checkpoint:
        """Open the checkpoint of runs with these inputs."""
        return Checkpoint()


class InMemory(Execution):
    """The default: all columns at once, in memory, on all threads."""

    def map_columns(self, task: Task, X: Any, filters: FiltersOf) -> np.ndarray:
        """Run a task on all columns."""
        return np.asarray(task(X, filters, slice(0, X.shape[1])))

    def embedding(self, X: Any, filters: Filters, labelled: np.ndarray) -> Embedding:
        """Return U as a dense array."""
        return DenseEmbedding(X, filters)


IN_MEMORY = InMemory()


@dataclass(frozen=True)
class Settings:
    """The arguments of :func:`execution`."""

    memory: int | None = None
    client: Any = None
    resume: Path | None = None
    backend: str = "numba"
    device: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.backend, str) or self.backend not in BACKENDS:
            names = " or ".join(f'"{name}"' for name in BACKENDS)
            raise ValueError(f"execution: backend must be {names}, not {self.backend!r}.")
        if self.device is not None and self.backend == "numba":
            raise ValueError(
                f'execution: device={self.device!r} needs backend="torch"; "numba" runs on the CPU.'
            )
        if self.backend != "numba" and self.by_columns:
            raise ValueError(
                f'execution: memory, client and resume need backend="numba", not {self.backend!r}.'
            )

    @property
    def by_columns(self) -> bool:
        """Whether methods must be able to process some columns at a time."""
        return self.memory is not None or self.client is not None or self.resume is not None


_PLAIN = Settings()
_settings: ContextVar[Settings] = ContextVar("gssl_execution", default=_PLAIN)


@contextmanager
def execution(
    *,
    memory: Any = None,
    client: Any = None,
    resume: Any = None,
    backend: str | None = None,
    device: Any = None,
) -> Iterator[None]:
    """Choose where the fits in a block run; predictions are the same everywhere, up to rounding.

    Inside another block, what is not given stays as it is there. Blocks are local to a thread.

    Parameters
    ----------
    memory : number of bytes or str, optional
        How much memory a fit may take beside what is there already, such as ``"4GB"``: columns pass through
        it in slabs, and what does not fit stays on disk. AutoClassifier keeps tables of its labelled nodes
        beside it (see docs/scale.md).
    client : dask.distributed.Client, optional
        A cluster whose workers share the columns; ``memory`` is then that of each worker.
    resume : path, optional
        A folder that keeps finished work, so that a fit that was stopped goes on from there. A folder belongs
        to one fit: the same data, labels and parameters.
    backend : {"numba", "torch"}, optional
        What passes over the graph; "torch" needs ``pip install gssl[torch]``. Methods that torch cannot run
        stay with numba.
    device : str or torch.device, optional
        Where torch computes; a GPU if there is one, else the CPU, if None.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> with gssl.execution(memory="1GB"):
    ...     U = gssl.SGC().fit_transform(data.features, adjacency=data.adjacency)
    >>> U.shape
    (34, 34)
    """
    given = {
        "memory": None if memory is None else read_size(memory),
        "client": client,
        "resume": None if resume is None else Path(resume),
        "backend": backend,
        "device": device,
    }
    if client is not None:
        from gssl.scale.cluster import check_client

        check_client(client)
    named = {name: value for name, value in given.items() if value is not None}
    with _using(replace(_settings.get(), **named)):
        yield


def current_settings() -> Settings:
    """Return the settings of the innermost block of :func:`execution`."""
    return _settings.get()


@contextmanager
def part_of_run(name: str) -> Iterator[None]:
    """Use a subfolder of the resume folder, for a fit inside another one."""
    settings = _settings.get()
    folder = None if settings.resume is None else settings.resume / name
    with _using(replace(settings, resume=folder)):
        yield


@contextmanager
def without_resume() -> Iterator[None]:
    """Fit without a resume folder in a block."""
    with _using(replace(_settings.get(), resume=None)):
        yield


@contextmanager
def _using(settings: Settings) -> Iterator[None]:
    token = _settings.set(settings)
    try:
        yield
    finally:
        _settings.reset(token)


def current_execution(estimator: Any, *, resumes: bool = True) -> Execution:
    """Return the execution for an estimator, according to its ``runs_by_columns`` and ``runs_on_torch``.

    ``resumes`` is False for anything but a fit, such as predictions, of which nothing is kept.
    """
    settings = _settings.get()
    if not resumes:
        settings = replace(settings, resume=None)
    name = type(estimator).__name__
    if settings.backend == "torch":
        if not getattr(estimator, "runs_on_torch", False):
            return IN_MEMORY
        found: Execution = import_module("gssl.torch.backend").execution(settings.device)
        return found
    if not settings.by_columns:
        return IN_MEMORY
    if not getattr(estimator, "runs_by_columns", False):
        raise ValueError(
            f"{name} cannot run on some columns at a time: fit it without memory, client and resume."
        )
    options = settings.memory, settings.resume, repr(estimator)
    if settings.client is not None:
        from gssl.scale.cluster import ClusterExecution

        return ClusterExecution(settings.client, *options)
    from gssl.scale.slabs import SlabExecution

    return SlabExecution(*options)
