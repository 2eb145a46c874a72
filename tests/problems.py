"""Small graphs for tests, drawn from a seed: one function for each kind."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array


class Problem(NamedTuple):
    """Features, a symmetric adjacency, labels (−1 where unknown), and the true classes."""

    X: np.ndarray
    A: np.ndarray
    y: np.ndarray
    truth: np.ndarray


def random_graph(n=60, density=0.1, seed=0, *, weighted=False):
    """Return a random graph as a dense symmetric matrix; weights are between a half and two."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < density, k=1) * (rng.uniform(0.5, 2.0, (n, n)) if weighted else 1.0)
    return A + A.T


def path(n):
    """Return a path of n nodes as a dense matrix."""
    return ring(n, wraps=False)


def ring(n, *reaches, wraps=True):
    """Return a ring, or a path, in which nodes are linked to those at some distances, as a dense matrix."""
    A = np.zeros((n, n))
    for reach in reaches or (1,):
        for k in range(n if wraps else n - reach):
            A[k, (k + reach) % n] = A[(k + reach) % n, k] = 1.0
    return A


def block_graph(n=120, classes=3, p_in=0.1, p_out=0.01, signal=0.3, labels=8, width=4, seed=0):
    """Return classes whose nodes tend to be linked, with noisy features and a few labels in each.

    ``width`` columns of the features follow each class.
    """
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % classes
    same = truth[:, None] == truth
    A = np.triu(rng.random((n, n)) < np.where(same, p_in, p_out), k=1).astype(float)
    X = signal * np.eye(classes)[truth].repeat(width, axis=1) + rng.normal(size=(n, classes * width))
    return Problem(X, A + A.T, np.where(np.arange(n) < classes * labels, truth, -1), truth)


def rings_with_chords():
    """Return three rings of twelve nodes with chords, two bridges between rings, three labels in each."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 12)
    A = np.kron(np.eye(3), ring(12, 1, 2, 5))
    for u, v in ((3, 15), (17, 30)):
        A[u, v] = A[v, u] = 1.0
    X = 0.8 * np.eye(3)[truth].repeat(2, axis=1) + 0.2 * rng.random((36, 6))
    y = np.where(np.arange(36) % 12 % 4 + 12 * (np.arange(36) % 12 > 8) == 0, truth, -1)
    return Problem(X / X.sum(axis=1, keepdims=True), A, y, truth)


def random_links(rng, truth, share_alike, count):
    """Return undirected links as a sparse matrix, a share of them between nodes of one class."""
    u, v = rng.integers(0, len(truth), (2, count))
    for k in np.flatnonzero(rng.random(count) < share_alike):
        v[k] = rng.choice(np.flatnonzero(truth == truth[u[k]]))
    keep = u != v
    links = csr_array((np.ones(keep.sum()), (u[keep], v[keep])), shape=(len(truth),) * 2)
    return csr_array(((links + links.T) > 0).astype(float))
