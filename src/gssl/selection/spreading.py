"""Label spreading as a rival: what labels alone say about labels that are hidden."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.methods.labels import UNLABELLED, rows_to_distributions
from gssl.methods.recurrences import chebyshev_steps, run_steps, symmetric_filters
from gssl.scale.execution import IN_MEMORY, Checkpoint, Execution

# the part of the fixed point that may be missing, and the fewest steps towards it: fewer would not come far
# enough from a label to say anything
_MISSING, _FEWEST = 0.01, 16
# folds are run side by side up to so many columns: a hop over few of them costs about as much as over one
_COLUMNS = 32


def spread_hidden(
    A: csr_array,
    codes: np.ndarray,
    alpha: float = 0.9,
    *,
    folds: Sequence[np.ndarray],
    dtype: Any = np.float64,
    execution: Execution = IN_MEMORY,
) -> np.ndarray:
    r"""Return what label spreading says about labels that were hidden from it, each of them once.

    .. math:: F = (1 - \alpha)(I - \alpha D^{-1/2} A D^{-1/2})^{-1} Y
    """
    n_classes = int(codes.max()) + 1
    rho = (1.0 - np.sqrt((1.0 - alpha) * (1.0 + alpha))) / alpha
    steps = chebyshev_steps(alpha, max(_FEWEST, int(np.ceil(np.log(_MISSING / 2.0) / np.log(rho)))))
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
