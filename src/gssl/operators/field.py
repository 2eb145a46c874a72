"""The Gaussian field of a graph: what numbers at some nodes say about the others."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

# the residual, relative to the right-hand side, at which a solution is accepted, and the most iterations
_TOLERANCE, _MOST = 1e-8, 1_000


def field_operator(A: csr_array) -> csr_array:
    r"""Return :math:`S = D^{-1/2} A D^{-1/2}`; isolated nodes have rows of zeros.

    Parameters
    ----------
    A : csr_array of shape (n, n)
        Symmetric, without self-loops.

    Returns
    -------
    csr_array of shape (n, n)

    Examples
    --------
    >>> A = csr_array(np.array([[0.0, 4.0], [4.0, 0.0]]))
    >>> field_operator(A).toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    degrees = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
    roots = np.divide(1.0, np.sqrt(degrees), out=np.zeros(len(degrees)), where=degrees > 0)
    data = A.data * np.repeat(roots, np.diff(A.indptr)) * roots[A.indices]
    return csr_array((data, A.indices, A.indptr), shape=A.shape)


def field_mean(S: csr_array, values: np.ndarray, known: np.ndarray, omega: Any) -> np.ndarray:
    r"""Return the mean of a Gaussian field given its values at some nodes.

    .. math:: r_U = -G_{UU}^{-1} G_{UL}\, e_L, \qquad G = \tfrac1\omega I + I - S

    Solved by conjugate gradients, for several fields at once.

    Parameters
    ----------
    S : csr_array of shape (n, n)
        :func:`field_operator` of the graph.
    values : ndarray of shape (n, k)
        The values e of k fields; those of unknown nodes do not matter.
    known : bool ndarray of shape (n, k)
        The nodes L of each field.
    omega : float or ndarray of shape (k,)
        How far values reach; ω > 0.

    Returns
    -------
    ndarray of shape (n, k)
        ``values`` where these are known.

    Examples
    --------
    A node between two known ones, and one behind them:

    >>> S = field_operator(csr_array(np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])))
    >>> field_mean(S, np.array([[1.0], [0], [1]]), np.array([[True], [False], [True]]), 1.0).round(3)
    array([[1.   ],
           [0.707],
           [1.   ]])
    """
    free = ~known
    diagonal = 1.0 + 1.0 / np.asarray(omega, dtype=np.float64)
    given = np.where(known, values, 0.0).astype(np.float64)
    residual = free * (S @ given)
    limit = _TOLERANCE**2 * np.square(residual).sum(axis=0)
    x, step = np.zeros_like(given), residual.copy()
    squares = np.square(residual).sum(axis=0)
    for _ in range(_MOST):
        if (squares <= limit).all():
            break
        applied = free * (diagonal * step - S @ step)
        curvature = (step * applied).sum(axis=0)
        length = np.divide(squares, curvature, out=np.zeros_like(squares), where=curvature > 0)
        x += length * step
        residual -= length * applied
        before, squares = squares, np.square(residual).sum(axis=0)
        step = residual + np.divide(squares, before, out=np.zeros_like(squares), where=before > 0) * step
    return np.asarray(given + x)
