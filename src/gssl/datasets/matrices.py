"""Sparse matrices built from parts that nobody has checked yet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array


def adjacency_from_edges(edges: NDArray[np.integer[Any]], n_nodes: int) -> csr_array:
    """Symmetric 0/1 adjacency of an edge list; self loops are dropped, repeats merged.

    Examples
    --------
    >>> adjacency_from_edges(np.array([[0, 1], [1, 0], [2, 2]]), 3).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(f"edges are {edges.dtype} of shape {edges.shape}, not m × 2 whole numbers")
    outside = np.flatnonzero(((edges < 0) | (edges >= n_nodes)).any(axis=1))
    if outside.size:
        row = outside[0]
        raise ValueError(f"edge {row} is {edges[row].tolist()} but nodes run from 0 to {n_nodes - 1}")
    index_dtype = np.int32 if n_nodes < 2**31 else np.int64
    u, v = edges[edges[:, 0] != edges[:, 1]].T.astype(index_dtype)
    rows, columns = np.concatenate([u, v]), np.concatenate([v, u])
    adjacency = coo_array((np.ones(rows.size), (rows, columns)), shape=(n_nodes, n_nodes)).tocsr()
    adjacency.sum_duplicates()
    adjacency.data[:] = 1.0
    return adjacency


def csr_from_parts(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> csr_array:
    """CSR matrix of parts that were read from a file, each checked before scipy relies on it.

    Examples
    --------
    >>> csr_from_parts(np.array([5.0]), np.array([1]), np.array([0, 1, 1]), (2, 2)).toarray()
    array([[0., 5.],
           [0., 0.]])
    """
    n_rows, n_columns = shape
    if any(part.ndim != 1 for part in (data, indices, indptr)) or data.dtype.kind not in "biuf":
        raise ValueError("the parts of the sparse matrix are not lists of numbers")
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise ValueError("the positions in the sparse matrix are not whole numbers")
    if indptr.size != n_rows + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"the row pointers of the sparse matrix do not fit its {n_rows} rows")
    if not indptr[-1] == indices.size == data.size:
        raise ValueError(f"the sparse matrix has {data.size} values but {indptr[-1]} places for them")
    if indices.size and not 0 <= indices.min() <= indices.max() < n_columns:
        raise ValueError(f"the sparse matrix has {n_columns} columns but names another")
    if not np.isfinite(data).all():
        raise ValueError("the sparse matrix holds NaN or infinity")
    matrix = csr_array((data, indices, indptr), shape=shape)
    matrix.sum_duplicates()
    return matrix


def identity_features(n_nodes: int) -> csr_array:
    """Features of a graph that has none: every node is its own column (the paper's X = I).

    Examples
    --------
    >>> identity_features(2).toarray()
    array([[1., 0.],
           [0., 1.]])
    """
    return eye_array(n_nodes, format="csr")
