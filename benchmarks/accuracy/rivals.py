"""AutoClassifier and the fixed methods it has to beat, on the same draws of labels."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from reproduction.estimators import part
from reproduction.measures import build, measure
from reproduction.sources import CITATIONS, dataset_of
from reproduction.spec import BUDGETS, Cell

from gssl.datasets import Dataset, draw_random, draw_split
from gssl.evaluation import compare
from gssl.graph import edge_homophily
from gssl.selection import AutoClassifier, CalibratedClassifier

PER_CLASS = 20
AUTO = "auto"
GRAPH_FREE = "graph-free ridge"
# below it, fewer than half of the links join nodes of one class
HETEROPHILOUS = 0.5
PUBLIC = tuple(CITATIONS.values())
# the quickest first
GRAPHS = tuple(
    f"graphs/{name}"
    for name in (
        "cornell",
        "texas",
        "wisconsin",
        "chameleon_filtered",
        "polblogs",
        "minesweeper",
        "cora_ml",
        "squirrel_filtered",
        "amazon_photo",
        "actor",
        "coauthor_cs",
    )
)


def _embedded(embedder: str, head: str = "logistic") -> dict[str, Any]:
    return {"method": "EmbeddingClassifier", "params": {"embedder": {"method": embedder}, "head": head}}


METHODS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        AUTO: {"method": "AutoClassifier"},
        GRAPH_FREE: _embedded("NoGraph", "ridge"),
        "graph-free logistic": _embedded("NoGraph"),
        "SGC": _embedded("SGC"),
        "SSGC": _embedded("SSGC"),
        "GGC": _embedded("GGC"),
        "GGCM": _embedded("GGCM"),
        "PPR": _embedded("PPR"),
        "OGC": {"method": "OGC"},
        "LabelSpreading": {"method": "LabelSpreading"},
        "LabelPropagation": {"method": "LabelPropagation"},
        "CorrectAndSmooth": {"method": "CorrectAndSmooth"},
    }
)
# what of them depends on a seed beside the labels that are drawn
_RANDOM = frozenset({"OGC"})
for _kind in (AutoClassifier, CalibratedClassifier):
    part(_kind)


def find_methods(names: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """Give the settings of some methods; of all where none is named, and case does not count.

    Parameters
    ----------
    names : iterable of str

    Returns
    -------
    dict

    Examples
    --------
    >>> find_methods(["ogc"])
    {'OGC': {'method': 'OGC'}}
    """
    spelt = {name.casefold(): name for name in METHODS}
    wanted = [name.strip() for name in names if name.strip()]
    unknown = [name for name in wanted if name.casefold() not in spelt]
    if unknown:
        raise ValueError(f"there is no method {unknown[0]!r} here: there are {', '.join(METHODS)}.")
    chosen = [spelt[name.casefold()] for name in wanted] or list(METHODS)
    return {name: METHODS[name] for name in chosen}


def public_cell(graph: str, method: str, budget: str) -> Cell:
    """Make the cell of a method on the public split of a graph.

    Parameters
    ----------
    graph, method : str
    budget : {"train", "train+validation"}

    Returns
    -------
    Cell

    Examples
    --------
    >>> public_cell("planetoid/cora", "auto", "train").seeds(10)
    range(0, 1)
    """
    return Cell("classifier", graph, METHODS[method], budget=budget, random=method in _RANDOM)


def drawn_cell(graph: str, method: str) -> Cell:
    """Make the cell of a method on draws of a graph's labels; the seed is the draw.

    Parameters
    ----------
    graph, method : str

    Returns
    -------
    Cell

    Examples
    --------
    >>> drawn_cell("digits", "OGC").split
    '20 per class'
    """
    return Cell("drawn", graph, METHODS[method], split=protocol(dataset_of(graph)))


def protocol(data: Dataset) -> str:
    """Say how the labels of a graph are drawn: by its own fixed splits where it has them.

    Parameters
    ----------
    data : Dataset

    Returns
    -------
    {"folds", "20 per class"}

    Examples
    --------
    >>> protocol(dataset_of("karate"))
    '20 per class'
    """
    return "folds" if "fold0" in data.splits else f"{PER_CLASS} per class"


def split_of(data: Dataset, how: str, draw: int) -> Mapping[str, np.ndarray]:
    """Draw labels.

    Parameters
    ----------
    data : Dataset
    how : {"folds", "20 per class", "at random"}
        The fixed split of this number; so many of each class; as many in all, whatever their class.
    draw : int
        The number of the split, or the seed.

    Returns
    -------
    mapping of "train" and "test" to index arrays

    Examples
    --------
    >>> split = split_of(dataset_of("digits"), "20 per class", 0)
    >>> len(split["train"])
    200
    """
    if how == "folds":
        return data.splits[f"fold{draw}"]
    if how == "at random":
        return draw_random(data.labels, PER_CLASS * data.n_classes, random_state=draw)
    return draw_split(data.labels, PER_CLASS, random_state=draw)


def draws_of(data: Dataset, seeds: Iterable[int]) -> list[int]:
    """Leave out the draws that a graph with fixed splits does not have.

    Parameters
    ----------
    data : Dataset
    seeds : iterable of int

    Returns
    -------
    list of int

    Examples
    --------
    >>> draws_of(dataset_of("digits"), range(3))
    [0, 1, 2]
    """
    if protocol(data) != "folds":
        return list(seeds)
    return [seed for seed in seeds if f"fold{seed}" in data.splits]


@measure("drawn")
def score_draw(cell: Cell, seed: int) -> dict[str, float]:
    """Fit a classifier to one draw of labels and score it on the draw's test nodes.

    Parameters
    ----------
    cell : Cell
        Its split is one of those of :func:`split_of`.
    seed : int
        The draw, and the seed of what is random in the method.

    Returns
    -------
    dict
        ``accuracy``, ``labels`` and ``iterations``.

    Examples
    --------
    >>> cell = Cell("drawn", "digits", {"method": "LabelSpreading"}, split="20 per class")
    >>> round(score_draw(cell, 0)["accuracy"])
    98
    """
    data = dataset_of(cell.dataset)
    models = {cell.settings["method"]: build(cell.settings, seed)}
    record = compare(models, data, [split_of(data, cell.split, seed)], parts=BUDGETS[cell.budget])[0]
    return {"accuracy": 100 * record.accuracy, "labels": record.n_labels, "iterations": record.n_iter}


def homophily_of(graph: str) -> float:
    """Give the part of a graph's links that join nodes of one class.

    Parameters
    ----------
    graph : str

    Returns
    -------
    float

    Examples
    --------
    >>> round(homophily_of("karate"), 2)
    0.86
    """
    data = dataset_of(graph)
    return edge_homophily(data.adjacency, data.labels)
