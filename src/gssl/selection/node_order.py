"""An order of nodes by their own data, so that samples and folds do not depend on how nodes are stored."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.graph.mapped import iterate_blocks
from gssl.methods.labels import UNLABELLED
from gssl.operators import Filters, Mixture, normalized_adjacency
from gssl.operators.program import polynomial

# weights of the hops in a key, without a common divisor, so that different neighbourhoods do not cancel out
_HOPS = tuple(1.0 / np.sqrt(prime) for prime in (1, 2, 3, 5))


def node_keys(X: Any, A: csr_array | None = None) -> np.ndarray:
    r"""Return a number for every node that depends on its features and its neighbourhood only.

    .. math:: \sum_{t=0}^{3} \frac{\hat A^t (z + 1)}{\sqrt{p_t}}, \qquad z = \text{standardised } X g

    with a fixed random vector g. Nodes with equal keys have, in general, equal rows after any filter.
    """
    z = _project(X)
    z -= z.mean()
    deviation = float(z.std())
    return _with_neighbours(z / deviation + 1.0 if deviation > 0 else np.ones(len(z)), A)


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
    return np.asarray(program.run(own[:, None], lambda graph: filters)[:, 0])


def _project(X: Any) -> np.ndarray:
    """Multiply X by a fixed random vector in double precision, in units of its largest entry."""
    g = np.random.default_rng(0).standard_normal(X.shape[1])
    if issparse(X):
        X = csr_array(X)
        largest = float(np.abs(X.data).max(initial=0.0)) or 1.0
        return np.asarray(csr_array((X.data / np.float64(largest), X.indices, X.indptr), shape=X.shape) @ g)
    z, largest = np.zeros(X.shape[0]), 0.0
    for rows, columns in iterate_blocks(X):
        largest = max(largest, float(np.abs(X[rows, columns]).max(initial=0.0)))
    for rows, columns in iterate_blocks(X):
        z[rows] += (X[rows, columns] / np.float64(largest or 1.0)) @ g[columns]
    return z


def spread_nodes(keys: np.ndarray, most: int) -> np.ndarray:
    """Return all nodes, or ``most`` that are evenly spaced in the order of their keys, sorted."""
    n = len(keys)
    if n <= most:
        return np.arange(n)
    return np.sort(np.argsort(keys, kind="stable")[np.arange(most) * n // most])


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
