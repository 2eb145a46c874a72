"""Small graphs for tests, drawn from a seed: one function for each kind."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, random_array


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


def large_ring(n=30_001):
    """Return a sparse ring of so many nodes that their links are not used as features."""
    nodes = np.arange(n)
    A = csr_array((np.ones(n), (nodes, np.roll(nodes, -1))), shape=(n, n))
    return csr_array(A + A.T)


def arcs(n=240, every=8):
    """Return noise, a ring of three arcs, and their numbers at every few nodes: only spread labels tell."""
    truth = np.arange(n) * 3 // n
    X = np.random.default_rng(0).normal(size=(n, 6))
    return X, ring(n), np.where(np.arange(n) % every == 0, truth, -1)


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


def grown(problem, n_new, features=None):
    """Return a problem with more nodes that have no links, no answers and, unless given, no features."""
    n = len(problem.y) + n_new

    def more(A):
        return csr_array((A.data, A.indices, np.pad(A.indptr, (0, n_new), "edge")), shape=(n, n))

    if isinstance(problem.A, np.ndarray):
        A = np.pad(problem.A, (0, n_new))
    else:
        A = (
            {kind: more(B) for kind, B in problem.A.items()}
            if isinstance(problem.A, dict)
            else more(problem.A)
        )
    rows = np.zeros((n_new, problem.X.shape[1])) if features is None else features
    unknown = np.full((n_new, *problem.y.shape[1:]), np.nan if problem.y.dtype.kind == "f" else -1)
    return problem._replace(X=np.vstack([problem.X, rows]), A=A, y=np.concatenate([problem.y, unknown]))


def near_places(seed=0, n=200):
    """Return features, the graph of near places, numbers of all nodes, and which are known.

    A number depends on own features, on those of neighbours, and on the place.
    """
    rng = np.random.default_rng(seed)
    place, X = rng.random((n, 2)), rng.normal(size=(n, 5))
    distance = np.linalg.norm(place[:, None] - place, axis=2)
    A = ((distance < np.sqrt(8 / (n * np.pi))) & (distance > 0)).astype(float)
    near = A @ X / np.maximum(A.sum(axis=1), 1)[:, None]
    field = np.sin(4 * place[:, 0]) + np.cos(3 * place[:, 1])
    y = X[:, 0] + 2 * near[:, 1] + 1.5 * field + 0.3 * rng.normal(size=n)
    return X, A, y, rng.random(n) < 0.5


def places_with_numbers(n=72):
    """Return a small problem of numbers, NaN where unknown."""
    X, A, numbers, known = near_places(n=n)
    return Problem(X, A, np.where(known, numbers, np.nan), numbers)


def communities_with_sets(seed=0, n=500):
    """Return features, links within three communities, and four labels that follow both."""
    rng = np.random.default_rng(seed)
    group, X = rng.integers(3, size=n), rng.normal(size=(n, 6))
    links = np.triu(rng.random((n, n)) < np.where(group[:, None] == group, 12 / n, 1 / n), 1)
    A = csr_array((links | links.T).astype(float))
    near = np.asarray(A @ X) / np.maximum(np.diff(A.indptr), 1)[:, None]
    scores = np.stack(
        [3.0 * (group == 0) - 1.5, 3.0 * (group == 1) - 1.5, 2.0 * X[:, 0], 4.0 * near[:, 1]], axis=1
    )
    return X, A, (rng.random((n, 4)) < 1.0 / (1.0 + np.exp(-scores))).astype(float)


def communities_half_known(n=72):
    """Return a small problem of several labels per node, NaN in the rows of every other one."""
    X, A, Y = communities_with_sets(n=n)
    return Problem(X, A, np.where(np.arange(n)[:, None] % 2, Y, np.nan), Y)


def friends_and_noise(n=240):
    """Return a problem of two relations, one of which follows the classes; features say little."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 12)) + 1.2 * np.eye(12)[truth]
    relations = {"friends": random_links(rng, truth, 0.9, 500), "noise": random_links(rng, truth, 0.0, 1500)}
    return Problem(X, relations, np.where(rng.random(n) < 0.4, truth, -1), truth)


def directed_flow(n=240):
    """Return a directed graph in which the features of the nodes that a node links to tell its class."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 6))
    R = random_array((n, n), density=8 / n, rng=rng, data_sampler=lambda size: np.ones(size)).tocsr()
    R.setdiag(0)
    R.eliminate_zeros()
    ahead = np.asarray(R @ X)[:, 0]
    truth = (ahead > np.median(ahead)).astype(int)
    return Problem(X, csr_array(R), np.where(rng.random(n) < 0.5, truth, -1), truth)


def checkerboard(seed=0, n=900):
    """Return features whose signs form a checkerboard, which no linear model sees, and links at random."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    truth = (X[:, 0] * X[:, 1] > 0).astype(int)
    links = np.triu(rng.random((n, n)) < 4 / n, 1)
    A = csr_array((links | links.T).astype(float))
    return Problem(X, A, np.where(np.arange(n) < 2 * n // 3, truth, -1), truth)


def use_label_space(monkeypatch, model, wanted):
    """Let a class of models propagate its scores if ``wanted``, otherwise its embeddings."""
    monkeypatch.setattr(model, "propagated_columns", lambda model, X, *_: 0 if wanted else X.shape[1])
