"""Table 3: how much of a graph its embeddings give back, X = I."""

import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.datasets.location import find_file
from gssl.datasets.restricted_pickle import read_pickle
from gssl.graph import GraphWarning
from reproduction.measures import build, measure
from reproduction.neighbours import filter_reconstruction_accuracy
from reproduction.settings import DEPTHS, GGC_PARAMS, fixed_params
from reproduction.sources import CITATIONS, dataset_of
from reproduction.spec import Artefact, Cell, Claim, Entry, Place

PUBLISHED: dict[str, dict[str, tuple[float, ...]]] = {
    "Cora": {
        "SGC": (68.15, 60.47, 50.38, 41.76, 31.93, 20.51),
        "S²GC": (84.84, 80.49, 76.74, 73.87, 72.55, 72.05),
        "GGC": (81.19, 81.22, 81.22, 81.22, 81.22, 81.22),
        "GGCM": (88.97, 86.92, 84.98, 83.93, 82.96, 82.94),
    },
    "Citeseer": {
        "SGC": (74.89, 58.26, 50.84, 44.56, 37.60, 31.16),
        "S²GC": (90.66, 88.67, 84.99, 78.04, 71.10, 68.17),
        "GGC": (88.66, 88.87, 88.90, 88.90, 88.90, 88.90),
        "GGCM": (91.94, 91.62, 91.11, 90.64, 90.10, 89.98),
    },
    "Pubmed": {
        "SGC": (39.57, 27.81, 17.12, 13.06, 8.72, 4.341),
        "S²GC": (56.00, 54.63, 50.65, 48.78, 48.14, 47.07),
        "GGC": (46.88, 49.48, 49.96, 50.00, 50.00, 50.00),
        "GGCM": (56.95, 57.90, 57.63, 56.82, 56.47, 55.90),
    },
}
_HALVED_GGC, _HALVED_GGCM = "GGC, steps halved", "GGCM, steps halved"


def _estimators(dataset: str) -> dict[str, dict[str, Any]]:
    """Give the methods with the settings of Table 1, and two variants that nothing is judged by."""
    ggcm = {name: value for name, value in fixed_params("GGCM", dataset).items() if name != "depth"}
    halved = {"decay": 0.5, "igc_decay": 0.5}
    return {
        "SGC": {"method": "SGC"},
        "S²GC": {"method": "SSGC"},
        "GGC": {"method": "GGC", "params": GGC_PARAMS},
        "GGCM": {"method": "GGCM", "params": ggcm},
        _HALVED_GGC: {"method": "GGC", "params": {**halved, "igc_beta": 0.1}},
        _HALVED_GGCM: {"method": "GGCM", "params": halved},
    }


# seconds each; the others take minutes
_QUICK_DEPTHS = (2, 4, 8)


@measure("reconstruction")
def reconstruct(cell: Cell, seed: int) -> dict[str, float]:
    """Give the reconstruction accuracy (%) of an embedder, by the protocol behind the published table.

    Parameters
    ----------
    cell : Cell
        Its settings name an embedder and its ``depth``.
    seed : int

    Returns
    -------
    dict
        ``accuracy``.

    Examples
    --------
    >>> settings = {"estimator": {"method": "SGC"}, "depth": 2}
    >>> round(reconstruct(Cell("reconstruction", "karate", settings), 0)["accuracy"], 1)
    46.7
    """
    embedder = build(cell.settings["estimator"], seed).set_params(depth=cell.settings["depth"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)
        graph = graph_with_loops(cell.dataset)
        found = filter_reconstruction_accuracy(embedder, graph, dtype=np.float32, as_published=True)
    return {"accuracy": 100 * found}


def graph_with_loops(dataset: str) -> csr_array:
    """Give a graph as it is distributed: the published table counts self-loops, which datasets drop.

    Examples
    --------
    >>> graph_with_loops("karate").nnz
    156
    """
    folder, _, name = dataset.partition("/")
    if folder != "planetoid":
        return dataset_of(dataset).adjacency
    lists: Any = read_pickle(find_file(f"planetoid/ind.{name}.graph"))
    pairs = np.array([(u, v) for u, neighbours in lists.items() for v in neighbours])
    A = csr_array((np.ones(len(pairs)), pairs.T), shape=(len(lists), len(lists)))
    A = csr_array(A + A.T)
    A.data[:] = 1.0
    return A


def _entries() -> Iterator[Entry]:
    for group, dataset in CITATIONS.items():
        for row, estimator in _estimators(dataset).items():
            published = PUBLISHED[group].get(row, (None,) * len(DEPTHS))
            for depth, value in zip(DEPTHS, published, strict=True):
                settings = {"estimator": estimator, "depth": depth}
                slow = group == "Pubmed" or depth not in _QUICK_DEPTHS
                cell = Cell("reconstruction", dataset, settings, random=False, slow=slow)
                yield Entry(row, str(depth), group, value, cell, tolerance=1.0, budget="", digits=2)


def _better(means: Mapping[Place, float], group: str, pairs: tuple[tuple[str, str], ...]) -> bool:
    """Tell whether the first of each pair finds more at every depth."""
    return all(
        means[group, ours, str(depth)] > means[group, theirs, str(depth)]
        for depth in DEPTHS
        for ours, theirs in pairs
    )


_CLAIMS = {
    "GGC keeps more of the graph than SGC and GGCM more than S²GC": (("GGC", "SGC"), ("GGCM", "S²GC")),
    "GGCM keeps most of the graph": (("GGCM", "SGC"), ("GGCM", "S²GC"), ("GGCM", "GGC")),
}


RECONSTRUCTION = Artefact(
    name="reconstruction",
    source="Table 3",
    title="Neighbours found by distance between embeddings, X = I",
    entries=tuple(_entries()),
    unit="reconstruction accuracy %",
    note="Ranked as in the experiment behind the table: self-loops are links, and of nodes at the same place "
    "only the first leaves itself out. The paper does not give the settings of GGC and GGCM here: what is "
    "judged has those of Table 1, with all unlinked pairs as negatives. The variants whose steps are halved "
    "in every iteration were picked among a dozen by this very measure on Cora, so they show what is "
    "possible and are held against nothing. GGC's settings in Table 1 are not the paper's either: they were "
    "settled with its published accuracies in view. No label is used. Quick runs stop at depth 8 and leave "
    "Pubmed out.",
    claims=tuple(
        Claim(f"On {group}, {text}, at every depth from 2 to 64", partial(_better, group=group, pairs=pairs))
        for group in CITATIONS
        for text, pairs in _CLAIMS.items()
    ),
    x_title="iterations",
)
