"""Label spreading and its kin; other rules and stops, so the accuracies stand beside the times."""

from functools import partial
from typing import Any

import numpy as np

import gssl
from benchmarks import graphs
from benchmarks.entry import Contest, Race, Rival

_ALPHA = 0.9
_LAYERS = 50


def entries(*, quick: bool) -> list[Race]:
    """Give a race on cora, where scikit-learn's dense affinity fits, and one on pubmed without it."""
    names = ["cora"] if quick else ["cora", "pubmed"]
    what = "LabelSpreading(spread=0.9), {}, train labels"
    return [Race(f"spreading-{name}", what.format(name), partial(_contest, name), 5) for name in names]


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
