"""The transpose of sparse features times columns of all nodes."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.operators._kernels.threads import run_parts, split_rows

# each part has sums of its own; so many on any number of threads, for the order of a sum decides its rounding
_PARTS = 4


def multiply_transposed(X: Any, V: np.ndarray) -> np.ndarray:
    r"""Return :math:`X^\top V` without a transposed copy of X, for features that are fewer than nodes.

    Row by row of X and V, what is written stays in the cache as long as d times the columns of V is little;
    a product with the transpose would read V in no order, once for every entry of X.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
    V : ndarray of shape (n, c)

    Returns
    -------
    ndarray of shape (d, c)

    Examples
    --------
    >>> multiply_transposed(csr_array([[0.0, 2.0], [1.0, 0.0]]), np.array([[1.0], [3.0]]))
    array([[3.],
           [2.]])
    """
    if not issparse(X):
        return np.asarray(X.T @ V)
    from gssl.operators._kernels import rows

    X = csr_array(X)
    V = np.ascontiguousarray(V, dtype=X.dtype)
    indptr, indices = X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False)
    bounds = split_rows(indptr, V.shape[1])
    bounds = bounds[np.unique(np.linspace(0, len(bounds) - 1, _PARTS + 1).astype(np.int64))]
    sums = np.zeros((len(bounds) - 1, X.shape[1], V.shape[1]), X.dtype)
    loop = rows.scatter_rows(X.dtype.char)
    run_parts(lambda k: loop(bounds[k], bounds[k + 1], indptr, indices, X.data, V, sums[k]), len(sums))
    return np.asarray(sums.sum(axis=0))
