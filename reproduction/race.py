"""How long deep networks compute until they are as good as published, in units of OGC's time (Table 6)."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from time import process_time
from typing import Any

import numpy as np

from gssl.evaluation import accuracy
from reproduction.depth import PUBLISHED as ACCURACIES
from reproduction.measures import build, measure
from reproduction.network_cells import network
from reproduction.settings import DEPTHS, ogc
from reproduction.sources import dataset_of
from reproduction.spec import Cell, Claim, Entry, Place

DEPTH = 16
DATASET = "planetoid/pubmed"
GROUP = f"CPU time to the published accuracy at {DEPTH} layers"
# how many times more CPU time the paper says they take at least
CLAIMED = {"GCNII": 130, "GRAND": 500}


class _ReachedError(Exception):
    """A network is as good as it should be."""


class Clock:
    """Stops the training of a network at its first epoch that is as good on test nodes as asked for.

    It reads the predictions that the network makes for its validation nodes anyway, so that looking costs
    next to nothing. Nothing is chosen by it but when the clock stops.

    Parameters
    ----------
    labels : ndarray of shape (n,)
    test : int ndarray
    target : float
        In percent, as it is published: with one digit.

    Examples
    --------
    >>> clock = Clock(np.array([0, 1]), np.array([0, 1]), 50.0)
    >>> clock.look(np.array([1, 0]))
    >>> clock.epochs, clock.accuracy
    (1, 0.0)
    """

    def __init__(self, labels: np.ndarray, test: np.ndarray, target: float) -> None:
        self.labels = labels
        self.test = test
        self.target = target
        self.epochs = 0
        self.accuracy = 0.0
        self.reached = False

    def look(self, predicted: np.ndarray) -> None:
        """Count an epoch, and stop if it is good enough."""
        self.epochs += 1
        self.accuracy = max(self.accuracy, 100 * accuracy(self.labels[self.test], predicted[self.test]))
        if round(self.accuracy, 1) >= self.target:
            self.reached = True
            raise _ReachedError

    def train(self, model: Any, *inputs: Any, **settings: Any) -> float:
        """Fit a network until it is good enough or has done; give the seconds that CPUs worked on it."""
        loss, heard = model._loss, list[Any]()

        def listening(network: Any, *rest: Any) -> Any:
            if not heard:
                heard.append(network.register_forward_hook(self._hear))
            return loss(network, *rest)

        model._loss = listening
        start = process_time()
        with suppress(_ReachedError):
            model.fit(*inputs, **settings)
        return process_time() - start

    def _hear(self, network: Any, inputs: Any, scores: Any) -> None:
        if not network.training:
            self.look(scores.argmax(dim=1).cpu().numpy())


@measure("race")
def race(cell: Cell, seed: int) -> dict[str, float]:
    """Time OGC and networks in one process, each until its accuracy on test nodes is the published one.

    OGC takes all of its iterations, whatever its accuracy is, and the median of five fits after one that is
    not counted; a network is fitted once, and stops by itself if it never gets there.

    Parameters
    ----------
    cell : Cell
        Its settings: ``OGC``, and ``networks`` with a ``target`` for each.
    seed : int

    Returns
    -------
    dict
        For each row ``<row> seconds``, ``<row> ratio`` to OGC's, ``<row> accuracy``, the best that was seen,
        ``<row> epochs`` and ``<row> reached``, 1 or 0.

    Examples
    --------
    >>> settings = {"OGC": {"method": "OGC"}, "networks": {}}
    >>> race(Cell("race", "karate", settings, split="default"), 0)["OGC ratio"]
    1.0
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
    found = 100 * accuracy(data.labels[split["test"]], model.transduction_[split["test"]])
    values = {"OGC seconds": base, "OGC ratio": 1.0, "OGC accuracy": found, "OGC epochs": model.n_iter_}
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


def race_entries(published: Mapping[str, tuple[float, ...]]) -> Iterator[Entry]:
    """Give the entries of Table 6 that time networks; its seconds by row and depth are given.

    Examples
    --------
    >>> times = {"OGC": (1.0,) * 6, "GCNII": (63.0,) * 6, "GRAND": (2.0,) * 6}
    >>> [entry.published for entry in race_entries(times)][3]
    63.0
    """
    at = DEPTHS.index(DEPTH)
    solver = {**ogc(DATASET, agreement=1.0, max_iter=DEPTH).settings}
    solver.pop("anchors")
    columns = {"time / OGC's": "ratio", "CPU seconds": "seconds", "accuracy": "accuracy", "epochs": "epochs"}
    for row in ("OGC", *CLAIMED):
        target = ACCURACIES["Pubmed"][row][at]
        deep = (
            {} if row == "OGC" else {row: {**network(row, DATASET, depth=DEPTH).settings, "target": target}}
        )
        # one network a cell, so that a long one can be left out
        cell = Cell("race", DATASET, {"OGC": solver, "networks": deep}, slow=bool(deep), random=False)
        ratio = round(published[row][at] / published["OGC"][at], 1)
        for column, value in columns.items():
            known = {"ratio": ratio, "accuracy": target}.get(value)
            digits = {"epochs": 0, "seconds": 2}.get(value, 1)
            if row != "OGC" or value != "ratio":
                yield Entry(row, column, GROUP, known, cell, value=f"{row} {value}", budget="", digits=digits)


def race_claims() -> Iterator[Claim]:
    """Give what the paper says of times, at one depth.

    Examples
    --------
    >>> next(race_claims()).holds({(GROUP, "GCNII", "time / OGC's"): 131.0})
    True
    """
    for row, least in CLAIMED.items():

        def holds(means: Mapping[Place, float], row: str = row, least: int = least) -> bool:
            return means[GROUP, row, "time / OGC's"] >= least

        yield Claim(
            f"To its published accuracy at {DEPTH} layers, {row} takes at least {least} times the CPU time "
            "of OGC (the paper says so of all depths together)",
            holds,
        )
