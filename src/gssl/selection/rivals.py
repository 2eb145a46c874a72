"""Label spreading, the rival of the average: it predicts if it is clearly better on hidden labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.evaluation.graph_gain import GraphGain
from gssl.methods import LabelSpreading
from gssl.methods.labels import UNLABELLED, rows_to_distributions
from gssl.methods.recurrences import chebyshev_steps, run_steps, symmetric_filters
from gssl.scale.execution import IN_MEMORY, Checkpoint, Execution
from gssl.selection.hidden_labels import HiddenLabels
from gssl.selection.leaderboard import Entry

# spreads to try if there are no features
SPREADS = (0.5, 0.9, 0.99)
# a rival wins with at least this many hidden labels and a lead of this many standard errors
_FEWEST_HIDDEN, _CLEAR = 30, 2.0
# relative error allowed at the fixed point of label spreading, and the least number of steps: fewer would
# not reach far enough from a label
_TOLERANCE, _FEWEST_STEPS = 0.01, 16
# folds run together up to this many columns: a hop over a few costs about as much as one
_COLUMNS = 32


@dataclass(frozen=True, eq=False)
class Rival:
    """Label spreading, not fitted yet, its entry on the leaderboard, and its distributions of labels."""

    model: LabelSpreading
    entry: Entry
    P: np.ndarray


def try_spreading(
    A: csr_array,
    codes: np.ndarray,
    hidden: HiddenLabels,
    spreads: Sequence[float],
    dtype: Any,
    execution: Execution,
    deadline: float,
) -> list[Rival]:
    """Evaluate label spreading on hidden labels, until the deadline."""
    rivals: list[Rival] = []
    for spread in spreads if hidden.folds else ():
        start = perf_counter()
        if start > deadline:
            break
        P = spread_hidden(A, codes, spread, folds=hidden.folds, dtype=dtype, execution=execution)
        settings = f"spread={spread}"
        entry = hidden.entry("LabelSpreading", settings, P, perf_counter() - start, chosen=False)
        rivals.append(Rival(LabelSpreading(spread=spread), entry, P))
    return rivals


def clear_winner(
    rivals: Sequence[Rival], hidden: HiddenLabels, ours: np.ndarray, *, has_features: bool
) -> tuple[Rival, GraphGain] | None:
    """Return the rival that is clearly better than ``ours`` on hidden labels, with its lead, or None.

    Without features, a rival that is equally good wins.
    """
    better: list[tuple[Rival, GraphGain]] = []
    for rival in rivals:
        gain = hidden.gain(rival.P, ours)
        clear = gain.n_labels >= _FEWEST_HIDDEN and gain.difference > _CLEAR * gain.standard_error
        if clear or (not has_features and gain.difference >= 0.0):
            better.append((rival, gain))
    return max(better, key=lambda pair: pair[1].difference) if better else None


def beside(rivals: Sequence[Rival], hidden: HiddenLabels, ours: np.ndarray) -> np.ndarray | None:
    """Return the distributions of hidden labels by label spreading if it counts for half, else None.

    With its default settings, it does unless it is worse on hidden labels.
    """
    if not hidden.folds:
        return hidden.uniform_scores()
    default = [rival.P for rival in rivals if rival.model.spread == LabelSpreading().spread]
    if not default:
        return None
    return None if hidden.gain(ours, default[0]).difference > 0.0 else default[0]


def spread_hidden(
    A: csr_array,
    codes: np.ndarray,
    alpha: float,
    *,
    folds: Sequence[np.ndarray],
    dtype: Any = np.float64,
    execution: Execution = IN_MEMORY,
) -> np.ndarray:
    r"""Return the distributions of label spreading for labels, each hidden in one fold.

    .. math:: F = (1 - \alpha)(I - \alpha D^{-1/2} A D^{-1/2})^{-1} Y
    """
    n_classes = int(codes.max()) + 1
    rho = (1.0 - np.sqrt((1.0 - alpha) * (1.0 + alpha))) / alpha
    steps = chebyshev_steps(alpha, max(_FEWEST_STEPS, int(np.ceil(np.log(_TOLERANCE / 2.0) / np.log(rho)))))
    filters = symmetric_filters(A, dtype)
    labelled = np.flatnonzero(codes != UNLABELLED)
    P = np.full((len(labelled), n_classes), 1.0 / n_classes)
    together = max(1, _COLUMNS // n_classes)
    for first in range(0, len(folds), together):
        group = folds[first : first + together]
        shown = [np.setdiff1d(labelled, hidden) for hidden in group]
        columns = [k * n_classes + codes[nodes] for k, nodes in enumerate(shown)]
        values = np.full(sum(map(len, shown)), 1.0 - alpha, dtype)
        shape = len(codes), len(group) * n_classes
        B = csr_array((values, (np.concatenate(shown), np.concatenate(columns))), shape=shape)
        F = run_steps(filters, B, steps, execution, Checkpoint())
        for k, hidden in enumerate(group):
            rows = F[hidden, k * n_classes : (k + 1) * n_classes].astype(np.float64)
            P[np.searchsorted(labelled, hidden)] = rows_to_distributions(np.maximum(rows, 0.0))
    return P
