"""The graphs of the benchmarks: well-known datasets, and synthetic ones of any size."""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import gssl
from benchmarks.entry import Skipped
from gssl.datasets import Dataset, draw_split, make_block_graph

REDDIT_FEATURES = 602
# (nodes, edges) of Reddit, and of a smaller graph of the same density for quick runs
REDDIT_SHAPE = (233_000, 11_600_000)
SMALL_SHAPE = (23_000, 1_160_000)


@dataclass(frozen=True)
class Task:
    """A graph with the labels of the published numbers: train and validation labels, train anchors."""

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
    y = np.full(data.n_nodes, -1)
    for part in ("train", "val"):
        y[split[part]] = data.labels[split[part]]
    return Task(data, y, split["train"], split["test"])


@lru_cache(maxsize=1)
def reddit(quick: bool) -> tuple[csr_array, np.ndarray, np.ndarray]:
    """Return a random adjacency, dense features and train labels (−1 elsewhere) of Reddit's size."""
    n_nodes, n_edges = SMALL_SHAPE if quick else REDDIT_SHAPE
    data = make_block_graph(n_nodes, n_edges, 8, 41, features="dense", random_state=0)
    rng = np.random.default_rng(0)
    U = rng.standard_normal((n_nodes, REDDIT_FEATURES), dtype=np.float32)
    return data.adjacency.astype(np.float32), U, data.mask_labels("default", ("train",))


@lru_cache(maxsize=1)
def sparse(quick: bool) -> Task:
    """Return a random graph with 45 classes, about three links per node, and 40 labels per class."""
    n_nodes, n_edges = (11_800, 18_850) if quick else (118_000, 188_500)
    data = make_block_graph(n_nodes, n_edges, 1, 45, random_state=0)
    split = draw_split(data.labels, per_class=40, n_val=0, random_state=0)
    y = np.full(n_nodes, -1)
    y[split["train"]] = data.labels[split["train"]]
    return Task(data, y, split["train"], np.flatnonzero(y < 0))


@lru_cache(maxsize=1)
def grown(n_edges: int) -> Dataset:
    """Return a random graph with ten edges per node and 64 dense features."""
    return make_block_graph(n_edges // 10, n_edges, 64, 5, features="dense", random_state=0)
