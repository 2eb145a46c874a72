"""Linear systems on a graph, solved by programs of three-term recurrences.

    F_0 = 0,    F_{k+1} = a S F_k + b F_k + c F_{k−1} + d B

The coefficients a, b, c, d are computed first, from a few columns (:func:`conjugate_steps`) or from bounds of
the spectrum (:func:`chebyshev_steps`). All columns then take the same steps independently of each other, so
results are the same in memory, in slabs and on workers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.methods.iteration import iterate, last
from gssl.operators import Filters, Mixture, NormalizedAdjacency, Program, Step, mix
from gssl.operators.convolution import row_sums, scaled_weights
from gssl.operators.program import NOTHING, FiltersOf, State
from gssl.scale.execution import Checkpoint, Execution, FinishedStep, Task
from gssl.scale.progress import report_progress

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


def chebyshev_steps(alpha: float, n_steps: int) -> list[Step]:
    r"""Return steps towards :math:`(I - \alpha S)^{-1} B` for any S with eigenvalues from −1 to 1.

    After k steps the error of a column is at most :math:`2 \rho^k` times the solution in the 2-norm, with
    :math:`\rho = (1 - \sqrt{1 - \alpha^2}) / \alpha`; no method with one pass per step has a better rate.
    """
    steps, omega = [Step(NOTHING, Mixture(keep=1.0))], 2.0
    for _ in range(1, n_steps):
        omega = 1.0 / (1.0 - alpha * alpha * omega / 4.0)
        steps.append(Step(Mixture(smooth=omega * alpha), Mixture(keep=omega), past=1.0 - omega))
    return steps


def spreading_steps(
    filters: Filters, labelled: np.ndarray, alpha: float, tol: float, limit: int
) -> tuple[list[Step], bool]:
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
    for k, state in enumerate(_from_zero(steps).states(B, lambda graph: filters), start=1):
        if k >= max(enough, 2):
            F, change = state.U, np.abs(state.U - state.before)
            settled = (rho / (1.0 - rho) * change <= tol * F) | (np.abs(F) + change < FLOOR)
            if settled.all():
                return steps[:k], True
    return steps, len(steps) == most


def conjugate_steps(
    filters: Filters, B: np.ndarray, tol: float, limit: int, accept: Callable[[np.ndarray], bool]
) -> tuple[list[Step], bool]:
    """Return the steps of conjugate gradients towards (I − S)⁻¹B, and whether they converge.

    Inner products run over all columns of B, so that all columns take the same steps. If B consists of
    random combinations of many columns, these can take the same steps, too.
    """
    steps: list[Step] = []
    lengths, ratios = [1.0], [0.0]
    # a smaller residual is only rounding in single precision; double precision may still resolve weak links
    least = np.finfo(B.dtype).eps if B.dtype == np.float32 else 0.0
    tol = max(tol, float(np.finfo(B.dtype).eps))
    for state in _descent(lambda V: mix(filters, V, Mixture(smooth=-1.0, keep=1.0)), B, limit, axis=None):
        length = float(state.length)
        if not 0.0 < length < np.inf or not np.isfinite(state.ratio):
            break  # link weights differ by more than double precision can resolve
        past = length * ratios[-1] / lengths[-1]
        carry = Mixture(smooth=length, keep=1.0 - length + past)
        steps.append(Step(carry, Mixture(keep=length), past=-past))
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

    # weights that differ too much overflow; the caller sees lengths that are not finite
    @np.errstate(over="ignore", invalid="ignore")
    def step(state: _Descent, _: int) -> _Descent:
        moved = image(state.direction)
        length = _divide(state.size, product(state.direction, moved))
        by = length.astype(B.dtype)
        residual = state.residual - by * moved
        size = product(residual, residual)
        ratio = _divide(size, state.size)
        direction = residual + ratio.astype(B.dtype) * state.direction
        part = float(np.sqrt(_divide(size, start)).max(initial=0.0))
        solution = state.solution + by * state.direction
        return _Descent(solution, residual, direction, size, length, ratio, part, part <= tol)

    start = product(B, B)
    yield from iterate(step, _Descent(np.zeros_like(B), B, B, start, start, start, 1.0), range(max_iter))


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Divide, returning 0 where the divisor is 0: a converged column takes no further step."""
    return np.asarray(np.divide(a, b, out=np.zeros_like(a), where=b > 0))


def _from_zero(steps: Sequence[Step]) -> Program:
    return Program(steps, start=0.0)


def run_steps(
    filters: Filters, B: csr_array, steps: Sequence[Step], execution: Execution, checkpoint: Checkpoint
) -> np.ndarray:
    """Apply the steps to all columns of B, resuming from the last checkpoint if there is one."""
    state, done = B, 0
    if checkpoint.past and checkpoint.past[-1].pull.dtype == B.dtype:
        state, done = checkpoint.past[-1].pull, int(checkpoint.past[-1].facts["n_iter"])
    while done < len(steps):
        # stop for checkpoints only if the run can be resumed
        stop = len(steps) if execution.resume is None else min(len(steps), done + CHECKPOINT)
        run = _Run(B, steps, done, stop)
        state = execution.map_columns(Task(run, run.identity), state, lambda k: filters)
        done = stop
        if done < len(steps):
            checkpoint.replace(FinishedStep(state, np.zeros((1, 1)), {"n_iter": done}))
    return np.asarray(state)


@dataclass(frozen=True, eq=False)
class _Run:
    """Apply some of the steps to some columns; return F and, unless it is final, F one step earlier."""

    B: csr_array
    steps: Sequence[Step]
    start: int
    stop: int

    @property
    def identity(self) -> tuple[Any, ...]:
        """The step numbers and coefficients, which identify the task."""
        numbers = [(*step.carry.weights, step.restart.keep, step.past) for step in self.steps]
        return ("run_steps", self.start, self.stop, np.array(numbers))

    def __call__(self, state: Any, filters: FiltersOf, columns: slice) -> np.ndarray:
        after = None
        if self.start:
            F, before = np.split(np.asarray(state), 2)
            after = self.start, State(np.array(F), np.array(before), None)
        program = _from_zero(self.steps[: self.stop])
        end = last(self._reported(program.states(self.B[:, columns], filters, after=after)))
        return np.asarray(end.U if self.stop == len(self.steps) else np.concatenate([end.U, end.before]))

    def _reported(self, states: Iterator[State]) -> Iterator[State]:
        for done, state in enumerate(states, start=self.start + 1):
            report_progress(done, self.stop)
            yield state
