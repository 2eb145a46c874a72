"""Functions for both NumPy arrays and torch tensors.

A loop written with these functions, slices and arithmetic runs on both. Tensors are recognised by their
methods (``new_zeros``, ``new_tensor``), so torch is not imported.
"""

from typing import Any

import numpy as np
from scipy.sparse import issparse


def zeros(U: Any, n_rows: int | None = None) -> Any:
    """Return dense zeros with the array type, dtype and width of U.

    Parameters
    ----------
    U : ndarray, csr_array or tensor of shape (n, d)
    n_rows : int, optional
        That of U if None.

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
    """Return V unchanged, or as a tensor on the device of U if U is a tensor."""
    return U.new_tensor(V) if _is_tensor(U) else V


def fetch(U: Any) -> np.ndarray:
    """Return an array or tensor as a NumPy array, copying only from another device.

    Examples
    --------
    >>> fetch(np.ones(2))
    array([1., 1.])
    """
    return np.asarray(U.detach().cpu().numpy() if _is_tensor(U) else U)


def dense(U: Any, *, copy: bool = False) -> Any:
    """Return U dense; a dense U is copied only if ``copy`` is true.

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
