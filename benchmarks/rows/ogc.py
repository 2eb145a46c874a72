"""OGC beside torch code written from the paper."""

from functools import partial
from typing import Any

import gssl
from benchmarks import graphs
from benchmarks.graphs import Task
from benchmarks.row import Measured, Row, ratio

# graph, form of the rival's matrices, goal, repeats
_RACES = (
    ("cora", "dense", 6.0, 3),
    ("cora", "sparse", 8.0, 3),
    ("citeseer", "sparse", 8.0, 2),
    ("pubmed", "dense", 30.0, 2),
    ("pubmed", "sparse", 12.0, 3),
)


def rows(*, quick: bool) -> list[Row]:
    """Return rows for dense and sparse matrices of the rival."""
    return [
        Row(
            f"ogc-{name}-{form}",
            f"OGC fit, {name}, train+validation labels, to the end of its own stop rule",
            partial(_measure, name, form, repeats),
            rival=f"torch OGC, {form} S",
            package="torch",
            at_least=goal,
            limit="calls of milliseconds in each iteration on Cora, passes over the links on Pubmed",
        )
        for name, form, goal, repeats in _RACES
        if not quick or name == "cora"
    ]


def _measure(name: str, form: Any, repeats: int) -> Measured:
    from benchmarks.rivals import torch_ogc

    task = graphs.citation(name)
    theirs = partial(torch_ogc.fit, torch_ogc.make_inputs(task), form)
    note = "both from the inputs to the predictions"
    return ratio(partial(fit, task), theirs, partial(_same_accuracy, task), repeats, note=note)


def fit(task: Task, **settings: Any) -> gssl.OGC:
    """Fit gssl's OGC with the labels of the published numbers."""
    data = task.data
    return gssl.OGC(random_state=0, **settings).fit(
        data.features, task.y, adjacency=data.adjacency, anchors=task.anchors
    )


def _same_accuracy(task: Task, ours: Any, theirs: Any) -> str:
    scores = task.accuracy(ours.transduction_), task.accuracy(theirs.predicted)
    text = f"accuracy {scores[0]:.1f} / {scores[1]:.1f} after {ours.n_iter_} / {theirs.n_iter} iterations"
    if abs(scores[0] - scores[1]) > 0.5:
        raise ValueError(f"{text}: not the same method, so nothing was timed")
    return text
