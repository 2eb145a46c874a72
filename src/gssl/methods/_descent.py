"""Conjugate gradients for a symmetric positive system, all right-hand sides side by side."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gssl.methods._base import iterate, last


@dataclass(frozen=True)
class Descent:
    """Where conjugate gradients stand: solution, residual, direction, squared residual of each column."""

    solution: np.ndarray
    residual: np.ndarray
    direction: np.ndarray
    size: np.ndarray
    settled: bool = False


def conjugate_gradients(
    image: Callable[[np.ndarray], np.ndarray],
    B: np.ndarray,
    tol: float,
    max_iter: int,
    accept: Callable[[np.ndarray], bool] = lambda solution: True,
) -> tuple[np.ndarray, int, bool]:
    """Solve M G = B for a symmetric positive M that is only known by its products.

    Parameters
    ----------
    image : callable
        Gives M V for V of the shape of B.
    B : ndarray of shape (n, c)
    tol : float
        A column is solved when its residual has fallen to this part of its start.
    max_iter : int
    accept : callable, optional
        Looks at a solution whose residual is small and tells whether it may stay: where M is nearly singular
        a small residual does not say that the solution is near.

    Returns
    -------
    solution : ndarray of shape (n, c)
    n_iter : int
    settled : bool
        Whether every column is solved, and the solution accepted.

    Examples
    --------
    >>> M = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> conjugate_gradients(lambda V: M @ V, np.array([[3.0], [4.0]]), 1e-12, 10)[0].round(9)
    array([[1.],
           [1.]])
    """
    size = np.square(B).sum(axis=0)
    goal = np.square(tol) * size

    def step(state: Descent, k: int) -> Descent:
        moved = descend(image, state)
        small = bool((moved.size <= goal).all())
        return replace(moved, settled=small and accept(moved.solution))

    start = Descent(np.zeros_like(B), B, B, size)
    n_iter, end = last(enumerate(iterate(step, start, range(max_iter)), start=1))
    return end.solution, n_iter, end.settled


def descend(image: Callable[[np.ndarray], np.ndarray], state: Descent) -> Descent:
    """Take one step.

    Examples
    --------
    >>> B = np.array([[4.0]])
    >>> descend(lambda V: 2 * V, Descent(np.zeros((1, 1)), B, B, np.array([16.0]))).solution
    array([[2.]])
    """
    moved = image(state.direction)
    length = _divide(state.size, (state.direction * moved).sum(axis=0))
    R = state.residual - length * moved
    size = np.square(R).sum(axis=0)
    direction = R + _divide(size, state.size) * state.direction
    return Descent(state.solution + length * state.direction, R, direction, size)


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Divide, and give zero where the divisor is: a column that is solved needs no further step."""
    return np.asarray(np.divide(a, b, out=np.zeros_like(a), where=b > 0))
