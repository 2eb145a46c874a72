"""The iteration loop of all methods."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import TypeVar

from gssl.scale.progress import report_progress

State = TypeVar("State")


def iterate(step: Callable[[State, int], State], state: State, ks: Iterable[int]) -> Iterator[State]:
    """Yield the state after each step ``k`` in ``ks``; stop early after a state whose ``settled`` is true."""
    total = len(ks) if isinstance(ks, Sized) else None
    for done, k in enumerate(ks, start=1):
        state = step(state, k)
        report_progress(done, total)
        yield state
        if getattr(state, "settled", False):
            return


def last(states: Iterable[State]) -> State:
    """Run an iteration to its end and return the last state."""
    return deque(states, maxlen=1).pop()
