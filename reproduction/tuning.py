"""Settings of unsupervised methods, chosen on validation nodes: one propagation serves all depths and heads.

No test label is seen here: a candidate comes with predictions for the test nodes, which others score.
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from gssl import methods
from gssl.evaluation import accuracy
from reproduction.estimators import estimator
from reproduction.sources import dataset_of

Params = tuple[tuple[str, Any], ...]
HEADS = {"adam": "weight_decay", "logistic": "penalty", "ridge": "penalty"}


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method with its settings, the validation accuracy (%) it was chosen by, and what it predicts."""

    depth: int
    params: Mapping[str, Any]
    penalty: float
    validation: float
    predicted: np.ndarray


def candidates(
    dataset: str, split: str, settings: Mapping[str, Any], seed: int, parts: tuple[str, ...] = ("train",)
) -> Iterator[Candidate]:
    """Fit heads to every depth of every setting of a method.

    Parameters
    ----------
    dataset, split : str
    settings : mapping
        ``method`` and its ``params``; ``grid``, from a parameter to the values to try; ``depths``;
        ``head`` (adam, logistic or ridge) with the ``penalties`` to try; ``best_epoch``, whether
        validation nodes choose the epoch of the adam head.
    seed : int
        Of the head, and of what the method samples.
    parts : tuple of str
        The parts of the split that train the head.

    Yields
    ------
    Candidate

    Examples
    --------
    >>> settings = {"method": "SGC", "depths": [1, 2], "head": "ridge", "penalties": [0.1]}
    >>> [c.depth for c in candidates("karate", "default", settings, seed=0)]
    [1, 2]
    """
    data = dataset_of(dataset)
    nodes = {part: data.splits[split].get(part, np.empty(0, int)) for part in ("train", "val", "test")}
    depths = tuple(settings["depths"])
    train = np.concatenate([nodes[part] for part in parts])
    for params in _grid(settings.get("params", {}), settings.get("grid", {})):
        rows = embedded_rows(dataset, split, settings["method"], _frozen(params), depths, seed)
        for depth, penalty in product(depths, settings.get("penalties", [None])):
            U = rows[depth]
            head = _head(settings.get("head", "adam"), penalty, seed)
            if settings.get("best_epoch") and parts == ("train",):
                head.fit(U.of(train), data.labels[train], (U.of(nodes["val"]), data.labels[nodes["val"]]))
            else:
                head.fit(U.of(train), data.labels[train])
            validation = float("nan")
            if len(nodes["val"]):
                validation = 100 * accuracy(data.labels[nodes["val"]], head.predict(U.of(nodes["val"])))
            yield Candidate(depth, params, penalty, validation, head.predict(U.of(nodes["test"])))


def choose(found: Iterable[Candidate]) -> Candidate:
    """Take the candidate with the best validation accuracy; the first one wins a tie.

    Examples
    --------
    >>> nothing = np.empty(0)
    >>> choose([Candidate(2, {}, 0.1, 80.0, nothing), Candidate(4, {}, 0.1, 81.0, nothing)]).depth
    4
    """
    return max(found, key=lambda candidate: candidate.validation)


@dataclass(frozen=True, eq=False)
class Rows:
    """Embeddings of the nodes of a split, by node."""

    nodes: np.ndarray
    U: np.ndarray

    def of(self, nodes: np.ndarray) -> np.ndarray:
        """Give the rows of some of the nodes."""
        return np.asarray(self.U[np.searchsorted(self.nodes, nodes)])


def embedded_rows(
    dataset: str, split: str, method: str, params: Params, depths: tuple[int, ...], seed: int
) -> dict[int, Rows]:
    """Embed a graph once and keep the rows of a split's nodes at some depths.

    Only these rows train and are judged, and there are few of them: all depths fit into memory. What was
    asked for last is kept, since seeds differ in the head only.

    Parameters
    ----------
    dataset, split, method : str
    params : tuple of (name, value)
    depths : tuple of int
    seed : int
        For methods that sample.

    Returns
    -------
    dict of int to Rows

    Examples
    --------
    >>> rows = embedded_rows("karate", "default", "SGC", (), (2,), seed=0)
    >>> rows[2].of(np.array([0])).shape
    (1, 34)
    """
    return _embedded(dataset, split, method, params, depths, seed if samples(method, dict(params)) else None)


def samples(method: str, params: Mapping[str, Any]) -> bool:
    """Tell whether a method's embeddings depend on a seed.

    Examples
    --------
    >>> samples("GGC", {}), samples("GGC", {"negatives": 20}), samples("SGC", {})
    (False, True, False)
    """
    takes = inspect.signature(estimator(method)).parameters
    if "random_state" not in takes:
        return False
    return "negatives" not in takes or params.get("negatives", "complement") != "complement"


@lru_cache(maxsize=12)
def _embedded(
    dataset: str, split: str, method: str, params: Params, depths: tuple[int, ...], seed: int | None
) -> dict[int, Rows]:
    data = dataset_of(dataset)
    nodes = np.sort(np.concatenate(list(data.splits[split].values())))
    kind = estimator(method)
    settings = dict(params) | ({} if seed is None else {"random_state": seed})
    if "depth" not in inspect.signature(kind).parameters or not hasattr(kind, "iter_embeddings"):
        U = kind(**settings).fit_transform(data.features, adjacency=data.adjacency)
        return {depth: Rows(nodes, U[nodes]) for depth in depths}
    embedder = kind(**settings, depth=max(depths))
    embeddings = embedder.iter_embeddings(data.features, adjacency=data.adjacency)
    return {depth: Rows(nodes, U[nodes]) for depth, U in enumerate(embeddings) if depth in depths}


def _grid(params: Mapping[str, Any], grid: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for values in product(*grid.values()):
        yield {**params, **dict(zip(grid, values, strict=True))}


def _frozen(params: Mapping[str, Any]) -> Params:
    return tuple(sorted(params.items()))


def _head(name: str, penalty: float | None, seed: int) -> Any:
    kind = {"adam": methods.AdamHead, "logistic": methods.LogisticHead, "ridge": methods.RidgeHead}[name]
    settings: dict[str, Any] = {} if penalty is None else {HEADS[name]: penalty}
    return kind(**settings, **({"random_state": seed} if name == "adam" else {}))
