"""The average of the near-best models, taught by labels and by what it says about unlabelled nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import solve
from scipy.special import softmax

from gssl.selection.filtered_rows import ROOM, FilteredRows, polynomial_scores, terms
from gssl.selection.links import Link
from gssl.selection.trial import Trial

# nodes that may teach beside the labelled ones
TEACHERS = 1000
# what unlabelled nodes count beside one label, and how many labels halve that
_GAMMA, _HALVING = 2.0, 500.0
ROUNDS = 2
_SMOOTHING = 10


# what every member of an ensemble learns: coefficients and a link
Fit: TypeAlias = Sequence[tuple[np.ndarray, Link]]


@dataclass(frozen=True, eq=False)
class Targets:
    """What some rows of the tables are to be mapped to, and how much each counts."""

    places: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    # of the members, where some labels are hidden from them, too
    links: Sequence[Link] | None = None

    def joined(self, other: "Targets") -> "Targets":
        """Return both together, with the links of the first."""
        return Targets(
            np.concatenate([self.places, other.places]),
            np.concatenate([self.Y, other.Y]),
            np.concatenate([self.weights, other.weights]),
            self.links,
        )


class Ensemble:
    r"""Ridges on filtered views, of which the logits are averaged: one polynomial in the end.

    .. math:: L = \frac1M \sum_v \big( f_v(T)\, B_v W_v A_v + b_v \big) = \sum_k T^k X M_k + b
    """

    def __init__(self, rows: FilteredRows, members: Sequence[Trial], room: int = ROOM) -> None:
        self.rows, self.members, self._room = rows, members, room
        U = [rows.rows(member.kind, member.filter, member.width) for member in members]
        self._scales = [max(float(np.abs(V).max(initial=0.0)), 1e-300) for V in U]
        # of scale one, single precision is enough beside a penalty, and twice as fast
        self._U = [(V / scale).astype(np.float32) for V, scale in zip(U, self._scales, strict=True)]

    def solve(self, targets: Targets, exact: bool = False) -> Fit:
        r"""Fit every member: :math:`W = (U^\top D U + \lambda I)^{-1} U^\top D Y`.

        ``exact`` is in double precision, so that the shares of labels add up to scores.
        """
        found = []
        links = [member.link for member in self.members] if targets.links is None else targets.links
        dtype: Any = np.float64 if exact else np.float32
        w, Y = targets.weights.astype(dtype)[:, None], targets.Y.astype(dtype)
        for member, U, scale in zip(self.members, self._U, self._scales, strict=True):
            penalty = member.penalty / scale**2
            if exact:
                V = self.rows.rows(member.kind, member.filter, member.width, targets.places) / scale
            else:
                V = U[targets.places]
            if len(V) < V.shape[1]:
                K = (w * V @ V.T).astype(np.float64) + penalty * np.eye(len(V))
                W = V.T @ np.linalg.solve(K, w * Y)
            else:
                G = (V.T @ (w * V)).astype(np.float64) + penalty * np.eye(V.shape[1])
                W = solve(G, V.T @ (w * Y), assume_a="pos", check_finite=False)
            found.append(W / scale)
        return list(zip(found, links, strict=True))

    def logits_at(self, fit: Fit, places: np.ndarray) -> np.ndarray:
        """Return the averaged logits of some rows of the tables."""
        parts = zip(self._U, self._scales, fit, strict=True)
        said = [link.logits(U[places] @ (scale * W)) for U, scale, (W, link) in parts]
        return np.asarray(np.mean(said, axis=0))

    def coefficients(self, fits: Sequence[Fit]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return M by kind of features, of shape (t, d, fits · c), and b, for several fits side by side."""
        order = {term: k for k, term in enumerate(terms(self.rows.depth))}
        compressed: dict[str, np.ndarray] = {}
        for place, member in enumerate(self.members):
            view = self.rows.views[member.kind]
            mapped = np.hstack([W @ link.A for W, link in (fit[place] for fit in fits)]) / len(self.members)
            shape = len(order), view.width, mapped.shape[1]
            C = compressed.setdefault(member.kind, np.zeros(shape, view.axes.dtype))
            blocks = member.filter.blocks
            for block, part in zip(blocks, np.split(mapped, len(blocks)), strict=True):
                for power in np.flatnonzero(block.powers).tolist():
                    term = order[block.operator if power else "smooth", power]
                    C[term, : member.width] += block.powers[power] * part
        b = np.concatenate([np.mean([link.b for _, link in fit], axis=0) for fit in fits])
        found: dict[str, np.ndarray] = {}
        for name, C in compressed.items():
            view = self.rows.views[name]
            # two views may have the same features
            M = found.setdefault(view.kind, np.zeros((len(C), len(view.axes), C.shape[2]), C.dtype))
            for k in np.flatnonzero(C.any(axis=(1, 2))):
                M[k] += view.axes @ C[k]
        return found, b

    def logits(self, fits: Sequence[Fit]) -> np.ndarray:
        """Return the averaged logits of all nodes for several fits at once, of shape (n, fits, c)."""
        coefficients, total = self.coefficients(fits)
        for kind, M in coefficients.items():
            features = self.rows.views[kind].features
            total = total + polynomial_scores(M, features, self.rows.operators, self.rows.depth, self._room)
        return np.asarray(total).reshape(self.rows.A.shape[0], len(fits), -1)


def self_train(ensemble: Ensemble, sets: Sequence[Targets], teachers: np.ndarray) -> list[Fit]:
    """Teach an ensemble by labels, then again by labels and its own distributions, smoothed over the graph.

    Every set of labels is a fit of its own, and all are run side by side. ``teachers`` are places of nodes.
    """
    return [ensemble.solve(targets) for targets in taught_targets(ensemble, sets, teachers)]


def taught_targets(ensemble: Ensemble, sets: Sequence[Targets], teachers: np.ndarray) -> list[Targets]:
    """Return what an ensemble is taught by in the last round: labels first, then unlabelled nodes."""
    nodes, joined = ensemble.rows.nodes, list(sets)
    for _ in range(ROUNDS):
        P = softmax(ensemble.logits([ensemble.solve(targets) for targets in joined]), axis=2)
        S = smoothed(ensemble, P, sets)
        for k, targets in enumerate(sets):
            places = np.setdiff1d(teachers, targets.places)
            joined[k] = targets.joined(pseudo_targets(S[nodes[places], k], places, targets))
    return joined


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
