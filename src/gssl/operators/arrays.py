"""What a loop asks of its arrays, whether they are NumPy's or tensors that live on some device.

A loop that is written with these functions, with slices and with arithmetic runs on either. Tensors are known
by their methods (``new_zeros``, ``new_tensor``), so no other package is imported for them.
"""

from typing import Any

import numpy as np
from scipy.sparse import issparse


def zeros(U: Any, n_rows: int | None = None) -> Any:
    """Make zeros of the kind, type and width of U, dense even if U is not.

    Parameters
    ----------
    U : ndarray, csr_array or tensor of shape (n, d)
    n_rows : int, optional
        As many as U has if None.

    Returns
    -------
    ndarray or tensor of shape (n_rows, d)

    Examples
    --------
    >>> zeros(np.ones((2, 3)), n_rows=1)
    array([[0., 0., 0.]])
    """
    shape = (U.shape[0] if n_rows is None else n_rows, U.shape[1])
    return U.new_zeros(shape) if _is_tensor(U) else np.zeros(shape, U.dtype)


def alike(V: np.ndarray, U: Any) -> Any:
    """Return a small array as something that can be added to U: as it is, or as a tensor beside U.

    Parameters
    ----------
    V : ndarray
    U : ndarray, csr_array or tensor

    Returns
    -------
    ndarray or tensor

    Examples
    --------
    >>> alike(np.ones(2), np.zeros((2, 2)))
    array([1., 1.])
    """
    return U.new_tensor(V) if _is_tensor(U) else V


def fetch(U: Any) -> np.ndarray:
    """Return an array or tensor as an array in memory, without a copy where it is there already.

    Examples
    --------
    >>> fetch(np.ones(2))
    array([1., 1.])
    """
    return np.asarray(U.detach().cpu().numpy() if _is_tensor(U) else U)


def dense(U: Any, *, copy: bool = False) -> Any:
    """Return U dense; what is dense already is copied only if asked for.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> dense(csr_array([[0.0, 2.0]]))
    array([[0., 2.]])
    """
    if _is_tensor(U):
        return U.clone() if copy else U
    return np.array(U.toarray() if issparse(U) else U, copy=copy or None)


def _is_tensor(U: Any) -> bool:
    return hasattr(U, "new_zeros")
