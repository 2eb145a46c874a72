"""Filters that are one mixture after another: the same steps forward, and in reverse order transposed."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from gssl.methods._base import iterate, last
from gssl.methods._embedder import GraphEmbedder
from gssl.methods._execution import FiltersOf
from gssl.methods._inputs import check_number
from gssl.operators import Filters, Mixture, add_scaled, dense, mix, zeros


@dataclass(frozen=True)
class _Scales:
    """What is carried on, a buffer that is free, and the running total over scales."""

    U: Any
    spare: Any
    total: Any


class StepwiseEmbedder(GraphEmbedder):
    """A subclass says which mixtures iteration k carries on and gathers, and whether scales are averaged."""

    alpha: float
    # True: output αX + (1−α)·mean of what was gathered; False: output what was carried on
    _multiscale: ClassVar[bool] = False

    @abstractmethod
    def _mixtures(self, k: int) -> tuple[Mixture, Mixture]:
        """Give what iteration k = 1, 2, … carries on, and what it gathers."""

    def _reach(self) -> int | None:
        steps = [mixture for k in range(1, self.depth + 1) for mixture in self._mixtures(k)]
        # unlinked nodes are no number of hops apart
        return None if any(mixture.sharp for mixture in steps) else self.depth

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._multiscale:
            check_number(self, "alpha", low=0.0, high=1.0)

    def _buffers(self) -> int:
        # X, two that take turns, and the total over scales
        return 4 if self._multiscale else 3

    def _scales(self, X: Any, filters: FiltersOf) -> Iterator[_Scales]:
        """Run the iterations on the columns of X; two buffers take turns."""
        total = zeros(X) if self._multiscale else None

        def step(state: _Scales, k: int) -> _Scales:
            carried, gathered = self._mixtures(k)
            added = gathered if self._multiscale else None
            U = mix(filters(k), state.U, carried, out=state.spare, gathered=added, total=total, X=X)
            return _Scales(U, None if state.U is X else state.U, total)

        yield from iterate(step, _Scales(X, None, total), range(1, self.depth + 1))

    def _apply(self, X: Any, filters: FiltersOf) -> Any:
        """Give the output of the whole filter, in the buffers of its iterations."""
        if not self.depth:
            return dense(X, copy=True)
        end = last(self._scales(X, filters))
        if end.total is None:
            return end.U
        total = end.total
        total *= (1.0 - self.alpha) / self.depth
        add_scaled(total, self.alpha, X)
        return total

    def _adjoint(self, E: Any, filters: FiltersOf) -> Any:
        r"""Apply the transposed filter to the columns of E.

        All matrices are symmetric, so it is the same steps in reverse order; over scales it is
        :math:`\sum_t C_1 \cdots C_{t-1} R_t E = R_1 E + C_1 (R_2 E + C_2 (\dots))`. A step that restarts from
        X with weight r has the transposed rest of the way, r times, in the output.
        """
        steps = range(self.depth, 0, -1)
        restarts = any(mixture.restart for k in steps for mixture in self._mixtures(k))
        restarted = zeros(E) if restarts else None

        products = _Products(E)

        def step(V: Any, k: int) -> Any:
            carried, gathered = self._mixtures(k)
            if restarted is not None:
                add_scaled(restarted, carried.restart, V)
            graph = filters(k)
            V = mix(graph, V, replace(carried, restart=0.0), out=products.free(V))
            if self._multiscale:
                products.add(graph, gathered, V)
                if restarted is not None:
                    add_scaled(restarted, gathered.restart, E)
            return V

        if not self.depth:
            return dense(E)
        V = last(iterate(step, zeros(E) if self._multiscale else E, steps))
        if restarted is not None:
            V += restarted
        if self._multiscale:
            V *= (1.0 - self.alpha) / self.depth
            add_scaled(V, self.alpha, E)
        return V

    def _embeddings(self, X: Any, filters: FiltersOf) -> Iterator[Any]:
        """Yield what each depth would give."""
        for k, state in enumerate(self._scales(X, filters), start=1):
            if state.total is None:
                yield dense(state.U, copy=True)
                continue
            U = state.total * ((1.0 - self.alpha) / k)
            add_scaled(U, self.alpha, X)
            yield U


class _Products:
    """ÂE and N̂E, which every step of a transposed filter over scales adds, computed once per graph."""

    def __init__(self, E: Any) -> None:
        self._E = E
        self._filters: Filters | None = None
        self._parts: list[tuple[str, Any]] = []
        self._before: Any = None

    def free(self, V: Any) -> Any:
        """Give the buffer that a step may write to: the V of the step before, which nobody reads again."""
        free, self._before = self._before, None if V is self._E else V
        return free

    def add(self, filters: Filters, mixture: Mixture, V: Any) -> None:
        """Add the mixture of E to V."""
        if filters is not self._filters:
            sharp = [] if filters.N_hat is None else [("sharp", mix(filters, self._E, Mixture(sharp=1.0)))]
            self._parts = [("smooth", mix(filters, self._E, Mixture(smooth=1.0))), *sharp]
            self._filters = filters
        for name, product in self._parts:
            add_scaled(V, getattr(mixture, name), product)
        add_scaled(V, mixture.keep, self._E)
