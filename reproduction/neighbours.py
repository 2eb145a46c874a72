"""How much of a graph can be read off distances between embeddings (Sect. 5.4, Table 3)."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from gssl.graph import GraphWarning, check_adjacency, check_finite
from gssl.methods.embedder import GraphEmbedder
from gssl.operators import Complement, Filters, complement_negatives
from gssl.scale.execution import FiltersOf

# distances whose difference is less than this many roundings are equal
_ROUNDINGS = 64


def reconstruction_accuracy(
    U: Any, adjacency: Any, *, block_rows: int = 512, as_published: bool = False
) -> float:
    r"""Predict each node's neighbours to be the nodes nearest to it, and give the part that is right.

    .. math:: \frac1{|V'|} \sum_{i \in V'} \frac{|\mathrm{near}_i \cap N(i)|}{|N(i)|}

    where :math:`\mathrm{near}_i` are the :math:`|N(i)|` nodes, other than i, whose rows have the least
    Euclidean distance to row i, and V' the nodes that have a neighbour.

    Equal distances share the places that are left to them evenly, so that neither the order of the nodes nor
    rounding decides: the result is the mean over all ways to break the ties. Distances count as equal if
    they differ by less than 64 roundings in the precision of U.

    Parameters
    ----------
    U : array-like of shape (n, d)
        Computed with in its own precision, float32 or float64.
    adjacency : sparse matrix or array-like of shape (n, n)
    block_rows : int, default=512
        Rows of distances that are held at once: 4 or 8 · n bytes each.
    as_published : bool, default=False
        Follow the experiment behind the paper's Table 3 in two matters that its text leaves out. The node
        itself is ranked, too, and the first of the ranking is dropped, equal distances in the order of the
        nodes: of nodes with equal rows only the first drops itself, each other one loses a neighbour. And
        self-loops of ``adjacency`` count as neighbours.

    Returns
    -------
    float

    Examples
    --------
    >>> A = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> reconstruction_accuracy([[0.0], [1.0], [3.0]], A)
    1.0
    >>> reconstruction_accuracy([[1.0], [1.0], [1.0]], A).__round__(3)
    0.667
    """
    check_finite(U, "U")
    rows = np.ascontiguousarray(U.toarray() if issparse(U) else U)
    rows = rows.astype(np.result_type(rows.dtype, np.float32), copy=False)
    links = _links(adjacency, loops=as_published)
    if rows.ndim != 2 or rows.shape[0] != links.shape[0]:
        raise ValueError(f"U has shape {rows.shape} but the graph has {links.shape[0]} nodes: one row each.")
    norms = np.einsum("ij,ij->i", rows, rows)
    products = (
        (start, rows[start : start + block_rows] @ rows.T) for start in range(0, len(rows), block_rows)
    )
    return _accuracy(products, norms, links, as_published)


def filter_reconstruction_accuracy(
    embedder: GraphEmbedder,
    adjacency: Any,
    *,
    block_columns: int = 256,
    dtype: Any = np.float64,
    as_published: bool = False,
) -> float:
    r"""Give the :func:`reconstruction_accuracy` of an embedder on a graph alone, X = I.

    With X = I the embeddings are the filter's own matrix F, and distances follow from

    .. math:: \|u_i - u_j\|^2 = G_{ii} + G_{jj} - 2 G_{ij}, \qquad G = F F^\top.

    A block of columns of G is the filter applied to a few rows of F, so no product of n×n matrices is
    ever made. One n×n array is held, F, and a few blocks.

    Parameters
    ----------
    embedder : GraphEmbedder
        ``SGC, SSGC, GGC, GGCM`` …
    adjacency : sparse matrix or array-like of shape (n, n)
    block_columns : int, default=256
    dtype : float type, default=float64
        Single precision halves time and memory; on deep, over-smoothed embeddings its rounding is of the
        size of the distances.
    as_published : bool, default=False
        See :func:`reconstruction_accuracy`; self-loops then also stay in the graph that is convolved, while
        its complement has none: no node is a negative of itself.

    Returns
    -------
    float

    Examples
    --------
    >>> import gssl
    >>> A = gssl.datasets.load("karate").adjacency
    >>> filter_reconstruction_accuracy(gssl.SSGC(depth=2), A).__round__(4)
    0.7847
    """
    embedder._check_parameters()
    links = _links(adjacency, loops=as_published)
    filters = _filters(embedder, links, np.dtype(dtype))
    n = links.shape[0]
    F = np.empty((n, n), dtype)
    for start in range(0, n, block_columns):
        F[:, start : start + block_columns] = embedder._apply(
            _unit_columns(n, start, min(n, start + block_columns), dtype), filters
        )
    norms = np.einsum("ij,ij->i", F, F)
    return _accuracy(_filtered_rows(embedder, filters, F, block_columns), norms, links, as_published)


def _filters(embedder: GraphEmbedder, links: csr_array, dtype: Any) -> FiltersOf:
    """Make the filters of a graph that may have self-loops, which its complement knows nothing of."""
    filters = embedder._filters(links, dtype)
    loop_free = csr_array(links - diags_array(links.diagonal()))
    loop_free.eliminate_zeros()
    if loop_free.nnz == links.nnz:
        return filters
    exact = complement_negatives(loop_free, dtype)

    def of(k: int) -> Filters:
        found = filters(k)
        return replace(found, N_hat=exact) if isinstance(found.N_hat, Complement) else found

    return of


def _filtered_rows(
    embedder: GraphEmbedder, filters: FiltersOf, F: np.ndarray, width: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield blocks of rows of F Fᵀ: F applied to rows of F, which are columns of Fᵀ."""
    for start in range(0, len(F), width):
        columns = np.ascontiguousarray(F[start : start + width].T)
        yield start, np.ascontiguousarray(embedder._apply(columns, filters).T)


def _unit_columns(n: int, start: int, stop: int, dtype: Any) -> csr_array:
    """Give columns start to stop of the identity."""
    width = stop - start
    return csr_array(
        (np.ones(width, dtype), (np.arange(start, stop), np.arange(width))),
        shape=(n, width),
    )


def _links(adjacency: Any, *, loops: bool) -> csr_array:
    if not loops:
        return check_adjacency(adjacency)
    with warnings.catch_warnings():
        # "removed self-loops" would not be true here
        warnings.simplefilter("ignore", GraphWarning)
        links = check_adjacency(adjacency)
    diagonal = adjacency.diagonal() if issparse(adjacency) else np.diag(np.asarray(adjacency))
    together = csr_array(links + diags_array((diagonal != 0).astype(links.dtype)))
    together.eliminate_zeros()
    together.sort_indices()
    return together


def _accuracy(
    products: Iterator[tuple[int, np.ndarray]], norms: np.ndarray, links: csr_array, as_published: bool
) -> float:
    """Average over nodes what :func:`_found` says, given blocks of rows of UUᵀ and its diagonal."""
    precision = _ROUNDINGS * np.finfo(norms.dtype).eps
    total, n_counted = 0.0, 0
    for start, block in products:
        block *= -2.0
        block += norms
        block += norms[start : start + len(block), None]
        for i, distances in enumerate(block, start=start):
            neighbors = links.indices[links.indptr[i] : links.indptr[i + 1]]
            if not len(neighbors):
                continue
            distances[i] = 0.0
            dropped = np.argmax(distances <= precision * norms[i]) if as_published else i
            distances[dropped] = np.inf
            total += _found(distances, neighbors, precision, float(norms[i]))
            n_counted += 1
    return total / n_counted


def _found(distances: np.ndarray, neighbors: np.ndarray, precision: float, norm: float) -> float:
    """Give the part of a node's neighbours among the nearest, ties shared evenly."""
    size = len(neighbors)
    last = np.partition(distances, size - 1)[size - 1]
    if not np.isfinite(last):  # linked with every node, itself among them
        return float(np.isfinite(distances[neighbors]).sum()) / size
    slack = precision * (norm + last)
    n_nearer = np.count_nonzero(distances < last - slack)
    n_level = np.count_nonzero(distances <= last + slack) - n_nearer
    own = distances[neighbors]
    nearer = np.count_nonzero(own < last - slack)
    level = np.count_nonzero(own <= last + slack) - nearer
    return float(nearer + level * (size - n_nearer) / n_level) / size
