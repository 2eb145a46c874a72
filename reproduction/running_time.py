"""Table 6: running time by depth on Pubmed, as ratios to SGC in one run."""

from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from reproduction.measures import build, measure
from reproduction.race import race_claims, race_entries
from reproduction.settings import DEPTHS, GGC_PARAMS, fixed_params
from reproduction.sources import CITATIONS, dataset_of
from reproduction.spec import BUDGETS, Artefact, Cell, Entry

# seconds on the authors' CPU
PUBLISHED = {
    "GCNII": (98.02, 234.60, 545.44, 923.61, 1555.37, 4729.32),
    "GRAND": (857.23, 952.29, 2809.84, 4361.91, 6225.39, 15832.91),
    "OGC": (1.88, 3.69, 7.29, 14.63, 30.36, 61.88),
    "SGC": (0.22, 0.28, 0.44, 0.77, 1.46, 2.80),
    "S²GC": (0.25, 0.36, 0.56, 0.94, 2.16, 3.66),
    "GGC": (0.27, 0.50, 0.85, 1.60, 3.10, 6.02),
    "GGCM": (0.37, 0.57, 1.06, 1.93, 3.77, 7.27),
}
_METHODS = {"OGC": "OGC", "SGC": "SGC", "S²GC": "SSGC", "GGC": "GGC", "GGCM": "GGCM"}


def _estimators(dataset: str) -> dict[str, Any]:
    """Give the settings of each method, without its depth."""
    found: dict[str, Any] = {}
    for row, name in _METHODS.items():
        params: dict[str, Any] = {"agreement": 1.0} if name == "OGC" else fixed_params(name, dataset)
        params.pop("depth", None)
        found[row] = {"method": name, "params": GGC_PARAMS if name == "GGC" else params}
    return found


@measure("time")
def time_depths(cell: Cell, seed: int) -> dict[str, float]:
    """Time every method at every depth, in turn, and give medians as ratios to SGC at the same depth.

    Embedders embed and train the Adam head for 100 epochs; OGC runs as many iterations as the depth. A
    first round that is not counted warms everything up.

    Parameters
    ----------
    cell : Cell
        Its settings: ``estimators`` by row, ``depths`` and ``repeats``.
    seed : int

    Returns
    -------
    dict
        ``<row>@<depth>``: ratio; ``<row>@<depth>s``: seconds.

    Examples
    --------
    >>> settings = {"estimators": {"SGC": {"method": "SGC"}}, "depths": [1], "repeats": 1}
    >>> time_depths(Cell("time", "karate", settings, split="default"), 0)["SGC@1"]
    1.0
    """
    settings = cell.settings
    jobs = {
        (row, depth): _job(cell, build(kind, seed), depth, seed)
        for row, kind in settings["estimators"].items()
        for depth in settings["depths"]
    }
    times: dict[tuple[str, int], list[float]] = {place: [] for place in jobs}
    for turn in range(settings["repeats"] + 1):
        # turn by turn, so that a slow moment of the machine meets all of them
        for place, job in jobs.items():
            start = perf_counter()
            job()
            if turn:
                times[place].append(perf_counter() - start)
    seconds = {place: median(found) for place, found in times.items()}
    values = {f"{row}@{depth}": seconds[row, depth] / seconds["SGC", depth] for row, depth in jobs}
    return values | {f"{row}@{depth}s": value for (row, depth), value in seconds.items()}


def _job(cell: Cell, model: Any, depth: int, seed: int) -> Callable[[], Any]:
    data = dataset_of(cell.dataset)
    y = data.mask_labels(cell.split, BUDGETS[cell.budget])
    if "max_iter" in model.get_params():
        return lambda: model.set_params(max_iter=depth).fit(data.features, y, adjacency=data.adjacency)
    head, train = build({"method": "AdamHead"}, seed), np.flatnonzero(y >= 0)

    def embed_and_train() -> None:
        U = model.set_params(depth=depth).fit_transform(data.features, adjacency=data.adjacency)
        head.fit(U[train], y[train]).predict(U)

    return embed_and_train


def _entries() -> Iterator[Entry]:
    dataset = CITATIONS["Pubmed"]
    settings = {"estimators": _estimators(dataset), "depths": list(DEPTHS), "repeats": 3}
    cell = Cell("time", dataset, settings, random=False)
    for row, published in PUBLISHED.items():
        for depth, seconds, base in zip(DEPTHS, published, PUBLISHED["SGC"], strict=True):
            mine = cell if row in _METHODS else None
            ratio = round(seconds / base, 2)
            yield Entry(
                row, str(depth), "", ratio, mine, value=f"{row}@{depth}", budget="", digits=2, both_ways=True
            )
    yield from race_entries(PUBLISHED)


TIME = Artefact(
    name="time",
    source="Table 6",
    title="Running time by depth on Pubmed",
    entries=tuple(_entries()),
    unit="time, in units of SGC's at the same depth",
    note="All times of one run on one CPU: the median of three rounds after one that is not counted. "
    "Published ratios are those of the paper's CPU seconds. They were measured on other machines and other "
    "code, so nothing is judged. GCNII and GRAND at all depths would take days: with gssl[baselines], and "
    "not in a quick run, each is trained once at 16 layers, with its published settings, in one process with "
    "OGC, until an epoch has its published accuracy on test nodes or it stops by itself; seconds are those "
    "that CPUs worked, and labels of test nodes do nothing but stop the clock.",
    claims=tuple(race_claims()),
    x_title="iterations",
)
