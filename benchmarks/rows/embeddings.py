"""SGC and SSGC beside the propagation of PyG's layers."""

from functools import partial
from typing import Any

import numpy as np

import gssl
from benchmarks import graphs
from benchmarks.row import Measured, Row, ratio


def rows(*, quick: bool) -> list[Row]:
    """Return a row for each embedder."""
    name = "cora" if quick else "pubmed"
    return [
        Row(
            f"{type(embedder).__name__.lower()}-pyg",
            f"{embedder!r}.fit_transform, {name}",
            partial(_measure, name, embedder, layer),
            rival=f"PyG {layer}Conv, propagation alone",
            package="torch-geometric",
            at_least=1.0,
            limit="ours checks and normalises the graph, PyG is given dense features and Â",
        )
        for layer, embedder in (("SG", gssl.SGC()), ("SSG", gssl.SSGC()))
    ]


def _measure(name: str, embedder: Any, layer: str) -> Measured:
    from benchmarks.rivals import pyg
    from benchmarks.rivals.torch_matrices import csr_tensor, dense_features, normalized_csr

    data = graphs.citation(name).data
    X, A_hat = dense_features(data.features), csr_tensor(normalized_csr(data.adjacency))
    theirs = partial(pyg.sgc, X, A_hat, embedder.depth)
    if layer == "SSG":
        theirs = partial(pyg.ssgc, X, A_hat, embedder.depth, embedder.alpha)
    return ratio(partial(embedder.fit_transform, data.features, adjacency=data.adjacency), theirs, _same)


def _same(ours: Any, theirs: Any) -> str:
    if not np.allclose(ours, theirs.numpy(), rtol=1e-3, atol=1e-5):
        raise ValueError("the embeddings differ, so nothing was timed")
    return ""
