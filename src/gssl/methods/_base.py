"""The one loop that every method runs in."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

State = TypeVar("State")
_watcher: ContextVar[Callable[[int, int | None], None] | None] = ContextVar("watcher", default=None)


def iterate(step: Callable[[State, int], State], state: State, ks: Iterable[int]) -> Iterator[State]:
    """Yield the states after each step, until there are no more or a state's ``settled`` is true.

    Parameters
    ----------
    step : callable
        Takes a state and the number of the step, gives the next state.
    state : object
        Where to start.
    ks : iterable of int
        The numbers of the steps, in the order in which they are taken.

    Yields
    ------
    State

    Examples
    --------
    >>> list(iterate(lambda total, k: total + k, 0, range(1, 5)))
    [1, 3, 6, 10]
    """
    total = len(ks) if isinstance(ks, Sized) else None
    watcher = _watcher.get()
    for done, k in enumerate(ks, start=1):
        state = step(state, k)
        if watcher is not None:
            watcher(done, total)
        yield state
        if getattr(state, "settled", False):
            return


@contextmanager
def watching(watcher: Callable[[int, int | None], None]) -> Iterator[None]:
    """Call ``watcher(done, total)`` after each step of every iteration in this block, for progress bars.

    Parameters
    ----------
    watcher : callable
        Takes how many steps an iteration has done and how many it may do at most, or None.

    Examples
    --------
    >>> seen = []
    >>> with watching(lambda done, total: seen.append((done, total))):
    ...     _ = last(iterate(lambda total, k: total + k, 0, range(2)))
    >>> seen
    [(1, 2), (2, 2)]
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def last(states: Iterable[State]) -> State:
    """Run an iteration to its end and keep only the last state.

    Parameters
    ----------
    states : iterable of State
        At least one.

    Returns
    -------
    State

    Examples
    --------
    >>> last(iterate(lambda total, k: total + k, 0, range(1, 5)))
    10
    """
    return deque(states, maxlen=1).pop()
