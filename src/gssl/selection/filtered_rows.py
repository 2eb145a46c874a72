"""Rows of filtered views at the training nodes, computed for all filters in one pass over the graph."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from gssl.operators import Filters, Program
from gssl.operators.program import polynomial
from gssl.scale.execution import BUFFERS, IN_MEMORY, Execution, Task
from gssl.selection.candidates import SHORT, Block, Filter, default_filters
from gssl.selection.graph_features import HOPS, Features, hops, operators
from gssl.selection.views import View, Views

# an operator and its power
Term: TypeAlias = tuple[str, int]
# columns propagated at a time: more would not fit in the cache
_TOGETHER = 64
# bytes for products with X that are held before they are summed
ROOM = 1 << 27


def terms(depth: int) -> list[Term]:
    """List the operators and powers that filters consist of."""
    short = min(SHORT, depth)
    smooth: list[Term] = [("smooth", k) for k in range(depth + 1)]
    return smooth + [(name, k) for name in ("hop", "high") for k in range(1, short + 1)]


@dataclass(frozen=True, eq=False)
class Powers:
    """Compute the rows of T⁰V to TᵏV, k = ``n_hops``, at some nodes, stacked vertically."""

    operator: str
    nodes: np.ndarray
    n_hops: int

    @property
    def identity(self) -> tuple[Any, ...]:
        """Values that identify this task."""
        return ("powers", self.operator, self.nodes, self.n_hops)

    def __call__(self, V: np.ndarray, filters: Any, _: slice) -> np.ndarray:
        """Run the hops."""
        states = hops(self.operator, self.n_hops).states(V, filters)
        return np.concatenate([V[self.nodes], *(state.U[self.nodes] for state in states)])


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
    ) -> None:
        self.views, self.A, self.nodes, self.depth, self.execution = views, A, nodes, depth, execution
        self.dtype = np.dtype(dtype)
        self.operators = operators(A, dtype)
        self._tables: dict[str, dict[Term, np.ndarray]] = {}
        # explanations and audits of one model may run in several threads
        self._lock = Lock()

    def labelled_rows(self, labelled: np.ndarray, powers: np.ndarray) -> np.ndarray:
        """Return the filtered unit rows of some nodes in all features, by filtering their indicators."""
        features = self.views["unit"].features
        dtype = features.dtype
        rows = LabelledRows(features, polynomial(powers, HOPS["smooth"]), powers.astype(dtype))
        m = len(labelled)
        E = csr_array((np.ones(m, dtype), (labelled, np.arange(m))), shape=(self.A.shape[0], m))
        task = Task(rows, rows.identity)
        parts = [
            self.execution.map_columns(task, E[:, part], partial(_same, self.operators["smooth"]))
            for part in self._parts(m, dtype)
        ]
        return np.hstack(parts).T

    def span(self, labelled: np.ndarray) -> Views:
        """Add the view that spans the filtered rows of labelled nodes, and return all views."""
        powers = default_filters(self.depth)[0].blocks[0].powers
        self.views = self.views.with_span(self.labelled_rows(labelled, powers))
        return self.views

    def rows(self, kind: str, filter_: Filter, width: int, places: Any = slice(None)) -> np.ndarray:
        """Return filtered rows of some nodes in double precision, with blocks stacked horizontally."""
        with self._lock:
            tables = self._tables.get(kind, {})
            made = tables["smooth", 0].shape[1] if tables else 0
            if width > made:
                more = self._make(self.views[kind], slice(made, width))
                tables = {k: np.hstack([tables[k], more[k]]) if made else more[k] for k in more}
                self._tables[kind] = tables
        blocks = [self._block(tables, block, width, places) for block in filter_.blocks]
        return np.hstack(blocks) if len(blocks) > 1 else blocks[0]

    def forget(self) -> None:
        """Drop the tables; ``rows`` computes them again on demand."""
        self._tables = {}

    def _block(self, tables: dict[Term, np.ndarray], block: Block, width: int, places: Any) -> np.ndarray:
        total: Any = 0.0
        for power in np.flatnonzero(block.powers).tolist():
            table = tables[block.operator if power else "smooth", power][places, :width]
            total = total + np.multiply(table, block.powers[power], dtype=np.float64)
        return np.asarray(total)

    def _make(self, view: View, columns: slice) -> dict[Term, np.ndarray]:
        """Run every operator on some directions of a view, a few of them at a time."""
        axes, found = view.axes[:, columns], []
        for part in self._parts(axes.shape[1], axes.dtype):
            V, tables = view.features.times(axes[:, part]), []
            for name, filters in self.operators.items():
                n_hops = self.depth if name == "smooth" else min(SHORT, self.depth)
                powers = Powers(name, self.nodes, n_hops)
                task = Task(powers, powers.identity)
                done = self.execution.map_columns(task, V, partial(_same, filters))
                # power 0 is the same for all operators
                tables.append(done if name == "smooth" else done[len(self.nodes) :])
            found.append(np.concatenate(tables))
        every = np.concatenate(found, axis=1)
        return dict(zip(terms(self.depth), np.split(every, len(terms(self.depth))), strict=True))

    def _parts(self, width: int, dtype: Any) -> list[slice]:
        """Split columns into parts that fit in the cache and, with work arrays, in the memory budget."""
        together = _TOGETHER
        if self.execution.budget is not None:
            column = self.A.shape[0] * np.dtype(dtype).itemsize
            together = max(1, min(together, self.execution.budget // ((BUFFERS + 1) * column)))
        return [slice(k, min(k + together, width)) for k in range(0, width, together)]


def _same(filters: Filters, _: Any) -> Filters:
    """Return the matrices of the one operator that a task uses."""
    return filters


def polynomial_scores(
    M: np.ndarray, features: Features, matrices: dict[str, Filters], depth: int, room: int = ROOM
) -> np.ndarray:
    r"""Score all nodes by Horner's rule: :math:`X M_0 + T (X M_1 + T (X M_2 + \dots))`."""
    scores = np.zeros((features.shape[0], M.shape[2]), features.dtype)
    positions = {term: i for i, term in enumerate(terms(depth)) if M[i].any()}
    products = _products(features, {term: M[i] for term, i in positions.items()}, room)
    for name in HOPS:
        highest = max((power for operator, power in positions if operator == name), default=None)
        if highest is None:
            continue

        def inject(k: int, name: str = name, highest: int = highest) -> np.ndarray | None:
            return next(products) if (name, highest - 1 - k) in positions else None

        scores += hops(name, highest).run(next(products), matrices.__getitem__, inject)
    return scores


def _products(features: Features, coefficients: dict[Term, np.ndarray], room: int) -> Iterator[np.ndarray]:
    """Yield the products with X in the order of Horner's rule, as many at once as ``room`` allows."""
    order = tuple(HOPS)
    names = sorted(coefficients, key=lambda term: (order.index(term[0]), -term[1]))
    width = max((M.shape[1] for M in coefficients.values()), default=1)
    at_once = max(1, room // max(1, features.shape[0] * width * features.dtype.itemsize))
    for first in range(0, len(names), at_once):
        batch = names[first : first + at_once]
        # one product, so that X is read once
        wide = features.times(np.hstack([coefficients[name] for name in batch]))
        for part in np.hsplit(wide, len(batch)):
            yield np.ascontiguousarray(part)
