"""Simple graphs: symmetric, without self-loops, duplicates and stored zeros."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array, triu

from gssl.graph.mapped import release_pages
from gssl.graph.validate import read_matrix, warn_user

# entries that are compared at a time
_BLOCK = 1 << 20


@dataclass(frozen=True)
class CleaningReport:
    """What cleaning changed, in counts.

    Attributes
    ----------
    self_loops : int
        Entries on the diagonal, removed.
    duplicates : int
        Entries beyond the first at the same place, merged into it.
    asymmetric : int
        Pairs of nodes whose two weights differed; both became the larger.
    zeros : int
        Stored zeros, removed.

    Examples
    --------
    >>> CleaningReport(self_loops=3, duplicates=0, asymmetric=0, zeros=0).messages()
    ['removed 3 self-loops']
    """

    self_loops: int
    duplicates: int
    asymmetric: int
    zeros: int

    @property
    def changed(self) -> bool:
        """Whether anything was changed."""
        return bool(self.self_loops or self.duplicates or self.asymmetric or self.zeros)

    def messages(self) -> list[str]:
        """Return one sentence per kind of change."""
        sentences = [
            (self.self_loops, f"removed {_count(self.self_loops, 'self-loop')}"),
            (
                self.duplicates,
                f"merged {_count(self.duplicates, 'duplicate edge')} "
                "(their weights were added, unless every weight given is 1)",
            ),
            (
                self.asymmetric,
                f"the adjacency is not symmetric in {_count(self.asymmetric, 'pair')} of nodes: "
                "each pair takes the larger of its two weights",
            ),
            (self.zeros, f"removed {_count(self.zeros, 'stored zero')}"),
        ]
        return [message for count, message in sentences if count]


def clean_adjacency(adjacency: Any) -> tuple[csr_array, CleaningReport]:
    """Return the simple undirected graph behind an adjacency, and what had to change.

    Duplicates are added, as SciPy does, except in an unweighted graph (every weight given is 1), where naming
    an edge twice says nothing new and it stays 1. An asymmetric pair takes the larger weight, max(A, Aᵀ).

    Parameters
    ----------
    adjacency : sparse matrix or array of any format, or array-like, shape (n, n)
        Never modified.

    Returns
    -------
    cleaned : csr_array, shape (n, n)
        Symmetric, with sorted, unique indices; shares memory with a CSR that was clean already.
    report : CleaningReport
        Counts of the changes.

    Examples
    --------
    >>> cleaned, report = clean_adjacency([[1, 2], [0, 0]])
    >>> cleaned.toarray()
    array([[0., 2.],
           [2., 0.]])
    >>> report
    CleaningReport(self_loops=1, duplicates=0, asymmetric=1, zeros=0)
    """
    if is_declared(adjacency):
        return adjacency, CleaningReport(0, 0, 0, 0)
    simple, self_loops, duplicates, zeros = simplify(adjacency)
    asymmetric = len(asymmetric_pairs(simple))
    for array in (simple.data, simple.indices, simple.indptr):
        release_pages(array)  # of a graph in files, which the check has read as a whole
    if asymmetric:
        simple = simple.maximum(simple.T.tocsr())
    return simple, CleaningReport(self_loops, duplicates, asymmetric, zeros)


def check_adjacency(
    adjacency: Any,
    *,
    n_nodes: int | None = None,
    directed: Literal["symmetrize", "keep"] = "symmetrize",
    allow_empty: bool = False,
) -> csr_array:
    """Return an adjacency fit to compute with, or raise an error that says why there is none.

    Repairs (self-loops, duplicates, stored zeros, asymmetry; see :func:`clean_adjacency`) are reported in one
    :class:`GraphWarning` per kind, with its count.

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
        simple, *_ = simplify(adjacency)
        u, v = asymmetric_pairs(simple)[0]
        raise ValueError(
            f"the adjacency is not symmetric in {report.asymmetric} pair(s) of nodes, "
            f"first nodes {u} and {v} with weights {simple[u, v]} and {simple[v, u]}: "
            'pass directed="symmetrize" or adjacency.maximum(adjacency.T).'
        )
    if not cleaned.nnz and not allow_empty:
        raise ValueError(
            "the graph has no edges between different nodes: check the edge list or build a kNN graph."
        )
    for message in report.messages():
        warn_user(message)
    return cleaned


def declare_simple(A: csr_array) -> csr_array:
    """Mark an adjacency as already clean, so that it is not checked again; return it.

    A check reads the graph and its transpose into memory, which a graph in files may be too large for. The
    mark holds for this object while its arrays are read-only; anything computed from it is checked.
    """
    A._declared_simple = True
    if not is_declared(A):
        raise ValueError("an adjacency can be vouched for only while its arrays are read-only.")
    return A


def is_declared(adjacency: Any) -> bool:
    """Return whether :func:`declare_simple` marked this adjacency."""
    return bool(
        isinstance(adjacency, csr_array)
        and getattr(adjacency, "_declared_simple", False)
        and not any(a.flags.writeable for a in (adjacency.data, adjacency.indices, adjacency.indptr))
    )


def simplify(adjacency: Any) -> tuple[csr_array, int, int, int]:
    """Remove self-loops and zeros and merge duplicates, but keep directions.

    Returns the graph and the number of self-loops, duplicates and zeros.
    """
    if is_declared(adjacency):
        return adjacency, 0, 0, 0
    given = read_matrix(adjacency, "the adjacency")
    if given.shape[0] != given.shape[1]:
        raise ValueError(
            f"the adjacency must be square, got shape {given.shape}: one row and column per node."
        )
    if isinstance(given, np.ndarray):
        given = csr_array(given)
    low, high = _check_weights(given)
    zeros = given.nnz - np.count_nonzero(given.data) if low == 0 else 0
    unweighted = high == 1 and (low == 1 or bool(np.all((given.data == 1) | (given.data == 0))))
    self_loops = _count_self_loops(given)

    simple = given.tocsr()
    if zeros or self_loops or not simple.has_canonical_format:
        entries = simple.tocoo()
        keep = (entries.row != entries.col) & (entries.data != 0)
        kept = (entries.data[keep], (entries.row[keep], entries.col[keep]))
        simple = coo_array(kept, shape=given.shape).tocsr()
    duplicates = given.nnz - zeros - self_loops - simple.nnz
    if duplicates and unweighted:
        simple.data[:] = 1
    return simple, self_loops, duplicates, zeros


def asymmetric_pairs(simple: csr_array) -> npt.NDArray[np.int64]:
    """Return the pairs u < v whose two weights differ by more than rounding, one per row, in order."""
    transposed = simple.T.tocsr()
    # the same canonical pattern is the common case, and far cheaper to see than a sparse comparison;
    # weights that were computed may differ in their last bits, which is no direction
    if np.array_equal(simple.indptr, transposed.indptr) and _same_entries(simple, transposed):
        return np.empty((0, 2), dtype=np.int64)
    differing = triu(simple != transposed, k=1, format="csr").tocoo()
    u, v = differing.row, differing.col
    apart = ~_alike(np.asarray(simple[u, v]), np.asarray(transposed[u, v]))
    return np.column_stack([u[apart], v[apart]]).astype(np.int64)


def _same_entries(A: csr_array, B: csr_array) -> bool:
    # in blocks, because each comparison makes another array
    blocks = (slice(start, start + _BLOCK) for start in range(0, A.nnz, _BLOCK))
    return all(
        np.array_equal(A.indices[block], B.indices[block])
        and bool(_alike(A.data[block], B.data[block]).all())
        for block in blocks
    )


def _alike(a: np.ndarray, b: np.ndarray) -> npt.NDArray[np.bool_]:
    """Return which weights are equal up to rounding."""
    return np.asarray(np.isclose(a, b, rtol=8 * np.finfo(a.dtype).eps, atol=0.0))


def _check_weights(given: Any) -> tuple[float, float]:
    if not given.nnz:
        return 1.0, 1.0
    with np.errstate(invalid="ignore"):
        low, high = given.data.min(), given.data.max()
    if low >= 0 and high < np.inf:
        _check_degrees(given, high)
        return float(low), float(high)
    entries = given.tocoo()
    bad = np.flatnonzero(~(entries.data >= 0) | (entries.data == np.inf))
    first = bad[np.lexsort((entries.col[bad], entries.row[bad]))[0]]
    value = entries.data[first]
    what = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else f"the negative weight {value}"
    raise ValueError(
        f"the adjacency holds {what} at row {entries.row[first]}, column {entries.col[first]}: "
        "edge weights must be finite and not negative; remove the edge or repair its weight."
    )


def _check_degrees(given: Any, high: float) -> None:
    """Refuse weights whose sum over a row leaves the range of their type."""
    if float(high) < np.finfo(given.dtype).max / max(1, given.nnz):
        return
    with np.errstate(over="ignore"):
        rows = np.flatnonzero(~np.isfinite(given.sum(axis=1)))
    if rows.size:
        raise ValueError(
            f"the weights of row {rows[0]} of the adjacency add up to more than {given.dtype} can hold: "
            "scale the weights down."
        )


def _count_self_loops(given: Any) -> int:
    # weights are not negative, so the diagonal sums to zero only where it is empty
    if not given.diagonal().any():
        return 0
    entries = given.tocoo()
    return int(np.count_nonzero((entries.row == entries.col) & (entries.data != 0)))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
