"""What a worker of a cluster does: it holds slabs of a run between its steps, and answers with small sums."""

import os
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gssl.methods._guided import Pulls
from gssl.operators import Filters, set_threads
from gssl.scale.guided_slab import GuidedSlab
from gssl.scale.precise import add_product
from gssl.scale.shared import FileColumns, SharedFilters

# runs whose slabs are kept: the last, and one more for a client that runs two at a time
_KEPT_RUNS = 2


class SlabLostError(RuntimeError):
    """A worker does not hold a slab that it is asked about, or not in the state that is meant."""


@dataclass
class _Slab:
    """Columns of U, the free array of the same size, and how many steps they have done."""

    U: Any
    spare: np.ndarray | None = None
    step: int = 0


@dataclass
class _Run:
    work: GuidedSlab
    slabs: dict[int, _Slab] = field(default_factory=dict)


_runs: "OrderedDict[str, _Run]" = OrderedDict()


def use_threads(client_pid: int, n_threads: int) -> None:
    """Let the kernels use as many threads as the worker has, unless it shares the client's process.

    Examples
    --------
    >>> use_threads(os.getpid(), 1)
    """
    if os.getpid() != client_pid:
        set_threads(n_threads)


def embed(job: tuple[Any, Any], X: Any, columns: slice) -> np.ndarray:
    """Run a task on a slab of columns.

    Examples
    --------
    >>> from gssl.operators import Filters
    >>> embed((lambda X, filters, columns: 2 * X, lambda k: Filters(None)), np.eye(1), slice(0, 1))
    array([[2.]])
    """
    task, filters = job
    if isinstance(filters, SharedFilters):
        opened = filters.open()
        return np.asarray(task(_columns(X), lambda k: opened, columns))
    return np.asarray(task(_columns(X), filters, columns))


def begin(run: str, s: int, X: Any, setup: tuple[Any, ...], pulls: Pulls) -> None:
    """Hold a slab, and take the steps again that it has done elsewhere.

    ``setup`` is what a :class:`gssl.scale.guided_slab.GuidedSlab` is made of; ``pulls`` are those of the
    steps, each with the rows of the predictor that belong to the slab.
    """
    if run not in _runs:
        filters, *rest = setup
        opened = filters.open() if isinstance(filters, SharedFilters) else filters
        _runs[run] = _Run(GuidedSlab(_filters(opened), *rest))
        while len(_runs) > _KEPT_RUNS:
            _runs.popitem(last=False)
    held = _runs[run].slabs[s] = _Slab(_columns(X))
    for pull, W in pulls:
        _move(_runs[run].work, held, W, pull)


def score(run: str, s: int, W: np.ndarray) -> np.ndarray:
    """Give the part of a slab in the scores UW, in double precision."""
    held = _held(run, s)
    total = np.zeros((held.U.shape[0], W.shape[1]))
    add_product(total, held.U, W)
    return total


def gradient(run: str, s: int, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give the rows of U_Lᵀ R that belong to a slab, and its part of U_L times them."""
    work = _runs[run].work if run in _runs else None
    U = _held(run, s).U
    if work is None:
        raise SlabLostError
    return work.gradient(work.pick(U), R)


def advance(run: str, s: int, step: int, W: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """Take a step, unless it was taken already and only its answer was lost, and give the scores."""
    held = _held(run, s)
    if held.step == step - 1:
        _move(_runs[run].work, held, W, pull)
    if held.step != step:
        raise SlabLostError(f"slab {s} has done {held.step} steps, not {step - 1}")
    return score(run, s, W)


def rows(run: str, s: int, nodes: np.ndarray) -> np.ndarray:
    """Give rows of a slab."""
    return _runs[run].work.pick(_held(run, s).U, nodes) if run in _runs else _held(run, s).U


def end(run: str) -> None:
    """Forget a run.

    Examples
    --------
    >>> end("never begun")
    """
    _runs.pop(run, None)


def _held(run: str, s: int) -> _Slab:
    if run not in _runs or s not in _runs[run].slabs:
        raise SlabLostError(f"slab {s} is not here")
    return _runs[run].slabs[s]


def _move(work: GuidedSlab, held: _Slab, W: np.ndarray, pull: np.ndarray) -> None:
    U = work.advance(held.U, W, pull, held.spare)
    # what came from the client may be of read-only memory, so the first U is no buffer
    held.spare = held.U if held.step else None
    held.U = U
    held.step += 1


def _columns(X: Any) -> Any:
    return X.read() if isinstance(X, FileColumns) else X


def _filters(filters: Any) -> Filters:
    return filters if isinstance(filters, Filters) else filters(1)
