"""Products in double precision, by blocks of rows, so that no slab's width shows in a sum over slabs."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from gssl.operators import multiply

# so few that their copy in double precision stays in the cache
_ROWS = 512


def add_product(total: np.ndarray, U: Any, V: np.ndarray) -> None:
    r"""Add a product to a sum over slabs: :math:`Z \leftarrow Z + U_s V_s`.

    Parameters
    ----------
    total : float64 ndarray of shape (n, c)
        Z, written to.
    U : ndarray or csr_array of shape (n, w)
    V : ndarray of shape (w, c)

    Examples
    --------
    >>> total = np.ones((1, 1))
    >>> add_product(total, np.array([[2.0, 1.0]], np.float32), np.array([[1.0], [3.0]]))
    >>> total
    array([[6.]])
    """
    V = np.ascontiguousarray(V, dtype=np.float64)
    if issparse(U):
        for start in range(0, U.shape[0], _ROWS):
            total[start : start + _ROWS] += multiply(U[start : start + _ROWS].astype(np.float64), V)
        return
    # the same memory for every block: to ask the system for it again may cost more than the product
    room, products = np.empty((_ROWS, U.shape[1])), np.empty((_ROWS, V.shape[1]))
    for start in range(0, U.shape[0], _ROWS):
        n_rows = min(_ROWS, U.shape[0] - start)
        rows, product = room[:n_rows], products[:n_rows]
        rows[:] = U[start : start + n_rows]
        total[start : start + n_rows] += np.matmul(rows, V, out=product)


def transposed_product(U: Any, R: np.ndarray) -> np.ndarray:
    r"""Give :math:`U^\top R` in double precision.

    Parameters
    ----------
    U : ndarray of shape (m, w)
    R : ndarray of shape (m, c)

    Returns
    -------
    float64 ndarray of shape (w, c)

    Examples
    --------
    >>> transposed_product(np.array([[2.0, 1.0]], np.float32), np.array([[3.0]]))
    array([[6.],
           [3.]])
    """
    total = np.zeros((U.shape[1], R.shape[1]))
    for start in range(0, U.shape[0], _ROWS):
        total += U[start : start + _ROWS].astype(np.float64).T @ R[start : start + _ROWS].astype(np.float64)
    return total
