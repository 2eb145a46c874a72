"""Rows of filtered views at the training nodes, computed once for all filters that share an operator."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.operators import Filters, Program
from gssl.operators.named import HOPS
from gssl.operators.program import polynomial
from gssl.scale.execution import BUFFERS, IN_MEMORY, Execution, Task
from gssl.selection.candidates import (
    Block,
    Filter,
    GraphOperator,
    GraphOperators,
    default_candidates,
    relation_operators,
)
from gssl.selection.features import Features
from gssl.selection.views import View, Views

# columns propagated at a time: more would not fit in the cache
_TOGETHER = 64
# bytes for products with X that are held before they are summed
PRODUCT_BYTES = 1 << 27
# number of directions in which neighbours are compared
_COMPARED = 64


def product_limit(execution: Execution) -> int:
    """Return the bytes for products with X within the budget of an execution."""
    budget = execution.budget
    return PRODUCT_BYTES if budget is None else min(PRODUCT_BYTES, budget // 4)


@dataclass(frozen=True, eq=False)
class Same:
    """The matrices of the one operator that a task uses."""

    filters: Filters

    def __call__(self, graph: Any) -> Filters:
        return self.filters


@dataclass(frozen=True, eq=False)
class Powers:
    """Compute the rows of TV to TᵏV, k = ``highest``, at some nodes, stacked vertically."""

    name: str
    program: Program
    highest: int
    nodes: np.ndarray

    @property
    def identity(self) -> tuple[Any, ...]:
        """Values that identify this task."""
        return ("powers", self.name, self.nodes, self.highest)

    def __call__(self, V: np.ndarray, filters: Any, _: slice) -> np.ndarray:
        """Apply the operator again and again."""
        if self.highest == 1:
            return np.asarray(self.program.run(V, filters)[self.nodes])
        states = Program(list(self.program.steps) * self.highest).states(V, filters)
        return np.concatenate([state.U[self.nodes] for state in states])


@dataclass(frozen=True, eq=False)
class LabelledRows:
    r"""Compute all filtered features of some nodes, :math:`X^\top F^\top E` with indicator columns E."""

    features: Features
    program: Program
    powers: np.ndarray

    @property
    def identity(self) -> tuple[Any, ...]:
        """Values that identify this task."""
        return ("labelled", self.features.numbers, self.powers)

    def __call__(self, E: Any, filters: Any, _: slice) -> np.ndarray:
        """Filter indicator columns and multiply them by the features."""
        return self.features.transposed_times(self.program.transpose().run(E, filters))


class FilteredRows:
    """Rows of :math:`T^k B` at some nodes, computed on demand for views B, operators T and powers k."""

    def __init__(
        self,
        views: Views,
        A: csr_array,
        dtype: Any,
        nodes: np.ndarray,
        depth: int,
        execution: Execution = IN_MEMORY,
        columns_at_once: int = _TOGETHER,
    ) -> None:
        self.views, self.A, self.nodes, self.depth, self.execution = views, A, nodes, depth, execution
        self.dtype, self._columns_at_once = np.dtype(dtype), columns_at_once
        # by kind of features and operator, of shape (powers, nodes, width); "own" are the views themselves
        self._tables: dict[tuple[str, str], np.ndarray] = {}
        # explanations and audits of one model may run in several threads
        self._lock = Lock()

    @cached_property
    def operators(self) -> GraphOperators:
        """The operators of the graph."""
        return GraphOperators(self.A, self.dtype, self.depth, self.of_relations)

    @cached_property
    def of_relations(self) -> list[str]:
        """The operators of single relations."""
        return relation_operators(self.A)

    def labelled_rows(self, labelled: np.ndarray, powers: np.ndarray) -> np.ndarray:
        """Return the filtered unit rows of some nodes in all features, by filtering their indicators."""
        features = self.views["unit"].features
        dtype = features.dtype
        rows = LabelledRows(features, polynomial(powers, HOPS["smooth"]), powers.astype(dtype))
        m = len(labelled)
        E = csr_array((np.ones(m, dtype), (labelled, np.arange(m))), shape=(self.A.shape[0], m))
        task = Task(rows, rows.identity)
        parts = [
            self.execution.map_columns(task, E[:, part], Same(self.operators["smooth"].filters))
            for part in self._parts(m, dtype)
        ]
        return np.hstack(parts).T

    def span(self, labelled: np.ndarray) -> None:
        """Add the view that spans the filtered rows of labelled nodes."""
        powers = default_candidates(self.depth)[0].blocks[0].powers
        self.views = self.views.with_span(self.labelled_rows(labelled, powers))

    def prepare(self, kind: str, filters: Iterable[Filter], width: int) -> dict[str, np.ndarray]:
        """Compute what filters need of a view at once, so that its features are read once.

        Returns the tables of the view by operator; another thread may drop them meanwhile.
        """
        # a loaded model may have found one direction less than on the machine of fit
        width = min(width, self.views[kind].width)
        names = {block.operator for f in filters for block in f.blocks if np.count_nonzero(block.powers[1:])}
        with self._lock:
            missing: dict[int, list[str]] = {}
            for name in ("own", *(name for name in self.operators if name in names)):
                table = self._tables.get((kind, name))
                made = 0 if table is None else table.shape[2]
                if made < width:
                    missing.setdefault(made, []).append(name)
            for made, lacking in missing.items():
                for name, more in self._make(self.views[kind], slice(made, width), lacking).items():
                    if made:
                        more = np.concatenate([self._tables[kind, name], more], axis=2)
                    self._tables[kind, name] = more
            return {name: table for (of, name), table in self._tables.items() if of == kind}

    def rows(self, kind: str, filter_: Filter, width: int, positions: Any = slice(None)) -> np.ndarray:
        """Return filtered rows of some nodes in double precision, with blocks stacked horizontally."""
        tables = self.prepare(kind, [filter_], width)
        blocks = [_block(tables, block, width, positions) for block in filter_.blocks]
        rows = np.hstack(blocks) if len(blocks) > 1 else blocks[0]
        return rows - self.mean(kind, filter_, width) if filter_.centred else rows

    def mean(self, kind: str, filter_: Filter, width: int) -> np.ndarray:
        r"""Return the mean of filtered rows over all nodes, by filtering one column instead of all.

        .. math:: \mu = (f(T)^\top 1 / n)^\top B
        """
        view = self.views[kind]
        means = [self.mean_features(view, block).ravel() @ view.axes[:, :width] for block in filter_.blocks]
        return np.concatenate(means).astype(np.float64)

    def mean_features(self, view: View, block: Block) -> np.ndarray:
        """Return the mean of all filtered features over all nodes, of shape (d, 1)."""
        n, operator = self.A.shape[0], self.operators[block.operator]
        V = np.full((n, 1), 1.0 / n, self.dtype)
        total = block.powers[0] * V
        for power in block.powers[1:]:
            V = operator.apply_transposed(V)
            total = total + power * V
        return view.features.transposed_times(total.astype(self.dtype))

    @cached_property
    def smoothness(self) -> float:
        r"""How similar neighbours are in their features, which needs no label.

        .. math:: I = \frac{\mathrm{mean}_{(u, v) \in E} \langle x_u, x_v \rangle}
                  {\mathrm{mean}_u \langle x_u, x_u \rangle}

        with the leading directions of the first view as x, centred.
        """
        view, A = self.views[next(iter(self.views))], self.A
        V = np.asarray(view.features.times(view.axes[:, :_COMPARED]), dtype=np.float64)
        V -= V.mean(axis=0)
        squares = float(np.square(V).sum()) / len(V)
        if not squares or not A.nnz:
            return 0.0
        links = csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
        return float(np.vdot(V, links @ V) / (A.nnz * squares))

    def forget_view(self, kind: str) -> None:
        """Drop the tables of a view; they are computed again on demand."""
        with self._lock:
            self._tables = {key: table for key, table in self._tables.items() if key[0] != kind}

    def forget(self) -> None:
        """Drop the tables and operators; they are computed again on demand, in memory."""
        self._tables = {}
        self.__dict__.pop("operators", None)
        self.execution = IN_MEMORY  # that of fit may be gone

    def _make(self, view: View, columns: slice, names: list[str]) -> dict[str, np.ndarray]:
        """Run some operators on some directions of a view, a few directions at a time."""
        axes = view.axes[:, columns]
        heights = {name: 1 if name == "own" else self.operators[name].highest for name in names}
        shape = len(self.nodes), axes.shape[1]
        # filled part by part: with many nodes, a copy of all parts would take gigabytes
        tables = {name: np.empty((height, *shape), view.features.dtype) for name, height in heights.items()}
        for part in self._parts(axes.shape[1], axes.dtype):
            V = view.features.times(axes[:, part])
            for name, table in tables.items():
                table[:, :, part] = V[None, self.nodes] if name == "own" else self._powers(name, V)
        return tables

    def _powers(self, name: str, V: np.ndarray) -> np.ndarray:
        operator = self.operators[name]
        powers = Powers(name, operator.program, operator.highest, self.nodes)
        rows = self.execution.map_columns(Task(powers, powers.identity), V, Same(operator.filters))
        return rows.reshape(operator.highest, len(self.nodes), V.shape[1])

    def _parts(self, width: int, dtype: Any) -> list[slice]:
        """Split columns into parts that fit in the cache and, with work arrays, in the memory budget."""
        together = self._columns_at_once
        if self.execution.budget is not None:
            column = self.A.shape[0] * np.dtype(dtype).itemsize
            together = max(1, min(together, self.execution.budget // ((BUFFERS + 1) * column)))
        return [slice(k, min(k + together, width)) for k in range(0, width, together)]


def _block(tables: dict[str, np.ndarray], block: Block, width: int, positions: Any) -> np.ndarray:
    total: Any = 0.0
    for power in np.flatnonzero(block.powers).tolist():
        table = tables[block.operator if power else "own"][max(0, power - 1)]
        total = total + np.multiply(table[positions, :width], block.powers[power], dtype=np.float64)
    return np.asarray(total)


def polynomial_scores(
    M: np.ndarray,
    features: Features,
    operators: Mapping[str, GraphOperator],
    order: Sequence[tuple[str, int]],
    product_bytes: int = PRODUCT_BYTES,
) -> np.ndarray:
    r"""Score all nodes by Horner's rule: :math:`X M_0 + T (X M_1 + T (X M_2 + \dots))`.

    ``order`` has the operator and the power of each matrix in M.
    """
    scores = np.zeros((features.shape[0], M.shape[2]), features.dtype)
    coefficients = {term: M[i] for i, term in enumerate(order) if i < len(M) and M[i].any()}
    products = _products(features, coefficients, list(operators), product_bytes)
    for name in operators:
        highest = max((power for of, power in coefficients if of == name), default=None)
        if highest is None:
            continue
        operator = operators[name]

        def inject(k: int, name: str = name, highest: int = highest) -> np.ndarray | None:
            return next(products) if (name, highest - 1 - k) in coefficients else None

        first, steps = next(products), operator.power(highest)
        scores += steps.run(first, Same(operator.filters), inject if operator.is_hop else None)
    return scores


def _products(
    features: Features,
    coefficients: dict[tuple[str, int], np.ndarray],
    order: list[str],
    product_bytes: int,
) -> Iterator[np.ndarray]:
    """Yield the products with X in the order of Horner's rule, as many at once as memory allows."""
    names = sorted(coefficients, key=lambda term: (order.index(term[0]), -term[1]))
    width = max((M.shape[1] for M in coefficients.values()), default=1)
    at_once = max(1, product_bytes // max(1, features.shape[0] * width * features.dtype.itemsize))
    for first in range(0, len(names), at_once):
        batch = names[first : first + at_once]
        # one product, so that X is read once
        wide = features.times(np.hstack([coefficients[name] for name in batch]))
        for part in np.hsplit(wide, len(batch)):
            yield np.ascontiguousarray(part)
