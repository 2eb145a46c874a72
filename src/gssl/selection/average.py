"""The parts of a fitted average, kept to explain, audit and refit it in closed form."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.methods.ridge import Ridge
from gssl.operators import mix
from gssl.selection.filtered_rows import FilteredRows, terms
from gssl.selection.graph_features import HOPS, operators
from gssl.selection.self_training import Ensemble, Fit, Targets
from gssl.selection.trial import Labels, Member
from gssl.selection.views import Views

# maximum number of values in the rows that a fitted model keeps
_KEPT = 1 << 23


@dataclass(frozen=True, eq=False)
class Recipe:
    """What an average is computed from besides features, graph and labels.

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
class Average:
    """The members of an average and their training targets; rows are recomputed on demand.

    ``nodes`` are those whose rows were computed; ``places`` are the positions of labelled nodes among them,
    ``teachers`` those of unlabelled nodes for self-training. ``targets`` holds the labels first.
    """

    views: Views
    A: csr_array
    dtype: Any
    depth: int
    nodes: np.ndarray
    members: Sequence[Member]
    targets: Targets
    labels: Labels
    places: np.ndarray
    teachers: np.ndarray
    sharpness: float

    @classmethod
    def follow(
        cls, recipe: Recipe, views: Views, A: csr_array, depth: int, labelled: np.ndarray, labels: Labels
    ) -> "Average":
        """Return the average of a recipe; it computes rows and coefficients on demand."""
        nodes = np.union1d(labelled, recipe.taught)
        places, teachers = (np.searchsorted(nodes, part) for part in (labelled, recipe.taught))
        taught = Targets(teachers, recipe.Y, recipe.weights)
        targets = Targets(places, labels.Y, labels.weights).joined(taught)
        if any(member.kind == "spanned" for member in recipe.members):
            views = FilteredRows(views, A, views.dtype, nodes, depth).span(labelled)
        kept = views, A, views.dtype, depth, nodes, recipe.members, targets, labels
        return cls(*kept, places, teachers, recipe.sharpness)

    @property
    def recipe(self) -> Recipe:
        """What a saved model holds of this average."""
        m, targets = len(self.labels.Y), self.targets
        taught = self.nodes[targets.places[m:]]
        return Recipe(self.members, taught, targets.Y[m:], targets.weights[m:], self.sharpness)

    @cached_property
    def ensemble(self) -> Ensemble:
        """The members on the rows of all ``nodes``."""
        rows = FilteredRows(self.views, self.A, self.dtype, self.nodes, self.depth)
        return Ensemble(rows, self.members)

    def coefficients(self) -> dict[str, np.ndarray]:
        """Fit the members again, and return the coefficients of the average by kind of features."""
        tables = self.ensemble.rows
        self.keep_rows(tables)
        found, _ = self.ensemble.coefficients(self.ensemble.solve(self.targets, exact=True))
        tables.forget()
        return {kind: (self.sharpness * M).astype(self.dtype) for kind, M in found.items()}

    @cached_property
    def rows(self) -> list[np.ndarray]:
        """The rows of ``targets`` in double precision, by member."""
        tables = self.ensemble.rows
        found = self._rows(tables)
        tables.forget()
        return found

    def keep_rows(self, tables: FilteredRows) -> "Average":
        """Store ``rows`` from existing tables, unless they are too large."""
        widths = sum(member.width * len(member.filter.blocks) for member in self.members)
        if widths * len(self.targets.places) <= _KEPT:
            self.__dict__["rows"] = self._rows(tables)
        return self

    def _rows(self, tables: FilteredRows) -> list[np.ndarray]:
        return [tables.rows(m.kind, m.filter, m.width, self.targets.places) for m in self.members]

    @property
    def intercept(self) -> np.ndarray:
        """The mean intercept of the links, times the sharpness."""
        return np.asarray(self.sharpness * np.mean([member.softmax_map.b for member in self.members], axis=0))

    def influences(self, U: Sequence[np.ndarray]) -> list[np.ndarray]:
        r"""Return the weight of every target in the scores of some rows, by member.

        .. math:: H = U_i (U^\top D U + \lambda I)^{-1} U^\top D
        """
        parts = zip(self.members, self.rows, U, strict=True)
        return [Ridge(V, member.penalty, self.targets.weights).influence(rows) for member, V, rows in parts]

    def shares(self, U: Sequence[np.ndarray]) -> np.ndarray:
        """Return the share of every target in the logits of some rows, of shape (rows, targets, classes)."""
        factor = self.sharpness / len(self.members)
        parts = zip(self.members, self.influences(U), strict=True)
        return np.asarray(
            sum(factor * H[:, :, None] * (self.targets.Y @ member.softmax_map.A) for member, H in parts)
        )

    def node_rows(
        self, nodes: np.ndarray, coefficients: dict[str, np.ndarray]
    ) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
        r"""Return the filtered rows of some nodes by member, and the shares of features in their logits.

        Filters indicator columns: :math:`(T^k X)_i = X^\top T^k e_i`. Shares are by kind of features and of
        shape (nodes, d, classes).
        """
        E = np.zeros((self.A.shape[0], len(nodes)), self.dtype)
        E[nodes, np.arange(len(nodes))] = 1.0
        matrices = operators(self.A, self.dtype)
        # another machine may find one direction less
        widths = [min(m.width, self.views[m.kind].width) for m in self.members]
        members = list(zip(self.members, widths, strict=True))
        blocks = [[np.zeros((len(nodes), width)) for _ in m.filter.blocks] for m, width in members]
        shares: dict[str, np.ndarray] = {}
        kinds = {self.views[member.kind].kind for member in self.members}
        V, name = E, "smooth"
        for place, (operator, power) in enumerate(terms(self.depth)):
            if operator != name:
                V, name = E, operator
            if power:
                V = mix(matrices[operator], V, HOPS[operator])
            products = {kind: self.views[kind].features.transposed_times(V) for kind in kinds}
            for kind, M in coefficients.items():
                part = products[kind].T[:, :, None].astype(np.float64) * M[place]
                shares[kind] = shares.get(kind, 0.0) + part
            for (member, width), parts in zip(members, blocks, strict=True):
                view = self.views[member.kind]
                for block, total in zip(member.filter.blocks, parts, strict=True):
                    if power < len(block.powers) and (block.operator == operator or not power):
                        axes = view.axes[:, :width]
                        total += block.powers[power] * (products[view.kind].T @ axes)
        return [np.hstack(parts) for parts in blocks], shares

    def fit(self) -> Fit:
        """Solve the members for ``targets`` in double precision."""
        return [
            (Ridge(V, m.penalty, self.targets.weights).coefficients(self.targets.Y), m.softmax_map)
            for m, V in zip(self.members, self.rows, strict=True)
        ]
