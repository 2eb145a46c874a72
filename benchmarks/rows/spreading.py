"""Label spreading and propagation; rules and stopping differ, so accuracies are compared before times."""

from collections.abc import Callable
from functools import partial
from typing import Any

import gssl
from benchmarks import graphs
from benchmarks.rivals import spreading as rivals
from benchmarks.row import Measured, Row, ratio


def rows(*, quick: bool) -> list[Row]:
    """Return rows on citation graphs and on a sparse random graph."""
    cora, larger = (partial(graphs.citation, name) for name in ("cora", "cora" if quick else "pubmed"))
    sparse = partial(graphs.sparse, quick)
    drawn = f"{'12,000' if quick else '118,000'} nodes, three links each, 45 classes, 40 labels for each"
    settings = (
        ("sklearn", "scikit-learn", "scikit-learn, dense affinity", 10.0, "cora", cora, rivals.scikit_learn),
        ("pyg", "torch-geometric", "PyG, 50 iterations", 1.0, larger.args[0], larger, rivals.pyg),
        ("pagerank", "scikit-network", "scikit-network PageRank", 1.0, drawn, sparse, rivals.pagerank),
        ("scipy", "scipy", "SciPy loop, 100 steps", 1.0, drawn, sparse, rivals.scipy_propagation),
    )
    listed = []
    for name, package, rival, goal, where, task, prepare in settings:
        model = gssl.LabelPropagation() if name == "scipy" else gssl.LabelSpreading(rivals.ALPHA)
        kind = "propagation" if name == "scipy" else "spreading"
        measure = partial(_measure, task, model, prepare)
        limit = "passes over the links until the scores settle"
        row = Row(f"{kind}-{name}", f"{model!r}, {where}", measure, rival, limit, package, at_least=goal)
        listed.append(row)
    return listed


def _measure(make_task: Callable[[], graphs.Task], model: Any, prepare: Any) -> Measured:
    task = make_task()
    A, y = task.data.adjacency, task.y
    check = partial(_as_accurate, task)
    return ratio(lambda: model.fit(None, y, adjacency=A).transduction_, prepare(A, y), check, 3)


def _as_accurate(task: graphs.Task, ours: Any, theirs: Any) -> str:
    scores = task.accuracy(ours), task.accuracy(theirs)
    text = f"accuracy {scores[0]:.1f} / {scores[1]:.1f}"
    if scores[0] < scores[1] - 1:
        raise ValueError(f"{text}: ours is worse, so nothing was timed")
    return text
