"""The features that each filter gives to the labelled nodes, and the passes over the graph that they need."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from gssl.methods import GGC
from gssl.operators import Mixture, dense
from gssl.scale.execution import IN_MEMORY, Execution, InMemory, Task
from gssl.selection.candidates import GGC_DEPTHS, GGCM_DEPTHS, SHORT, Block, Filter, sharpening
from gssl.selection.graph_features import (
    Features,
    GraphOperator,
    complement_rows,
    gram_of_columns,
    label_space_pays,
    operators,
    polynomial,
)

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


# the most tables beside the powers of the smoothing operator
OTHERS = 2 * SHORT + len(GGC_DEPTHS) + len(GGCM_DEPTHS)


@dataclass(frozen=True, eq=False)
class KnownTables:
    """Rows at some nodes that were needed once: they do not change with the labels."""

    nodes: np.ndarray
    tables: dict[Term, np.ndarray]

    @property
    def size(self) -> int:
        """How many numbers are kept."""
        return sum(table.size for table in self.tables.values())


class LabelledRows:
    """Rows of :math:`T^k X` at some nodes, for every operator T and every power k that is needed."""

    def __init__(
        self,
        X: Any,
        A: csr_array,
        nodes: np.ndarray,
        depth: int,
        apply: dict[str, Any] | None = None,
        known: KnownTables | None = None,
        execution: Execution = IN_MEMORY,
    ) -> None:
        self.features = X if isinstance(X, Features) else Features(X)
        self.A, self.nodes, self.depth, self.execution = A, nodes, depth, execution
        self.operators = operators(A, self.X.dtype) if apply is None else apply
        self.in_label_space = label_space_pays(self.X, A, len(nodes), depth)
        self._tables: dict[Term, np.ndarray] = {("smooth", 0): self.features.rows(nodes)}
        # the columns after the last hop, how many hops that is, and what GGCM sharpened on the way
        self._end: tuple[np.ndarray, int, SharpenedRows] | None = None
        self._known, self._new = known, None
        if known is not None:
            new = np.setdiff1d(nodes, known.nodes)
            same: Any = (depth, self.operators, None, execution)
            self._new = LabelledRows(self.features, A, new, *same) if len(new) else None

    @property
    def X(self) -> Any:
        """The features as they were given."""
        return self.features.X

    @property
    def tables(self) -> KnownTables:
        """What was needed until now."""
        return KnownTables(self.nodes, self._tables)

    def width(self, filter_: Filter) -> int:
        """Count the features that a filter gives."""
        return int(self.X.shape[1]) * max(1, len(filter_.blocks))

    def rows(self, filter_: Filter, part: np.ndarray | None = None) -> np.ndarray:
        """Return the features of the nodes or a part of them, blocks side by side, in double precision."""
        places = slice(None) if part is None else part
        if filter_.embedder is not None:
            return self._table(("GGC", filter_.embedder.depth))[places].astype(np.float64)
        blocks = [self._block(block, places) for block in filter_.blocks]
        if filter_.sharpened is not None:
            depth, weight = filter_.sharpened
            blocks[0] += weight * self._table(("sharp", depth))[places]
        return np.hstack(blocks) if len(blocks) > 1 else blocks[0]

    def filtered(self, filter_: Filter, V: np.ndarray) -> np.ndarray:
        """Apply a filter of a single block to a few columns of all nodes."""
        (block,) = filter_.blocks
        return polynomial(self.operators[block.operator], block.powers, V)

    def metric(self, filter_: Filter, U: np.ndarray) -> np.ndarray:
        r"""Return :math:`G^\top G` for :math:`G = f(T) X U^\top`, of which each row of U is a column."""
        (block,) = filter_.blocks
        apply = self.operators[block.operator]
        task = Clustered(self.features, U, apply.on(None), block.powers)
        return gram_of_columns(self._map(task, self._picks(), apply.filters))

    def gathered(self, V: np.ndarray) -> np.ndarray:
        """Return XV."""
        return self.features.times(V)

    def spread(self, V: np.ndarray) -> np.ndarray:
        """Return XᵀV."""
        return self.features.transposed_times(V)

    def _block(self, block: Block, places: Any) -> np.ndarray:
        # one after the other: all powers at once would be a copy of the tables
        total: Any = None
        for power in np.flatnonzero(block.powers).tolist():
            table = self._table((block.operator if power else "smooth", power))[places]
            term = np.multiply(table, block.powers[power], dtype=np.float64)
            total = term if total is None else np.add(total, term, out=total)
        return np.asarray(total)

    def _table(self, term: Term) -> np.ndarray:
        if term not in self._tables:
            if self._known is not None and term in self._known.tables:
                self._tables[term] = self._merged(term, self._known)
            else:
                self._make(*term)
        return self._tables[term]

    def _merged(self, term: Term, known: KnownTables) -> np.ndarray:
        """Put the rows of old and new nodes together."""
        table = np.empty((len(self.nodes), self.X.shape[1]), self.X.dtype)
        old = np.isin(self.nodes, known.nodes)
        table[old] = known.tables[term][np.searchsorted(known.nodes, self.nodes[old])]
        if self._new is not None:
            table[~old] = self._new._table(term)
        return table

    def _make(self, name: str, k: int) -> None:
        space = self._space()
        if name == "GGC":
            self._run("smooth", Embedded(space, embedded_depths(self.depth)))
        elif name == "sharp" and isinstance(space, LabelSpace):
            self._run("smooth", Sharpened(space, sharpened_depths(self.depth)))
        elif name == "sharp":
            self._end = None  # from the start, for every hop is sharpened on its way
            self._smooth(space, self.depth)
        elif name == "smooth":
            # beyond a few powers, all of them will be asked for
            self._smooth(space, SHORT if k <= SHORT else self.depth)
        else:
            self._run(name, Powers(name, self.operators[name].on(None), space, SHORT))

    def _smooth(self, space: Space, n_hops: int) -> None:
        """Return the rows of the first powers, in memory going on from those that are there."""
        smooth = self.operators["smooth"]
        sharpened = sharpened_depths(self.depth) if isinstance(space, FeatureSpace) else ()
        if not isinstance(self.execution, InMemory):
            # columns of all nodes are too many to keep until somebody asks for more
            reached = tuple(k for k in sharpened if k <= n_hops)
            self._run("smooth", Powers("smooth", smooth.on(None), space, n_hops, reached))
            return
        if self._end is None:
            self._end = dense(space.start(self._columns())), 0, SharpenedRows(sharpened)
        (V, done, sums), self._end = self._end, None
        for k, (before, after) in enumerate(hops(smooth, V, n_hops - done), start=done + 1):
            if isinstance(space, FeatureSpace) and sharpened:
                sums.add(smooth.filters.N_hat, before, space.nodes)
            self._tables["smooth", k], V = self._laid(space.seen(after)), after
        self._tables.update(zip([("sharp", k) for k in sharpened], sums.found, strict=False))
        # nobody goes on from the last power, and columns of all nodes are too many to keep for nothing
        if n_hops < max(self.depth, SHORT):
            self._end = V, n_hops, sums

    def _run(self, operator: str, task: Any) -> None:
        """Run a task and keep what it gives, one table below the other."""
        filters = self.operators[operator].filters
        found = self._map(task, self._columns(), filters)
        for term, table in zip(task.terms, np.split(found, len(task.terms)), strict=True):
            self._tables[term] = self._laid(table)

    def _map(self, task: Any, columns: Any, filters: Any) -> np.ndarray:
        return self.execution.map_columns(Task(task, task.identity), columns, lambda k: filters)

    def _laid(self, table: np.ndarray) -> np.ndarray:
        """Return a row to each node; what is in a file stays there."""
        if not self.in_label_space:
            return table
        return table.T if isinstance(table, np.memmap) else np.ascontiguousarray(table.T)

    def _space(self) -> Space:
        if self.in_label_space:
            return LabelSpace(self.features)
        # the columns come with the task
        return FeatureSpace(replace(self.features, X=None), self.nodes)

    def _columns(self) -> Any:
        return self._picks() if self.in_label_space else self.X

    def _picks(self) -> csr_array:
        """Return the columns that pick the nodes."""
        ones = np.ones(len(self.nodes), self.X.dtype)
        shape = (self.X.shape[0], len(self.nodes))
        return csr_array((ones, (self.nodes, np.arange(len(self.nodes)))), shape=shape)
