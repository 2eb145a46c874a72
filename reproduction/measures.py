"""The common measures: functions of a cell and a seed that return named numbers; accuracies are in percent.

Settings of unsupervised methods are chosen on validation nodes; one propagation serves all depths and heads.
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from gssl.datasets import Dataset
from gssl.evaluation import Record, accuracy, compare
from gssl.methods import OGC, AdamHead, LogisticHead, RidgeHead
from reproduction.spec import BUDGETS, Cell, build, dataset_of, estimator, measure

Params = tuple[tuple[str, Any], ...]
HEADS = {"adam": "weight_decay", "logistic": "penalty", "ridge": "penalty"}


@measure("classifier")
def classify(cell: Cell, seed: int) -> dict[str, float]:
    """Fit a classifier and score it on the test nodes.

    ``anchors`` are the parts of the split whose labels move OGC's U. OGC also returns its training error, the
    mean of (UW − Y)² over labelled nodes and classes.
    """
    data = dataset_of(cell.dataset)
    return classify_split(cell, seed, data, data.splits[cell.split])


def classify_split(cell: Cell, seed: int, data: Dataset, split: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Do the work of :func:`classify` on any split."""
    anchors = cell.settings.get("anchors")
    extra = {} if anchors is None else {"anchors": np.concatenate([split[part] for part in anchors])}
    values: dict[str, float] = {}

    def keep(record: Record, model: Any) -> None:
        values.update(accuracy=100 * record.accuracy, iterations=record.n_iter)
        if isinstance(model, OGC):
            # the loss has a factor ½
            size = record.n_labels * len(model.classes_)
            values["training_mse"] = 2.0 * model._steps.loss[-1] / size

    models = {cell.settings["method"]: build(cell.settings, seed)}
    compare(models, data, [split], parts=BUDGETS[cell.budget], on_record=keep, fit_settings=extra)
    return values


@measure("stopped")
def stop_early(cell: Cell, seed: int) -> dict[str, float]:
    """Refit a classifier with k iterations for each k in ``depths`` and return ``accuracy@k``."""
    values = {}
    for depth in cell.settings["depths"]:
        params = {**cell.settings["params"], "max_iter": depth}
        stopped = replace(cell, settings={**cell.settings, "params": params})
        values[f"accuracy@{depth}"] = classify(stopped, seed)["accuracy"]
    return values


@measure("embedding")
def tune_embedding(cell: Cell, seed: int) -> dict[str, float]:
    """Choose settings of an embedder and its head on validation nodes, at each depth and over all depths.

    Returns ``accuracy``, ``validation`` and ``depth`` of the best, and ``accuracy@k``, ``validation@k``.
    """
    data = dataset_of(cell.dataset)
    test = data.splits[cell.split]["test"]
    tried = list(candidates(cell.dataset, cell.split, cell.settings, seed, BUDGETS[cell.budget]))
    best = choose(tried)
    chosen = {"": best} | {
        f"@{depth}": choose(c for c in tried if c.depth == depth) for depth in cell.settings["depths"]
    }
    values: dict[str, float] = {"depth": best.depth}
    for suffix, candidate in chosen.items():
        values[f"accuracy{suffix}"] = 100 * accuracy(data.labels[test], candidate.predicted)
        if np.isfinite(candidate.validation):
            values[f"validation{suffix}"] = candidate.validation
    return values


@dataclass(frozen=True, eq=False)
class Candidate:
    """Settings of a method, their validation accuracy (%), and the predictions for the test nodes."""

    depth: int
    params: Mapping[str, Any]
    penalty: float
    validation: float
    predicted: np.ndarray


def candidates(
    dataset: str, split: str, settings: Mapping[str, Any], seed: int, parts: tuple[str, ...] = ("train",)
) -> Iterator[Candidate]:
    """Fit a head at every depth of every setting of a method, without using test labels.

    ``settings`` has the ``method`` and its ``params``; ``grid``, a mapping from parameter to the values to
    try; ``depths``; the ``head`` with the ``penalties`` to try; and ``best_epoch``, whether validation nodes
    choose the epoch of the adam head. The head is trained on ``parts`` of the split.
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


def choose(tried: Iterable[Candidate]) -> Candidate:
    """Return the candidate with the best validation accuracy; the first one wins a tie."""
    return max(tried, key=lambda candidate: candidate.validation)


@dataclass(frozen=True, eq=False)
class Rows:
    """Embeddings of the nodes of a split; ``nodes`` is sorted."""

    nodes: np.ndarray
    U: np.ndarray

    def of(self, nodes: np.ndarray) -> np.ndarray:
        """Return the rows of some of the nodes."""
        return np.asarray(self.U[np.searchsorted(self.nodes, nodes)])


def embedded_rows(
    dataset: str, split: str, method: str, params: Params, depths: tuple[int, ...], seed: int
) -> dict[int, Rows]:
    """Embed a graph once and keep the rows of a split's nodes at some depths.

    Only these rows are used, and they are few, so all depths fit into memory. Recent results are cached,
    because seeds often change only the head.
    """
    return _embedded(dataset, split, method, params, depths, seed if samples(method, dict(params)) else None)


def samples(method: str, params: Mapping[str, Any]) -> bool:
    """Return whether a method's embeddings depend on a seed."""
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
    kind = {"adam": AdamHead, "logistic": LogisticHead, "ridge": RidgeHead}[name]
    settings: dict[str, Any] = {} if penalty is None else {HEADS[name]: penalty}
    return kind(**settings, **({"random_state": seed} if name == "adam" else {}))
