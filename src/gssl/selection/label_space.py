"""Whether hops over labelled nodes are cheaper than hops over features."""

from typing import Any

from scipy.sparse import csr_array, issparse


def label_space_pays(X: Any, A: csr_array, n_rows: int, depth: int) -> bool:
    """Compare hops over one column per node that is needed, each seen by X, with hops over all features."""
    n, d = X.shape
    hop = A.nnz + n
    size = X.nnz if issparse(X) else X.size
    # columns that stay in the cache are read about twice as fast as those of all features
    return bool((depth * hop + (depth + 1) * size) * n_rows < 2 * depth * (hop + n) * d)
