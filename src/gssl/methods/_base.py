"""The one loop that every method runs in."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

State = TypeVar("State")


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
    for k in ks:
        state = step(state, k)
        yield state
        if getattr(state, "settled", False):
            return


def last(states: Iterable[State], default: State | None = None) -> State:
    """Run an iteration to its end and keep only the last state, or the default where there is none.

    Parameters
    ----------
    states : iterable of State
    default : State, optional

    Returns
    -------
    State

    Examples
    --------
    >>> last(iterate(lambda total, k: total + k, 0, range(1, 5)))
    10
    """
    kept = deque(states, maxlen=1)
    if default is not None:
        kept.extendleft([] if kept else [default])
    return kept.pop()
