"""Label spreading and related methods; rules and stopping differ, so accuracies are shown with the times."""

from functools import partial
from typing import Any

import numpy as np

import gssl
from benchmarks import graphs
from benchmarks.entry import Contest, Race, Rival

_ALPHA = 0.9
_LAYERS = 50
# iterations of PyG on a large graph, where each takes seconds
_FEW = 10
# steps of a plain loop to reach the accuracy of label propagation
_EQUAL = 100
# steps of a plain loop to reach the result of the Chebyshev iteration
_SLOW = 110


def entries(*, quick: bool) -> list[Race]:
    """Return races on cora (scikit-learn included), pubmed (too large for it) and a sparse random graph."""
    names = ["cora"] if quick else ["cora", "pubmed"]
    what = "LabelSpreading(spread=0.9), {}, train labels"
    known = [Race(f"spreading-{name}", what.format(name), partial(_contest, name), 5) for name in names]
    n_nodes = "12,000" if quick else "118,000"
    drawn = f"{n_nodes} nodes, three links each, 45 classes, 40 labels for each"
    return [
        *known,
        Race("spreading-sparse", f"LabelSpreading(), {drawn}", partial(_spreading, quick), 3),
        Race("propagation-sparse", f"LabelPropagation(), {drawn}", partial(_propagation, quick), 3),
    ]


def _spreading(quick: bool) -> Contest:
    from benchmarks.rivals import spreading

    task = graphs.sparse(quick)
    A, y, check = task.data.adjacency, task.y, partial(_accuracies, graphs.sparse(quick))
    rivals = (
        Rival("scikit-network PageRank", lambda: spreading.pagerank(A, y), 1.0, check),
        Rival("scikit-network diffusion", lambda: spreading.diffusion(A, y), None, check, "ten steps"),
        Rival(
            "SciPy loop, float32",
            lambda: spreading.scipy_spreading(A, y, _ALPHA, _SLOW),
            None,
            check,
            f"{_SLOW} steps",
        ),
        Rival("PyG LabelPropagation", _pyg(A, y), None, check, f"{_FEW} iterations"),
    )
    return Contest(lambda: gssl.LabelSpreading(_ALPHA).fit(None, y, adjacency=A).transduction_, rivals)


def _propagation(quick: bool) -> Contest:
    from benchmarks.rivals import spreading

    task = graphs.sparse(quick)
    A, y, check = task.data.adjacency, task.y, partial(_accuracies, graphs.sparse(quick))
    name, run = "SciPy loop, float32, class mass", spreading.scipy_propagation
    rivals = (
        Rival(f"{name}, {_LAYERS} steps", lambda: run(A, y, _LAYERS), None, check, "far from settled"),
        Rival(f"{name}, {_EQUAL} steps", lambda: run(A, y, _EQUAL), 1.0, check, "as accurate"),
        Rival("igraph label propagation", _igraph(A, y), None, check, "by majority of the neighbours"),
        Rival("PyG LabelPropagation", _pyg(A, y), None, check, f"{_FEW} iterations"),
    )
    return Contest(lambda: gssl.LabelPropagation().fit(None, y, adjacency=A).transduction_, rivals)


def _igraph(A: Any, y: np.ndarray) -> Any:
    from benchmarks.rivals import spreading

    graph = spreading.igraph_graph(A)
    return lambda: spreading.igraph_propagation(graph, y)


def _pyg(A: Any, y: np.ndarray) -> Any:
    import torch

    from benchmarks.rivals import pyg

    edge_index = torch.from_numpy(np.array(A.nonzero(), np.int64))
    labels, labelled = torch.from_numpy(np.maximum(y, 0)), torch.from_numpy(y >= 0)
    return lambda: pyg.spread_labels(edge_index, labels, labelled, _ALPHA, _FEW)


def _contest(name: str) -> Contest:
    import torch

    from benchmarks.rivals import pyg, spreading

    task = graphs.citation(name)
    data = task.data
    A, y = data.adjacency, data.mask_labels("public", ("train",))
    edge_index = torch.from_numpy(np.array(A.nonzero(), np.int64))
    labels, labelled = torch.from_numpy(np.maximum(y, 0)), torch.from_numpy(y >= 0)
    check = partial(_accuracies, task)
    rivals = [
        Rival("scikit-network diffusion", lambda: spreading.diffusion(A, y), check=check),
        Rival("scikit-network PageRank", lambda: spreading.pagerank(A, y), check=check),
        Rival(
            "PyG LabelPropagation",
            lambda: pyg.spread_labels(edge_index, labels, labelled, _ALPHA, _LAYERS),
            check=check,
            note=f"{_LAYERS} iterations",
        ),
    ]
    if name == "cora":
        run = partial(spreading.scikit_learn, A, y, _ALPHA)
        rivals.insert(0, Rival("scikit-learn", run, check=check, note="dense affinity from a callable"))
    model = gssl.LabelSpreading(spread=_ALPHA)
    return Contest(lambda: model.fit(data.features, y, adjacency=A).transduction_, tuple(rivals))


def _accuracies(task: graphs.Task, ours: Any, theirs: Any) -> str:
    return f"accuracy {task.accuracy(ours):.1f} / {task.accuracy(theirs):.1f}"
