"""The average of the near-best models, taught by labels and by what it says about unlabelled nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve
from scipy.special import softmax

from gssl.selection.filtered_rows import ROOM, FilteredRows, polynomial_scores, terms
from gssl.selection.trial import Trial

# nodes that may teach beside the labelled ones
TEACHERS = 1000
# what unlabelled nodes count beside one label, and how many labels halve that
_GAMMA, _HALVING = 2.0, 500.0
ROUNDS = 2
_SMOOTHING = 10


@dataclass(frozen=True, eq=False)
class Targets:
    """What some rows of the tables are to be mapped to, and how much each counts."""

    places: np.ndarray
    Y: np.ndarray
    weights: np.ndarray

    def joined(self, other: "Targets") -> "Targets":
        """Return both together."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("places", "Y", "weights"))
        return Targets(*(np.concatenate(pair) for pair in pairs))


class Ensemble:
    r"""Ridges on filtered views, of which the logits are averaged: one polynomial in the end.

    .. math:: L = \frac1M \sum_v \big( f_v(T)\, B_v W_v A_v + b_v \big) = \sum_k T^k X M_k + b
    """

    def __init__(self, rows: FilteredRows, members: Sequence[Trial], room: int = ROOM) -> None:
        self.rows, self.members, self._room = rows, members, room
        # single precision is enough beside a penalty, and twice as fast
        self._U = [rows.rows(m.kind, m.filter, m.width).astype(np.float32) for m in members]

    def solve(self, targets: Targets) -> list[np.ndarray]:
        r"""Fit every member: :math:`W = (U^\top D U + \lambda I)^{-1} U^\top D Y`."""
        found = []
        for member, U in zip(self.members, self._U, strict=True):
            V, w = U[targets.places], targets.weights.astype(np.float32)[:, None]
            Y = targets.Y.astype(np.float32)
            if len(V) < V.shape[1]:
                K = (w * V @ V.T).astype(np.float64) + member.penalty * np.eye(len(V))
                found.append(V.T @ np.linalg.solve(K, w * Y))
                continue
            G = (V.T @ (w * V)).astype(np.float64) + member.penalty * np.eye(V.shape[1])
            found.append(solve(G, V.T @ (w * Y), assume_a="pos", check_finite=False))
        return found

    def logits_at(self, solved: Sequence[np.ndarray], places: np.ndarray) -> np.ndarray:
        """Return the averaged logits of some rows of the tables."""
        said = [
            member.link.logits(U[places] @ W)
            for member, U, W in zip(self.members, self._U, solved, strict=True)
        ]
        return np.asarray(np.mean(said, axis=0))

    def coefficients(
        self, solved: Sequence[Sequence[np.ndarray]]
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return M by kind of features, of shape (t, d, fits · c), and b, for several fits side by side."""
        order = {term: k for k, term in enumerate(terms(self.rows.depth))}
        c = self.members[0].link.A.shape[1]
        compressed: dict[str, np.ndarray] = {}
        for place, member in enumerate(self.members):
            view = self.rows.views[member.kind]
            shape = len(order), view.width, len(solved) * c
            C = compressed.setdefault(member.kind, np.zeros(shape, view.axes.dtype))
            mapped = np.hstack([each[place] @ member.link.A for each in solved]) / len(self.members)
            blocks = member.filter.blocks
            for block, part in zip(blocks, np.split(mapped, len(blocks)), strict=True):
                for power in np.flatnonzero(block.powers).tolist():
                    term = order[block.operator if power else "smooth", power]
                    C[term, : member.width] += block.powers[power] * part
        b = np.mean([member.link.b for member in self.members], axis=0)
        M = {kind: self._uncompressed(kind, C) for kind, C in compressed.items()}
        return M, np.tile(b, len(solved))

    def _uncompressed(self, kind: str, C: np.ndarray) -> np.ndarray:
        axes = self.rows.views[kind].axes
        M = np.zeros((len(C), len(axes), C.shape[2]), C.dtype)
        for term in np.flatnonzero(C.any(axis=(1, 2))):
            M[term] = axes @ C[term]
        return M

    def logits(self, solved: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
        """Return the averaged logits of all nodes for several fits at once, of shape (n, fits, c)."""
        coefficients, total = self.coefficients(solved)
        for kind, M in coefficients.items():
            features = self.rows.views[kind].features
            total = total + polynomial_scores(M, features, self.rows.operators, self.rows.depth, self._room)
        return np.asarray(total).reshape(self.rows.A.shape[0], len(solved), -1)


def self_train(ensemble: Ensemble, sets: Sequence[Targets], teachers: np.ndarray) -> list[list[np.ndarray]]:
    """Teach an ensemble by labels, then again by labels and its own distributions, smoothed over the graph.

    Every set of labels is a fit of its own, and all are run side by side. ``teachers`` are places of nodes.
    """
    nodes = ensemble.rows.nodes
    solved = [ensemble.solve(targets) for targets in sets]
    for _ in range(ROUNDS):
        P = softmax(ensemble.logits(solved), axis=2)
        S = smoothed(ensemble, P, sets)
        solved = []
        for k, targets in enumerate(sets):
            places = np.setdiff1d(teachers, targets.places)
            solved.append(
                ensemble.solve(targets.joined(pseudo_targets(S[nodes[places], k], places, targets)))
            )
    return solved


def smoothed(ensemble: Ensemble, P: np.ndarray, sets: Sequence[Targets]) -> np.ndarray:
    r"""Smooth distributions over the graph with labels clamped.

    .. math:: S \leftarrow \tfrac12 \hat A S + \tfrac12 P
    """
    n, n_sets, c = P.shape
    smooth, nodes = ensemble.rows.operators["smooth"], ensemble.rows.nodes
    half = 0.5 * P
    S = P.copy()
    for _ in range(_SMOOTHING):
        for k, targets in enumerate(sets):
            S[nodes[targets.places], k] = targets.Y
        S = 0.5 * smooth(S.reshape(n, n_sets * c)).reshape(P.shape) + half
    return np.asarray(S / S.sum(axis=2, keepdims=True))


def pseudo_targets(T: np.ndarray, places: np.ndarray, targets: Targets) -> Targets:
    r"""Weigh the distributions of unlabelled nodes by how sure they are, and together by the labels.

    .. math:: w_i \propto \Big( \frac{\max_k T_{ik} - 1/c}{1 - 1/c} \Big)^2
    """
    c = T.shape[1]
    sure = np.square(np.maximum((T.max(axis=1) - 1.0 / c) / max(1.0 - 1.0 / c, 1e-9), 0.0)).astype(np.float64)
    labels = float(targets.weights.sum())
    total = _GAMMA * labels / (1.0 + len(targets.Y) / _HALVING)
    return Targets(places, T.astype(np.float64), sure * (total / max(float(sure.sum()), 1e-9)))
