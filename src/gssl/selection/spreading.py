"""Label spreading as a rival: what labels alone say about labels that are hidden."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.methods.base import iterate, last
from gssl.methods.labels import UNLABELLED, rows_to_distributions
from gssl.operators import dense
from gssl.scale.execution import IN_MEMORY, Execution, Task
from gssl.selection.graph_features import GraphOperator

# the part of the fixed point that may be missing, and the fewest and most steps towards it: few would not
# come far enough from a label to say anything
_MISSING = 0.01
_FEWEST, _MOST = 32, 1000
# folds are run side by side up to so many columns: a hop over few of them costs about as much as over one
_COLUMNS = 32


def spread_hidden(
    hop: GraphOperator,
    codes: np.ndarray,
    alpha: float = 0.9,
    *,
    folds: Sequence[np.ndarray],
    dtype: Any = np.float64,
    execution: Execution = IN_MEMORY,
) -> np.ndarray:
    r"""Say what label spreading thinks of labels that were hidden from it, each of them once.

    .. math:: F \leftarrow \alpha D^{-1/2} A D^{-1/2} F + (1 - \alpha) Y
    """
    n_classes = int(codes.max()) + 1
    steps = int(np.clip(np.ceil(np.log(_MISSING) / np.log(alpha)), _FEWEST, _MOST))
    labelled = np.flatnonzero(codes != UNLABELLED)
    spread = _SpreadTask(hop.on(None), alpha, steps, labelled)
    task = Task(spread, spread.identity)
    P = np.full((len(labelled), n_classes), 1.0 / n_classes)
    together = max(1, _COLUMNS // n_classes)
    for first in range(0, len(folds), together):
        group = folds[first : first + together]
        shown = [np.setdiff1d(labelled, hidden) for hidden in group]
        columns = [k * n_classes + codes[nodes] for k, nodes in enumerate(shown)]
        values = np.full(sum(map(len, shown)), 1.0 - alpha, dtype)
        shape = len(codes), len(group) * n_classes
        Y = csr_array((values, (np.concatenate(shown), np.concatenate(columns))), shape=shape)
        F = execution.map_columns(task, Y, lambda k: hop.filters).reshape(
            len(labelled), len(group), n_classes
        )
        for k, hidden in enumerate(group):
            places = np.searchsorted(labelled, hidden)
            P[places] = rows_to_distributions(F[places, k].astype(np.float64))
    return P


@dataclass(frozen=True, eq=False)
class _SpreadTask:
    """Spread some columns, and give the rows of some nodes."""

    hop: GraphOperator
    alpha: float
    steps: int
    nodes: np.ndarray

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells it from another task."""
        return ("spread", self.hop.mixture, self.hop.own, self.alpha, self.steps, self.nodes)

    def __call__(self, Y: Any, filters: Any, _: slice) -> np.ndarray:
        F = _spread(self.hop.on(filters(1)), dense(Y), self.alpha, self.steps)
        return np.asarray(F[self.nodes])


def _spread(hop: GraphOperator, Y: np.ndarray, alpha: float, steps: int) -> np.ndarray:
    def step(F: np.ndarray, _: int) -> np.ndarray:
        F = hop(F)
        F *= alpha
        F += Y
        return F

    return last(iterate(step, Y, range(steps)))
