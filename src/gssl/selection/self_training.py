"""Self-training: the average learns from its predictions for unlabelled nodes, smoothed over the graph."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from gssl.operators import Mixture, mix
from gssl.selection.ensemble import Ensemble, Targets
from gssl.selection.hidden_labels import FEW

# maximum number of nodes sampled as additional training targets
TEACHERS = 1000
# total weight of unlabelled nodes relative to the labels, and the number of labels at which it halves
_GAMMA, _HALVING = 2.0, 500.0
_SMOOTHING_STEPS = 10


class _Rounds(NamedTuple):
    """The number of rounds, the share of neighbours in smoothing, and the power of the balance of classes."""

    number: int
    smooth: float
    balance: float


_USUAL, _OF_FEW = _Rounds(2, 0.5, 0.0), _Rounds(5, 0.8, 0.3)


def taught_targets(ensemble: Ensemble, sets: Sequence[Targets], teachers: np.ndarray) -> list[Targets]:
    """Return for each set of labels the targets of its last round: labels first, then unlabelled nodes.

    In every round, the ensemble is fitted to the targets, and its distributions, smoothed over the graph,
    become the new targets of the ``teachers``, which are positions in the tables.
    """
    at_once = ensemble.fits_at_once(sets[0].Y.shape[1])
    if len(sets) > at_once:
        groups = [sets[k : k + at_once] for k in range(0, len(sets), at_once)]
        return [targets for group in groups for targets in taught_targets(ensemble, group, teachers)]
    nodes, joined = ensemble.tables.nodes, list(sets)
    m, c = sets[0].Y.shape
    rounds = _OF_FEW if m < FEW * c else _USUAL
    for _ in range(rounds.number):
        P = softmax(ensemble.logits([ensemble.solve(targets) for targets in joined]), axis=2)
        S = balanced(smoothed(ensemble, P, sets, rounds.smooth), sets, rounds.balance)
        for k, targets in enumerate(sets):
            unlabelled = np.setdiff1d(teachers, targets.positions)
            joined[k] = targets.joined(pseudo_targets(S[nodes[unlabelled], k], unlabelled, targets))
    return joined


def smoothed(ensemble: Ensemble, P: np.ndarray, sets: Sequence[Targets], share: float) -> np.ndarray:
    r"""Smooth distributions over the graph, with labels clamped.

    .. math:: S \leftarrow \sigma \hat A S + (1 - \sigma) P

    ``share`` is σ.
    """
    n, n_sets, c = P.shape
    smooth, nodes = ensemble.tables.operators["smooth"].filters, ensemble.tables.nodes
    P = np.ascontiguousarray(P.reshape(n, n_sets * c))
    S, spare = P.copy(), np.empty_like(P)
    for _ in range(_SMOOTHING_STEPS):
        for k, targets in enumerate(sets):
            S[nodes[targets.positions], k * c : (k + 1) * c] = targets.Y
        S, spare = mix(smooth, S, Mixture(smooth=share, restart=1.0 - share), out=spare, X=P), S
    distributions = np.asarray(S).reshape(n, n_sets, c)
    distributions /= distributions.sum(axis=2, keepdims=True)
    return distributions


def balanced(S: np.ndarray, sets: Sequence[Targets], power: float) -> np.ndarray:
    r"""Move the shares of classes among all nodes towards those among the labels.

    .. math:: S_{ik} \leftarrow S_{ik} \Big( \frac{\pi_k}{\mathrm{mean}_i S_{ik}} \Big)^p,
              \qquad \pi_k = \frac{n_k + 1}{m + c}
    """
    if not power:
        return S
    counts = np.stack([targets.Y.sum(axis=0) for targets in sets])
    shares = (counts + 1.0) / (counts.sum(axis=1, keepdims=True) + counts.shape[1])
    S = S * ((shares / S.mean(axis=0)) ** power).astype(S.dtype)
    return np.asarray(S / S.sum(axis=2, keepdims=True))


def pseudo_targets(T: np.ndarray, positions: np.ndarray, targets: Targets) -> Targets:
    r"""Weight the distributions of unlabelled nodes by confidence, with a total set by that of the labels.

    .. math:: w_i \propto \Big( \frac{\max_k T_{ik} - 1/c}{1 - 1/c} \Big)^2
    """
    c = T.shape[1]
    sure = np.square(np.maximum((T.max(axis=1) - 1.0 / c) / max(1.0 - 1.0 / c, 1e-9), 0.0)).astype(np.float64)
    labels = float(targets.weights.sum())
    total = _GAMMA * labels / (1.0 + len(targets.Y) / _HALVING)
    return Targets(positions, T.astype(np.float64), sure * (total / max(float(sure.sum()), 1e-9)))
