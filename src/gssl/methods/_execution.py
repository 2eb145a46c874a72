"""How the passes of a method over its graph are executed: where, and how many columns at a time.

A method writes its equations once, as loops over :func:`gssl.operators.mix` on arrays of any kind (see
:mod:`gssl.operators.arrays`). An execution runs these loops: in memory on all threads (:class:`InMemory`), or
in another room that is found by name when somebody asks for it, because methods import from no room below.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from gssl.methods._guided import DirectEmbedding, GuidedEmbedding
from gssl.operators import Filters

FiltersOf = Callable[[int], Filters]
# takes columns of X, the matrices of each iteration, and which columns of the whole X they are
Task = Callable[[Any, FiltersOf, slice], Any]

# arrays as large as its input that a task may hold at once, unless it says so itself: the input, two that
# take turns, a running total, and one that is on its way elsewhere
BUFFERS = 5

# an execution by name: the module that has a function ``execution(…) -> Execution``
_MODULES = {
    "torch": "gssl.torch.backend",
    "slabs": "gssl.scale.local",
    "dask": "gssl.scale.cluster",
}
# those that a method may be told to use by its parameter ``backend``
BACKENDS = ("numba", "torch")


class Journal(Protocol):
    """What a run writes down of its steps, to go on after the last if it is stopped."""

    @property
    def past(self) -> Sequence["FinishedStep"]:
        """The steps that are finished."""

    def scores(self) -> np.ndarray:
        """Give the scores of all nodes after the last of them."""

    def finish(self, step: "FinishedStep", scores: np.ndarray) -> None:
        """Write down a step and the scores after it."""


@dataclass(frozen=True)
class FinishedStep:
    """A step of OGC: its pull on the anchors, the predictor after it, and numbers to go on with."""

    pull: np.ndarray
    W: np.ndarray
    facts: dict[str, float]


@dataclass(frozen=True)
class NoJournal:
    """Nothing is written down, so every run is a new one."""

    past: tuple[FinishedStep, ...] = ()

    def scores(self) -> np.ndarray:
        """There are none."""
        raise ValueError("a run without a journal has no past: begin at the first step.")

    def finish(self, step: FinishedStep, scores: np.ndarray) -> None:
        """Let a step go by."""


class Execution(Protocol):
    """What methods ask of whoever runs their loops.

    It stays with what a fit leaves behind, for the embeddings that somebody asks for later, so it must
    survive pickling.
    """

    def filters(self, filters: Filters) -> Filters:
        """Give the same matrices where this execution computes.

        With them ``mix`` still takes arrays and gives arrays, which is meant for narrow ones, such as scores.
        """

    def run(self, task: Task, X: Any, filters: FiltersOf) -> np.ndarray:
        """Give ``task(X, filters, columns)``, all columns at once, or some at a time and then side by side.

        A task treats columns independently and gives as many as it was given, with any number of rows.
        """

    def each(self, task: Task, X: Any, filters: FiltersOf) -> Iterator[np.ndarray]:
        """Give everything that a task yields, which must be arrays of their own."""

    def guided(
        self, X: Any, filters: Filters, beta: float, labelled: np.ndarray, anchors: np.ndarray
    ) -> GuidedEmbedding:
        """Hold the embeddings of OGC, all d columns of them."""


@dataclass(frozen=True)
class InMemory:
    """The default: all columns at once, in memory, on all threads."""

    def filters(self, filters: Filters) -> Filters:
        """Give the matrices as they are."""
        return filters

    def run(self, task: Task, X: Any, filters: FiltersOf) -> np.ndarray:
        """Run a task on all columns."""
        return np.asarray(task(X, filters, slice(0, X.shape[1])))

    def each(self, task: Task, X: Any, filters: FiltersOf) -> Iterator[np.ndarray]:
        """Run a task that yields on all columns."""
        yield from task(X, filters, slice(0, X.shape[1]))

    def guided(
        self, X: Any, filters: Filters, beta: float, labelled: np.ndarray, anchors: np.ndarray
    ) -> GuidedEmbedding:
        """Keep U itself."""
        return DirectEmbedding(X, filters, beta, labelled, anchors)


IN_MEMORY = InMemory()


def holding(buffers: int, task: Task, *identity: Any) -> Task:
    """Have a task say how many arrays as large as its input it holds at once, and what it is.

    Parameters
    ----------
    buffers : int
        The input is one of them.
    task : Task
    *identity : text, numbers and arrays
        All that the result depends on beside columns, matrices and the parameters of the method: tasks whose
        identities are equal give the same. Only what has one can be resumed.

    Examples
    --------
    >>> buffers_of(holding(3, lambda X, filters, columns: X)), buffers_of(lambda X, filters, columns: X)
    (3, 5)
    """
    task.buffers = buffers  # type: ignore[attr-defined]
    if identity:
        task.identity = identity  # type: ignore[attr-defined]
    return task


def identity_of(task: Task) -> tuple[Any, ...]:
    """Give what a task says about itself, so that nobody takes up what another one has left.

    Examples
    --------
    >>> identity_of(holding(3, lambda X, filters, columns: X, "copy"))
    ('copy',)
    >>> identity_of(max)
    Traceback (most recent call last):
        ...
    TypeError: a task without an identity cannot be resumed: name it by holding(…), or leave out resume.
    """
    identity: tuple[Any, ...] | None = getattr(task, "identity", None)
    if identity is None:
        raise TypeError(
            "a task without an identity cannot be resumed: name it by holding(…), or leave out resume."
        )
    return identity


def buffers_of(task: Task) -> int:
    """Tell how many arrays as large as its input a task may hold at once.

    Examples
    --------
    >>> buffers_of(max)
    5
    """
    return int(getattr(task, "buffers", BUFFERS))


def open_journal(execution: Execution, *inputs: Any) -> Journal:
    """Open what an execution has written down of an earlier run with the same inputs, if it writes anything.

    Examples
    --------
    >>> open_journal(InMemory()).past
    ()
    """
    kept = getattr(execution, "journal", None)
    return NoJournal() if kept is None else kept(*inputs)


def choose_execution(
    estimator: Any, *, memory_budget: Any = None, client: Any = None, resume: Any = None
) -> Execution:
    """Choose how a method runs: as its parameters say, or as one fit asks for.

    Parameters
    ----------
    estimator : estimator
        Its ``backend`` and ``device`` count, if it has them.
    memory_budget : optional
        Of one fit: how much memory its columns may take.
    client : optional
        Of one fit: the cluster that it is to run on.
    resume : path, optional
        Of one fit: a folder that keeps finished work.

    Returns
    -------
    Execution

    Examples
    --------
    >>> import gssl
    >>> choose_execution(gssl.SGC())
    InMemory()
    """
    backend = getattr(estimator, "backend", "numba")
    check_backend(estimator)
    if memory_budget is None and client is None and resume is None:
        return InMemory() if backend == "numba" else _find(backend, device=estimator.device)
    name = type(estimator).__name__
    if backend != "numba":
        raise ValueError(f'{name}: memory_budget, client and resume need backend="numba", not {backend!r}.')
    if not getattr(estimator, "_columns_apart", True):
        raise ValueError(f"{name} cannot take columns apart: leave out memory_budget, client and resume.")
    options = {"memory_budget": memory_budget, "resume": resume, "description": repr(estimator)}
    if client is not None:
        return _find("dask", client=client, **options)
    return _find("slabs", **options)


def check_backend(estimator: Any) -> None:
    """Refuse a backend that there is not, and a device without one.

    Examples
    --------
    >>> import gssl
    >>> check_backend(gssl.SGC(backend="abacus"))
    Traceback (most recent call last):
        ...
    ValueError: SGC: backend must be "numba" or "torch", not 'abacus'.
    """
    backend, device = getattr(estimator, "backend", "numba"), getattr(estimator, "device", None)
    if not isinstance(backend, str) or backend not in BACKENDS:
        names = " or ".join(f'"{name}"' for name in BACKENDS)
        raise ValueError(f"{type(estimator).__name__}: backend must be {names}, not {backend!r}.")
    if device is not None and backend == "numba":
        raise ValueError(
            f'{type(estimator).__name__}: device={device!r} needs backend="torch"; "numba" runs on the CPU.'
        )


def _find(name: str, **options: Any) -> Execution:
    made: Execution = import_module(_MODULES[name]).execution(**options)
    return made
