"""Graph convolution (Eq. 2) and its lazy form (Sect. 3.1)."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array


def normalized_adjacency(A: csr_array) -> csr_array:
    r"""Normalise an adjacency with self-loops symmetrically (Eq. 2).

    .. math:: \hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}, \qquad \tilde D = D + I

    An isolated node keeps itself: its row of :math:`\hat A` is that of the identity.

    Parameters
    ----------
    A : csr_array of shape (n, n)
        Symmetric, non-negative, without self-loops (see :func:`gssl.graph.check_adjacency`).

    Returns
    -------
    csr_array of shape (n, n)

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> A = csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> normalized_adjacency(A).toarray()
    array([[0.5, 0.5, 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """
    A = A.astype(np.result_type(A.dtype, np.float32), copy=False)
    A_tilde = csr_array(A + eye_array(A.shape[0], dtype=A.dtype, format="csr"))
    scale = diags_array(1.0 / np.sqrt(A_tilde.sum(axis=1)).astype(A.dtype))
    return csr_array(scale @ A_tilde @ scale)


def lazy_convolution(A_hat: csr_array, U: Any, beta: float = 1.0) -> Any:
    r"""Move every embedding towards its neighbours' (lazy graph convolution, Eq. 21).

    .. math:: [\beta \hat A + (1 - \beta) I] U

    This is one gradient step of length :math:`\beta / 2` on the smoothing loss; :math:`\beta = 1` is
    plain graph convolution.

    Parameters
    ----------
    A_hat : csr_array of shape (n, n)
        From :func:`normalized_adjacency`.
    U : ndarray or csr_array of shape (n, d)
    beta : float, default=1.0
        The moving probability.

    Returns
    -------
    ndarray or csr_array of shape (n, d)

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> A_hat = normalized_adjacency(csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> lazy_convolution(A_hat, np.array([[1.0], [0.0]]), beta=0.5)
    array([[0.75],
           [0.25]])
    """
    if beta == 1.0:
        return A_hat @ U
    return beta * (A_hat @ U) + (1.0 - beta) * U
