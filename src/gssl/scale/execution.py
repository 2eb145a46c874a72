"""Where a fit runs: in memory, in slabs within a memory budget, on a Dask cluster, or with torch.

A method writes its equations once, for any columns, and asks the current execution to run them:
:class:`InMemory`, ``SlabExecution`` (slabs.py), ``ClusterExecution`` (cluster.py) or ``TorchExecution``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from gssl.files import check_real_folder
from gssl.operators import DenseEmbedding, Embedding, Filters
from gssl.operators.program import FiltersOf
from gssl.scale.memory import read_size
from gssl.scale.progress import ProgressBar

BACKENDS = ("numba", "torch")
# default number of arrays as large as its input that a task holds at once: the input, two alternating
# buffers, a running total, and a copy of the result
BUFFERS = 5


@dataclass(frozen=True)
class Task:
    """A computation on some columns of X that treats columns independently."""

    # takes some columns of X, the matrices of each iteration, and the slice of these columns; returns as many
    # columns, with any number of rows
    function: Callable[[Any, FiltersOf, slice], Any]
    # text, numbers and arrays that identify finished work: all that the result depends on besides X, the
    # graph and the parameters of the method
    identity: tuple[Any, ...]
    # input-sized arrays held at once, including the input
    buffers: int = BUFFERS

    def __call__(self, X: Any, filters: FiltersOf, columns: slice) -> Any:
        """Run the function."""
        return self.function(X, filters, columns)


@dataclass(frozen=True)
class FinishedStep:
    """A finished step: of OGC, the R of its pull on the anchors, W after it, and scalars of its state."""

    pull: np.ndarray
    W: np.ndarray
    facts: dict[str, float]


class Checkpoint:
    """The finished steps from which an interrupted run resumes; this base class records nothing."""

    past: Sequence[FinishedStep] = ()

    def finish(self, step: FinishedStep) -> None:
        """Record a step."""

    def replace(self, step: FinishedStep) -> None:
        """Record a step that makes the earlier ones unnecessary."""


class Execution(ABC):
    """The interface through which methods run their passes over the graph."""

    # bytes, if memory is limited
    budget: int | None = None
    # the folder for finished work, if it is kept
    resume: Path | None = None

    @abstractmethod
    def map_columns(self, task: Task, X: Any, filters: FiltersOf) -> np.ndarray:
        """Run a task on all columns, possibly some at a time, and return the results side by side."""

    @abstractmethod
    def embedding(self, X: Any, filters: Filters, labelled: np.ndarray) -> Embedding:
        """Return the embeddings of OGC, which start at X; every step reads the rows of labelled nodes."""

    def place(self, filters: Filters) -> Filters:
        """Return the matrices on the device of this execution, to apply to narrow arrays such as scores."""
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
    progress: bool = False

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
    progress: bool | None = None,
) -> Iterator[None]:
    """Choose where the fits in a block run; predictions are the same up to rounding.

    In a nested block, arguments that are not given keep their outer values. Blocks are local to a thread.

    Parameters
    ----------
    memory : number of bytes or str, optional
        Memory that a fit may use besides what is already in use, such as ``"4GB"``: columns are processed in
        slabs, and what does not fit stays on disk. AutoClassifier needs additional memory for tables of its
        labelled nodes (see docs/scale.md).
    client : dask.distributed.Client, optional
        A cluster whose workers share the columns; ``memory`` then applies to each worker.
    resume : path, optional
        A folder for finished work, from which an interrupted fit continues. A folder belongs to one fit: the
        same data, labels and parameters.
    backend : {"numba", "torch"}, optional
        The library that computes; "torch" needs ``pip install gssl[torch]``. Methods that do not support
        torch use numba.
    device : str or torch.device, optional
        The device of torch. If None, a GPU if there is one, else the CPU.
    progress : bool, default=False
        Whether to show a progress bar, in a terminal or a notebook. The logger ``gssl`` has a line at level
        INFO for every step of half a second or more.

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
        "progress": progress,
    }
    if client is not None:
        from gssl.scale.cluster import check_client

        check_client(client)
    named = {name: value for name, value in given.items() if value is not None}
    outer = _settings.get()
    settings = replace(outer, **named)
    bar = ProgressBar().shown() if settings.progress and not outer.progress else nullcontext()
    with _using(settings), bar:
        yield


def current_settings() -> Settings:
    """Return the settings of the innermost block of :func:`execution`."""
    return _settings.get()


@contextmanager
def part_of_run(name: str) -> Iterator[None]:
    """Use a subfolder of the resume folder within a block, for a fit inside another fit."""
    settings = _settings.get()
    folder = None if settings.resume is None else settings.resume / name
    if folder is not None:
        check_real_folder(folder)
    with _using(replace(settings, resume=folder)):
        yield


@contextmanager
def without_resume() -> Iterator[None]:
    """Disable the resume folder within a block."""
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

    ``resumes`` is False for anything but a fit: the results of predictions, for example, are not kept.
    """
    settings = _settings.get()
    if not resumes:
        settings = replace(settings, resume=None)
    name = type(estimator).__name__
    if settings.backend == "torch":
        if not getattr(estimator, "runs_on_torch", False):
            return IN_MEMORY
        torch_execution: Execution = import_module("gssl.torch.backend").execution(settings.device)
        return torch_execution
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
