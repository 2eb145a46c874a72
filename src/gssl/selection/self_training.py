"""Self-training: the average learns from its predictions for unlabelled nodes, smoothed over the graph."""

from collections.abc import Sequence

import numpy as np
from scipy.special import softmax

from gssl.operators import Mixture, mix
from gssl.selection.ensemble import Ensemble, Targets

# maximum number of nodes sampled as additional training targets
TEACHERS = 1000
# total weight of unlabelled nodes relative to the labels, and the number of labels at which it halves
_GAMMA, _HALVING = 2.0, 500.0
_ROUNDS = 2
_SMOOTHING_STEPS = 10


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
    for _ in range(_ROUNDS):
        P = softmax(ensemble.logits([ensemble.solve(targets) for targets in joined]), axis=2)
        S = smoothed(ensemble, P, sets)
        for k, targets in enumerate(sets):
            unlabelled = np.setdiff1d(teachers, targets.positions)
            joined[k] = targets.joined(pseudo_targets(S[nodes[unlabelled], k], unlabelled, targets))
    return joined


def smoothed(ensemble: Ensemble, P: np.ndarray, sets: Sequence[Targets]) -> np.ndarray:
    r"""Smooth distributions over the graph, with labels clamped.

    .. math:: S \leftarrow \tfrac12 \hat A S + \tfrac12 P
    """
    n, n_sets, c = P.shape
    smooth, nodes = ensemble.tables.operators["smooth"].filters, ensemble.tables.nodes
    P = np.ascontiguousarray(P.reshape(n, n_sets * c))
    S, spare = P.copy(), np.empty_like(P)
    for _ in range(_SMOOTHING_STEPS):
        for k, targets in enumerate(sets):
            S[nodes[targets.positions], k * c : (k + 1) * c] = targets.Y
        S, spare = mix(smooth, S, Mixture(smooth=0.5, restart=0.5), out=spare, X=P), S
    distributions = np.asarray(S).reshape(n, n_sets, c)
    distributions /= distributions.sum(axis=2, keepdims=True)
    return distributions


def pseudo_targets(T: np.ndarray, positions: np.ndarray, targets: Targets) -> Targets:
    r"""Weight the distributions of unlabelled nodes by confidence, with a total set by that of the labels.

    .. math:: w_i \propto \Big( \frac{\max_k T_{ik} - 1/c}{1 - 1/c} \Big)^2
    """
    c = T.shape[1]
    sure = np.square(np.maximum((T.max(axis=1) - 1.0 / c) / max(1.0 - 1.0 / c, 1e-9), 0.0)).astype(np.float64)
    labels = float(targets.weights.sum())
    total = _GAMMA * labels / (1.0 + len(targets.Y) / _HALVING)
    return Targets(positions, T.astype(np.float64), sure * (total / max(float(sure.sum()), 1e-9)))
