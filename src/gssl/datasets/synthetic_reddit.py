"""A random graph of Reddit's shape, to try out scale and the inductive protocol; never for claims."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gssl.datasets.dataset import Dataset
from gssl.datasets.synthetic import make_block_graph

N_NODES = 232_965
N_FEATURES = 602
_N_CLASSES = 41
_LINKS_PER_NODE = 50  # Reddit: 11.6 M links
_SHARES = {"train": 0.66, "val": 0.10}  # the rest tests


def make_synthetic_reddit(
    n_nodes: int = N_NODES // 10,
    n_features: int = N_FEATURES,
    *,
    homophily: float = 0.75,
    random_state: Any = 0,
) -> Dataset:
    """Draw a graph with Reddit's 41 classes, links per node, dense features and 66/10/24 % split.

    Degree-corrected blocks from :func:`make_block_graph`; its accuracies say nothing about Reddit.

    Parameters
    ----------
    n_nodes : int
        A tenth of Reddit's by default; a small graph gets as many links as its classes have room for.
    n_features : int
    homophily : float
        Fraction of the links that join nodes of one class.
    random_state : int or numpy Generator
        Same seed, same graph.

    Examples
    --------
    >>> make_synthetic_reddit(1000, n_features=8)
    Dataset('synthetic/reddit-1000', nodes=1000, edges=5029, features=8, classes=41, splits=public)
    """
    rng = np.random.default_rng(random_state)
    inside = _N_CLASSES * (n_nodes // _N_CLASSES) * (n_nodes // _N_CLASSES - 1) // 2
    room = int(inside / (3 * max(homophily, 0.01)))
    data = make_block_graph(
        n_nodes,
        min(_LINKS_PER_NODE * n_nodes, room),
        n_features,
        _N_CLASSES,
        homophily=homophily,
        features="dense",
        random_state=rng,
    )
    order = rng.permutation(n_nodes)
    first, second = np.cumsum([round(share * n_nodes) for share in _SHARES.values()])
    parts = {"train": order[:first], "val": order[first:second], "test": order[second:]}
    split = {part: np.sort(nodes) for part, nodes in parts.items()}
    return replace(data, name=f"synthetic/reddit-{n_nodes}", splits={"public": split})
