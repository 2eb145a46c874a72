"""Prediction of ten nodes added to a graph: from their neighbourhood against the whole graph."""

from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import gssl
from benchmarks import graphs
from benchmarks.entry import Contest, Race, Rival
from gssl.graph import k_hop_subgraph

_NEW = 10


def entries(*, quick: bool) -> list[Race]:
    """Return a race for two hops on a graph of small diameter, and for many hops on a grid."""
    n_edges = 100_000 if quick else 1_000_000
    drawn = f"SGC(depth=2) + logistic, drawn graph of {n_edges:.0e} edges, d = 64"
    grid = f"OGC, grid of {n_edges:.0e} edges, d = 16"
    return [
        Race("unseen-sgc", f"{_NEW} nodes, {drawn}", partial(_drawn, n_edges), 5),
        Race("unseen-ogc", f"{_NEW} nodes, {grid}", partial(_grid, n_edges), 5),
    ]


def _drawn(n_edges: int) -> Contest:
    data = graphs.grown(n_edges)
    model = gssl.EmbeddingClassifier(gssl.SGC(depth=2))
    return _contest(model, data.features, data.mask_labels("default"), data.adjacency)


def _grid(n_edges: int) -> Contest:
    side = round((n_edges / 2) ** 0.5)
    n = side * side
    row, column = np.divmod(np.arange(n), side)
    right, down = np.flatnonzero(column < side - 1), np.flatnonzero(row < side - 1)
    start, end = np.concatenate([right, down]), np.concatenate([right + 1, down + side])
    A = csr_array((np.ones(len(start)), (start, end)), shape=(n, n))
    rng = np.random.default_rng(0)
    truth = 2 * (row >= side / 2) + (column >= side / 2)
    X = np.eye(4).repeat(4, axis=1)[truth] + rng.random((n, 16))
    y = np.where(rng.random(n) < 0.01, truth, -1)
    return _contest(gssl.OGC(random_state=0), X / X.sum(axis=1, keepdims=True), y, csr_array(A + A.T))


def _contest(model: Any, X: Any, y: np.ndarray, A: csr_array) -> Contest:
    """Fit without the last ten nodes, and return the race to predict them."""
    old, new = slice(-_NEW), np.arange(len(y) - _NEW, len(y))
    model.fit(X[old], y[old], adjacency=A[old, old])
    hops = getattr(model, "embedder_", model)._hops
    part = k_hop_subgraph(A, new, hops)
    assert part is not None
    seen = (
        f"{len(part.nodes):,} of {len(y):,} nodes and {part.links.nnz:,} of {A.nnz:,} links are computed on"
    )
    rival = Rival(
        "gssl, whole graph",
        lambda: model.predict_proba(X, adjacency=A)[new],
        None,
        _same_distributions,
        f"{seen}, in {hops} hops; both read and check the whole graph",
    )
    return Contest(lambda: model.predict_proba(X, adjacency=A, nodes=new), (rival,))


def _same_distributions(ours: np.ndarray, theirs: np.ndarray) -> str:
    worst = float(np.abs(ours - theirs).max())
    if worst > 1e-6:
        raise ValueError(f"distributions differ by {worst:.1e}, so nothing was timed")
    return f"distributions differ by {worst:.0e} at most"
