"""SGC and SSGC against the propagation of PyG's layers."""

from functools import partial
from typing import Any

import numpy as np

import gssl
from benchmarks import graphs
from benchmarks.entry import Contest, Race, Rival

_NOTE = "ours: the whole fit_transform; PyG: only the propagation, dense features and Â prepared"


def entries(*, quick: bool) -> list[Race]:
    """Return a race for each embedder."""
    name = "cora" if quick else "pubmed"
    races = []
    for embedder, layer in ((gssl.SGC(), "SGConv"), (gssl.SSGC(), "SSGConv")):
        method = type(embedder).__name__
        what = f"{method}(depth={embedder.depth}) embeddings, {name}"
        races.append(Race(f"{method.lower()}-pyg", what, partial(_contest, name, embedder, layer), 5))
    return races


def _contest(name: str, embedder: Any, layer: str) -> Contest:
    from benchmarks.rivals import pyg
    from benchmarks.rivals.torch_matrices import dense_features

    data = graphs.citation(name).data
    X, adjacency = dense_features(data.features), pyg.cached_adjacency(data.adjacency)
    run = (
        partial(pyg.sgc, X, adjacency, embedder.depth)
        if layer == "SGConv"
        else partial(pyg.ssgc, X, adjacency, embedder.depth, embedder.alpha)
    )
    ours = partial(embedder.fit_transform, data.features, adjacency=data.adjacency)
    return Contest(ours, (Rival(f"PyG {layer}", run, None, _same, _NOTE),))


def _same(ours: Any, theirs: Any) -> str:
    if not np.allclose(ours, theirs.numpy(), rtol=1e-3, atol=1e-5):
        raise ValueError("the embeddings differ, so nothing was timed")
    return ""
