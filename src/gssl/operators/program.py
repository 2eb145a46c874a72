r"""Programs: every linear method as a short list of steps, each one pass over the graph.

With mixtures C, G and R of the graph's operators and the identity, and numbers s, p, e and o,

    U_0 = s X
    T  += G_k U_{k−1}
    U_k = C_k U_{k−1} + p_k U_{k−2} + R_k X + J_k        k = 1, …, K
    output = e U_K + T + o X

C carries the embedding on, G gathers a total over scales, R restarts from the features, p remembers the past,
and J is injected from outside. The transpose of a program is a program, too (:meth:`Program.transpose`), so
single rows of a result and products with it never need code of their own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array, issparse

from gssl.graph.mapped import mapped_file
from gssl.operators.arrays import dense, zeros
from gssl.operators.inverse import Complement
from gssl.operators.mixture import Filters, Mixture, add_scaled, add_weighted, mix

# returns the matrices of a graph, given the ``graph`` of a step
FiltersOf = Callable[[Any], Filters]
# returns what is injected at a step, given its number from 0 on; None for nothing
Injected = Callable[[int], Any]
# nodes processed at a time
_BLOCK = 4096
# maximum number of links of a graph that is copied into a sparse matrix, about 50 MB
_MOST_LINKS = 1 << 22
# a sparse product is cheaper than a pass while one node reaches at most this fraction of all nodes
_REACHED = 0.05

NOTHING = Mixture()


class AtNodes(NamedTuple):
    """Rows to be injected at some nodes."""

    nodes: np.ndarray
    rows: np.ndarray

    def add_to(self, U: np.ndarray) -> None:
        """Add them in place."""
        U[self.nodes] += self.rows


@dataclass(frozen=True, eq=False)
class Step:
    """One step: the mixtures ``carry`` (C), ``restart`` (R) and ``gather`` (G), and the number ``past`` (p).

    ``graph`` is the key by which a run asks for the matrices of the step. ``gather_weights`` and
    ``restart_weights`` are factors of nodes, for mixtures that keep only: diag(w) G and R diag(w).
    """

    carry: Mixture
    restart: Mixture = NOTHING
    gather: Mixture = NOTHING
    past: float = 0.0
    graph: Any = 1
    gather_weights: np.ndarray | None = None
    restart_weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        if any(mixture.restart or mixture.past for mixture in _mixtures(self)):
            raise ValueError("a mixture of a Step has no restart or past: give those to the Step itself.")


@dataclass(frozen=True, eq=False)
class State:
    """The embedding after a step, the one before it, and the running total (None if nothing is gathered)."""

    U: Any
    before: Any
    total: Any


@dataclass(frozen=True, eq=False)
class Program:
    r"""A linear map of features as steps over a graph; see the equations of this module.

    Parameters
    ----------
    steps : sequence of Step
    start, end, keep : float
        The numbers s, e and o.

    Examples
    --------
    >>> from gssl.operators import normalized_adjacency
    >>> filters = Filters(normalized_adjacency(csr_array([[0.0, 1.0], [1.0, 0.0]])))
    >>> half = Program([Step(Mixture.lazy(0.5))])
    >>> half.run(np.array([[1.0], [0.0]]), lambda graph: filters)
    array([[0.75],
           [0.25]])
    """

    steps: Sequence[Step]
    start: float = 1.0
    end: float = 1.0
    keep: float = 0.0

    @property
    def gathers(self) -> bool:
        """Whether there is a running total."""
        return any(any(step.gather.weights) for step in self.steps)

    @property
    def buffers(self) -> int:
        """How many arrays as large as X a run holds at once, including X."""
        return 3 + self.gathers

    @property
    def hops(self) -> int | None:
        """The number of hops that the output of a node depends on; None if it may be any node."""
        if any(mixture.sharp for step in self.steps for mixture in _mixtures(step)):
            return None
        reach, before, most = 0, 0, 0
        for step in self.steps:
            if any(step.gather.weights):
                most = max(most, reach + (step.gather.smooth != 0.0))
            carried = reach + (step.carry.smooth != 0.0) if any(step.carry.weights) else 0
            restarted = int(step.restart.smooth != 0.0)
            reach, before = max(carried, restarted, before if step.past else 0), reach
        return max(most, reach if self.end else 0)

    def cost(self, n: int, links: int, width: int) -> int:
        """Return the number of multiply-adds of a run over ``width`` columns of a graph with n nodes.

        ``links`` counts both directions. All operators of a step share one pass over the links, except those
        of the restart, whose products with X are computed once.
        """
        passes = sum(_hops(step.carry) or _hops(step.gather) for step in self.steps)
        restarts = {step.graph for step in self.steps if _hops(step.restart)}
        return ((passes + len(restarts)) * links + len(self.steps) * n) * width

    def powers(self) -> np.ndarray | None:
        r"""Return p if the program is the polynomial :math:`\sum_k p_k T^k` of one operator T, else None."""
        mixtures = [mixture for step in self.steps for mixture in _mixtures(step)]
        weighted = any(s.gather_weights is not None or s.restart_weights is not None for s in self.steps)
        if weighted or len({s.graph for s in self.steps}) > 1 or any(mixture.sharp for mixture in mixtures):
            return None

        def times(mixture: Mixture, p: np.ndarray) -> np.ndarray:
            return np.asarray(mixture.keep * p + mixture.smooth * np.roll(p, 1))

        one, total, before = np.zeros((3, len(self.steps) + 1))
        one[0] = 1.0
        U = self.start * one
        for step in self.steps:
            total = total + times(step.gather, U)
            U, before = times(step.carry, U) + step.past * before + times(step.restart, one), U
        return np.asarray(self.end * U + total + self.keep * one)

    def transpose(self) -> "Program":
        r"""Return the transposed map: the steps in reverse, with G and R, and s and e exchanged.

        .. math:: V_{k-1} = C_k^\top V_k + p_{k+1} V_{k+1} + G_k^\top Y, \qquad
                  \text{output} = s V_0 + \sum_k R_k^\top V_k + o Y

        It is run with the transposed matrices; those of a graph without directions are symmetric.
        """
        backwards = list(reversed(self.steps))
        pasts = [0.0, *(step.past for step in backwards)]
        return Program(
            [
                replace(
                    step,
                    restart=step.gather,
                    gather=step.restart,
                    past=past,
                    gather_weights=step.restart_weights,
                    restart_weights=step.gather_weights,
                )
                for step, past in zip(backwards, pasts, strict=False)
            ],
            start=self.end,
            end=self.start,
            keep=self.keep,
        )

    def __mul__(self, number: float) -> "Program":
        """Return the program with its output multiplied by a number."""
        steps = [replace(step, gather=step.gather * number) for step in self.steps]
        return replace(self, steps=steps, end=self.end * number, keep=self.keep * number)

    __rmul__ = __mul__

    def __add__(self, other: "Program") -> "Program":
        """Return the sum of two programs: the second starts again from X after the first is gathered."""
        if not self.steps and not other.steps:
            return Program(
                [], 0.0, 0.0, self.start * self.end + self.keep + other.start * other.end + other.keep
            )
        graph = (*self.steps, *other.steps)[0].graph
        again = Step(NOTHING, Mixture(keep=other.start), Mixture(keep=self.end), graph=graph)
        # the past of its first step would be the first program
        later = [replace(step, past=step.past if k else 0.0) for k, step in enumerate(other.steps)]
        return Program([*self.steps, again, *later], self.start, other.end, self.keep + other.keep)

    def run(
        self,
        X: Any,
        filters: FiltersOf,
        inject: Injected | None = None,
        on_step: Callable[[int, int], None] | None = None,
    ) -> Any:
        """Return the output for the columns of X.

        Parameters
        ----------
        X : ndarray, csr_array or tensor of shape (n, d)
        filters : callable
            Returns the matrices for the ``graph`` of a step.
        inject : callable, optional
            Returns what is added to U at a step, numbered from 0 on: an array, or an object with ``add_to``.
        on_step : callable, optional
            Called with the number of steps done and of all steps.

        Returns
        -------
        ndarray or tensor of shape (n, d)
        """
        run = _Run(self, X, filters)
        state = State(X, None, None)
        for done, after in enumerate(run.states(inject), start=1):
            state = after
            if on_step is not None:
                on_step(done, len(self.steps))
        return run.output(state)

    def states(
        self,
        X: Any,
        filters: FiltersOf,
        inject: Injected | None = None,
        after: tuple[int, State] | None = None,
    ) -> Iterator[State]:
        """Yield the state after each step of :meth:`run`; buffers are reused, so copy what is to be kept.

        ``after`` is a number of steps and the state after them, from which the run goes on.
        """
        # sparse states, and states without the rank-one part, are of use to the output only
        return _Run(self, X, filters, whole=True).states(inject, after)


class _Run:
    """A program on some columns of X.

    If X is sparse, its products with operators are, too, except for a rank-one part of the complement,
    N̂ = T(3I + A)T − ttᵀ. By linearity, that part runs by itself as a single column. ``whole`` avoids both.
    """

    def __init__(self, program: Program, X: Any, filters: FiltersOf, *, whole: bool = False) -> None:
        self.program, self.X, self.filters = program, X, filters
        self._sparse = issparse(X) and not whole
        self._one_graph = len({step.graph for step in program.steps}) == 1
        # the last graph, its matrix, and the products of its operators with X
        self._graph: Filters | None = None
        self._matrix: Any = None
        self._products: dict[str, Any] = {}

    def states(
        self, inject: Injected | None = None, after: tuple[int, State] | None = None
    ) -> Iterator[State]:
        """Yield the state after each step."""
        program, X = self.program, self.X
        if after is None:
            total = zeros(X) if program.gathers else None
            after = 0, State(X if program.start == 1.0 else _scaled(X, program.start), None, total)
        done, state = after
        n_sparse = 0 if inject is not None else self._sparse_steps()
        for k in range(done, len(program.steps)):
            state = self._take(program.steps[k], state, sparse=k < n_sparse)
            if inject is not None:
                _add(state.U, inject(k))
            yield state

    def output(self, state: State) -> Any:
        """Return the output after the last state."""
        program, X = self.program, self.X
        if not program.steps:
            return _scaled(X, program.end * program.start + program.keep)
        output = state.total
        if output is None:
            output = dense(state.U, copy=state.U is X)
            if program.end != 1.0:
                output *= program.end
        else:
            add_scaled(output, program.end, state.U)
        add_scaled(output, program.keep, X)
        self._add_rank_one(output)
        return output

    def _take(self, step: Step, state: State, *, sparse: bool) -> State:
        """Gather, carry on and restart."""
        graph, U, total = self.filters(step.graph), state.U, state.total
        if graph is not self._graph:
            self._graph, self._matrix, self._products = graph, None, {}
        if step.gather_weights is not None:
            add_weighted(total, step.gather.keep, step.gather_weights, U)
            step = replace(step, gather=NOTHING)
        if not sparse and (any(step.carry.weights) or (step.past and state.before is not None)):
            return self._pass(step, state, graph)
        self._gather(graph, U, step.gather, total)
        if sparse:
            V = csr_array(step.carry.smooth * (self._matrix_of(graph) @ U) + step.carry.keep * U)
            return State(self._restarted(step, graph, V), None, total)
        V = self._spare(state)
        V = zeros(self.X) if V is None else V
        V[:] = 0
        return State(self._restarted(step, graph, V), U, total)

    def _pass(self, step: Step, state: State, graph: Filters) -> State:
        """Take a step in one pass over the graph."""
        U, total, X, spare, carried = state.U, state.total, self.X, self._spare(state), step.carry
        if step.past and state.before is not None:
            spare = dense(state.before, copy=True) if spare is None else spare
            carried = replace(carried, past=step.past)
        if step.restart_weights is None and not issparse(X):
            # the kernels add a multiple of X while they write the result
            carried = replace(carried, restart=step.restart.keep)
            step = replace(step, restart=replace(step.restart, keep=0.0))
        gathered = step.gather if any(step.gather.weights) else None
        V = mix(graph, U, carried, out=spare, gathered=gathered, total=total, X=X)
        return State(self._restarted(step, graph, V), U, total)

    def _spare(self, state: State) -> Any:
        """Return the buffer of the embedding before the last, which is free; None if there is none."""
        return None if issparse(state.before) or state.before is self.X else state.before

    def _gather(self, graph: Filters, U: Any, gathered: Mixture, total: Any) -> None:
        """Add a mixture of U to the total in a pass of its own."""
        if gathered.smooth or gathered.sharp:
            total += mix(graph, U, gathered)
        else:
            add_scaled(total, gathered.keep, U)

    def _restarted(self, step: Step, graph: Filters, V: Any) -> Any:
        """Return V with R X added, in place unless it is sparse."""
        restart, X = step.restart, self.X
        if not any(restart.weights):
            return V
        if step.restart_weights is not None:
            if issparse(V):
                return csr_array(V + restart.keep * (diags_array(step.restart_weights) @ X))
            add_weighted(V, restart.keep, step.restart_weights, X)
            return V
        for name in ("smooth", "sharp", "keep"):
            weight = getattr(restart, name)
            if weight:
                product = X if name == "keep" else self._product(graph, name)
                if issparse(V):
                    V = V + weight * product
                elif product is X and issparse(X):
                    entries = self._entries
                    V[entries.row, entries.col] += entries.data.dtype.type(weight) * entries.data
                else:
                    add_scaled(V, weight, product)
        return V

    @cached_property
    def _entries(self) -> coo_array:
        """The entries of a sparse X, whose positions are computed once for all steps."""
        X = csr_array(self.X, copy=not self.X.has_canonical_format)
        X.sum_duplicates()
        return X.tocoo()

    def _product(self, graph: Filters, name: str) -> Any:
        """Return ÂX or N̂X; sparse, and without its rank-one part, if X is sparse and the graph small."""
        if name not in self._products:
            complement = name == "sharp" and isinstance(graph.N_hat, Complement)
            if not (self._sparse and is_small(graph) and (self._one_graph or not complement)):
                self._products[name] = mix(graph, self.X, Mixture(**{name: 1.0}))
            elif name == "smooth":
                self._products[name] = csr_array(self._matrix_of(graph) @ self.X)
            else:
                sparse = _sparse_part(graph.N_hat) if complement else graph.N_hat
                self._products[name] = csr_array(sparse @ self.X)
        return self._products[name]

    def _add_rank_one(self, output: Any) -> None:
        """Add what :meth:`_product` leaves out: the program of the column −t, times the row tᵀX."""
        steps, graph = self.program.steps, self._graph
        if graph is None or not self._sparse or not self._one_graph:
            return
        if not any(step.restart.sharp for step in steps):
            return
        if not (is_small(graph) and isinstance(graph.N_hat, Complement)):
            return
        t = graph.N_hat.scale
        alone = Program(
            [replace(step, restart=NOTHING) for step in steps], self.program.start, self.program.end
        )
        column = alone.run(
            np.zeros((len(t), 1), t.dtype),
            self.filters,
            lambda k: t.dtype.type(-steps[k].restart.sharp) * t[:, None],
        )
        row = (self.X.T @ t)[None, :]
        for start in range(0, len(output), _BLOCK):
            output[start : start + _BLOCK] += column[start : start + _BLOCK] * row

    def _matrix_of(self, graph: Filters) -> Any:
        if self._matrix is None:
            self._matrix = graph.A_hat.tocsr()
        return self._matrix

    def _sparse_steps(self) -> int:
        """Return for how many steps unit columns stay so sparse that sparse products are cheaper."""
        steps, X = self.program.steps, self.X
        # one entry per column, as in single rows of the transposed program
        if not (steps and self._sparse and X.nnz <= X.shape[1]):
            return 0
        if any(step.carry.sharp or step.past or step.graph != steps[0].graph for step in steps):
            return 0
        graph = self.filters(steps[0].graph)
        return sparse_steps(graph.A_hat, len(steps)) if is_small(graph) else 0


def polynomial(powers: Sequence[float] | np.ndarray, hop: Mixture, graph: Any = 1) -> Program:
    r"""Return :math:`\sum_k p_k T^k` as a program; T is the mixture ``hop`` on one graph."""
    steps = [Step(hop, gather=Mixture(keep=float(power)), graph=graph) for power in powers[:-1]]
    return Program(steps, end=float(powers[-1]))


def sparse_steps(A_hat: Any, most: int) -> int:
    """Return for how many hops a node reaches so few others that sparse products are cheaper."""
    n, degrees = A_hat.shape[0], np.diff(A_hat.indptr).astype(np.float64)
    growth = max(1.0, float(degrees @ (degrees - 1.0)) / max(1.0, degrees.sum()))
    reached, steps = 1.0 + growth, 0
    while reached <= _REACHED * n and steps < most:
        reached, steps = 1.0 + growth * reached, steps + 1
    return steps


def is_small(filters: Filters) -> bool:
    """Return whether Â is in memory and small enough to be copied into a sparse matrix."""
    indices = filters.A_hat.indices
    here = type(filters) is Filters and filters.own is None and mapped_file(indices) is None
    return here and len(indices) <= _MOST_LINKS


def _sparse_part(N_hat: Complement) -> csr_array:
    """Return T(3I + A)T."""
    n, t = len(N_hat.scale), diags_array(N_hat.scale)
    ones = np.ones(len(N_hat.indices), N_hat.scale.dtype)
    links = csr_array((ones, N_hat.indices, N_hat.indptr), shape=(n, n))
    return csr_array(t @ links @ t + N_hat.scale.dtype.type(3) * (t @ t))


def _scaled(X: Any, number: float) -> Any:
    """Return a dense copy of X times a number."""
    U = dense(X, copy=True)
    if number != 1.0:
        U *= number
    return U


def _add(U: Any, injected: Any) -> None:
    """Add what is injected: an array, or anything that adds itself, such as a :class:`Pull`."""
    if hasattr(injected, "add_to"):
        injected.add_to(U)
    elif injected is not None:
        U += injected


def _hops(mixture: Mixture) -> bool:
    """Return whether a mixture reads links."""
    return bool(mixture.smooth or mixture.sharp)


def _mixtures(step: Step) -> tuple[Mixture, Mixture, Mixture]:
    return step.carry, step.restart, step.gather
