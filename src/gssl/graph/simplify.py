"""Simple graphs: symmetric, without self-loops, duplicates or stored zeros."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array, triu

from gssl.graph.mapped import release_pages
from gssl.graph.validate import read_matrix
from gssl.wording import counted

# entries compared at a time
_BLOCK = 1 << 20


@dataclass(frozen=True)
class CleaningReport:
    """Counts of the changes made by cleaning.

    Attributes
    ----------
    self_loops : int
        Entries on the diagonal, removed.
    duplicates : int
        Repeated entries at the same position, merged into the first.
    asymmetric : int
        Pairs of nodes whose two weights differed; both were set to the larger.
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
            (self.self_loops, f"removed {counted(self.self_loops, 'self-loop')}"),
            (
                self.duplicates,
                f"merged {counted(self.duplicates, 'duplicate edge')} "
                "(their weights were added, unless every weight given is 1)",
            ),
            (
                self.asymmetric,
                f"the adjacency is not symmetric in {counted(self.asymmetric, 'pair')} of nodes: "
                "each pair takes the larger of its two weights",
            ),
            (self.zeros, f"removed {counted(self.zeros, 'stored zero')}"),
        ]
        return [message for count, message in sentences if count]


def clean_adjacency(adjacency: Any) -> tuple[csr_array, CleaningReport]:
    """Return the simple undirected graph of an adjacency, and a report of the changes.

    Weights of duplicates are added, as in SciPy, except in an unweighted graph (every weight given is 1),
    where they stay 1. An asymmetric pair takes the larger weight, max(A, Aᵀ).

    Parameters
    ----------
    adjacency : sparse matrix or array of any format, or array-like, shape (n, n)
        Never modified.

    Returns
    -------
    cleaned : csr_array, shape (n, n)
        Symmetric, with sorted, unique indices; shares memory with a CSR input that is already clean.
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
        release_pages(array)  # of a memory-mapped graph, which was read completely
    if asymmetric:
        simple = simple.maximum(simple.T.tocsr())
    return simple, CleaningReport(self_loops, duplicates, asymmetric, zeros)


def declare_simple(A: csr_array) -> csr_array:
    """Mark an adjacency as already clean, so that it is not checked again; return it.

    Checking loads the graph and its transpose, for which a memory-mapped graph may be too large. The mark is
    valid for this object while its arrays are read-only; matrices computed from it are checked.
    """
    A._declared_simple = True
    if not is_declared(A):
        raise ValueError(
            "the arrays of the adjacency are writeable: make them read-only before declaring it."
        )
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
    # usually both patterns are the same, which is far cheaper to check than a sparse comparison;
    # weights that differ only by rounding count as equal
    if np.array_equal(simple.indptr, transposed.indptr) and _same_entries(simple, transposed):
        return np.empty((0, 2), dtype=np.int64)
    differing = triu(simple != transposed, k=1, format="csr").tocoo()
    u, v = differing.row, differing.col
    apart = ~_close(np.asarray(simple[u, v]), np.asarray(transposed[u, v]))
    return np.column_stack([u[apart], v[apart]]).astype(np.int64)


def _same_entries(A: csr_array, B: csr_array) -> bool:
    # in blocks, because each comparison allocates a temporary array
    blocks = (slice(start, start + _BLOCK) for start in range(0, A.nnz, _BLOCK))
    return all(
        np.array_equal(A.indices[block], B.indices[block])
        and bool(_close(A.data[block], B.data[block]).all())
        for block in blocks
    )


def _close(a: np.ndarray, b: np.ndarray) -> npt.NDArray[np.bool_]:
    """Return a mask of the weights that are equal up to rounding."""
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
    """Raise if the weights of a row add up to more than their type can hold."""
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
    # weights are not negative, so duplicates on the diagonal cannot cancel out
    if not given.diagonal().any():
        return 0
    entries = given.tocoo()
    return int(np.count_nonzero((entries.row == entries.col) & (entries.data != 0)))
