"""OGC fit against torch code written from the paper."""

from functools import partial
from typing import Any

import gssl
from benchmarks import graphs
from benchmarks.entry import Contest, Race, Rival
from benchmarks.graphs import Task

# graph -> goals against dense S and against sparse S, and the number of repeats with dense S
_GOALS = {"cora": (6.0, 8.0, 5), "citeseer": (10.0, 8.0, 3), "pubmed": (30.0, 12.0, 2)}
# coauthor_cs has 6805 dense columns in torch, so only a few iterations are timed
_SHORT = {"max_iter": 8, "agreement": 1.0}


def entries(*, quick: bool) -> list[Race]:
    """Return two races for each citation graph, and a short one on coauthor_cs."""
    races = []
    for name in ["cora"] if quick else _GOALS:
        dense, sparse, repeats = _GOALS[name]
        task = partial(graphs.citation, name)
        what = f"OGC fit, {name}, train+validation labels, to the end of its own stop rule"
        races += [
            Race(f"ogc-{name}-dense", what, partial(_contest, task, "dense", dense), repeats),
            Race(f"ogc-{name}-sparse", what, partial(_contest, task, "sparse", sparse), 5),
        ]
    if not quick:
        what = "OGC fit, coauthor_cs, 8 iterations"
        contest = partial(_contest, graphs.coauthors, "sparse", None, **_SHORT)
        races.append(Race("ogc-coauthor_cs", what, contest, 2))
    return races


def _contest(make_task: Any, form: Any, at_least: float | None, **settings: Any) -> Contest:
    from benchmarks.rivals import torch_ogc

    task = make_task()
    inputs = torch_ogc.make_inputs(task)
    matrices = torch_ogc.make_matrices(inputs, form)
    check = partial(_same_accuracy, task)
    rivals = (
        Rival(
            f"torch OGC, {form} S",
            lambda: torch_ogc.fit(inputs, form, **settings),
            at_least,
            check,
            "both from the inputs to the predictions",
        ),
        Rival(
            f"torch OGC, {form} S, loop alone",
            lambda: torch_ogc.loop(inputs, matrices, **settings),
            None,
            check,
            "the rival's matrices prepared, ours not",
        ),
    )
    return Contest(lambda: fit(task, **settings), rivals)


def fit(task: Task, **settings: Any) -> gssl.OGC:
    """Fit gssl's OGC with the labels of the published numbers."""
    data = task.data
    return gssl.OGC(random_state=0, **settings).fit(
        data.features, task.y, adjacency=data.adjacency, anchors=task.anchors
    )


def _same_accuracy(task: Task, ours: Any, theirs: Any) -> str:
    """Check that both have the same accuracy before they are timed."""
    scores = task.accuracy(ours.transduction_), task.accuracy(theirs.predicted)
    text = f"accuracy {scores[0]:.1f} / {scores[1]:.1f} after {ours.n_iter_} / {theirs.n_iter} iterations"
    if abs(scores[0] - scores[1]) > 0.5:
        raise ValueError(f"{text}: not the same method, so nothing was timed")
    return text
