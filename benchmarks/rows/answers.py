"""What other questions cost: numbers instead of classes, kinds of links and directions instead of one."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import gssl
from benchmarks.entry import Figure, Reading
from benchmarks.measure import interleaved, seconds
from gssl.graph import check_adjacency
from gssl.graph.adjacency import union_of

_REPEATS, _CLASSES, _FEATURES = 3, 10, 100
# nodes, relations, links of each, and the share of nodes with a label
_SHAPE, _QUICK, _LABELLED = (100_000, 5, 200_000), (5_000, 3, 10_000), 0.01
_LIMIT = "every relation is smoothed over by itself before it is judged"


def entries(*, quick: bool) -> list[Figure]:
    """Return the cost of numbers, of five relations and of directions, in fits of classes on their union."""
    shape = _QUICK if quick else _SHAPE
    size = f"{shape[0]:,} nodes, {shape[1]} relations of {shape[2]:,} links"
    return [
        Figure(
            f"answers-{name}",
            f"{what}: {size}, in fits of AutoClassifier() on their union",
            partial(_measure, shape, make),
            unit="×",
            at_most=goal,
            limit=limit,
        )
        for name, what, make, goal, limit in (
            ("relations", "AutoClassifier(), relations told apart", _relations, 3.0, _LIMIT),
            ("directions", "AutoClassifier(directed=True), the same", _directions, 3.0, _LIMIT),
            ("numbers", "AutoRegressor() on the union, 1,000 numbers", _numbers, 2.0, "trees of five folds"),
        )
    ]


@cache
def _drawn(shape: tuple[int, int, int]) -> tuple[np.ndarray, dict[str, csr_array], np.ndarray]:
    """Return features, relations that follow the classes more and more, and classes."""
    n, count, links = shape
    rng = np.random.default_rng(0)
    truth = rng.integers(_CLASSES, size=n)
    order = np.argsort(truth, kind="stable")
    starts = np.searchsorted(truth[order], np.arange(_CLASSES + 1))
    relations = {}
    for k in range(count):
        u, v = rng.integers(n, size=(2, links))
        own = truth[u]
        alike = order[starts[own] + (rng.random(links) * (starts[own + 1] - starts[own])).astype(np.int64)]
        v = np.where(rng.random(links) < 0.2 + 0.1 * k, alike, v)
        keep = u != v
        relations[f"r{k}"] = csr_array((np.ones(keep.sum()), (u[keep], v[keep])), shape=(n, n))
    X = rng.normal(size=(n, _FEATURES)).astype(np.float32)
    X[np.arange(n), truth] += 1.0
    return X, relations, truth


def _relations(X: Any, relations: Any, y: np.ndarray) -> Any:
    return gssl.AutoClassifier().fit(X, y, adjacency=relations)


def _directions(X: Any, relations: Any, y: np.ndarray) -> Any:
    return gssl.AutoClassifier(directed=True).fit(X, y, adjacency=relations)


def _numbers(X: Any, relations: Any, y: np.ndarray) -> Any:
    numbers = np.where(y >= 0, X[:, 0] + y, np.nan)
    return gssl.AutoRegressor().fit(X, numbers, adjacency=union_of(check_adjacency(relations)))


def _measure(shape: tuple[int, int, int], make: Callable[[Any, Any, np.ndarray], Any]) -> Reading:
    X, relations, truth = _drawn(shape)
    y = np.where(np.random.default_rng(1).random(len(truth)) < _LABELLED, truth, -1)
    union = union_of(check_adjacency(relations))

    def plain() -> Any:
        return gssl.AutoClassifier().fit(X, y, adjacency=union)

    plain(), make(X, relations, y)  # so that everything is compiled
    times = interleaved({"ours": partial(make, X, relations, y), "union": plain}, _REPEATS)
    ratios = [ours / theirs for ours, theirs in zip(times["ours"], times["union"], strict=True)]
    return Reading(ratios, seconds(times["ours"]), f"classes, union: {seconds(times['union'])}")
