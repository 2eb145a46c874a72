"""Model selection by AutoClassifier beside fitting one model."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import gssl
from benchmarks import graphs
from benchmarks.graphs import Task
from benchmarks.row import Measured, Row, ratio

_LIMIT = "trials, folds and rounds of self-training are many calls of milliseconds"


def rows(*, quick: bool) -> list[Row]:
    """Return the cost of model selection on small and large graphs, with few and many labels."""
    tasks: dict[str, Callable[[], Task]] = {
        "cora-140": lambda: _train_labels(graphs.citation("cora")),
        "pubmed-560": partial(graphs.citation, "pubmed"),
        "coauthor_cs-300": lambda: _train_labels(graphs.coauthors()),
        "synthetic-118k-900": graphs.wide,
    }
    return [
        Row(
            f"selection-{name}",
            f"AutoClassifier(), {name} labels",
            partial(_measure, make),
            rival="gssl, GGCM() + logistic",
            package="gssl",
            at_most=4.0,
            limit=_LIMIT,
        )
        for name, make in tasks.items()
        if not quick or name.startswith("cora")
    ]


def _train_labels(task: Task) -> Task:
    """Return the task without validation labels."""
    y = np.full_like(task.y, -1)
    y[task.anchors] = task.y[task.anchors]
    return replace(task, y=y)


def _measure(make: Callable[[], Task]) -> Measured:
    task = make()

    def fit(model: Any) -> Any:
        return model.fit(task.data.features, task.y, adjacency=task.data.adjacency)

    def check(ours: Any, theirs: Any) -> str:
        scores = task.accuracy(ours.transduction_), task.accuracy(theirs.transduction_)
        return f"{len(ours.leaderboard_)} models; accuracy {scores[0]:.1f} / {scores[1]:.1f}"

    single = gssl.EmbeddingClassifier(gssl.GGCM(), head="logistic")
    return ratio(lambda: fit(gssl.AutoClassifier()), lambda: fit(single), check, 2, cost=True)
