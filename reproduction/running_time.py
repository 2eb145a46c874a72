"""Table 7: running time by depth on Pubmed relative to SGC, and of networks relative to OGC."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from gssl.evaluation import accuracy
from gssl.methods import AdamHead
from reproduction.depth import PUBLISHED as ACCURACIES
from reproduction.network_cells import network
from reproduction.settings import DEPTHS, fixed_params, ogc
from reproduction.spec import (
    BUDGETS,
    CITATIONS,
    Artefact,
    Cell,
    Claim,
    Entry,
    Position,
    build,
    dataset_of,
    measure,
)

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
DEPTH = 16
_PUBMED = CITATIONS["Pubmed"]
GROUP = f"CPU time to the published accuracy at {DEPTH} layers"
# the least ratio of CPU time to OGC's that the paper claims
CLAIMED = {"GCNII": 130, "GRAND": 500}


class _ReachedError(Exception):
    """A network has reached its target accuracy."""


class Clock:
    """Stop the training of a network at its first epoch with the target accuracy on test nodes.

    It reads predictions that the network makes for validation anyway, so it costs next to nothing. Test
    labels affect only when training stops.
    """

    def __init__(self, labels: np.ndarray, test: np.ndarray, target: float) -> None:
        self.labels = labels
        self.test = test
        self.target = target
        self.epochs = 0
        self.accuracy = 0.0
        self.reached = False

    def look(self, predicted: np.ndarray) -> None:
        """Count an epoch, and raise _ReachedError if it has the target accuracy."""
        self.epochs += 1
        self.accuracy = max(self.accuracy, 100 * accuracy(self.labels[self.test], predicted[self.test]))
        if round(self.accuracy, 1) >= self.target:
            self.reached = True
            raise _ReachedError

    def train(self, model: Any, *inputs: Any, **settings: Any) -> float:
        """Fit a network until it has the target accuracy or stops by itself; return the CPU seconds."""
        build_network = model.module

        def listening(n_features: int, n_classes: int) -> Any:
            network = build_network(n_features, n_classes)
            network.register_forward_hook(self._hear)
            return network

        model.module = listening
        start = process_time()
        with suppress(_ReachedError):
            model.fit(*inputs, **settings)
        return process_time() - start

    def _hear(self, network: Any, inputs: Any, scores: Any) -> None:
        if not network.training:
            self.look(scores.argmax(dim=1).cpu().numpy())


@measure("race")
def race(cell: Cell, seed: int) -> dict[str, float]:
    """Time OGC and networks in one process, each up to its published accuracy on test nodes.

    OGC runs all of its iterations, whatever its accuracy; its time is the median of five fits after a
    warm-up. A network is fitted once, and stops by itself if it never reaches the accuracy.
    """
    data = dataset_of(cell.dataset)
    split, both = data.splits[cell.split], data.mask_labels(cell.split, ("train", "val"))
    model = build(cell.settings["OGC"], seed)
    times = []
    for _ in range(6):
        start = process_time()
        model.fit(data.features, both, adjacency=data.adjacency, anchors=split["train"])
        times.append(process_time() - start)
    base = float(np.median(times[1:]))
    ogc_accuracy = 100 * accuracy(data.labels[split["test"]], model.transduction_[split["test"]])
    values = {
        "OGC seconds": base,
        "OGC ratio": 1.0,
        "OGC accuracy": ogc_accuracy,
        "OGC epochs": model.n_iter_,
    }
    for row, settings in cell.settings["networks"].items():
        clock = Clock(data.labels, split["test"], settings["target"])
        seconds = clock.train(
            build(settings, seed), data.features, both, adjacency=data.adjacency, validation=split["val"]
        )
        values |= {
            f"{row} seconds": seconds,
            f"{row} ratio": seconds / base,
            f"{row} accuracy": clock.accuracy,
            f"{row} epochs": clock.epochs,
            f"{row} reached": float(clock.reached),
        }
    return values


def race_entries() -> Iterator[Entry]:
    """Yield the entries that time networks."""
    at = DEPTHS.index(DEPTH)
    solver = {**ogc(_PUBMED, agreement=1.0, max_iter=DEPTH).settings}
    solver.pop("anchors")
    columns = {"time / OGC's": "ratio", "CPU seconds": "seconds", "accuracy": "accuracy", "epochs": "epochs"}
    for row in ("OGC", *CLAIMED):
        target = ACCURACIES["Pubmed"][row][at]
        deep = (
            {} if row == "OGC" else {row: {**network(row, _PUBMED, depth=DEPTH).settings, "target": target}}
        )
        # one network per cell, so that a slow one can be skipped
        cell = Cell("race", _PUBMED, {"OGC": solver, "networks": deep}, slow=bool(deep), random=False)
        ratio = round(PUBLISHED[row][at] / PUBLISHED["OGC"][at], 1)
        for column, value in columns.items():
            known = {"ratio": ratio, "accuracy": target}.get(value)
            digits = {"epochs": 0, "seconds": 2}.get(value, 1)
            if row != "OGC" or value != "ratio":
                yield Entry(row, column, GROUP, known, cell, value=f"{row} {value}", budget="", digits=digits)


def race_claims() -> Iterator[Claim]:
    """Yield the paper's claims about running time, at one depth."""
    for row, least in CLAIMED.items():

        def holds(means: Mapping[Position, float], row: str = row, least: int = least) -> bool:
            return means[GROUP, row, "time / OGC's"] >= least

        yield Claim(
            f"At {DEPTH} layers, {row} needs at least {least} times OGC's CPU time to reach its published "
            "accuracy (the paper claims this for all depths together)",
            holds,
        )


_METHODS = {"OGC": "OGC", "SGC": "SGC", "S²GC": "SSGC", "GGC": "GGC", "GGCM": "GGCM"}


def _estimators(dataset: str) -> dict[str, Any]:
    """Return the settings of each method, without its depth."""
    settings: dict[str, Any] = {}
    for row, name in _METHODS.items():
        params: dict[str, Any] = {"agreement": 1.0} if name == "OGC" else fixed_params(name, dataset)
        params.pop("depth", None)
        settings[row] = {"method": name, "params": params}
    return settings


@measure("time")
def time_depths(cell: Cell, seed: int) -> dict[str, float]:
    """Time every method at every depth, in turn, and return medians as ratios to SGC at the same depth.

    Embedders embed and train the Adam head for 100 epochs; OGC runs as many iterations as the depth. The
    first round is a warm-up and not counted.
    """
    settings = cell.settings
    jobs = {
        (row, depth): _job(cell, build(kind, seed), depth, seed)
        for row, kind in settings["estimators"].items()
        for depth in settings["depths"]
    }
    times: dict[tuple[str, int], list[float]] = {key: [] for key in jobs}
    for turn in range(settings["repeats"] + 1):
        # interleaved, so that load on the machine affects all of them equally
        for key, job in jobs.items():
            start = process_time()
            job()
            if turn:
                times[key].append(process_time() - start)
    seconds = {key: median(samples) for key, samples in times.items()}
    values = {f"{row}@{depth}": seconds[row, depth] / seconds["SGC", depth] for row, depth in jobs}
    return values | {f"{row}@{depth}s": value for (row, depth), value in seconds.items()}


def _job(cell: Cell, model: Any, depth: int, seed: int) -> Callable[[], Any]:
    data = dataset_of(cell.dataset)
    y = data.mask_labels(cell.split, BUDGETS[cell.budget])
    if "max_iter" in model.get_params():
        return lambda: model.set_params(max_iter=depth).fit(data.features, y, adjacency=data.adjacency)
    head, train = AdamHead(random_state=seed), np.flatnonzero(y >= 0)

    def embed_and_train() -> None:
        U = model.set_params(depth=depth).fit_transform(data.features, adjacency=data.adjacency)
        head.fit(U[train], y[train]).predict(U)

    return embed_and_train


def _entries() -> Iterator[Entry]:
    settings = {"estimators": _estimators(_PUBMED), "depths": list(DEPTHS), "repeats": 3}
    cell = Cell("time", _PUBMED, settings, random=False)
    for row, published in PUBLISHED.items():
        for depth, seconds, base in zip(DEPTHS, published, PUBLISHED["SGC"], strict=True):
            mine = cell if row in _METHODS else None
            ratio = round(seconds / base, 2)
            yield Entry(
                row,
                str(depth),
                published=ratio,
                cell=mine,
                value=f"{row}@{depth}",
                budget="",
                digits=2,
                both_ways=True,
                absent="a network at all depths takes days; see the comparison at 16 layers",
            )
    yield from race_entries()


TIME = Artefact(
    name="time",
    source="Table 7",
    title="Running time by depth on Pubmed",
    entries=tuple(_entries()),
    unit="time relative to SGC at the same depth",
    note="""\
CPU time is the median of three rounds, after a warm-up round that is not counted.
Published ratios are computed from the paper's CPU seconds.
They were measured on other machines with other code, so they are not judged.

GCNII and GRAND at all depths would take days.
Each is trained once at 16 layers with its published hyperparameters, in one process with OGC.
This needs gssl[baselines] and is not part of quick runs.
Training ends when an epoch reaches the published accuracy on test nodes, or when the network stops by itself.
Test labels are used for nothing else.
Seconds are CPU seconds.

The paper's text says that OGC is at least 130 times as fast as GCNII and 500 times as fast as GRAND.
Its own table gives less at every depth: 51 to 76 times, and 205 to 456 times.""",
    claims=tuple(race_claims()),
    x_title="iterations",
)
