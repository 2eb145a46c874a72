"""The features that each filter gives to the labelled nodes, from one run over the graph for all of them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.operators import dense
from gssl.scale.execution import IN_MEMORY, Execution, InMemory, Task
from gssl.selection.features import Features, gram_of_columns
from gssl.selection.filters import GGC_DEPTHS, GGCM_DEPTHS, SHORT, Block, Filter
from gssl.selection.graph_operators import operators, polynomial
from gssl.selection.label_space import label_space_pays
from gssl.selection.passes import (
    Clustered,
    Embedded,
    FeatureSpace,
    LabelSpace,
    Powers,
    Sharpened,
    SharpenedRows,
    Space,
    Term,
    embedded_depths,
    hops,
    sharpened_depths,
)

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
