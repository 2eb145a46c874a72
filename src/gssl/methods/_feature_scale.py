"""The unit that OGC measures its steps in: the scale of the features."""

from typing import Any

import numpy as np

from gssl.graph.mapped import iterate_blocks


class FeatureSizeError(ValueError):
    """Features are so large or small that their squares leave the range of their type."""


def feature_scale(X: Any) -> float:
    """Give the mean absolute row sum of the rows that have any feature.

    Examples
    --------
    >>> feature_scale(np.array([[1.0, -3.0], [0.0, 0.0], [2.0, 0.0]]))
    3.0
    """
    # by blocks, for the absolute values of a dense X would be a second X
    d = X.shape[1]
    sums = np.zeros(X.shape[0], X.dtype)
    for rows, columns in iterate_blocks(X):
        for start in range(rows.start, rows.stop, 1024):
            part = slice(start, min(start + 1024, rows.stop))
            # the last of many blocks of columns ends at d as well, and is not whole rows
            sums[part] += abs(X[part] if columns == slice(0, d) else X[part, columns]).sum(axis=1)
    if not sums.any():
        return 1.0
    scale = float(sums[sums > 0].mean(dtype=np.float64))
    limits = np.finfo(X.dtype)
    if not np.sqrt(limits.tiny * d) < scale < np.sqrt(limits.max / X.shape[0]):
        raise FeatureSizeError(
            f"OGC: features of the size {scale:.1e} leave the range of {X.dtype} when squared: scale X, for "
            "instance to rows that sum to one."
        )
    return scale
