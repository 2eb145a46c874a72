"""Cora, Citeseer and Pubmed in the Planetoid files, with the public split."""

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from gssl.datasets.dataset import Dataset, adjacency_from_edges, default_names
from gssl.datasets.location import find_or_fetch
from gssl.datasets.restricted_pickle import read_pickle
from gssl.wording import reason

N_VALIDATION = 500

# only Cora's names can be verified: class sizes and numbers of citations between classes, which all differ,
# agree with the LINQS file, which has names
_CLASS_NAMES = {
    "cora": (
        "Theory",
        "Reinforcement_Learning",
        "Genetic_Algorithms",
        "Neural_Networks",
        "Probabilistic_Methods",
        "Case_Based",
        "Rule_Learning",
    )
}


def load_planetoid(name: str, *, data_dir: str | Path | None = None, download: bool = False) -> Dataset:
    """Read ``planetoid/ind.<name>.*``; the split is the first nodes, the next 500, and ``test.index``."""
    parts = ("allx", "ally", "tx", "ty", "y", "graph", "test.index")
    paths = {part: find_or_fetch(f"planetoid/ind.{name}.{part}", data_dir, download) for part in parts}
    test = _read_index(paths["test.index"])
    edges, n_nodes = _read_edges(paths["graph"])
    allx, tx = _read_features(paths["allx"]), _read_features(paths["tx"])
    ally, ty, y = (_read_labels(paths[part]) for part in ("ally", "ty", "y"))
    where = paths["graph"].with_suffix("")
    _check_fit(where, n_nodes, test, (allx, tx), (ally, ty, y))
    n_train, n_classes = y.shape
    # rows of tx and ty belong to the nodes in test.index; Citeseer's index skips 15 nodes, which have zero
    # features and the label −1
    labels = np.full(n_nodes, -1, dtype=np.int64)
    labels[: len(ally)] = _class_numbers(ally)
    labels[test] = _class_numbers(ty)
    splits = {
        "train": np.arange(n_train),
        "val": np.arange(n_train, n_train + N_VALIDATION),
        "test": np.sort(test),
    }
    if any((labels[nodes] < 0).any() for nodes in splits.values()):
        raise ValueError(f"{where}: a node of the public split has no label; get the files again.")
    return Dataset(
        name=f"planetoid/{name}",
        adjacency=adjacency_from_edges(edges, n_nodes),
        features=_stack(allx, tx, test, n_nodes),
        labels=labels,
        node_ids=default_names(n_nodes),
        class_names=_CLASS_NAMES.get(name) or tuple(default_names(n_classes)),
        splits={"public": splits},
    )


def _read_index(path: Path) -> NDArray[np.int64]:
    try:
        index = np.array([int(line) for line in path.read_text().split()], dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{path} is not a list of node numbers ({reason(error)}); get it again.") from error
    if not index.size or index.min() < 0 or np.unique(index).size != index.size:
        raise ValueError(f"{path} does not list each test node once; get it again.")
    return index


def _read_edges(path: Path) -> tuple[NDArray[np.int64], int]:
    graph = read_pickle(path)
    if not isinstance(graph, dict) or not all(type(neighbours) is list for neighbours in graph.values()):
        raise ValueError(f"{path} is not a dict of neighbour lists; get it again.")
    ends = list(chain.from_iterable(graph.values()))
    if not all(type(node) is int and 0 <= node < len(graph) for node in chain(graph, ends)):
        raise ValueError(f"{path} names a node outside 0 to {len(graph) - 1}; get it again.")
    sizes = [len(neighbours) for neighbours in graph.values()]
    starts = np.repeat(np.array(list(graph), dtype=np.int64), sizes)
    return np.column_stack([starts, np.array(ends, dtype=np.int64)]), len(graph)


def _read_features(path: Path) -> csr_array:
    features = read_pickle(path)
    if not issparse(features):
        raise ValueError(f"{path} is not a CSR matrix; get it again.")
    return features


def _read_labels(path: Path) -> NDArray[Any]:
    one_hot = read_pickle(path)
    if not isinstance(one_hot, np.ndarray) or one_hot.ndim != 2:
        raise ValueError(f"{path} is not an array with a row per node and a column per class; get it again.")
    if not np.isin(one_hot, (0, 1)).all() or (one_hot.sum(axis=1) > 1).any():
        raise ValueError(f"{path} gives a node more than one class; get it again.")
    return one_hot


def _check_fit(
    where: Path,
    n_nodes: int,
    test: NDArray[np.int64],
    features: tuple[csr_array, csr_array],
    one_hots: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
) -> None:
    (allx, tx), (ally, ty, y) = features, one_hots
    fits = (
        allx.shape[0] == len(ally)
        and tx.shape[0] == len(ty) == test.size
        and allx.shape[1] == tx.shape[1]
        and ally.shape[1] == ty.shape[1]
        and len(y) + N_VALIDATION <= len(ally)
        and np.array_equal(y, ally[: len(y)])
        and len(ally) <= test.min() <= test.max() < n_nodes
    )
    if not fits:
        raise ValueError(f"{where}.* have sizes that do not match; get all of these files again.")


def _class_numbers(one_hot: NDArray[Any]) -> NDArray[np.int64]:
    return np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1).astype(np.int64)


def _stack(allx: csr_array, tx: csr_array, test: NDArray[np.int64], n_nodes: int) -> csr_array:
    upper, lower = allx.tocoo(), tx.tocoo()
    rows = np.concatenate([upper.row, test[lower.row]])
    columns = np.concatenate([upper.col, lower.col])
    values = np.concatenate([upper.data, lower.data])
    return csr_array((values, (rows, columns)), shape=(n_nodes, allx.shape[1]))
