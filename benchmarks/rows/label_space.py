"""Working in label space against hops over all features, with the same predictions."""

from functools import partial
from typing import Any

import numpy as np

import gssl
from benchmarks import graphs
from benchmarks.entry import Contest, Race, Rival


class DirectClassifier(gssl.EmbeddingClassifier):
    """The same classifier, which always embeds every node."""

    def _label_space_pays(self, X: Any, A: Any, n_rows: int) -> bool:
        return False


def entries(*, quick: bool) -> list[Race]:
    """Give a race for each embedder; the goal is for Citeseer."""
    name = "cora" if quick else "citeseer"
    found = []
    for embedder in (gssl.SGC(), gssl.GGCM()):
        method = type(embedder).__name__
        what = f"{method}(depth={embedder.depth}) + logistic, {name}, train labels: label space"
        contest = partial(_contest, name, embedder, None if quick else 8.0)
        found.append(Race(f"label-space-{method.lower()}", what, contest, 5))
    if not quick:
        what = "GGCM(depth=8) + logistic, coauthor_cs, train+validation labels"
        found.append(Race("ggcm-coauthor_cs", what, _torch_contest, 1))
    return found


def _contest(name: str, embedder: Any, at_least: float | None) -> Contest:
    data = graphs.citation(name).data
    y = data.mask_labels("public", ("train",))

    def fit(kind: Any) -> Any:
        return kind(embedder, head="logistic").fit(data.features, y, adjacency=data.adjacency).transduction_

    rival = Rival("gssl, direct", lambda: fit(DirectClassifier), at_least, _same_predictions)
    return Contest(lambda: fit(gssl.EmbeddingClassifier), (rival,))


def _torch_contest() -> Contest:
    from benchmarks.rivals import torch_ggcm

    task, settings = graphs.coauthors(), gssl.GGCM(depth=8)
    data, X = task.data, torch_ggcm.make_inputs(graphs.coauthors())

    def ours() -> Any:
        model = gssl.EmbeddingClassifier(settings, head="logistic")
        return model.fit(data.features, task.y, adjacency=data.adjacency).transduction_

    note = "the same head; the rival is given dense features"
    rival = Rival("torch CSR", lambda: torch_ggcm.classify(task, X, settings), None, _same_predictions, note)
    return Contest(ours, (rival,))


def _same_predictions(ours: Any, theirs: Any) -> str:
    share = float(np.mean(ours == theirs))
    if share < 0.995:
        raise ValueError(f"only {share:.2%} of the predictions agree, so nothing was timed")
    return f"{share:.2%} of the predictions agree"
