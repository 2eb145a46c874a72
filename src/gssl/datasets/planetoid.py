"""Cora, Citeseer and Pubmed in the Planetoid files, with the public split."""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gssl.datasets.dataset import Dataset, adjacency_from_edges, default_names
from gssl.datasets.location import find_or_fetch
from gssl.datasets.restricted_pickle import read_pickle, read_published

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


def load_planetoid(
    name: str,
    *,
    data_dir: str | Path | None = None,
    download: bool = False,
    hashes: Mapping[str, str] | None = None,
) -> Dataset:
    """Read ``planetoid/ind.<name>.*``; the split is the first nodes, the next 500, and ``test.index``.

    Only files with a SHA-256 in ``hashes`` are opened; these are those of the published files if None.
    """
    parts = ("allx", "ally", "tx", "ty", "y", "graph", "test.index")
    paths = {part: find_or_fetch(f"planetoid/ind.{name}.{part}", data_dir, download) for part in parts}
    test = np.array(read_published(paths.pop("test.index"), hashes).split(), dtype=np.int64)
    allx, ally, tx, ty, y, graph = (read_pickle(path, hashes) for path in paths.values())
    n_nodes, (n_train, n_classes) = len(graph), y.shape
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
    return Dataset(
        name=f"planetoid/{name}",
        adjacency=adjacency_from_edges(_edges(graph), n_nodes),
        features=_stack(allx, tx, test, n_nodes),
        labels=labels,
        node_ids=default_names(n_nodes),
        class_names=_CLASS_NAMES.get(name) or tuple(default_names(n_classes)),
        splits={"public": splits},
    )


def _edges(graph: Mapping[int, list[int]]) -> NDArray[np.int64]:
    starts = np.repeat(np.array(list(graph)), [len(neighbours) for neighbours in graph.values()])
    return np.column_stack([starts, np.array(list(chain.from_iterable(graph.values())))])


def _class_numbers(one_hot: NDArray[Any]) -> NDArray[np.int64]:
    return np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1).astype(np.int64)


def _stack(allx: Any, tx: Any, test: NDArray[np.int64], n_nodes: int) -> csr_array:
    upper, lower = allx.tocoo(), tx.tocoo()
    rows = np.concatenate([upper.row, test[lower.row]])
    columns = np.concatenate([upper.col, lower.col])
    values = np.concatenate([upper.data, lower.data])
    return csr_array((values, (rows, columns)), shape=(n_nodes, allx.shape[1]))
