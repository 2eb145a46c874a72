"""Inverse graph convolution (IGC, Eq. 10), which moves unlinked nodes apart."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array

from gssl.operators.convolution import NormalizedAdjacency
from gssl.operators.mixture import Filters, Mixture, mix


def normalized_negatives(N: csr_array) -> csr_array:
    r"""Normalise a negative graph for inverse convolution (Eq. 10).

    .. math:: {}^\neg\tilde D^{-1/2} (2I - {}^\neg A) {}^\neg\tilde D^{-1/2},
              \qquad {}^\neg\tilde D = 2I + {}^\neg D

    Parameters
    ----------
    N : csr_array of shape (n, n)
        Symmetric 0/1 matrix of unlinked pairs, as from :func:`gssl.graph.sample_negatives`.

    Returns
    -------
    csr_array of shape (n, n)

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> normalized_negatives(csr_array([[0.0, 2.0], [2.0, 0.0]])).toarray()
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    N = N.astype(np.result_type(N.dtype, np.float32), copy=False)
    scale = diags_array(1.0 / np.sqrt(2.0 + N.sum(axis=1)).astype(N.dtype))
    return csr_array(scale @ (2.0 * eye_array(N.shape[0], dtype=N.dtype) - N) @ scale)


@dataclass(frozen=True)
class Complement:
    r"""The normalised graph of all unlinked pairs, without storing them.

    The complement is :math:`N = 11^\top - I - A`, so a product with it is one product with A and a
    column sum: :math:`N V = 1 (1^\top V) - V - A V`. With :math:`V = {}^\neg\tilde D^{-1/2} U`,

    .. math:: {}^\neg\tilde D^{-1/2} (2I - N) {}^\neg\tilde D^{-1/2} U
              = {}^\neg\tilde D^{-1/2} \left(3V + A V - 1 (1^\top V)\right).

    Made by :func:`complement_negatives`; ``Complement @ U`` applies it.

    Attributes
    ----------
    indptr, indices : int64 and int32 ndarray
        The pattern of A in CSR form.
    scale : ndarray of shape (n,)
        The diagonal of :math:`{}^\neg\tilde D^{-1/2}`.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> (complement_negatives(csr_array([[0.0, 0.0], [0.0, 0.0]])) @ np.array([[3.0], [0.0]])).round(6)
    array([[ 2.],
           [-1.]])
    """

    indptr: np.ndarray
    indices: np.ndarray
    scale: np.ndarray

    def __matmul__(self, U: Any) -> np.ndarray:
        unweighted = np.empty(0, self.scale.dtype)
        A_hat = NormalizedAdjacency(self.indptr, self.indices, unweighted, self.scale)
        return np.asarray(mix(Filters(A_hat, self), U, Mixture(sharp=1.0)))


def complement_negatives(A: csr_array, dtype: Any = None) -> Complement:
    r"""Return the exact negative graph of an adjacency: all pairs that it does not link.

    Only the pattern of ``A`` is used, because weights say nothing about absent links.

    Parameters
    ----------
    A : csr_array of shape (n, n)
        Without self-loops (see :func:`gssl.graph.check_adjacency`).
    dtype : float type, optional
        Type of the embeddings; that of A if None.

    Returns
    -------
    Complement

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> complement_negatives(csr_array([[0.0, 5.0], [5.0, 0.0]])).scale.round(3)
    array([0.707, 0.707])
    """
    dtype = np.result_type(A.dtype, np.float32) if dtype is None else dtype
    indptr = A.indptr.astype(np.int64, copy=False)
    degree = A.shape[0] - 1.0 - np.diff(indptr)
    return Complement(
        indptr, A.indices.astype(np.int32, copy=False), (1.0 / np.sqrt(2.0 + degree)).astype(dtype)
    )


def laplacian_sharpening(N: csr_array, U: Any, eta_sharp: float = 0.5) -> Any:
    r"""Take one step of gradient ascent on Q_sharp: IGC before its normalisation (Eqs. 8 and 9).

    .. math:: \left(I + 2 \eta_{sharp}\, {}^\neg D^{-1/2}\, {}^\neg L\, {}^\neg D^{-1/2}\right) U,

    which is :math:`(2I - {}^\neg D^{-1/2}\, {}^\neg A\, {}^\neg D^{-1/2}) U` with the default step. Its
    eigenvalues lie in :math:`[1, 1 + 4 \eta_{sharp}]`, so U grows without bound when repeated;
    :func:`inverse_convolution` is the stable form (Eq. 10).

    Parameters
    ----------
    N : csr_array of shape (n, n)
        Symmetric 0/1 matrix of unlinked pairs. Nodes in no pair keep their embeddings.
    U : ndarray of shape (n, d)
    eta_sharp : float, default=0.5

    Returns
    -------
    ndarray of shape (n, d)

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> laplacian_sharpening(csr_array([[0.0, 1.0], [1.0, 0.0]]), np.array([[1.0], [0.0]]))
    array([[ 2.],
           [-1.]])
    """
    degree = np.asarray(N.sum(axis=1), dtype=U.dtype)[:, None]
    scale = np.zeros_like(degree)
    np.divide(1.0, np.sqrt(degree), out=scale, where=degree > 0)
    V = scale * U
    return U + 2.0 * eta_sharp * scale * (degree * V - N @ V)


def inverse_convolution(N_hat: Any, U: Any, beta: float = 1.0) -> Any:
    r"""Move each embedding away from those of unlinked nodes (lazy IGC, Eq. 10).

    .. math:: \left[\beta\, {}^\neg\tilde D^{-1/2} (2I - {}^\neg A) {}^\neg\tilde D^{-1/2}
              + (1 - \beta) I\right] U

    Parameters
    ----------
    N_hat : csr_array of shape (n, n) or Complement
        From :func:`normalized_negatives` (sampled pairs) or :func:`complement_negatives` (all pairs).
    U : ndarray of shape (n, d), or Mixture
        A Mixture stands for U in the equations of a method; the result is a Mixture.
    beta : float, default=1.0

    Returns
    -------
    ndarray of shape (n, d), or Mixture

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> N_hat = normalized_negatives(csr_array([[0.0, 2.0], [2.0, 0.0]]))
    >>> inverse_convolution(N_hat, np.array([[1.0], [0.0]]))
    array([[ 0.5],
           [-0.5]])
    """
    if isinstance(U, Mixture):
        return U.then(Mixture.lazy_inverse(beta))
    sharp = N_hat @ U
    return sharp if beta == 1.0 else beta * sharp + (1.0 - beta) * U
