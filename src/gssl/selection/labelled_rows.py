"""The features that each filter gives to the labelled nodes, from one run over the graph for all of them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.methods import GGC
from gssl.operators import Complement, Mixture, complement_negatives, multiply, multiply_transposed
from gssl.selection.complement_rows import complement_rows
from gssl.selection.filters import (
    GGC_DEPTHS,
    GGCM_DEPTHS,
    SHORT,
    Block,
    Filter,
    add_powers,
    operators,
    sharpening,
)
from gssl.selection.label_space import label_space_pays

# an operator and its power, or GGC or what GGCM sharpens and a depth
Term: TypeAlias = tuple[str, int]
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
    r"""Rows of :math:`T^k X` at some nodes, for every operator T and every power k that is needed.

    Any polynomial filter of X, at these nodes, is a weighted sum of them. They are made by hops over as many
    columns as there are nodes, :math:`(T^k E)^\top X` with E the columns that pick the nodes; or, where
    features are fewer, by hops over the features.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
    A : csr_array of shape (n, n)
    nodes : int ndarray of shape (m,)
        In order.
    depth : int
        The highest power that may be asked for, which decides the cheaper way.
    apply : dict, optional
        The operators on A, if they are there.
    known : KnownTables, optional
        Rows at some of the nodes, of the same X, A and depth.

    Examples
    --------
    >>> from gssl.selection.filters import candidate_filters
    >>> A = csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> rows = LabelledRows(np.array([[1.0], [0.0]]), A, np.array([0]), depth=1)
    >>> [rows.rows(f).round(3).tolist() for f in candidate_filters(1)[:2]]
    [[[1.0]], [[0.5]]]
    """

    def __init__(
        self,
        X: Any,
        A: csr_array,
        nodes: np.ndarray,
        depth: int,
        apply: dict[str, Any] | None = None,
        known: KnownTables | None = None,
    ) -> None:
        self.X, self.A, self.nodes, self.depth = X, A, nodes, depth
        self.operators = operators(A, X.dtype) if apply is None else apply
        self.in_label_space = label_space_pays(X, A, len(nodes), depth)
        self._tables: dict[Term, np.ndarray] = {("smooth", 0): _dense(X[nodes])}
        # of each operator: the columns after the last hop, and how many hops that is
        self._ends: dict[str, tuple[Any, int]] = {}
        self._sharpened: Any = 0.0
        self._known, self._new = known, None
        if known is not None:
            new = np.setdiff1d(nodes, known.nodes)
            self._new = LabelledRows(X, A, new, depth, self.operators) if len(new) else None

    @cached_property
    def _negatives(self) -> Complement:
        return complement_negatives(self.A, self.X.dtype)

    @property
    def tables(self) -> KnownTables:
        """What was needed until now."""
        return KnownTables(self.nodes, self._tables)

    def width(self, filter_: Filter) -> int:
        """Count the features that a filter gives."""
        return int(self.X.shape[1]) * max(1, len(filter_.blocks))

    def rows(self, filter_: Filter, part: np.ndarray | None = None) -> np.ndarray:
        """Give the features of the nodes or a part of them, blocks side by side, in double precision.

        Returns
        -------
        ndarray of shape (m, b·d)
        """
        places = slice(None) if part is None else part
        if filter_.embedder is not None:
            return self._table(("GGC", filter_.embedder.depth))[places].astype(np.float64)
        blocks = [self._block(block, places) for block in filter_.blocks]
        if filter_.sharpened is not None:
            depth, weight = filter_.sharpened
            blocks[0] += weight * self._table(("sharp", depth))[places]
        return np.hstack(blocks) if len(blocks) > 1 else blocks[0]

    def filtered(self, filter_: Filter, V: np.ndarray) -> np.ndarray:
        """Apply a filter of a single block to columns of all nodes."""
        (block,) = filter_.blocks
        apply = self.operators[block.operator]
        if block.operator == "smooth":
            return add_powers(apply, block.powers, V)
        powers = block.powers.tolist()
        out = powers[-1] * V
        for power in powers[-2::-1]:
            out = apply(out)
            if power:
                out += power * V
        return np.asarray(out)

    def gathered(self, V: np.ndarray) -> np.ndarray:
        """Give XV."""
        return np.asarray(multiply(self.X, np.ascontiguousarray(V, dtype=self.X.dtype)))

    def spread(self, V: np.ndarray) -> np.ndarray:
        """Give XᵀV."""
        return multiply_transposed(self.X, V.astype(self.X.dtype, copy=False))

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
        if name == "GGC":
            self._embed()
        elif name != "sharp":
            # beyond a few powers, all of them will be asked for
            self._hop(name, k if k <= SHORT else self.depth)
        elif self.in_label_space:
            self._sharpen()
        else:
            self._ends.pop("smooth", None)  # from the start, for every hop is sharpened on its way
            self._hop("smooth", self.depth)

    def _start(self) -> Any:
        if not self.in_label_space:
            return self.X
        ones = np.ones(len(self.nodes), self.X.dtype)
        shape = (self.X.shape[0], len(self.nodes))
        return csr_array((ones, (self.nodes, np.arange(len(self.nodes)))), shape=shape)

    def _hop(self, operator: str, n_hops: int) -> None:
        """Give the rows of the first powers, going on from those that are there."""
        V, done = self._ends.get(operator, (None, 0))
        V, spare = (_dense(self._start()) if V is None else V), None
        for k in range(done + 1, n_hops + 1):
            if operator == "smooth" and not self.in_label_space and self.depth >= GGCM_DEPTHS[0]:
                self._sharpen_rows(V, k)
            after = (
                self.operators[operator](V, out=spare)
                if operator == "smooth"
                else self.operators[operator](V)
            )
            # two arrays by turns: new ones cost about as much as the hop; the features stay
            V, spare = after, V if k > 1 else None
            self._tables[operator, k] = self._seen(V)
        # nobody goes on from the last power, and columns of all nodes are too many to keep for nothing
        last = max(self.depth, SHORT) if operator == "smooth" else SHORT
        self._ends[operator] = (V if n_hops < last else None), n_hops

    def _seen(self, V: Any) -> np.ndarray:
        if self.in_label_space:
            return np.ascontiguousarray(self.spread(V).T)
        return _dense(V[self.nodes])

    def _sharpen(self) -> None:
        r"""Give the rows of :math:`\sum_{t \le K} \gamma_t \hat N T^{t-1} X` for all K, in label space."""
        V = self.operators["sharp"](self._start())
        total = np.zeros_like(V)
        wanted = [k for k in GGCM_DEPTHS if k <= self.depth]
        spare = np.empty_like(V)
        for t in range(1, wanted[-1] + 1):
            gathered = Mixture(keep=sharpening(t))
            V, spare = self.operators["smooth"](V, out=spare, gathered=gathered, total=total), V
            if t in wanted:
                self._tables["sharp", t] = self._seen(total)

    def _sharpen_rows(self, V: np.ndarray, t: int) -> None:
        """Go one step further in the same sums, at the nodes alone, on the way of the features' powers."""
        if t == 1:
            self._sharpened = 0.0
        step = complement_rows(self._negatives, V, self.nodes)
        self._sharpened = self._sharpened + sharpening(t) * step
        if t in GGCM_DEPTHS:
            self._tables["sharp", t] = self._sharpened.copy()

    def _embed(self) -> None:
        """Give the rows of GGC at all its depths: one run of the features, or one of the nodes for each."""
        depths = [k for k in GGC_DEPTHS if k <= self.depth]
        embedder = GGC(depth=depths[-1])
        filters = embedder._filters(self.A, self.X.dtype)
        if self.in_label_space:
            for k in depths:
                self._tables["GGC", k] = self._seen(GGC(depth=k)._adjoint(self._start(), filters))
            return
        for k, state in enumerate(embedder._scales(self.X, filters), start=1):
            if k in depths:
                self._tables["GGC", k] = state.U[self.nodes]


def _dense(V: Any) -> np.ndarray:
    return V.toarray() if issparse(V) else np.asarray(V)
