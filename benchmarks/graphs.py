"""The graphs of the benchmarks: well-known datasets, and synthetic ones of any size."""

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, random_array

import gssl
from benchmarks.row import Skipped
from gssl.datasets import Dataset, draw_split, make_block_graph

REDDIT_FEATURES = 602
# (nodes, edges) of Reddit, and of a smaller graph of the same density for quick runs
REDDIT_SHAPE = (233_000, 11_600_000)
SMALL_SHAPE = (23_000, 1_160_000)


@dataclass(frozen=True)
class Task:
    """A graph, the given labels (those of the published numbers: train and validation), and train anchors."""

    data: Dataset
    y: np.ndarray
    anchors: np.ndarray
    test: np.ndarray

    def accuracy(self, predicted: Any) -> float:
        """Return the percentage of test nodes that are predicted correctly."""
        return float(100 * (np.asarray(predicted)[self.test] == self.data.labels[self.test]).mean())


@cache
def load(name: str) -> Dataset:
    """Load a dataset with feature rows that sum to one; raise Skipped if it is missing."""
    try:
        return gssl.datasets.load(name).normalized()
    except Exception as error:
        raise Skipped(f"{name} is not here: {str(error).splitlines()[0]}") from error


@cache
def citation(name: str) -> Task:
    """Return one of the three citation graphs with its public split."""
    data = load(f"planetoid/{name}")
    split = data.splits["public"]
    return Task(data, data.mask_labels("public", ("train", "val")), split["train"], split["test"])


@cache
def coauthors() -> Task:
    """Return coauthor_cs with a random split, since it has none: 20 train nodes per class, 500 validation."""
    data = load("graphs/coauthor_cs")
    split = draw_split(data.labels, per_class=20, n_val=500, random_state=0)
    train = np.concatenate([split["train"], split["val"]])
    return Task(data, _labels_at(data.labels, train), split["train"], split["test"])


@lru_cache(maxsize=1)
def reddit(quick: bool) -> tuple[csr_array, np.ndarray]:
    """Return a random adjacency and dense features of Reddit's size."""
    n_nodes, n_edges = SMALL_SHAPE if quick else REDDIT_SHAPE
    data = make_block_graph(n_nodes, n_edges, 8, 41, features="dense", random_state=0)
    rng = np.random.default_rng(0)
    U = rng.standard_normal((n_nodes, REDDIT_FEATURES), dtype=np.float32)
    return data.adjacency.astype(np.float32), U


@lru_cache(maxsize=1)
def sparse(quick: bool) -> Task:
    """Return a random graph with 45 classes, about three links per node, and 40 labels per class."""
    n_nodes, n_edges = (11_800, 18_850) if quick else (118_000, 188_500)
    data = make_block_graph(n_nodes, n_edges, 1, 45, random_state=0)
    return _few_labels(data, 40)


@lru_cache(maxsize=1)
def wide() -> Task:
    """Return 118,000 nodes, 190,000 links, 15,000 sparse features and 45 classes with 20 labels each."""
    n, m, d, c = 118_000, 190_000, 15_000, 45
    data = make_block_graph(n, m, 1, c, homophily=0.7, random_state=0)
    rng = np.random.default_rng(0)
    words = random_array((n, d), density=10 / d, random_state=rng, format="coo", dtype=np.float32)
    block = d // c
    theme = data.labels[words.row] * block + words.col % block
    columns = np.where(rng.random(words.nnz) < 0.3, theme, words.col)
    X = csr_array(coo_array((np.ones(words.nnz, np.float32), (words.row, columns)), shape=(n, d)))
    return _few_labels(replace(data, features=X).normalized(), 20)


@lru_cache(maxsize=1)
def grown(n_edges: int) -> Dataset:
    """Return a random graph with ten edges per node and 64 dense features."""
    return make_block_graph(n_edges // 10, n_edges, 64, 5, features="dense", random_state=0)


def _few_labels(data: Dataset, per_class: int) -> Task:
    """Return a task with so many labels of each class, which is judged on all other nodes."""
    train = draw_split(data.labels, per_class, n_val=0, random_state=0)["train"]
    y = _labels_at(data.labels, train)
    return Task(data, y, train, np.flatnonzero(y < 0))


def _labels_at(labels: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    y = np.full(len(labels), -1)
    y[nodes] = labels[nodes]
    return y
