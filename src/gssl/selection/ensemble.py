"""The average of the near-best models: ridges on filtered views, whose logits form one polynomial."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from gssl.methods.ridge import Ridge
from gssl.methods.softmax import ScoreMap
from gssl.selection.candidates import Block, terms
from gssl.selection.filtered_rows import PRODUCT_BYTES, FilteredRows, Same
from gssl.selection.trial import Labels, Member
from gssl.selection.views import Views

# number of arrays of distributions of all nodes in memory per fit
_HELD = 4
# maximum number of values in the rows that a fitted model keeps
_MOST_KEPT = 1 << 23

# coefficients and softmax map of every member of an ensemble
Fit: TypeAlias = Sequence[tuple[np.ndarray, ScoreMap]]


@dataclass(frozen=True, eq=False)
class Targets:
    """Target distributions of some rows of the tables, and their weights."""

    positions: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    # softmax maps fitted without the hidden labels; the members' own maps if None
    maps: Sequence[ScoreMap] | None = None

    def joined(self, other: "Targets") -> "Targets":
        """Concatenate two sets of targets, keeping the maps of the first."""
        return Targets(
            np.concatenate([self.positions, other.positions]),
            np.concatenate([self.Y, other.Y]),
            np.concatenate([self.weights, other.weights]),
            self.maps,
        )


class Ensemble:
    r"""Models whose logits are averaged; each is a ridge regression on a filtered view.

    .. math:: L = \frac1M \sum_v \big( f_v(T)\, B_v W_v A_v + b_v \big) = \sum_k T^k X M_k + b
    """

    def __init__(
        self, tables: FilteredRows, members: Sequence[Member], product_bytes: int = PRODUCT_BYTES
    ) -> None:
        self.tables, self.members, self._product_bytes = tables, members, product_bytes

    @cached_property
    def _scaled_rows(self) -> list[tuple[np.ndarray, float]]:
        """The rows of all members in units of their largest entry, and that entry."""
        tables, scaled = self.tables, dict[int, tuple[np.ndarray, float]]()
        for kind in dict.fromkeys(member.kind for member in self.members):
            for k, member in enumerate(self.members):
                if member.kind == kind:
                    U = tables.rows(kind, member.filter, member.width)
                    scale = float(np.abs(U).max(initial=0.0)) or 1.0
                    # with a penalty, single precision is enough for values up to one, and twice as fast
                    scaled[k] = (U / scale).astype(np.float32), scale
            if len(tables.nodes) * sum(U.shape[1] for U, _ in scaled.values()) > _MOST_KEPT:
                # the tables of two views would take gigabytes
                tables.forget_view(kind)
        return [scaled[k] for k in range(len(self.members))]

    def fits_at_once(self, n_classes: int) -> int:
        """Return how many fits can run together within the memory limit."""
        each: int = _HELD * self.tables.A.shape[0] * n_classes * self.tables.dtype.itemsize
        return max(1, self._product_bytes // max(1, each))

    def solve(self, targets: Targets) -> Fit:
        """Fit every member to targets, in single precision."""
        maps = [member.score_map for member in self.members] if targets.maps is None else targets.maps
        parts = zip(self.members, self._scaled_rows, maps, strict=True)
        return [
            # unlike scale**2, a product is exact in any unit
            (_solve(U[targets.positions], member.penalty / (scale * scale), targets) / scale, score_map)
            for member, (U, scale), score_map in parts
        ]

    def logits_at(self, fit: Fit, positions: np.ndarray) -> np.ndarray:
        """Return the averaged logits of some rows of the tables."""
        parts = zip(self._scaled_rows, fit, strict=True)
        logits = [score_map.logits(U[positions] @ (scale * W)) for (U, scale), (W, score_map) in parts]
        return np.asarray(np.mean(logits, axis=0))

    def coefficients(self, fit: Fit) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return M by kind of features, of shape (t, d, c), and b."""
        order = {term: k for k, term in enumerate(self.terms)}
        coefficients: dict[str, np.ndarray] = {}
        for block, kind, C in self._parts([fit]):
            M = coefficients.setdefault(kind, np.zeros((len(order), *C.shape), C.dtype))
            for power in np.flatnonzero(block.powers).tolist():
                M[order[block.operator if power else "smooth", power]] += block.powers[power] * C
        return coefficients, self.intercept(fit)

    @property
    def of_relations(self) -> list[str]:
        """The operators of single relations that members use."""
        used = {block.operator for member in self.members for block in member.filter.blocks}
        return [name for name in self.tables.of_relations if name in used]

    @property
    def terms(self) -> list[tuple[str, int]]:
        """The operator and the power of each matrix in M."""
        return terms(self.tables.depth, self.of_relations)

    @cached_property
    def _means(self) -> list[np.ndarray | None]:
        """What centred members subtract from their rows; None for the others."""
        mean = self.tables.mean
        return [mean(m.kind, m.filter, m.width) if m.filter.centred else None for m in self.members]

    def intercept(self, fit: Fit) -> np.ndarray:
        r"""Return b, in which centred members also have :math:`-\mu W A`."""
        parts = zip(fit, self._means, strict=True)
        shifts = [link.b if mu is None else link.b - mu @ W @ link.A for (W, link), mu in parts]
        return np.asarray(np.mean(shifts, axis=0))

    def mean_shares(self, fit: Fit) -> dict[str, np.ndarray]:
        """Return what centring subtracts from the shares of features, by kind and of shape (d, c)."""
        shares: dict[str, Any] = {}
        for member, (W, link) in zip(self.members, fit, strict=True):
            view, blocks = self.tables.views[member.kind], member.filter.blocks
            for block, part in zip(
                blocks, np.split(W @ link.A / len(self.members), len(blocks)), strict=True
            ):
                if member.filter.centred:
                    mean = self.tables.mean_features(view, block).astype(np.float64)
                    share = mean * (view.axes[:, : member.width] @ part)
                    shares[view.kind] = shares.get(view.kind, 0.0) + share
        return shares

    def centre(self, rows: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the rows of all members, centred where the member is."""
        return [U if mu is None else U - mu for U, mu in zip(rows, self._means, strict=True)]

    def logits(self, fits: Sequence[Fit]) -> np.ndarray:
        """Return the averaged logits of all nodes for several fits at once, of shape (n, fits, c).

        Multiplies features by coefficients before the hops, so that these run over few columns.
        """
        n = self.tables.A.shape[0]
        b = np.concatenate([self.intercept(fit) for fit in fits])
        total = np.tile(b.astype(self.tables.dtype), (n, 1))
        # products are copied once
        at_once = max(1, self._product_bytes // max(1, 2 * total.nbytes))
        parts = list(self._parts(fits))
        for operator in self.tables.operators:
            same = [part for part in parts if part.block.operator == operator]
            for first in range(0, len(same), at_once):
                total += self._filtered_sum(operator, same[first : first + at_once])
        return total.reshape(n, len(fits), -1)

    def _parts(self, fits: Sequence[Fit]) -> Iterator["_Part"]:
        """Yield every block of every member with the coefficients of all fits, stacked horizontally."""
        for k, member in enumerate(self.members):
            view, blocks = self.tables.views[member.kind], member.filter.blocks
            mapped = [W @ score_map.A for W, score_map in (fit[k] for fit in fits)]
            coefficients = (np.hstack(mapped) / len(self.members)).astype(view.axes.dtype)
            for block, part in zip(blocks, np.split(coefficients, len(blocks)), strict=True):
                yield _Part(block, view.kind, view.axes[:, : member.width] @ part)

    def _filtered_sum(self, name: str, parts: Sequence["_Part"]) -> np.ndarray:
        r"""Sum polynomials of one operator by Horner's rule: :math:`\sum_v \sum_k p_{vk} T^k X_v C_v`."""
        n, width = self.tables.A.shape[0], parts[0].coefficients.shape[1]
        highest = max(len(part.block.powers) for part in parts) - 1
        powers = np.zeros((highest + 1, len(parts)), self.tables.dtype)
        products = np.empty((len(parts), n, width), self.tables.dtype)
        done = 0
        for kind in dict.fromkeys(part.kind for part in parts):
            same = [part for part in parts if part.kind == kind]
            # one product, so that X is read once
            Z = self.tables.views[kind].features.times(np.hstack([part.coefficients for part in same]))
            for part, product in zip(same, np.hsplit(Z, len(same)), strict=True):
                powers[: len(part.block.powers), done], products[done] = part.block.powers, product
                done += 1
        flat = products.reshape(len(parts), -1)

        def terms_of(power: int) -> np.ndarray:
            return np.asarray(powers[power] @ flat).reshape(n, width)

        operator = self.tables.operators[name]
        inject = (lambda k: terms_of(highest - 1 - k)) if operator.is_hop else None
        return np.asarray(operator.power(highest).run(terms_of(highest), Same(operator.filters), inject))


class _Part(NamedTuple):
    """A polynomial of one operator, and the kind of features and the coefficients it applies to."""

    block: Block
    kind: str
    coefficients: np.ndarray


def _solve(U: np.ndarray, penalty: float, targets: Targets) -> np.ndarray:
    return Ridge(U, penalty, targets.weights).coefficients(targets.Y)


@dataclass(frozen=True, eq=False)
class Recipe:
    """What a fitted average is computed from besides features, graph and labels.

    ``taught`` are the nodes of self-training, with distributions ``Y`` as targets and their ``weights``.
    """

    members: Sequence[Member]
    taught: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    sharpness: float

    @property
    def kinds(self) -> list[str]:
        """The kinds of features that have coefficients."""
        return list(dict.fromkeys("unit" if m.kind == "spanned" else m.kind for m in self.members))


@dataclass(frozen=True, eq=False)
class FittedEnsemble:
    """An ensemble and the targets it was fitted to, kept to explain, audit and refit it in closed form.

    ``targets`` holds the labels first; their positions are among the nodes of the tables. Logits are
    multiplied by ``sharpness``. Rows are recomputed on demand.
    """

    ensemble: Ensemble
    targets: Targets
    labels: Labels
    sharpness: float

    @classmethod
    def follow(
        cls, recipe: Recipe, views: Views, A: csr_array, depth: int, labelled: np.ndarray, labels: Labels
    ) -> "FittedEnsemble":
        """Return the average of a recipe."""
        nodes = np.union1d(labelled, recipe.taught)
        tables = FilteredRows(views, A, views.dtype, nodes, depth)
        if any(member.kind == "spanned" for member in recipe.members):
            tables.span(labelled)
        shown = Targets(np.searchsorted(nodes, labelled), labels.Y, labels.weights)
        taught = Targets(np.searchsorted(nodes, recipe.taught), recipe.Y, recipe.weights)
        return cls(Ensemble(tables, recipe.members), shown.joined(taught), labels, recipe.sharpness)

    @property
    def recipe(self) -> Recipe:
        """What a saved model holds of this average."""
        m, targets = len(self.labels.Y), self.targets
        taught = self.ensemble.tables.nodes[targets.positions[m:]]
        return Recipe(self.members, taught, targets.Y[m:], targets.weights[m:], self.sharpness)

    @property
    def members(self) -> Sequence[Member]:
        """The averaged models."""
        return self.ensemble.members

    @property
    def labelled(self) -> np.ndarray:
        """The labelled nodes."""
        nodes = self.ensemble.tables.nodes[self.targets.positions[: len(self.labels.Y)]]
        return np.asarray(nodes)

    @cached_property
    def rows(self) -> list[np.ndarray]:
        """The rows of ``targets`` in double precision, by member."""
        rows = self._rows()
        self.ensemble.tables.forget()
        return rows

    def _rows(self) -> list[np.ndarray]:
        return [self._rows_of(member) for member in self.members]

    def _rows_of(self, member: Member) -> np.ndarray:
        return self.ensemble.tables.rows(member.kind, member.filter, member.width, self.targets.positions)

    def drop_tables(self) -> None:
        """Drop the tables and what was made from them; they are made again on demand."""
        self.ensemble.__dict__.pop("_scaled_rows", None)
        self.ensemble.tables.forget()

    @cached_property
    def fit(self) -> Fit:
        """The members, solved for ``targets`` in double precision, so that shares add up to scores."""
        width = sum(member.width * len(member.filter.blocks) for member in self.members)
        if len(self.targets.positions) * width <= _MOST_KEPT:
            self.__dict__.setdefault("rows", self._rows())
        else:
            # the rows of one member at a time, and none in single precision beside them
            self.ensemble.__dict__.pop("_scaled_rows", None)
        fits = []
        for k, member in enumerate(self.members):
            U = self.rows[k] if "rows" in self.__dict__ else self._rows_of(member)
            fits.append((_solve(U, member.penalty, self.targets), member.score_map))
        return fits

    def coefficients(self) -> dict[str, np.ndarray]:
        """Return the coefficients of the average by kind of features."""
        coefficients, _ = self.ensemble.coefficients(self.fit)
        self.drop_tables()
        dtype = self.ensemble.tables.dtype
        return {kind: (self.sharpness * M).astype(dtype) for kind, M in coefficients.items()}

    @property
    def map_intercept(self) -> np.ndarray:
        """The mean intercept of the softmax maps, times the sharpness: what no label has a share in."""
        return np.asarray(self.sharpness * np.mean([m.score_map.b for m in self.members], axis=0))

    @property
    def intercept(self) -> np.ndarray:
        """The intercept of the average, times the sharpness."""
        return np.asarray(self.sharpness * self.ensemble.intercept(self.fit))

    def shares(self, U: Sequence[np.ndarray]) -> np.ndarray:
        """Return the share of every target in the logits of some rows, of shape (rows, targets, classes)."""
        factor, total = self.sharpness / len(self.members), 0.0
        for member, V, rows in zip(self.members, self.rows, U, strict=True):
            H = Ridge(V, member.penalty, self.targets.weights).influence(rows)
            total = total + factor * H[:, :, None] * (self.targets.Y @ member.score_map.A)
        return np.asarray(total)

    def node_rows(
        self, nodes: np.ndarray, coefficients: dict[str, np.ndarray]
    ) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
        r"""Return the filtered rows of some nodes by member, and the shares of features in their logits.

        Filters indicator columns by the transposed operators: :math:`(T^k X)_i = X^\top (T^\top)^k e_i`.
        Shares are by kind of features and of shape (nodes, d, classes).
        """
        tables = self.ensemble.tables
        views = {member.kind: tables.views[member.kind] for member in self.members}
        # another machine may find one direction less
        widths = [min(member.width, views[member.kind].width) for member in self.members]
        members = list(zip(self.members, widths, strict=True))
        rows = [[np.zeros((len(nodes), width)) for _ in m.filter.blocks] for m, width in members]
        shares: dict[str, Any] = {}
        used = {block.operator for member in self.members for block in member.filter.blocks}
        order = {term: k for k, term in enumerate(self.ensemble.terms)}
        for operator, power, V in _transposed_powers(tables, nodes, used):
            products = {view.kind: view.features.transposed_times(V).T for view in views.values()}
            for kind, M in coefficients.items():
                part = products[kind][:, :, None].astype(np.float64) * M[order[operator, power]]
                shares[kind] = shares.get(kind, 0.0) + part
            for (member, width), parts in zip(members, rows, strict=True):
                view = views[member.kind]
                for block, total in zip(member.filter.blocks, parts, strict=True):
                    if power < len(block.powers) and (block.operator == operator or not power):
                        total += block.powers[power] * (products[view.kind] @ view.axes[:, :width])
        for kind, mean in self.ensemble.mean_shares(self.fit).items():
            shares[kind] = shares[kind] - self.sharpness * mean
        return self.ensemble.centre([np.hstack(parts) for parts in rows]), shares


def _transposed_powers(
    tables: FilteredRows, nodes: np.ndarray, names: set[str]
) -> Iterator[tuple[str, int, np.ndarray]]:
    """Yield the transposed powers of some operators at indicator columns."""
    E = np.zeros((tables.A.shape[0], len(nodes)), tables.dtype)
    E[nodes, np.arange(len(nodes))] = 1.0
    yield "smooth", 0, E
    for name in (name for name in tables.operators if name in names):
        operator = tables.operators[name]
        V = E
        for power in range(1, operator.highest + 1):
            V = operator.apply_transposed(V)
            yield name, power, V
