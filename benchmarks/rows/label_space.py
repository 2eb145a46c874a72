"""Label space against propagation of all features, with the same predictions."""

from functools import partial
from typing import Any

import numpy as np

import gssl
from benchmarks import graphs
from benchmarks.entry import Contest, Race, Rival
from benchmarks.rows.selection import draw_wide

# iterations of OGC; a plain loop needs a number of passes quadratic in it
_FEW = 8


class DirectClassifier(gssl.EmbeddingClassifier):
    """An EmbeddingClassifier that never uses label space."""

    def _label_space_pays(self, X: Any, A: Any, n_rows: int) -> bool:
        return False


def entries(*, quick: bool) -> list[Race]:
    """Return a race for each embedder; the goal is for Citeseer."""
    name = "cora" if quick else "citeseer"
    races = []
    for embedder in (gssl.SGC(), gssl.GGCM()):
        method = type(embedder).__name__
        what = f"{method}(depth={embedder.depth}) + logistic, {name}, train labels: label space"
        contest = partial(_contest, name, embedder, None if quick else 8.0)
        races.append(Race(f"label-space-{method.lower()}", what, contest, 5))
    if not quick:
        what = "GGCM(depth=8) + logistic, coauthor_cs, train+validation labels"
        races.append(Race("ggcm-coauthor_cs", what, _torch_contest, 1))
        wide = "118,000 nodes, 190,000 links, 15,000 sparse features, 45 classes, 20 labels for each"
        races.append(Race("ggcm-wide", f"GGCM(depth=16) + logistic, {wide}", _wide_ggcm, 1))
        limit = "half of the time are passes of 48 columns at the speed of memory, two for each power of P"
        races.append(Race("ogc-wide", f"OGC, {_FEW} iterations, {wide}", _wide_ogc, 1, limit))
    return races


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


def _wide_ggcm() -> Contest:
    from benchmarks.rivals.scipy_wide import classify_by_ggcm

    X, A, y = _wide()
    model = gssl.EmbeddingClassifier(gssl.GGCM(), head="logistic")
    run = partial(classify_by_ggcm, X, A, y)
    rival = Rival("SciPy, label space", run, 2.0, _same_predictions, "the same head")
    return Contest(lambda: model.fit(X, y, adjacency=A).transduction_, (rival,))


def _wide_ogc() -> Contest:
    from benchmarks.rivals.scipy_wide import classify_by_ogc

    X, A, y = _wide()
    model = gssl.OGC(max_iter=_FEW, agreement=1.0, random_state=0)
    run = partial(classify_by_ogc, X, A, y, _FEW)
    rival = Rival("SciPy, label space", run, 3.0, _same_predictions)
    return Contest(lambda: model.fit(X, y, adjacency=A).transduction_, (rival,))


def _wide() -> tuple[Any, Any, np.ndarray]:
    task = draw_wide()
    data = task.data.normalized()
    return data.features, data.adjacency, task.y


def _same_predictions(ours: Any, theirs: Any) -> str:
    share = float(np.mean(ours == theirs))
    if share < 0.995:
        raise ValueError(f"only {share:.2%} of the predictions agree, so nothing was timed")
    return f"{share:.2%} of the predictions agree"
