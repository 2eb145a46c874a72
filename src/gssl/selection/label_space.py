"""Whether hops over labelled nodes are cheaper than hops over features."""

from typing import Any

from scipy.sparse import csr_array, issparse


def label_space_pays(X: Any, A: csr_array, n_rows: int, depth: int) -> bool:
    """Compare hops over one column per node that is needed, each seen by X, with hops over all features.

    Examples
    --------
    >>> import numpy as np
    >>> A = csr_array(np.ones((9, 9)))
    >>> label_space_pays(np.ones((9, 100)), A, 2, depth=2), label_space_pays(np.ones((9, 2)), A, 100, depth=2)
    (True, False)
    """
    n, d = X.shape
    hop = A.nnz + n
    size = X.nnz if issparse(X) else X.size
    # columns that stay in the cache are read about twice as fast as those of all features
    return bool((depth * hop + (depth + 1) * size) * n_rows < 2 * depth * (hop + n) * d)
