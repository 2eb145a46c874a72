r"""Residual propagation: what hidden answers miss, spread over the graph as a Gaussian field.

r_U = −G_UU^-1 G_UL e_L,  G = I/ω + I − D^-½AD^-½
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from gssl.operators.field import field_mean, field_operator
from gssl.selection.candidates import links_of, operator_name

# how far residuals may reach, as α = ω/(1 + ω), nearest first; with the first two no better, no more is tried
REACHES = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
_PATIENCE = 2
# columns of one solution
_TOGETHER = 16


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals of known answers that are propagated, with their reach α; ``corrections`` are held out.

    The reach is zero, and the corrections are, if propagation does not help.
    """

    e: np.ndarray
    reach: float
    corrections: np.ndarray


def relation_field(A: csr_array, relation: str) -> csr_array:
    """Return the operator of the field of one relation, or of all links if its name is empty."""
    return field_operator(links_of(A, operator_name("smooth", relation)) if relation else A)


def residual_field(S: csr_array, nodes: np.ndarray, e: np.ndarray, reach: float) -> np.ndarray:
    """Return what the residuals e of some nodes add at every node; nothing if the reach is zero."""
    if not reach:
        return np.zeros(S.shape[0])
    return spread_residuals(S, nodes, [np.arange(len(nodes))], e, reach)[:, 0]


def judge_residuals(
    S: csr_array,
    nodes: np.ndarray,
    folds: list[np.ndarray],
    e: np.ndarray,
    weights: np.ndarray,
    reaches: Sequence[float] = REACHES,
) -> Residuals:
    """Choose the reach at which residuals of other folds predict those of each fold best.

    ``folds`` are positions among the known ``nodes``, to which the residuals e belong.
    """
    best = Residuals(e, 0.0, np.zeros_like(e))
    least, failed = float(weights @ np.square(e)), 0
    shown = [np.setdiff1d(np.arange(len(e)), fold) for fold in folds]
    for reach in reaches:
        fields = spread_residuals(S, nodes, shown, e, reach)
        corrections = np.zeros_like(e)
        for k, fold in enumerate(folds):
            corrections[fold] = fields[nodes[fold], k]
        error = float(weights @ np.square(e - corrections))
        if error < least:
            best, least, failed = Residuals(e, reach, corrections), error, 0
            continue
        failed += 1
        if failed == _PATIENCE:
            break
    return best


def spread_residuals(
    S: csr_array, nodes: np.ndarray, shown: list[np.ndarray], e: np.ndarray, reach: float
) -> np.ndarray:
    """Return one field for each set of shown residuals."""
    parts = []
    for first in range(0, len(shown), _TOGETHER):
        sets = shown[first : first + _TOGETHER]
        values = np.zeros((S.shape[0], len(sets)))
        known = np.zeros(values.shape, dtype=bool)
        for k, rows in enumerate(sets):
            values[nodes[rows], k], known[nodes[rows], k] = e[rows], True
        parts.append(field_mean(S, values, known, reach / (1.0 - reach)))
    return np.hstack(parts)
