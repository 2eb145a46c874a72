"""Graph convolution (Eq. 2) and its lazy form (Sect. 3.1)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from gssl.graph.mapped import mapped_file, release_pages
from gssl.operators._kernels.threads import run_parts, split_rows
from gssl.operators.mixture import Filters, Mixture, mix
from gssl.operators.supervision import Pull

# bytes of a memory-mapped graph in memory at a time
_BLOCK_BYTES = 1 << 26
# entries of A scaled at a time
_ENTRIES = 1 << 22


@dataclass(frozen=True)
class NormalizedAdjacency:
    r"""The matrix :math:`\hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}`, without values if unweighted.

    Made by :func:`normalized_adjacency`; ``A_hat @ U`` applies it. A memory-mapped graph is read in blocks of
    rows that are released after use, so it may be larger than memory. The result is bitwise identical,
    because each row is computed independently.

    Attributes
    ----------
    indptr, indices : int64 and int32 ndarray
        The pattern of A in CSR form.
    weights : ndarray
        The entries of :math:`\hat A` off the diagonal; empty if A is unweighted.
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
        """Return the bounds of the row ranges that threads process in a pass over ``width`` columns."""
        if width not in self._parts:
            self._parts[width] = split_rows(self.indptr, width)
        return self._parts[width]

    def each_part(self, task: Callable[[int, int], Any], width: int, block_bytes: int = _BLOCK_BYTES) -> None:
        """Run ``task(start, stop)`` on all row ranges, one block of a memory-mapped graph at a time."""
        bounds = self.parts(width)
        mapped = [array for array in (self.indices, self.weights) if mapped_file(array) is not None]
        size = sum(array.itemsize for array in mapped)
        # a range belongs to the block of its first entry
        block = self.indptr[bounds[:-1]] * size // block_bytes
        for first, last in _runs(block):
            cuts = bounds[first : last + 1]
            run_parts(partial(_run_part, task, cuts), last - first)
            for array in mapped:
                release_pages(array)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (n, n)."""
        return len(self.scale), len(self.scale)

    def tocsr(self) -> csr_array:
        """Return the matrix in CSR format, including its diagonal."""
        s = diags_array(self.scale)
        values = self.weights if self.weights.size else np.ones(len(self.indices), self.scale.dtype)
        links = csr_array((values, self.indices, self.indptr), shape=self.shape)
        return csr_array((links if self.weights.size else s @ links @ s) + s @ s)

    def toarray(self) -> np.ndarray:
        """Return the matrix as a dense array."""
        return np.asarray(self.tocsr().toarray())

    def __matmul__(self, U: Any) -> np.ndarray:
        return np.asarray(mix(Filters(self), U, Mixture(smooth=1.0)))


def normalized_adjacency(
    A: csr_array, dtype: Any = None, degrees: np.ndarray | None = None
) -> NormalizedAdjacency:
    r"""Add self-loops to an adjacency and normalise it symmetrically (Eq. 2).

    .. math:: \hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}, \qquad \tilde D = D + I

    For an isolated node, the row of :math:`\hat A` is that of the identity.

    Parameters
    ----------
    A : csr_array of shape (n, n)
        Symmetric, non-negative, without self-loops (see :func:`gssl.graph.check_adjacency`).
    dtype : float type, optional
        Type of the embeddings; that of A if None.
    degrees : float64 ndarray of shape (n,), optional
        The diagonal of D if A is part of a larger graph (see :func:`gssl.graph.k_hop_subgraph`); the row sums
        of A if None.

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
    # in double precision until scaled to at most one
    degrees = row_sums(A) if degrees is None else degrees
    scale = 1.0 / np.sqrt(degrees + 1.0)
    weights = np.empty(0, dtype)
    if len(A.indices) and not _is_unweighted(A):
        weights = scaled_weights(A, scale, dtype)
    indices = A.indices.astype(np.int32, copy=False)
    return NormalizedAdjacency(indptr, indices, weights, scale.astype(dtype))


def lazy_convolution(A_hat: NormalizedAdjacency, U: Any, beta: float = 1.0, pull: Pull | None = None) -> Any:
    r"""Move each embedding towards those of its neighbours (lazy graph convolution, Eq. 21).

    .. math:: [\beta \hat A + (1 - \beta) I] U

    This is one gradient step of length :math:`\beta / 2` on the smoothing loss; :math:`\beta = 1` is
    plain graph convolution.

    Parameters
    ----------
    A_hat : NormalizedAdjacency
        From :func:`normalized_adjacency`.
    U : ndarray or csr_array of shape (n, d), or Mixture
        A Mixture stands for U in the equations of a method; the result is a Mixture.
    beta : float, default=1.0
        The moving probability.
    pull : Pull, optional
        The update of labelled rows, from :func:`supervised_embedding` (Eq. 6).

    Returns
    -------
    ndarray of shape (n, d), or Mixture

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> A_hat = normalized_adjacency(csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> lazy_convolution(A_hat, np.array([[1.0], [0.0]]), beta=0.5).round(6)
    array([[0.75],
           [0.25]])
    """
    if isinstance(U, Mixture):
        return U.then(Mixture.lazy(beta))
    U = mix(Filters(A_hat), U, Mixture.lazy(beta))
    if pull is not None:
        pull.add_to(U)
    return U


def _run_part(task: Callable[[int, int], Any], cuts: np.ndarray, k: int) -> None:
    task(cuts[k], cuts[k + 1])


def _is_unweighted(A: csr_array) -> bool:
    # an unweighted graph in files broadcasts a single weight
    data = A.data[:1] if A.data.strides == (0,) else A.data
    return not data.size or bool(data.min() == 1 == data.max())


def row_sums(A: csr_array) -> np.ndarray:
    r"""Return the degrees of all nodes in double precision: :math:`D_{ii} = \sum_j A_{ij}`."""
    if _is_unweighted(A):
        return np.asarray(np.diff(A.indptr), dtype=np.float64)
    return np.asarray(A.sum(axis=1, dtype=np.float64))


def scaled_weights(
    A: csr_array,
    scale: np.ndarray,
    dtype: Any,
    columns: np.ndarray | None = None,
    entries_at_once: int = _ENTRIES,
) -> np.ndarray:
    """Return the scaled weights :math:`s_i A_{ij} t_j` in the order of the entries of A; t is s if None."""
    columns = scale if columns is None else columns
    # in chunks, because the products are in double precision
    indptr = A.indptr.astype(np.int64, copy=False)
    weights = np.empty(len(A.indices), dtype)
    for start in range(0, len(weights), entries_at_once):
        part = slice(start, min(start + entries_at_once, len(weights)))
        rows = np.searchsorted(indptr, np.arange(part.start, part.stop), side="right") - 1
        weights[part] = scale[rows] * A.data[part] * columns[A.indices[part]]
    return weights


def _runs(values: np.ndarray) -> list[tuple[int, int]]:
    """Return the (start, stop) of each run of equal values."""
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]]) if len(values) else np.empty(0, int)
    return list(zip(starts.tolist(), [*starts[1:].tolist(), len(values)], strict=True)) if len(starts) else []
