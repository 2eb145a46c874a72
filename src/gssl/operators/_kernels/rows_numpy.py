"""Readable NumPy versions of the loops in ``rows`` and ``narrow``, on whole matrices."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

Numbers = tuple[float, float, float, float]


def mix(
    graph: tuple[np.ndarray, ...],
    U: Any,
    p: Numbers,
    q: Numbers,
    out: np.ndarray,
    total: np.ndarray,
    r: float = 0.0,
    X: Any = None,
) -> None:
    """Mix all rows: see ``rows.mix_dense``, ``rows.mix_sparse`` (without r) and ``narrow.mix_narrow``.

    ``graph`` is (indptr, indices, weights, s, t, sums).
    """
    indptr, indices, weights, s, t, sums = graph
    n = len(indptr) - 1
    ones = np.ones(len(indices), dtype=s.dtype)
    pattern = csr_array((ones, indices, indptr), shape=(n, n))
    U = U.toarray() if hasattr(U, "toarray") else U

    if weights.size:
        smooth = csr_array((weights, indices, indptr), shape=(n, n)) @ U + np.square(s)[:, None] * U
    else:
        smooth = s[:, None] * (pattern @ (s[:, None] * U) + s[:, None] * U)
    sharp = np.zeros_like(smooth)
    if t.size:
        V = t[:, None] * U
        sharp = t[:, None] * (3 * V + pattern @ V - sums)
    if total.size:
        total += q[0] * smooth + q[1] * sharp + q[2] * U
    before = p[3] * out if p[3] else 0.0
    out[:] = p[0] * smooth + p[1] * sharp + p[2] * U + before
    if r:
        out += r * X


def sum_rows(t: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Sum t_i U_i over all rows, in double precision."""
    return np.asarray((t[:, None] * U).sum(axis=0, dtype=np.float64))


def multiply(X: csr_array, V: np.ndarray) -> np.ndarray:
    """Multiply a CSR matrix by a dense one."""
    return np.asarray(X @ V)
