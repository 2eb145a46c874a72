"""The average of the near-best models, trained on labels and on its own predictions for unlabelled nodes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import softmax

from gssl.methods.ridge import Ridge
from gssl.methods.softmax import SoftmaxMap
from gssl.operators import Mixture, add_scaled, mix
from gssl.selection.candidates import Block
from gssl.selection.filtered_rows import ROOM, FilteredRows, terms
from gssl.selection.graph_features import hops
from gssl.selection.trial import Member

# maximum number of nodes sampled as additional training targets
TEACHERS = 1000
# total weight of unlabelled nodes relative to the labels, and the number of labels at which it halves
_GAMMA, _HALVING = 2.0, 500.0
ROUNDS = 2
_SMOOTHING = 10
# number of arrays of distributions of all nodes in memory per fit
_HELD = 4


# coefficients and link of every member of an ensemble
Fit: TypeAlias = Sequence[tuple[np.ndarray, SoftmaxMap]]


@dataclass(frozen=True, eq=False)
class Targets:
    """Target distributions of some rows of the tables, and their weights."""

    places: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    # links fitted without the hidden labels; the members' own links if None
    links: Sequence[SoftmaxMap] | None = None

    def joined(self, other: "Targets") -> "Targets":
        """Concatenate two sets of targets, keeping the links of the first."""
        return Targets(
            np.concatenate([self.places, other.places]),
            np.concatenate([self.Y, other.Y]),
            np.concatenate([self.weights, other.weights]),
            self.links,
        )


class Ensemble:
    r"""Ridge regressions on filtered views with averaged logits, which form one polynomial.

    .. math:: L = \frac1M \sum_v \big( f_v(T)\, B_v W_v A_v + b_v \big) = \sum_k T^k X M_k + b
    """

    def __init__(self, rows: FilteredRows, members: Sequence[Member], room: int = ROOM) -> None:
        self.rows, self.members, self._room = rows, members, room
        U = [rows.rows(member.kind, member.filter, member.width) for member in members]
        self._scales = [float(np.abs(V).max(initial=0.0)) or 1.0 for V in U]
        # with a penalty, single precision is enough for values up to one, and twice as fast
        self._U = [(V / scale).astype(np.float32) for V, scale in zip(U, self._scales, strict=True)]

    def fits_at_once(self, n_classes: int) -> int:
        """Return how many fits can run together within the memory limit."""
        each: int = _HELD * self.rows.A.shape[0] * n_classes * self.rows.dtype.itemsize
        return max(1, self._room // max(1, each))

    def solve(self, targets: Targets, exact: bool = False) -> Fit:
        r"""Fit every member: :math:`W = (U^\top D U + \lambda I)^{-1} U^\top D Y`.

        ``exact`` uses double precision, so that the shares of labels add up to the scores.
        """
        found = []
        links = [member.softmax_map for member in self.members] if targets.links is None else targets.links
        for member, U, scale in zip(self.members, self._U, self._scales, strict=True):
            penalty = member.penalty / (scale * scale)  # unlike scale**2, exact in any unit
            if exact:
                V = self.rows.rows(member.kind, member.filter, member.width, targets.places) / scale
            else:
                V = U[targets.places]
            found.append(Ridge(V, penalty, targets.weights).coefficients(targets.Y) / scale)
        return list(zip(found, links, strict=True))

    def logits_at(self, fit: Fit, places: np.ndarray) -> np.ndarray:
        """Return the averaged logits of some rows of the tables."""
        parts = zip(self._U, self._scales, fit, strict=True)
        said = [link.logits(U[places] @ (scale * W)) for U, scale, (W, link) in parts]
        return np.asarray(np.mean(said, axis=0))

    def coefficients(self, fit: Fit) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return M by kind of features, of shape (t, d, c), and b."""
        order = {term: k for k, term in enumerate(terms(self.rows.depth))}
        found: dict[str, np.ndarray] = {}
        for block, kind, C in self._parts([fit]):
            M = found.setdefault(kind, np.zeros((len(order), *C.shape), C.dtype))
            for power in np.flatnonzero(block.powers).tolist():
                M[order[block.operator if power else "smooth", power]] += block.powers[power] * C
        return found, np.mean([link.b for _, link in fit], axis=0)

    def logits(self, fits: Sequence[Fit]) -> np.ndarray:
        """Return the averaged logits of all nodes for several fits at once, of shape (n, fits, c).

        Multiplies features by coefficients before the hops, so that these run over few columns.
        """
        n = self.rows.A.shape[0]
        b = np.concatenate([np.mean([link.b for _, link in fit], axis=0) for fit in fits])
        total = np.tile(b.astype(self.rows.dtype), (n, 1))
        at_once = max(1, self._room // max(1, total.nbytes))
        parts = list(self._parts(fits))
        for operator in self.rows.operators:
            same = [part for part in parts if part.block.operator == operator]
            for first in range(0, len(same), at_once):
                total += self._filtered_sum(operator, same[first : first + at_once])
        return total.reshape(n, len(fits), -1)

    def _parts(self, fits: Sequence[Fit]) -> Iterator["_Part"]:
        """Yield every block of every member with the coefficients of all fits, stacked horizontally."""
        for place, member in enumerate(self.members):
            view, blocks = self.rows.views[member.kind], member.filter.blocks
            mapped = np.hstack([W @ link.A for W, link in (fit[place] for fit in fits)]) / len(self.members)
            parts = np.split(mapped.astype(view.axes.dtype), len(blocks))
            for block, part in zip(blocks, parts, strict=True):
                yield _Part(block, view.kind, view.axes[:, : member.width] @ part)

    def _filtered_sum(self, operator: str, parts: Sequence["_Part"]) -> np.ndarray:
        r"""Sum polynomials of one operator by Horner's rule: :math:`\sum_v \sum_k p_{vk} T^k X_v C_v`."""
        products: list[tuple[np.ndarray, np.ndarray]] = []
        for kind in dict.fromkeys(part.kind for part in parts):
            same = [part for part in parts if part.kind == kind]
            # one product, so that X is read once
            Z = self.rows.views[kind].features.times(np.hstack([part.coefficients for part in same]))
            products += zip([part.block.powers for part in same], np.hsplit(Z, len(same)), strict=True)
        highest = max(len(powers) for powers, _ in products) - 1
        first = np.zeros(products[0][1].shape, self.rows.dtype)
        _Terms(products, highest).add_to(first)
        program = hops(operator, highest)
        found = program.run(
            first, self.rows.operators.__getitem__, lambda k: _Terms(products, highest - 1 - k)
        )
        return np.asarray(found)


class _Terms(NamedTuple):
    """The terms of one power in a sum of polynomials: their powers and products with X."""

    products: list[tuple[np.ndarray, np.ndarray]]
    power: int

    def add_to(self, U: np.ndarray) -> None:
        """Add the terms in place."""
        for powers, Z in self.products:
            if self.power < len(powers):
                add_scaled(U, float(powers[self.power]), Z)


class _Part(NamedTuple):
    """A polynomial of one operator, and the kind of features and the coefficients it applies to."""

    block: Block
    kind: str
    coefficients: np.ndarray


def self_train(ensemble: Ensemble, sets: Sequence[Targets], teachers: np.ndarray) -> list[Fit]:
    """Fit an ensemble to labels, then again to labels and its own distributions, smoothed over the graph.

    Each set of labels gives one fit; they run together. ``teachers`` are positions among the nodes.
    """
    return [ensemble.solve(targets) for targets in taught_targets(ensemble, sets, teachers)]


def taught_targets(ensemble: Ensemble, sets: Sequence[Targets], teachers: np.ndarray) -> list[Targets]:
    """Return the targets of the last round of self-training: labels first, then unlabelled nodes."""
    at_once = ensemble.fits_at_once(sets[0].Y.shape[1])
    if len(sets) > at_once:
        groups = [sets[k : k + at_once] for k in range(0, len(sets), at_once)]
        return [targets for group in groups for targets in taught_targets(ensemble, group, teachers)]
    nodes, joined = ensemble.rows.nodes, list(sets)
    for _ in range(ROUNDS):
        P = softmax(ensemble.logits([ensemble.solve(targets) for targets in joined]), axis=2)
        S = smoothed(ensemble, P, sets)
        for k, targets in enumerate(sets):
            places = np.setdiff1d(teachers, targets.places)
            joined[k] = targets.joined(pseudo_targets(S[nodes[places], k], places, targets))
    return joined


def smoothed(ensemble: Ensemble, P: np.ndarray, sets: Sequence[Targets]) -> np.ndarray:
    r"""Smooth distributions over the graph, with labels clamped.

    .. math:: S \leftarrow \tfrac12 \hat A S + \tfrac12 P
    """
    n, n_sets, c = P.shape
    smooth, nodes = ensemble.rows.operators["smooth"], ensemble.rows.nodes
    P = np.ascontiguousarray(P.reshape(n, n_sets * c))
    S, spare = P.copy(), np.empty_like(P)
    for _ in range(_SMOOTHING):
        for k, targets in enumerate(sets):
            S[nodes[targets.places], k * c : (k + 1) * c] = targets.Y
        S, spare = mix(smooth, S, Mixture(smooth=0.5, restart=0.5), out=spare, X=P), S
    found = np.asarray(S).reshape(n, n_sets, c)
    found /= found.sum(axis=2, keepdims=True)
    return found


def pseudo_targets(T: np.ndarray, places: np.ndarray, targets: Targets) -> Targets:
    r"""Weight the distributions of unlabelled nodes by confidence, with a total set by that of the labels.

    .. math:: w_i \propto \Big( \frac{\max_k T_{ik} - 1/c}{1 - 1/c} \Big)^2
    """
    c = T.shape[1]
    sure = np.square(np.maximum((T.max(axis=1) - 1.0 / c) / max(1.0 - 1.0 / c, 1e-9), 0.0)).astype(np.float64)
    labels = float(targets.weights.sum())
    total = _GAMMA * labels / (1.0 + len(targets.Y) / _HALVING)
    return Targets(places, T.astype(np.float64), sure * (total / max(float(sure.sum()), 1e-9)))
