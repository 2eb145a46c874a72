"""Graph convolution (Eq. 2) and its lazy form (Sect. 3.1)."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from gssl.operators._kernels.threads import split_rows
from gssl.operators.mixture import Filters, Mixture, mix


@dataclass(frozen=True)
class NormalizedAdjacency:
    r"""The matrix :math:`\hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}`, without values where A has none.

    Made by :func:`normalized_adjacency`; ``A_hat @ U`` applies it.

    Attributes
    ----------
    indptr, indices : int64 and int32 ndarray
        The pattern of A in CSR form.
    weights : ndarray
        The entries of :math:`\hat A` off the diagonal; of size zero where A is unweighted.
    scale : ndarray of shape (n,)
        The diagonal of :math:`\tilde D^{-1/2}`.

    Examples
    --------
    >>> normalized_adjacency(csr_array([[0.0, 1.0], [1.0, 0.0]])).scale.round(3)
    array([0.707, 0.707])
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    scale: np.ndarray
    _parts: dict[int, np.ndarray] = field(default_factory=dict, init=False, repr=False, compare=False)

    def parts(self, width: int) -> np.ndarray:
        """Give where the parts begin into which the threads cut a pass over ``width`` columns."""
        if width not in self._parts:
            self._parts[width] = split_rows(self.indptr, width)
        return self._parts[width]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of nodes, twice."""
        return len(self.scale), len(self.scale)

    def tocsr(self) -> csr_array:
        """Give the matrix with all its values, the diagonal among them."""
        s = diags_array(self.scale)
        values = self.weights if self.weights.size else np.ones(len(self.indices), self.scale.dtype)
        links = csr_array((values, self.indices, self.indptr), shape=self.shape)
        return csr_array((links if self.weights.size else s @ links @ s) + s @ s)

    def toarray(self) -> np.ndarray:
        """Give the matrix as a dense array."""
        return np.asarray(self.tocsr().toarray())

    def __matmul__(self, U: Any) -> np.ndarray:
        return np.asarray(mix(Filters(self), U, Mixture(smooth=1.0)))


def normalized_adjacency(
    A: csr_array, dtype: Any = None, degrees: np.ndarray | None = None
) -> NormalizedAdjacency:
    r"""Normalise an adjacency with self-loops symmetrically (Eq. 2).

    .. math:: \hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}, \qquad \tilde D = D + I

    An isolated node keeps itself: its row of :math:`\hat A` is that of the identity.

    Parameters
    ----------
    A : csr_array of shape (n, n)
        Symmetric, non-negative, without self-loops (see :func:`gssl.graph.check_adjacency`).
    dtype : float type, optional
        Of the embeddings it will be applied to; that of A if None.
    degrees : float64 ndarray of shape (n,), optional
        The diagonal of D where A is a part of a larger graph (see :func:`gssl.graph.surroundings`); the sums
        of its rows if None.

    Returns
    -------
    NormalizedAdjacency

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> A = csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> normalized_adjacency(A).toarray().round(3)
    array([[0.5, 0.5, 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """
    dtype = np.result_type(A.dtype, np.float32) if dtype is None else dtype
    indptr = A.indptr.astype(np.int64, copy=False)
    # in double precision until all values are at most one
    degrees = A.sum(axis=1, dtype=np.float64) if degrees is None else degrees
    scale = 1.0 / np.sqrt(degrees + 1.0)
    weights = np.empty(0, dtype)
    if A.nnz and not A.data.min() == 1 == A.data.max():
        rows = np.repeat(scale, np.diff(indptr))
        weights = (rows * A.data * scale[A.indices]).astype(dtype)
    indices = A.indices.astype(np.int32, copy=False)
    return NormalizedAdjacency(indptr, indices, weights, scale.astype(dtype))


def lazy_convolution(A_hat: NormalizedAdjacency, U: Any, beta: float = 1.0) -> Any:
    r"""Move every embedding towards its neighbours' (lazy graph convolution, Eq. 21).

    .. math:: [\beta \hat A + (1 - \beta) I] U

    This is one gradient step of length :math:`\beta / 2` on the smoothing loss; :math:`\beta = 1` is
    plain graph convolution.

    Parameters
    ----------
    A_hat : NormalizedAdjacency
        From :func:`normalized_adjacency`.
    U : ndarray or csr_array of shape (n, d)
    beta : float, default=1.0
        The moving probability.

    Returns
    -------
    ndarray of shape (n, d)

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> A_hat = normalized_adjacency(csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> lazy_convolution(A_hat, np.array([[1.0], [0.0]]), beta=0.5).round(6)
    array([[0.75],
           [0.25]])
    """
    return mix(Filters(A_hat), U, Mixture.lazy(beta))
