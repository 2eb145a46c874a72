"""Linear steps of embeddings: mixtures of ÂU, N̂U, U and the features X, each applied in one pass."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from gssl.graph.mapped import iterate_blocks, mapped_file, release_pages
from gssl.operators._kernels.threads import run_parts, split_rows
from gssl.operators.arrays import alike

# width assumed when splitting column sums, so that their rounding does not depend on the actual width
_SUM_WIDTH = 64


@dataclass(frozen=True)
class Mixture:
    r"""The operator :math:`\mathrm{smooth}\cdot\hat A + \mathrm{sharp}\cdot\hat N + \mathrm{keep}\cdot I`.

    :math:`\hat A` is the normalised adjacency and :math:`\hat N` the normalised negatives; ``restart`` is the
    weight of the features X that a step adds, and ``past`` that of the previous content of its output, for
    three-term recurrences. Mixtures can be added and multiplied by numbers, so a method can be written like
    its equation.

    Examples
    --------
    >>> (Mixture.lazy(0.5) + Mixture.lazy_inverse(1.0)) / 2
    Mixture(smooth=0.25, sharp=0.5, keep=0.25, restart=0.0, past=0.0)
    """

    smooth: float = 0.0
    sharp: float = 0.0
    keep: float = 0.0
    restart: float = 0.0
    past: float = 0.0

    @classmethod
    def lazy(cls, beta: float) -> Self:
        r"""Return the lazy graph convolution :math:`\beta \hat A + (1 - \beta) I`."""
        return cls(smooth=beta, keep=1.0 - beta)

    @classmethod
    def lazy_inverse(cls, beta: float) -> Self:
        r"""Return the lazy inverse graph convolution :math:`\beta \hat N + (1 - \beta) I`."""
        return cls(sharp=beta, keep=1.0 - beta)

    def then(self, step: Self) -> Self:
        """Return a step applied to this mixture, which must be a multiple of U."""
        if self.smooth or self.sharp or self.restart or self.past:
            raise ValueError("a mixture is one pass over the graph: a second step needs a pass of its own.")
        return step * self.keep

    def __add__(self, other: Self) -> Self:
        return type(self)(*(mine + theirs for mine, theirs in zip(self.weights, other.weights, strict=True)))

    def __mul__(self, number: float) -> Self:
        return type(self)(*(weight * number for weight in self.weights))

    __rmul__ = __mul__

    def __truediv__(self, number: float) -> Self:
        return type(self)(*(weight / number for weight in self.weights))

    @property
    def coefficients(self) -> tuple[float, float, float, float]:
        """The weights of Â, N̂, I and the previous output, in the order of the kernels."""
        return self.smooth, self.sharp, self.keep, self.past

    @property
    def weights(self) -> tuple[float, float, float, float, float]:
        """All weights, in the order of the fields."""
        return self.smooth, self.sharp, self.keep, self.restart, self.past


# U and X in the equations of a method
EMBEDDING, FEATURES = Mixture(keep=1.0), Mixture(restart=1.0)


@dataclass(frozen=True)
class Filters:
    """The matrices Â and N̂ of a mixture on one graph.

    ``N_hat`` is None if nothing is sharpened, a :class:`gssl.operators.Complement`, or a sampled CSR matrix.
    The complement of the same graph shares the pass of ``A_hat`` over its edges; any other ``N_hat`` needs a
    pass of its own. ``own`` is a diagonal that is added to ``A_hat``: an operator whose self-loops have other
    weights need not copy the links. A subclass may compute elsewhere, such as on a GPU.
    """

    A_hat: Any
    N_hat: Any = None
    own: Any = None

    @cached_property
    def shares_links(self) -> bool:
        """Whether ``N_hat`` is the complement of the graph of ``A_hat``, so that one pass reads both."""
        A_hat, N_hat = self.A_hat, self.N_hat
        if N_hat is None or issparse(N_hat):
            return False
        return _is_same(A_hat.indptr, N_hat.indptr) and _is_same(A_hat.indices, N_hat.indices)

    def mix(
        self,
        U: Any,
        carried: Mixture,
        *,
        out: Any = None,
        gathered: Mixture | None = None,
        total: Any = None,
        X: Any = None,
    ) -> Any:
        """Apply a mixture on all threads of this machine: see :func:`mix`."""
        from gssl.operators._kernels import narrow, rows  # import numba only when needed

        A_hat, N_hat = self.A_hat, self.N_hat
        dtype = A_hat.scale.dtype
        U = _readable(U, dtype)
        sharpens = carried.sharp != 0.0 or (gathered is not None and gathered.sharp != 0.0)
        shared = sharpens and self.shares_links
        if out is None:
            if carried.past:
                raise ValueError("a mixture with a past needs out, the array that holds it.")
            out = np.empty(U.shape, dtype)
        # kernels skip a term whose array is empty
        t = N_hat.scale.astype(dtype, copy=False) if shared else np.empty(0, dtype)
        sums = column_sums(t, U).astype(dtype) if shared else np.empty(0, dtype)
        graph = (A_hat.indptr, A_hat.indices, A_hat.weights, A_hat.scale, t, sums)
        p, q = carried.coefficients, (gathered or Mixture()).coefficients
        kernel_total = np.empty((0, 0), dtype) if total is None else total
        restart = carried.restart
        if issparse(U):
            more: Any = ()
            loop: Any = rows.mix_sparse(dtype.char)
            given: Any = (
                U.indptr.astype(np.int64, copy=False),
                U.indices.astype(np.int32, copy=False),
                U.data,
            )
            width = max(1, U.nnz // max(1, U.shape[0]))
        else:
            width = U.shape[1]
            narrow_enough = 0 < width <= narrow.NARROW
            loop = (
                narrow.mix_narrow(dtype.char, width, shared) if narrow_enough else rows.mix_dense(dtype.char)
            )
            given = (U,)
            # features of another type or layout are added after the pass
            fused = restart != 0.0 and isinstance(X, np.ndarray) and mapped_file(X) is None
            fused = fused and X.dtype == dtype and X.flags.c_contiguous
            more = (restart, X) if fused else (0.0, np.empty((0, 0), dtype))
            restart = 0.0 if fused else restart
        A_hat.each_part(lambda i, j: loop(i, j, *graph, *given, p, q, out, kernel_total, *more), width)
        if sharpens and not shared:
            _add_product(N_hat, U, carried.sharp, out)
            if gathered is not None and total is not None:
                _add_product(N_hat, U, gathered.sharp, total)
        add_scaled(out, restart, X)
        if gathered is not None and total is not None:
            add_scaled(total, gathered.restart, X)
        if self.own is not None:
            add_weighted(out, carried.smooth, self.own, U)
            if gathered is not None and total is not None:
                add_weighted(total, gathered.smooth, self.own, U)
        return out


def mix(
    filters: Filters,
    U: Any,
    carried: Mixture,
    *,
    out: Any = None,
    gathered: Mixture | None = None,
    total: Any = None,
    X: Any = None,
) -> Any:
    r"""Apply a mixture to embeddings, and add another mixture to a running total, in one pass over the graph.

    .. math:: V \leftarrow (c_1 \hat A + c_2 \hat N + c_3 I) U + c_4 X + c_5 V

    Parameters
    ----------
    filters : Filters
    U : ndarray or csr_array of shape (n, d)
        Sparse features stay sparse while they are read; the result is dense.
    carried : Mixture
        The step itself.
    out : ndarray of shape (n, d), optional
        V, to which the result is written; a new array if None. It must not be U, and is read only if the
        mixture has a ``past``.
    gathered : Mixture, optional
        The mixture to add to ``total``.
    total : ndarray of shape (n, d), optional
    X : ndarray or csr_array of shape (n, d), optional
        The features; needed only by a mixture with ``restart``.

    Returns
    -------
    ndarray of shape (n, d)

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from gssl.operators import normalized_adjacency
    >>> filters = Filters(normalized_adjacency(csr_array([[0.0, 1.0], [1.0, 0.0]])))
    >>> mix(filters, np.array([[1.0], [0.0]]), Mixture(smooth=1.0)).round(6)
    array([[0.5],
           [0.5]])
    """
    return filters.mix(U, carried, out=out, gathered=gathered, total=total, X=X)


def add_scaled(U: Any, weight: float, X: Any) -> None:
    r"""Add features to embeddings in place, :math:`U \leftarrow U + wX`, without a dense copy of X.

    Parameters
    ----------
    U : ndarray of shape (n, d)
    weight : float
        w; if it is zero, X is not read.
    X : ndarray or csr_array of shape (n, d)

    Examples
    --------
    >>> U = np.ones((2, 2))
    >>> add_scaled(U, 2.0, csr_array([[0.0, 1.0], [0.0, 0.0]]))
    >>> U
    array([[1., 3.],
           [1., 1.]])
    """
    if not weight:
        return
    if issparse(X):
        if not X.has_canonical_format:  # indexing below would add a duplicate entry only once
            X = X.copy()
            X.sum_duplicates()
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        U[rows, X.indices] += weight * X.data
        return
    for start in range(0, len(X), 4096):
        U[start : start + 4096] += weight * X[start : start + 4096]


def add_weighted(U: Any, weight: float, factors: np.ndarray, X: Any) -> None:
    r"""Add rows with factors of their own in place, :math:`U \leftarrow U + w\,\mathrm{diag}(f) X`."""
    if issparse(X):
        add_scaled(U, weight, csr_array(diags_array(factors.astype(X.dtype)) @ X))
    elif weight:
        column = alike(weight * factors[:, None], U)
        column = column.astype(U.dtype) if isinstance(column, np.ndarray) else column
        for start in range(0, len(U), 4096):
            rows = slice(start, start + 4096)
            U[rows] += column[rows] * X[rows]


def column_sums(t: np.ndarray, U: Any) -> np.ndarray:
    r"""Return the weighted column sums :math:`t^\top U` in double precision."""
    if issparse(U):
        return np.asarray(U.T.astype(np.float64) @ t)
    from gssl.operators._kernels import rows

    n, d = U.shape
    bounds = split_rows(np.arange(n + 1), _SUM_WIDTH)
    parts = np.zeros((len(bounds) - 1, d))
    loop = rows.sum_rows(U.dtype.char)
    run_parts(lambda k: loop(bounds[k], bounds[k + 1], t, U, parts[k]), len(parts))
    return np.asarray(parts.sum(axis=0))


def multiply(X: Any, V: np.ndarray) -> Any:
    """Multiply features by a narrow matrix; sparse features are split by rows over all threads.

    Parameters
    ----------
    X : ndarray, csr_array or tensor of shape (n, d)
    V : ndarray of shape (d, c)

    Returns
    -------
    ndarray or tensor of shape (n, c)

    Examples
    --------
    >>> multiply(csr_array([[0.0, 2.0]]), np.array([[1.0], [3.0]]))
    array([[6.]])
    """
    if not issparse(X):
        return X @ alike(V, X) if mapped_file(X) is None else _multiply_file(X, V)
    from gssl.operators._kernels import narrow, rows

    V = np.ascontiguousarray(V, dtype=X.dtype)
    out = np.empty((X.shape[0], V.shape[1]), X.dtype)
    indptr, indices = X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False)
    width = V.shape[1]
    bounds = split_rows(indptr, width)
    narrow_enough = 0 < width <= narrow.NARROW
    loop = narrow.multiply_narrow(X.dtype.char, width) if narrow_enough else rows.multiply_rows(X.dtype.char)
    run_parts(lambda k: loop(bounds[k], bounds[k + 1], indptr, indices, X.data, V, out), len(bounds) - 1)
    return out


def _multiply_file(X: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Multiply a memory-mapped X block by block, releasing each block."""
    out = np.zeros((X.shape[0], V.shape[1]), np.result_type(X, V))
    for rows, columns in iterate_blocks(X):
        out[rows] += X[rows, columns] @ V[columns]
        release_pages(V)
    return out


def _is_same(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two arrays are one array in memory or in a file, or else have the same values."""
    if one is other:
        return True
    file = mapped_file(one)
    # row pointers in 32 bits are copied for each matrix, so that their values decide
    return (file is not None and file == mapped_file(other)) or np.array_equal(one, other)


def _readable(U: Any, dtype: Any) -> Any:
    """Return U as the kernels need it: C-contiguous or CSR, with the dtype of the graph."""
    if issparse(U):
        return csr_array(U).astype(dtype, copy=False)
    return np.ascontiguousarray(U, dtype=dtype)


def _add_product(N_hat: Any, U: Any, coefficient: float, target: np.ndarray) -> None:
    if coefficient:
        product = N_hat @ U
        product = product.toarray() if issparse(product) else product
        product *= coefficient
        target += product
