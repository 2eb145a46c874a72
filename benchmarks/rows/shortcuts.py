"""Shortcuts of gssl beside the long way to the same result, by gssl itself."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import gssl
from benchmarks import graphs
from benchmarks.row import Measured, Row, ratio
from gssl.operators.named import HOPS
from gssl.operators.program import polynomial
from gssl.selection.candidates import Block, candidates
from gssl.selection.filtered_rows import FilteredRows, Same
from gssl.selection.views import Views

_NEW = 10
_DEPTH, _WIDTH, _KIND = 16, 64, "unit"


def rows(*, quick: bool) -> list[Row]:
    """Return a row for each shortcut."""
    name = "cora" if quick else "citeseer"
    larger, n_edges = ("cora", 100_000) if quick else ("pubmed", 1_000_000)
    n_filters = len(candidates(_DEPTH))
    settings: tuple[tuple[str, str, Callable[[], Measured], str, float, str], ...] = (
        (
            "negatives",
            f"{gssl.GGCM()!r}.fit_transform with all negatives, {name}",
            partial(_negatives, name),
            "20·|E| negatives, drawn in every iteration",
            5.0,
            "two products with the links in every iteration",
        ),
        (
            "label-space",
            f"{gssl.GGCM()!r} + logistic in label space, {name}, train labels",
            partial(_label_space, name),
            "all features propagated",
            8.0,
            "the head is fitted either way",
        ),
        (
            "programs",
            f"{n_filters} filters of AutoClassifier over {_WIDTH} columns, rows of labelled nodes, {larger}",
            partial(_programs, larger),
            "a program for each filter",
            1.5,
            "GGC and GGCM are no polynomials of a shared operator and take passes of their own",
        ),
        (
            "unseen",
            f"{_NEW} new nodes, SGC(depth=2) + logistic, drawn graph of {n_edges:.0e} edges, d = 64",
            partial(_unseen, n_edges),
            "all nodes predicted",
            1.0,
            "both read and check the whole graph",
        ),
    )
    return [
        Row(name, what, measure, f"gssl, {rival}", limit, package="gssl", at_least=goal)
        for name, what, measure, rival, goal, limit in settings
    ]


def _negatives(name: str) -> Measured:
    data = graphs.citation(name).data
    exact, sampled = (
        partial(model.fit_transform, data.features, adjacency=data.adjacency)
        for model in (gssl.GGCM(), gssl.GGCM(negatives=20, random_state=0))
    )
    return ratio(exact, sampled, None, 3)


def _label_space(name: str) -> Measured:
    data = graphs.citation(name).data
    y = data.mask_labels("public", ("train",))
    labelled = np.flatnonzero(y >= 0)
    model = gssl.EmbeddingClassifier(gssl.GGCM(), head="logistic")

    def direct() -> Any:
        U = gssl.GGCM().fit_transform(data.features, adjacency=data.adjacency)
        return gssl.LogisticHead().fit(U[labelled], y[labelled]).predict_proba(U)

    def ours() -> Any:
        return model.fit(data.features, y, adjacency=data.adjacency).label_distributions_

    return ratio(ours, direct, partial(_same, tolerance=1e-3))


def _programs(name: str) -> Measured:
    task = graphs.citation(name)
    X, A, nodes = task.data.features, task.data.adjacency, np.flatnonzero(task.y >= 0)
    table = FilteredRows(Views(X, A), A, X.dtype, nodes, _DEPTH)
    view, filters = table.views[_KIND], candidates(_DEPTH)

    def together() -> np.ndarray:
        table.forget_view(_KIND)
        table.prepare(_KIND, filters, _WIDTH)
        return np.hstack([table.rows(_KIND, each, _WIDTH) for each in filters])

    def one_by_one() -> np.ndarray:
        V = view.features.times(view.axes[:, :_WIDTH])
        return np.hstack([alone(block, V) for each in filters for block in each.blocks])

    def alone(block: Block, V: np.ndarray) -> Any:
        operator, hop = table.operators[block.operator], HOPS.get(block.operator)
        program = operator.program if hop is None else polynomial(block.powers, hop)
        return program.run(V, Same(operator.filters))[nodes]

    return ratio(together, one_by_one, partial(_same, tolerance=1e-4))


def _unseen(n_edges: int) -> Measured:
    """Fit without the last ten nodes, and predict them."""
    data = graphs.grown(n_edges)
    X, A, y = data.features, data.adjacency, data.mask_labels("default")
    old, new = slice(-_NEW), np.arange(len(y) - _NEW, len(y))
    model = gssl.EmbeddingClassifier(gssl.SGC(depth=2)).fit(X[old], y[old], adjacency=A[old, old])
    return ratio(
        lambda: model.predict_proba(X, adjacency=A, nodes=new),
        lambda: model.predict_proba(X, adjacency=A)[new],
        partial(_same, tolerance=1e-6),
    )


def _same(ours: np.ndarray, theirs: np.ndarray, tolerance: float) -> str:
    worst = float(np.abs(ours - theirs).max())
    if worst > tolerance:
        raise ValueError(f"the results differ by {worst:.1e}, so nothing was timed")
    return f"the results differ by {worst:.0e} at most"
