"""The Reddit post graph (Table 2), from files, and a random graph of its shape.

It has 232,965 posts, 602 features, 41 communities and 11.6 M links.

The files are those of FastGCN and SGC, read without pickle: ``reddit/reddit_adj.npz``, a SciPy sparse matrix,
and ``reddit/reddit.npz`` with ``feats``, ``y_train``, ``y_val``, ``y_test`` and ``train_index``,
``val_index``, ``test_index``; nodes in no part have the label −1.

Links become undirected, without weights and self-loops. Features are those of the file in single precision;
SGC and the paper standardise their columns.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gssl.datasets import Dataset, load, make_block_graph
from gssl.datasets.dataset import PARTS, adjacency_from_edges, default_names
from gssl.datasets.location import find_file
from gssl.datasets.npz_graphs import name_damaged, name_file, number_classes, read_arrays
from gssl.io.numpy_files import csr_from_parts, npz_shapes

_LINKS = ("shape", "data", "row", "col", "indices", "indptr")
_INDEXED = ("feats", *(f"y_{part}" for part in PARTS), *(f"{part}_index" for part in PARTS))
_ADVICE = "get the file again"
# the size of Reddit, of which the stand-in has a tenth of the nodes
_N_NODES = 232_965
_N_FEATURES = 602
_N_CLASSES = 41
_LINKS_PER_NODE = 50
_SHARES = {"train": 0.66, "val": 0.10}  # the rest is the test set


def load_graph(name: str, *, data_dir: str | Path | None = None) -> Dataset:
    """Load ``"reddit"``, its stand-in ``"synthetic/reddit"``, or a graph that gssl knows by name."""
    if name == "synthetic/reddit":
        return make_synthetic_reddit()
    if name != "reddit":
        return load(name, data_dir=data_dir)
    return read_reddit(find_file("reddit/reddit.npz", data_dir), find_file("reddit/reddit_adj.npz", data_dir))


def make_synthetic_reddit(
    n_nodes: int = _N_NODES // 10,
    n_features: int = _N_FEATURES,
    *,
    homophily: float = 0.75,
    random_state: Any = 0,
) -> Dataset:
    """Draw a graph with Reddit's 41 classes, links per node, dense features and 66/10/24 % split.

    Accuracies on it say nothing about Reddit. A graph with few nodes has fewer links per node, as its
    classes have few pairs.
    """
    rng = np.random.default_rng(random_state)
    inside = _N_CLASSES * (n_nodes // _N_CLASSES) * (n_nodes // _N_CLASSES - 1) // 2
    most_edges = int(inside / (3 * max(homophily, 0.01)))
    data = make_block_graph(
        n_nodes,
        min(_LINKS_PER_NODE * n_nodes, most_edges),
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


def read_reddit(nodes: Path, links: Path) -> Dataset:
    """Read the graph from its files of nodes and of links."""
    parts = read_arrays(links, {*_LINKS})
    with name_file(links, _ADVICE):
        n_nodes = _size(parts)
    # before any matrix is built: a file without links could claim any number of nodes
    _check_rows(nodes, n_nodes)
    with name_file(links, _ADVICE):
        adjacency = _adjacency(parts, n_nodes)
    arrays = read_arrays(nodes, {*_INDEXED})
    with name_file(nodes, _ADVICE):
        features, labels, split = _labelled_nodes(arrays, n_nodes)
        return Dataset(
            name="reddit",
            adjacency=adjacency,
            features=features.astype(np.float32, copy=False),
            labels=labels,
            node_ids=default_names(n_nodes),
            class_names=number_classes(labels),
            splits={"public": split},
        )


def _check_rows(path: Path, n_nodes: int) -> None:
    """Check that there is a row of features for each node, without reading the features."""
    with name_damaged(path):
        shape = npz_shapes(path).get("feats")
    with name_file(path, _ADVICE):
        if not shape:
            raise ValueError("the array 'feats' is missing")
        if shape[0] != n_nodes:
            raise ValueError(f"feats has {shape[0]} rows but there are {n_nodes} nodes")


def _required(arrays: dict[str, NDArray[Any]], key: str, kinds: str, n_dims: int) -> NDArray[Any]:
    if key not in arrays:
        raise ValueError(f"the array {key!r} is missing")
    array = arrays[key]
    if array.ndim != n_dims or array.dtype.kind not in kinds:
        raise ValueError(
            f"{key} is {array.dtype} of shape {array.shape}, which is not what the Reddit files hold"
        )
    return array


def _size(arrays: dict[str, NDArray[Any]]) -> int:
    shape = _required(arrays, "shape", "iu", 1)
    if shape.size != 2 or shape[0] != shape[1] or shape[0] < 0:
        raise ValueError(f"the matrix of links has shape {tuple(shape[:4].tolist())}, which is not square")
    return int(shape[0])


def _adjacency(arrays: dict[str, NDArray[Any]], n: int) -> csr_array:
    """Build the 0/1 pattern of max(A, Aᵀ) off the diagonal from the parts of a SciPy CSR or COO file."""
    data = _required(arrays, "data", "biuf", 1)
    if "row" in arrays:
        row, col = _required(arrays, "row", "iu", 1), _required(arrays, "col", "iu", 1)
        if not row.size == col.size == data.size:
            raise ValueError(f"there are {row.size} rows and {col.size} columns for {data.size} links")
    else:
        indices, indptr = _required(arrays, "indices", "iu", 1), _required(arrays, "indptr", "iu", 1)
        links = csr_from_parts(data, indices, indptr, (n, n)).tocoo()
        data, row, col = links.data, links.row, links.col
    return adjacency_from_edges(np.column_stack([row, col])[data != 0], n)


def _labelled_nodes(arrays: dict[str, NDArray[Any]], n_nodes: int) -> tuple[Any, Any, Any]:
    features = _required(arrays, "feats", "iuf", 2)
    labels = np.full(n_nodes, -1, dtype=np.int64)
    split = {part: _required(arrays, f"{part}_index", "iu", 1) for part in PARTS}
    for part, nodes in split.items():
        known = _required(arrays, f"y_{part}", "iu", 1)
        if known.size != nodes.size:
            raise ValueError(f"y_{part} has {known.size} labels for {nodes.size} nodes of {part}_index")
        if nodes.size and not 0 <= nodes.min() <= nodes.max() < n_nodes:
            raise ValueError(f"{part}_index names a node outside 0 to {n_nodes - 1}")
        labels[nodes] = known
    return features, labels, split
