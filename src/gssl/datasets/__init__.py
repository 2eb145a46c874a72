"""Graphs by name: ``load("cora")`` returns a :class:`Dataset` with features, labels and splits."""

from gssl.datasets.dataset import Dataset, draw_random, draw_split
from gssl.datasets.registry import list_datasets, load
from gssl.datasets.synthetic import make_block_graph
from gssl.datasets.synthetic_reddit import make_synthetic_reddit

__all__ = [
    "Dataset",
    "draw_random",
    "draw_split",
    "list_datasets",
    "load",
    "make_block_graph",
    "make_synthetic_reddit",
]
