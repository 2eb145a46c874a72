"""What a worker of a cluster does: it holds shares of columns between steps, and answers with small sums."""

import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gssl.methods.label_space import Pulls
from gssl.operators import Filters, set_threads
from gssl.scale.guided_slab import GuidedSlab
from gssl.scale.local import LocalCrew, LocalExecution
from gssl.scale.memory import available_memory
from gssl.scale.shared import ArrivedColumns, FileColumns, ShareColumns, SharedFilters

# runs whose shares are kept: the last, and one more for a client that runs two at a time
_KEPT_RUNS = 2


class SlabLostError(RuntimeError):
    """A worker does not hold columns that it is asked about, or not in the state that is meant."""


@dataclass(frozen=True)
class Beginning:
    """Where a share begins: the first predictor, the steps taken elsewhere, and what it may hold and where.

    ``pulls`` are those of the steps, each with the rows of the predictor that belong to the share, as ``W``
    has. ``folder`` is one to resume from that this worker sees, or None.
    """

    W: np.ndarray
    pulls: Pulls
    budget: int
    width: int | None = None
    folder: Path | None = None


@dataclass(frozen=True)
class _Share:
    crew: LocalCrew
    features: ShareColumns


@dataclass
class _Run:
    work: GuidedSlab
    shares: dict[int, _Share] = field(default_factory=dict)
    # a worker with several threads may be told to take a share over while its own is in a step, and the two
    # must not be in memory beyond the budget
    turn: Lock = field(default_factory=Lock)


_runs: "OrderedDict[str, _Run]" = OrderedDict()
_arrived: dict[tuple[str, int], ArrivedColumns] = {}
_opening = Lock()


def use_threads(client_pid: int, n_threads: int) -> None:
    """Let kernels and BLAS use as many threads as the worker has, unless it shares the client's process.

    Workers beside each other whose BLAS has a thread for every CPU take several times as long for a product.

    Examples
    --------
    >>> use_threads(os.getpid(), 1)
    """
    if os.getpid() != client_pid:
        set_threads(n_threads)
        threadpool_limits(n_threads, user_api="blas")


def room(n_beside: int) -> int:
    """Tell how much memory a worker may take that shares its machine: half of what is free, and of its limit.

    Examples
    --------
    >>> room(2) <= available_memory()
    True
    """
    from distributed import get_worker

    free = available_memory() // 2 // max(1, n_beside)
    try:
        limit = get_worker().memory_manager.memory_limit
    except (ValueError, AttributeError):  # not on a worker, or one that watches no memory
        return free
    return min(free, int(limit) // 2) if limit else free


def embed(job: tuple[Any, Any], X: Any, columns: slice) -> np.ndarray:
    """Run a task on a slab of columns.

    Examples
    --------
    >>> from gssl.operators import Filters
    >>> embed((lambda X, filters, columns: 2 * X, lambda k: Filters(None)), np.eye(1), slice(0, 1))
    array([[2.]])
    """
    task, filters = job
    columns_of_X = X.read() if isinstance(X, FileColumns) else X
    if isinstance(filters, SharedFilters):
        opened = filters.open()
        return np.asarray(task(columns_of_X, lambda k: opened, columns))
    return np.asarray(task(columns_of_X, filters, columns))


def receive(run: str, s: int, shape: tuple[int, int], columns: slice, part: Any) -> None:
    """Put some columns of a share that is larger than the budget into a file of this worker's own."""
    if (run, s) not in _arrived:
        _arrived[run, s] = ArrivedColumns(shape, part.dtype)
    _arrived[run, s].write(columns, part)


def begin(run: str, s: int, X: Any, setup: tuple[Any, ...], beginning: Beginning) -> np.ndarray | None:
    """Hold a share of the columns of X, take the steps again that it has done elsewhere, or give XW.

    ``setup`` is what a :class:`gssl.scale.guided_slab.GuidedSlab` is made of. X is None where the columns
    came before in pieces. The share is kept as one machine keeps its columns, within the budget.
    """
    if X is None:
        X = _arrived.pop((run, s), None)
        if X is None or not X.whole:
            raise SlabLostError(f"not all columns of share {s} are here")
    features = ShareColumns(X)
    with _opening:
        held = _open_run(run, setup)
    with held.turn:
        budget = _make_room(held, s, beginning.budget)
        execution = LocalExecution(budget, beginning.folder, width=beginning.width)
        crew = LocalCrew(execution, features, held.work)
        scores = crew.start(beginning.W)
        if beginning.pulls:
            crew.resume(beginning.pulls)
            features.forget()
        held.shares[s] = _Share(crew, features)
    return None if beginning.pulls else scores


def gradient(run: str, s: int, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give the rows of U_Lᵀ R that belong to a share, and its part of U_L times them."""
    with _held(run, s) as share:
        return share.crew.gradient(R)


def advance(run: str, s: int, step: int, W: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """Take a step, unless it was taken already and only its answer was lost, and give the scores."""
    with _held(run, s) as share:
        if share.crew.step == step:
            return share.crew.scores(W)
        if share.crew.step != step - 1:
            raise SlabLostError(f"share {s} has done {share.crew.step} steps, not {step - 1}")
        scores = share.crew.advance(W, pull)
        share.features.forget()
        return scores


def rows(run: str, s: int, nodes: np.ndarray) -> np.ndarray:
    """Give rows of a share."""
    with _held(run, s) as share:
        return share.crew.rows(nodes)


def end(run: str) -> None:
    """Forget a run.

    Examples
    --------
    >>> end("never begun")
    """
    _runs.pop(run, None)
    # other threads may put columns of another run there meanwhile
    for key in [key for key in list(_arrived) if key[0] == run]:
        _arrived.pop(key, None)


def _open_run(run: str, setup: tuple[Any, ...]) -> _Run:
    if run not in _runs:
        filters, *rest = setup
        opened = filters.open() if isinstance(filters, SharedFilters) else filters
        _runs[run] = _Run(GuidedSlab(opened if isinstance(opened, Filters) else opened(1), *rest))
        while len(_runs) > _KEPT_RUNS:
            end(next(iter(_runs)))
    return _runs[run]


def _make_room(held: _Run, s: int, budget: int) -> int:
    """Give what a share may take beside those that are here.

    Where that is less than its part, shares that take more than theirs are let go of: whoever asks for them
    next finds them lost, and brings them again.
    """
    held.shares.pop(s, None)
    graph = held.work.n_bytes  # which shares have together
    left = budget - sum(share.crew.n_bytes - graph for share in held.shares.values())
    part = graph + (budget - graph) // (len(held.shares) + 1)
    if left >= part:
        return left
    for other in [other for other, share in held.shares.items() if share.crew.n_bytes > part]:
        del held.shares[other]
    return part


@contextmanager
def _held(run: str, s: int) -> Iterator[_Share]:
    """Give a share that is here, and let nobody else at the run meanwhile."""
    held = _runs.get(run)
    with nullcontext() if held is None else held.turn:
        share = None if held is None else held.shares.get(s)
        if share is None:
            raise SlabLostError(f"share {s} is not here")
        yield share
