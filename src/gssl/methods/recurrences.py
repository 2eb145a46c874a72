"""Linear systems on a graph, solved by three-term recurrences with one pass over the graph per step.

    F_{k+1} = a S F_k + b F_k + c F_{k−1} + d B

The coefficients a, b, c, d are computed first, from a few columns (:func:`conjugate_steps`) or from bounds of
the spectrum (:func:`chebyshev_steps`). All columns then take the same steps independently of each other, so
results are the same in memory, in slabs and on workers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.methods.base import iterate, last
from gssl.operators import Filters, Mixture, NormalizedAdjacency, dense, mix
from gssl.operators.convolution import row_sums, scaled_weights
from gssl.operators.program import FiltersOf
from gssl.scale.execution import Checkpoint, Execution, Step, Task

# F after a step, and before it
Pair = tuple[np.ndarray, np.ndarray]
# steps between checkpoints
CHECKPOINT = 64
# scores below this cannot be distinguished from rounding errors, whatever the precision
FLOOR = 1e-30


def symmetric_filters(A: csr_array, dtype: Any, degrees: np.ndarray | None = None) -> Filters:
    r"""Return :math:`S = D^{-1/2} A D^{-1/2}` for passes over the graph; D defaults to the row sums of A."""
    degrees = row_sums(A) if degrees is None else degrees
    scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros(len(degrees)), where=degrees > 0)
    indptr, indices = A.indptr.astype(np.int64, copy=False), A.indices.astype(np.int32, copy=False)
    # the kernels add scale² on the diagonal, which is zero in S; links may be in files and are not copied
    nothing = np.zeros(A.shape[0], dtype)
    # an empty array would mean that all weights are one
    weights = scaled_weights(A, scale, dtype) if len(indices) else nothing[:1]
    return Filters(NormalizedAdjacency(indptr, indices, weights, nothing))


def chebyshev_steps(alpha: float, n_steps: int) -> list[Mixture]:
    r"""Return steps towards :math:`(I - \alpha S)^{-1} B` for any S with eigenvalues from −1 to 1.

    After k steps the error of a column is at most :math:`2 \rho^k` times the solution in the 2-norm, with
    :math:`\rho = (1 - \sqrt{1 - \alpha^2}) / \alpha`; no method with one pass per step has a better rate.
    """
    steps, omega = [Mixture(restart=1.0)], 2.0
    for _ in range(1, n_steps):
        omega = 1.0 / (1.0 - alpha * alpha * omega / 4.0)
        steps.append(Mixture(smooth=omega * alpha, restart=omega, past=1.0 - omega))
    return steps


def spreading_steps(
    filters: Filters, labelled: np.ndarray, alpha: float, tol: float, limit: int
) -> tuple[list[Mixture], bool]:
    """Return the Chebyshev steps that label spreading needs, and whether they converge within the limit.

    They suffice when the error bound of every column is below ``tol``, and the sum over all classes, which is
    a single column, has converged at all nodes where it is above the floor.
    """
    dtype = filters.A_hat.scale.dtype
    tol = max(tol, 2.0 * np.finfo(dtype).eps)
    rho = (1.0 - np.sqrt((1.0 - alpha) * (1.0 + alpha))) / alpha
    enough, most = (int(np.ceil(np.log(share / 2.0) / np.log(rho))) for share in (tol, tol * FLOOR))
    steps = chebyshev_steps(alpha, min(limit, most))
    given = np.full(len(labelled), 1.0 - alpha, dtype)
    B = csr_array((given, (labelled, np.zeros_like(labelled))), (filters.A_hat.shape[0], 1))
    add = _adding(B)
    F, before = _begin(B, steps[0])
    for k, step in enumerate(steps[1:], start=2):
        F, before = add(mix(filters, F, _pass(step), out=before), step), F
        if k >= enough:
            change = np.abs(F - before)
            settled = (rho / (1.0 - rho) * change <= tol * F) | (np.abs(F) + change < FLOOR)
            if settled.all():
                return steps[:k], True
    return steps, len(steps) == most


def conjugate_steps(
    filters: Filters, B: np.ndarray, tol: float, limit: int, accept: Callable[[np.ndarray], bool]
) -> tuple[list[Mixture], bool]:
    """Return the steps of conjugate gradients towards (I − S)⁻¹B, and whether they converge.

    Inner products run over all columns of B, so that all columns take the same steps. If B consists of
    random combinations of many columns, these can take the same steps, too.
    """
    steps: list[Mixture] = []
    lengths, ratios = [1.0], [0.0]
    # a smaller residual is only rounding in single precision; double precision may still resolve weak links
    least = np.finfo(B.dtype).eps if B.dtype == np.float32 else 0.0
    tol = max(tol, float(np.finfo(B.dtype).eps))
    for state in _descent(lambda V: mix(filters, V, Mixture(smooth=-1.0, keep=1.0)), B, limit, axis=None):
        length = float(state.length)
        if not 0.0 < length < np.inf or not np.isfinite(state.ratio):
            break  # link weights differ by more than double precision can resolve
        past = length * ratios[-1] / lengths[-1]
        steps.append(Mixture(smooth=length, keep=1.0 - length + past, restart=length, past=-past))
        lengths.append(length)
        ratios.append(float(state.ratio))
        if state.part <= tol and accept(state.solution):
            return steps, True
        if state.part <= least:
            break
    return steps, False


def conjugate_gradients(
    image: Callable[[np.ndarray], np.ndarray], B: np.ndarray, tol: float, max_iter: int
) -> tuple[np.ndarray, int, bool]:
    """Solve M G = B for all columns, where ``image`` computes products with a symmetric positive definite M.

    A column has converged when its residual is at most ``tol`` times the initial one. Return the solution,
    the number of iterations and whether every column has converged.
    """
    n_iter, end = last(enumerate(_descent(image, B, max_iter, axis=0, tol=tol), start=1))
    return end.solution, n_iter, end.settled


@dataclass(frozen=True)
class _Descent:
    """State of conjugate gradients; ``size`` is the squared residual, of each column or of all together."""

    solution: np.ndarray
    residual: np.ndarray
    direction: np.ndarray
    size: np.ndarray
    length: np.ndarray
    ratio: np.ndarray
    # the largest residual relative to its initial value
    part: float
    settled: bool = False


def _descent(
    image: Callable[[np.ndarray], np.ndarray],
    B: np.ndarray,
    max_iter: int,
    axis: int | None,
    tol: float = -1.0,
) -> Iterator[_Descent]:
    """Yield the states of conjugate gradients on M G = B, until the relative residual is at most ``tol``."""

    def product(U: np.ndarray, V: np.ndarray) -> np.ndarray:
        return np.asarray((U * V).sum(axis=axis, dtype=np.float64))

    def step(state: _Descent, _: int) -> _Descent:
        moved = image(state.direction)
        length = _divide(state.size, product(state.direction, moved))
        by = length.astype(B.dtype)
        residual = state.residual - by * moved
        size = product(residual, residual)
        ratio = _divide(size, state.size)
        with np.errstate(over="ignore"):
            direction = residual + ratio.astype(B.dtype) * state.direction
        part = float(np.sqrt(_divide(size, start)).max(initial=0.0))
        solution = state.solution + by * state.direction
        return _Descent(solution, residual, direction, size, length, ratio, part, part <= tol)

    start = product(B, B)
    yield from iterate(step, _Descent(np.zeros_like(B), B, B, start, start, start, 1.0), range(max_iter))


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Divide, returning 0 where the divisor is 0: a converged column takes no further step."""
    return np.asarray(np.divide(a, b, out=np.zeros_like(a), where=b > 0))


def run_steps(
    filters: Filters, B: csr_array, steps: Sequence[Mixture], execution: Execution, checkpoint: Checkpoint
) -> np.ndarray:
    """Apply the steps to all columns of B, resuming from the last checkpoint if there is one."""
    state, done = B, 0
    if checkpoint.past and checkpoint.scores().dtype == B.dtype:
        state, done = checkpoint.scores(), int(checkpoint.past[-1].facts["n_iter"])
    while done < len(steps):
        # stop for checkpoints only if the run can be resumed
        stop = len(steps) if execution.resume is None else min(len(steps), done + CHECKPOINT)
        run = _Run(B, steps, done, stop)
        state = execution.map_columns(Task(run, run.identity), state, lambda k: filters)
        done = stop
        if done < len(steps):
            nothing = np.zeros((1, 1))
            checkpoint.finish(Step(nothing, nothing, {"n_iter": done}), state)
    return np.asarray(state)


@dataclass(frozen=True, eq=False)
class _Run:
    """Apply some of the steps to some columns; return F and, unless it is final, F one step earlier."""

    B: csr_array
    steps: Sequence[Mixture]
    start: int
    stop: int

    @property
    def identity(self) -> tuple[Any, ...]:
        """The step numbers and coefficients, which identify the task."""
        return ("run_steps", self.start, self.stop, np.array([step.weights for step in self.steps]))

    def __call__(self, state: Any, filters: FiltersOf, columns: slice) -> np.ndarray:
        B, start = self.B[:, columns], max(self.start, 1)
        if self.start == 0:
            begin = _begin(B, self.steps[0])
        else:
            F, before = np.split(np.asarray(state), 2)
            begin = np.array(F), np.array(before)

        add = _adding(B)

        def move(pair: Pair, k: int) -> Pair:
            F, before = pair
            return add(mix(filters(1), F, _pass(self.steps[k]), out=before), self.steps[k]), F

        F, before = last(chain([begin], iterate(move, begin, range(start, self.stop))))
        return F if self.stop == len(self.steps) else np.concatenate([F, before])


def _pass(step: Mixture) -> Mixture:
    """Return the part of a step that needs a pass over the graph."""
    return replace(step, restart=0.0)


def _adding(B: csr_array) -> Callable[[np.ndarray, Mixture], np.ndarray]:
    """Return a function that adds dB to F in place; the positions of its entries are computed once."""
    B = B.tocoo()

    def add(F: np.ndarray, step: Mixture) -> np.ndarray:
        F[B.row, B.col] += B.data.dtype.type(step.restart) * B.data
        return F

    return add


def _begin(B: csr_array, first: Mixture) -> Pair:
    """Return F after the first step, and the zeros from which it starts."""
    F = dense(B)
    F *= first.restart
    return F, np.zeros_like(F)
