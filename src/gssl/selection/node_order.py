"""An order of nodes by their own data, so that samples and folds do not depend on how data are stored."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.graph.adjacency import relations_of
from gssl.graph.mapped import iterate_blocks
from gssl.methods.labels import UNLABELLED
from gssl.operators import Filters, Mixture, normalized_adjacency
from gssl.operators.program import polynomial

# weights of the hops in a key, without a common divisor, so that different neighbourhoods do not cancel out
_HOPS = tuple(1.0 / np.sqrt(prime) for prime in (1, 2, 3, 5))
# keys times this are scattered enough for their fractions to be random
_SCATTERED = 1e4
# rows read at a time
_ROWS = 4096


def node_keys(X: Any, A: csr_array | None = None, columns: np.ndarray | None = None) -> np.ndarray:
    r"""Return a number for every node that depends on its features and its neighbourhood only.

    .. math:: \sum_{t=0}^{3} \frac{\hat A^t (z + 1)}{\sqrt{p_t}}, \qquad z = \text{standardised } X g

    with random numbers g of the :func:`column_keys`. Nodes with equal keys have, in general, equal rows after
    any filter.
    """
    g = random_waves(column_keys(X, A) if columns is None else columns, 1)[:, 0]
    z = np.zeros(X.shape[0])
    for rows, part, block in _blocks(X):
        z[rows] += block @ g[part]
    return _with_neighbours(1.0 + _standardized(z), A)


def column_keys(X: Any, A: csr_array | None = None) -> np.ndarray:
    """Return a number for every column that depends on its entries and their nodes only."""
    n, d = X.shape
    sums, squares, keys = np.zeros(n), np.zeros(n), np.zeros(d)
    for rows, _, block in _blocks(X):
        sums[rows] += abs(block).sum(axis=1)
        squares[rows] += (abs(block) ** 2).sum(axis=1)
    own = _with_neighbours(np.ones(n), A) + _HOPS[1] * _standardized(sums) + _HOPS[2] * _standardized(squares)
    for rows, part, block in _blocks(X):
        keys[part] += block.T @ own[rows]
    return keys


def random_waves(keys: np.ndarray, count: int) -> np.ndarray:
    """Return random numbers as functions of keys; by position where most keys are equal, as on a ring."""
    rng, n = np.random.default_rng(0), len(keys)
    if 2 * len(np.unique(keys)) < n:
        # waves would span too few directions
        return rng.standard_normal((n, count))
    waves = 10.0 * n * rng.standard_normal(count)
    return np.asarray(np.cos(np.outer(_standardized(keys), waves) + rng.uniform(0.0, 2.0 * np.pi, count)))


def keys_with_labels(keys: np.ndarray, A: csr_array, codes: np.ndarray) -> np.ndarray:
    """Return keys that also differ where labels nearby do; a class counts by the mean key of its labels."""
    labelled = codes != UNLABELLED
    counts = np.bincount(codes[labelled])
    means = np.bincount(codes[labelled], weights=keys[labelled]) / np.maximum(counts, 1)
    own = keys.copy()
    own[labelled] += 1.0 + means[codes[labelled]]
    return _with_neighbours(own, A)


def _with_neighbours(own: np.ndarray, A: csr_array | None) -> np.ndarray:
    if A is None or not A.nnz:
        return own
    filters = Filters(normalized_adjacency(A, np.float64))
    program = polynomial(_HOPS, Mixture(smooth=1.0))
    keys = np.asarray(program.run(own[:, None], lambda graph: filters)[:, 0])
    for links in relations_of(A).values():
        # a number of the relation that does not depend on its name, and another for the way back
        number = float(own @ (links @ own)) / max(1, links.nnz)
        keys += np.cos(number) * (links @ own) + np.cos(2.0 * number) * (links.T @ own)
    return keys


def _standardized(values: np.ndarray) -> np.ndarray:
    """Return values with mean zero and deviation one; zeros if they are all equal."""
    centred = values - values.mean() if len(values) else values
    deviation = float(centred.std()) if len(values) else 0.0
    # rounding errors of equal values, such as rows of one length, are no differences
    equal = deviation <= 1e-6 * np.abs(values).max(initial=0.0)
    return np.zeros(len(values)) if equal else centred / deviation


def _blocks(X: Any) -> Iterator[tuple[slice, slice, Any]]:
    """Yield the rows, columns and values of blocks of X, in units of its largest entry."""
    if issparse(X):
        # a copy, because SciPy would sort the indices of X in place, and not its data
        X = csr_array(X, copy=not X.has_canonical_format)
        X.sum_duplicates()
        largest = np.float64(np.abs(X.data).max(initial=0.0) or 1.0)
        yield (
            slice(0, X.shape[0]),
            slice(0, X.shape[1]),
            csr_array((X.data / largest, X.indices, X.indptr), shape=X.shape),
        )
        return
    largest = np.float64(0.0)
    for rows, columns in iterate_blocks(X):
        block = X[rows, columns]
        largest = max(largest, np.float64(max(block.max(initial=0.0), -block.min(initial=0.0))))
    for rows, columns in iterate_blocks(X):
        for start in range(rows.start, rows.stop, _ROWS):
            part = slice(start, min(start + _ROWS, rows.stop))
            yield part, columns, X[part, columns] / (largest or 1.0)


def spread_nodes(keys: np.ndarray, most: int) -> np.ndarray:
    """Return all nodes, or ``most`` that are evenly spaced in the order of their keys, sorted."""
    n = len(keys)
    if n <= most:
        return np.arange(n)
    return np.sort(np.argsort(keys, kind="stable")[np.arange(most) * n // most])


def scattered_folds(keys: np.ndarray, count: int) -> list[np.ndarray]:
    """Divide positions by their keys, so that nodes that cannot be told apart stay together."""
    fold = np.floor(count * np.modf(np.abs(keys) * _SCATTERED)[0])
    return [part for k in range(count) if len(part := np.flatnonzero(fold == k))]


def stratified_part(codes: np.ndarray, keys: np.ndarray, size: int) -> np.ndarray:
    """Choose about ``size`` labels, evenly spaced by key within each class, keeping the class shares."""
    if len(codes) <= size:
        return np.arange(len(codes))
    chosen = []
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        kept = max(1, round(size * len(members) / len(codes)))
        chosen.append(members[spread_nodes(keys[members], kept)])
    return np.sort(np.concatenate(chosen))
