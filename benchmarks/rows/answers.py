"""What other questions cost: numbers instead of classes, kinds of links and directions instead of one."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, triu

import gssl
from benchmarks.row import Measured, Row, ratio
from gssl.datasets import make_block_graph
from gssl.graph import check_adjacency
from gssl.graph.adjacency import union_of

_CLASSES, _FEATURES, _LABELLED = 10, 100, 0.02
# nodes, relations, links of each
_SHAPE, _QUICK = (50_000, 5, 100_000), (5_000, 3, 10_000)
_LIMIT = "every relation is smoothed over by itself before it is judged"


def rows(*, quick: bool) -> list[Row]:
    """Return the cost of numbers, of relations and of directions."""
    shape = _QUICK if quick else _SHAPE
    size = f"{shape[0]:,} nodes, {shape[1]} relations of {shape[2]:,} links"
    settings = (
        ("relations", "AutoClassifier(), relations told apart", _relations, 3.0, _LIMIT),
        ("directions", "AutoClassifier(directed=True), relations told apart", _directions, 3.0, _LIMIT),
        (
            "numbers",
            f"AutoRegressor() on the union, {shape[0] // 50:,} numbers",
            _numbers,
            2.0,
            "trees of five folds",
        ),
    )
    return [
        Row(
            f"answers-{name}",
            f"{what}: {size}",
            partial(_measure, shape, fit),
            rival="gssl, AutoClassifier() on the union of the links",
            package="gssl",
            at_most=goal,
            limit=limit,
        )
        for name, what, fit, goal, limit in settings
    ]


def _measure(shape: tuple[int, int, int], fit: Callable[..., Any]) -> Measured:
    X, relations, y = _drawn(shape)
    union = union_of(check_adjacency(relations))
    plain = partial(gssl.AutoClassifier().fit, X, y, adjacency=union)
    return ratio(lambda: fit(X, relations, union, y), plain, None, 2, cost=True)


def _relations(X: Any, relations: Any, union: Any, y: np.ndarray) -> Any:
    return gssl.AutoClassifier().fit(X, y, adjacency=relations)


def _directions(X: Any, relations: Any, union: Any, y: np.ndarray) -> Any:
    return gssl.AutoClassifier(directed=True).fit(X, y, adjacency=relations)


def _numbers(X: Any, relations: Any, union: Any, y: np.ndarray) -> Any:
    return gssl.AutoRegressor().fit(X, np.where(y >= 0, X[:, 0] + y, np.nan), adjacency=union)


@cache
def _drawn(shape: tuple[int, int, int]) -> tuple[np.ndarray, dict[str, csr_array], np.ndarray]:
    """Return features, relations of links from lower to higher nodes, and a few labels.

    Relations follow the classes more and more; all are drawn with the same seed, so they share the classes.
    """
    n, count, links = shape
    graphs = [
        make_block_graph(n, links, 1, _CLASSES, homophily=0.3 + 0.1 * k, random_state=0) for k in range(count)
    ]
    truth, rng = graphs[0].labels, np.random.default_rng(1)
    X = rng.normal(size=(n, _FEATURES)).astype(np.float32)
    X[np.arange(n), truth] += 1.0
    relations = {f"r{k}": csr_array(triu(graph.adjacency)) for k, graph in enumerate(graphs)}
    return X, relations, np.where(rng.random(n) < _LABELLED, truth, -1)
