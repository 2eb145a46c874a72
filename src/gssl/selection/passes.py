"""The passes over the graph that filters need, as tasks on columns: see :mod:`gssl.scale.execution`.

A task has no graph of its own, so that an execution may send it elsewhere and give it some columns at a time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from gssl.methods import GGC
from gssl.operators import Mixture, dense
from gssl.selection.complement_rows import complement_rows
from gssl.selection.features import Features
from gssl.selection.filters import GGC_DEPTHS, GGCM_DEPTHS, sharpening
from gssl.selection.graph_operators import GraphOperator, polynomial

# an operator and its power, or GGC or what GGCM sharpens and a depth
Term: TypeAlias = tuple[str, int]


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """Hops over the features: what is seen of them are the rows of some nodes."""

    features: Features
    nodes: np.ndarray

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells it from another space over the same columns."""
        return ("features", self.features.divisors, self.nodes)

    def start(self, columns: Any) -> Any:
        """Scale columns of X."""
        return self.features.scaled(columns)

    def seen(self, V: np.ndarray) -> np.ndarray:
        """Return the rows of the nodes, of shape (m, w)."""
        return np.asarray(V[self.nodes])


@dataclass(frozen=True, eq=False)
class LabelSpace:
    """Hops over columns that pick nodes: what is seen of them is their product with all features."""

    features: Features

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells it from another space over the same columns."""
        return ("labels", self.features.numbers)

    def start(self, columns: Any) -> Any:
        """Take the columns as they are."""
        return columns

    def seen(self, V: np.ndarray) -> np.ndarray:
        """Return XᵀV, of shape (d, w)."""
        return self.features.transposed_times(V)


Space: TypeAlias = FeatureSpace | LabelSpace


def hops(apply: Any, V: np.ndarray, n_hops: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield columns before and after each hop; what is yielded is written over two hops later."""
    spare = None
    for k in range(n_hops):
        after = apply(V, out=spare)
        yield V, after
        # two arrays by turns: new ones cost about as much as the hop; what was given stays
        V, spare = after, V if k else None


@dataclass(frozen=True, eq=False)
class Powers:
    """What is seen of the powers of an operator, 1 to ``n_hops``, and of what GGCM sharpens on their way."""

    name: str
    operator: GraphOperator
    space: Space
    n_hops: int
    sharpened: tuple[int, ...] = ()

    @property
    def terms(self) -> list[Term]:
        """What the result holds, one below the other."""
        return [(self.name, k) for k in range(1, self.n_hops + 1)] + [("sharp", k) for k in self.sharpened]

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells it from another task."""
        return ("powers", self.terms, self.operator.mixture, self.operator.own, self.space.identity)

    def __call__(self, columns: Any, filters: Any, _: slice) -> np.ndarray:
        """Run the hops."""
        V = dense(self.space.start(columns))
        found = []
        sums = SharpenedRows(self.sharpened)
        for before, after in hops(self.operator.on(filters(1)), V, self.n_hops):
            if self.sharpened and isinstance(self.space, FeatureSpace):
                sums.add(filters(1).N_hat, before, self.space.nodes)
            found.append(self.space.seen(after))
        return np.concatenate([*found, *sums.found])


class SharpenedRows:
    r"""Rows of :math:`\sum_{t \le K} \gamma_t \hat N T^{t-1} X` for some K, on the way of the powers of X."""

    def __init__(self, depths: tuple[int, ...]) -> None:
        self.found: list[np.ndarray] = []
        self._depths, self._t = depths, 0
        self._total: Any = 0.0

    def add(self, negatives: Any, V: np.ndarray, nodes: np.ndarray) -> None:
        """Go one step further, from the columns before a hop."""
        self._t += 1
        self._total = self._total + sharpening(self._t) * complement_rows(negatives, V, nodes)
        if self._t in self._depths:
            self.found.append(np.asarray(self._total))


@dataclass(frozen=True, eq=False)
class Sharpened:
    """What is seen of the same sums in label space, where they are a run of their own."""

    space: LabelSpace
    depths: tuple[int, ...]

    @property
    def terms(self) -> list[Term]:
        """What the result holds, one below the other."""
        return [("sharp", k) for k in self.depths]

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells it from another task."""
        return ("sharpened", self.terms, self.space.identity)

    def __call__(self, columns: Any, filters: Any, _: slice) -> np.ndarray:
        """Sharpen, then smooth and add up."""
        sharp, smooth = Mixture(sharp=1.0), GraphOperator(filters(1), Mixture(smooth=1.0))
        V = GraphOperator(filters(1), sharp)(columns)
        total, spare, found = np.zeros_like(V), np.empty_like(V), []
        for t in range(1, self.depths[-1] + 1):
            V, spare = smooth(V, out=spare, gathered=Mixture(keep=sharpening(t)), total=total), V
            if t in self.depths:
                found.append(self.space.seen(total))
        return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class Embedded:
    """What is seen of GGC at some depths: one run of the features, or one of the nodes for each."""

    space: Space
    depths: tuple[int, ...]

    @property
    def terms(self) -> list[Term]:
        """What the result holds, one below the other."""
        return [("GGC", k) for k in self.depths]

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells it from another task."""
        return ("embedded", self.terms, self.space.identity)

    def __call__(self, columns: Any, filters: Any, _: slice) -> np.ndarray:
        """Embed."""
        start = self.space.start(columns)
        if isinstance(self.space, LabelSpace):
            adjoints = (GGC(depth=k)._adjoint(start, filters) for k in self.depths)
            return np.concatenate([self.space.seen(V) for V in adjoints])
        states = enumerate(GGC(depth=self.depths[-1]).scales(start, filters), start=1)
        return np.concatenate([self.space.seen(state.U) for k, state in states if k in self.depths])


@dataclass(frozen=True, eq=False)
class Clustered:
    """The columns of f(T) X Uᵀ, one for each of some rows U: what a few nodes have in common with all."""

    features: Features
    U: np.ndarray
    operator: GraphOperator
    powers: np.ndarray

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells it from another task."""
        operator = self.operator.mixture, self.operator.own
        return ("clustered", self.features.numbers, self.U, *operator, self.powers)

    def __call__(self, columns: Any, filters: Any, places: slice) -> np.ndarray:
        """Return columns of all nodes; those that came in only say how many."""
        V = self.features.times(self.U[places].T)
        return polynomial(self.operator.on(filters(1)), self.powers, V)


def sharpened_depths(depth: int) -> tuple[int, ...]:
    """Return the depths at which GGCM is tried."""
    return tuple(k for k in GGCM_DEPTHS if k <= depth)


def embedded_depths(depth: int) -> tuple[int, ...]:
    """Return the depths at which GGC is tried."""
    return tuple(k for k in GGC_DEPTHS if k <= depth)
