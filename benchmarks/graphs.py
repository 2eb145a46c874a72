"""The graphs that are measured: the ones people know, and drawn ones of any size."""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import gssl
from benchmarks.entry import Skipped
from gssl.datasets import Dataset, draw_split, make_block_graph

REDDIT_FEATURES = 602
# nodes and edges of Reddit, and a graph of the same kind for a quick look
REDDIT_SHAPE = (233_000, 11_600_000)
SMALL_SHAPE = (23_000, 1_160_000)


@dataclass(frozen=True)
class Task:
    """A graph with the label budget of the published numbers: train+validation labels, train anchors."""

    data: Dataset
    y: np.ndarray
    anchors: np.ndarray
    test: np.ndarray

    def accuracy(self, predicted: Any) -> float:
        """Percentage of the test nodes that are right."""
        return float(100 * (np.asarray(predicted)[self.test] == self.data.labels[self.test]).mean())


@cache
def load(name: str) -> Dataset:
    """Load a dataset, rows of features summing to one, or say why its rows are skipped."""
    try:
        return gssl.datasets.load(name).normalized()
    except Exception as error:
        raise Skipped(f"{name} is not here: {str(error).splitlines()[0]}") from error


@cache
def citation(name: str) -> Task:
    """Give one of the three citation graphs on its public split."""
    data = load(f"planetoid/{name}")
    split = data.splits["public"]
    return Task(data, data.mask_labels("public", ("train", "val")), split["train"], split["test"])


@cache
def coauthors() -> Task:
    """Give coauthor_cs, whose labels come without a split: 20 per class train, 500 validate."""
    data = load("graphs/coauthor_cs")
    split = draw_split(data.labels, per_class=20, n_val=500, random_state=0)
    y = np.full(data.n_nodes, -1)
    for part in ("train", "val"):
        y[split[part]] = data.labels[split[part]]
    return Task(data, y, split["train"], split["test"])


@lru_cache(maxsize=1)
def reddit(quick: bool) -> tuple[csr_array, np.ndarray, np.ndarray]:
    """Draw adjacency, dense features and train labels (−1 elsewhere) in Reddit's shape."""
    n_nodes, n_edges = SMALL_SHAPE if quick else REDDIT_SHAPE
    data = make_block_graph(n_nodes, n_edges, 8, 41, features="dense", random_state=0)
    rng = np.random.default_rng(0)
    U = rng.standard_normal((n_nodes, REDDIT_FEATURES), dtype=np.float32)
    return data.adjacency.astype(np.float32), U, data.mask_labels("default", ("train",))


@lru_cache(maxsize=1)
def sparse(quick: bool) -> Task:
    """Draw a graph of 45 classes and three links a node, 40 labels for each class."""
    n_nodes, n_edges = (11_800, 18_850) if quick else (118_000, 188_500)
    data = make_block_graph(n_nodes, n_edges, 1, 45, random_state=0)
    split = draw_split(data.labels, per_class=40, n_val=0, random_state=0)
    y = np.full(n_nodes, -1)
    y[split["train"]] = data.labels[split["train"]]
    return Task(data, y, split["train"], np.flatnonzero(y < 0))


@lru_cache(maxsize=1)
def grown(n_edges: int) -> Dataset:
    """Draw a graph of ten edges for each node and 64 dense features."""
    return make_block_graph(n_edges // 10, n_edges, 64, 5, features="dense", random_state=0)
