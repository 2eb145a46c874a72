"""The checks every method makes before it computes."""

from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from gssl.graph.cleaning import asymmetric_pairs, clean_adjacency, simplify
from gssl.graph.pages import blocks
from gssl.graph.structure import read_matrix
from gssl.graph.warning import warn_user


def check_adjacency(
    adjacency: Any,
    *,
    n_nodes: int | None = None,
    directed: Literal["symmetrize", "keep"] = "symmetrize",
    allow_empty: bool = False,
) -> csr_array:
    """Return an adjacency fit to compute with, or say in one sentence why there is none.

    Every repair (self-loops, duplicates, stored zeros, asymmetry; see `clean_adjacency`) is told in one
    `GraphWarning` per kind, with its count.

    Parameters
    ----------
    adjacency : sparse matrix or array of any format, or array-like, shape (n, n)
        Weights of any real or boolean type, finite and not negative. Never modified.
    n_nodes : int, optional
        The number of nodes expected, e.g. the rows of X.
    directed : {"symmetrize", "keep"}, default="symmetrize"
        An asymmetric graph becomes max(A, Aᵀ), or is an error, since no method here takes directions.
    allow_empty : bool, default=False
        Whether a graph without edges passes.

    Returns
    -------
    csr_array, shape (n, n)
        Symmetric, sorted, without duplicates, zeros or self-loops; float32 if given so, otherwise float64. A
        CSR that was clean already shares its memory: do not write into it.

    Examples
    --------
    >>> check_adjacency([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    if directed not in ("symmetrize", "keep"):
        raise ValueError(f'directed must be "symmetrize" or "keep", got {directed!r}.')
    cleaned, report = clean_adjacency(adjacency)
    n = cleaned.shape[0]
    if n == 0:
        raise ValueError("the adjacency has zero nodes: give at least one.")
    if n_nodes is not None and n != n_nodes:
        raise ValueError(f"the adjacency has {n} nodes but {n_nodes} are expected: one node per row of X.")
    if report.asymmetric and directed == "keep":
        _refuse_direction(adjacency, report.asymmetric)
    if not cleaned.nnz and not allow_empty:
        raise ValueError(
            "the graph has no edges between different nodes: check the edge list or build a kNN graph."
        )
    for message in report.messages():
        warn_user(message)
    return cleaned


def check_finite(X: Any, name: str = "X") -> None:
    """Raise an error that names the first NaN or infinity of a matrix, or a broken sparse structure.

    Parameters
    ----------
    X : sparse matrix or array-like, shape (n, d)
    name : str, default="X"
        What to call it in the error.

    Examples
    --------
    >>> check_finite([[0.0, 1.0], [float("nan"), 2.0]])
    Traceback (most recent call last):
    ValueError: X contains NaN at row 1, column 0: remove the row or fill in the value.
    """
    matrix = read_matrix(X, name)
    with np.errstate(over="ignore", invalid="ignore"):
        # one bad value spoils the sum; a sum may also overflow, so only this direction is a proof
        if np.isfinite(_sum(matrix)):
            return
    if isinstance(matrix, np.ndarray):
        rows, columns = np.nonzero(~np.isfinite(matrix))
        bad = matrix[rows, columns]
    else:
        entries = matrix.tocoo()
        places = np.flatnonzero(~np.isfinite(entries.data))
        places = places[np.lexsort((entries.col[places], entries.row[places]))]
        rows, columns, bad = entries.row[places], entries.col[places], entries.data[places]
    if bad.size:
        what = "NaN" if np.isnan(bad[0]) else "infinity"
        raise ValueError(
            f"{name} contains {what} at row {rows[0]}, column {columns[0]}: "
            "remove the row or fill in the value."
        )


def _sum(matrix: Any) -> float:
    if not isinstance(matrix, np.ndarray):
        return float(matrix.data.sum())
    return float(sum(matrix[rows, columns].sum() for rows, columns in blocks(matrix)))


def _refuse_direction(adjacency: Any, n_pairs: int) -> None:
    simple, *_ = simplify(adjacency)
    u, v = asymmetric_pairs(simple)[0]
    raise ValueError(
        f"the adjacency is not symmetric in {n_pairs} pair(s) of nodes, first nodes {u} and {v} with weights "
        f'{simple[u, v]} and {simple[v, u]}: pass directed="symmetrize" or adjacency.maximum(adjacency.T).'
    )
