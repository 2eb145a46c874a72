"""What a cell computes: a graph, settings and a seed in, named numbers out; accuracies are in percent."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gssl import methods
from gssl.evaluation import Record, accuracy, compare
from reproduction.estimators import estimator
from reproduction.sources import dataset_of
from reproduction.spec import BUDGETS, Cell
from reproduction.tuning import candidates, choose

Measure = Callable[[Cell, int], dict[str, float]]
MEASURES: dict[str, Measure] = {}


def measure(name: str) -> Callable[[Measure], Measure]:
    """Register a function as what cells of this name compute.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> @measure("nodes")
    ... def count(cell, seed):
    ...     return {"nodes": dataset_of(cell.dataset).n_nodes}
    >>> MEASURES.pop("nodes")(Cell("nodes", "karate", {}), 0)
    {'nodes': 34}
    """

    def register(function: Measure) -> Measure:
        if name in MEASURES:
            raise ValueError(f"there is a measure {name!r} already: choose another name.")
        MEASURES[name] = function
        return function

    return register


def build(settings: Any, seed: int) -> Any:
    """Make the estimators that settings name, each with the seed where it takes one.

    Parameters
    ----------
    settings : mapping or any other JSON
        ``{"method": name, "params": {…}}`` becomes an estimator, also inside of parameters.
    seed : int

    Examples
    --------
    >>> build({"method": "OGC", "params": {"beta": 0.2}}, seed=3)
    OGC(beta=0.2, random_state=3)
    """
    if not isinstance(settings, Mapping) or "method" not in settings:
        return settings
    kind = estimator(settings["method"])
    model = kind(**{name: build(value, seed) for name, value in settings.get("params", {}).items()})
    return model.set_params(random_state=seed) if "random_state" in model.get_params(deep=False) else model


@measure("classifier")
def classify(cell: Cell, seed: int) -> dict[str, float]:
    r"""Fit a classifier and score it on the test nodes.

    ``anchors`` in the settings names the parts of the split whose labels may move OGC's embeddings. The
    training error is :math:`\frac1{|L| c} \sum_{i \in L} \|U_i W - Y_i\|^2` where a method knows it.

    Parameters
    ----------
    cell : Cell
        Its settings are those of an estimator.
    seed : int

    Returns
    -------
    dict
        ``accuracy``, ``iterations`` and, for OGC, ``training_mse``.

    Examples
    --------
    >>> cell = Cell("classifier", "karate", {"method": "LabelPropagation"}, split="default")
    >>> round(classify(cell, 0)["accuracy"], 1)
    96.9
    """
    data = dataset_of(cell.dataset)
    split = data.splits[cell.split]
    anchors = cell.settings.get("anchors")
    extra = {} if anchors is None else {"anchors": np.concatenate([split[part] for part in anchors])}
    values: dict[str, float] = {}

    def keep(record: Record, model: Any) -> None:
        values.update(accuracy=100 * record.accuracy, iterations=record.n_iter)
        if isinstance(model, methods.OGC):
            # the loss carries a factor ½
            size = record.n_labels * len(model.classes_)
            values["training_mse"] = 2.0 * model._fit.loss[-1] / size

    models = {cell.settings["method"]: build(cell.settings, seed)}
    compare(models, data, [split], parts=BUDGETS[cell.budget], on_record=keep, fit_settings=extra)
    return values


@measure("stopped")
def stop_early(cell: Cell, seed: int) -> dict[str, float]:
    """Fit a classifier anew for each number of iterations in ``depths``.

    Parameters
    ----------
    cell : Cell
        Its settings are those of :func:`classify`, and ``depths``.
    seed : int

    Returns
    -------
    dict
        ``accuracy@k`` for each number k of iterations.

    Examples
    --------
    >>> settings = {"method": "OGC", "params": {"agreement": 1.0}, "depths": [1, 4]}
    >>> sorted(stop_early(Cell("stopped", "karate", settings, split="default"), 0))
    ['accuracy@1', 'accuracy@4']
    """
    values = {}
    for depth in cell.settings["depths"]:
        params = {**cell.settings["params"], "max_iter": depth}
        stopped = replace(cell, settings={**cell.settings, "params": params})
        values[f"accuracy@{depth}"] = classify(stopped, seed)["accuracy"]
    return values


@measure("embedding")
def tune_embedding(cell: Cell, seed: int) -> dict[str, float]:
    """Choose settings of an embedder and its head on validation nodes, for each depth and over all depths.

    Parameters
    ----------
    cell : Cell
        Its settings are those of :func:`reproduction.tuning.candidates`.
    seed : int

    Returns
    -------
    dict
        ``accuracy``, ``validation`` and ``depth`` of the best, and ``accuracy@k``, ``validation@k`` of
        the best at each depth k.

    Examples
    --------
    >>> settings = {"method": "SGC", "depths": [1, 2], "head": "ridge"}
    >>> cell = Cell("embedding", "karate", settings, split="default")
    >>> sorted(tune_embedding(cell, 0))[:3]
    ['accuracy', 'accuracy@1', 'accuracy@2']
    """
    data = dataset_of(cell.dataset)
    test = data.splits[cell.split]["test"]
    found = list(candidates(cell.dataset, cell.split, cell.settings, seed, BUDGETS[cell.budget]))
    best = choose(found)
    chosen = {"": best} | {
        f"@{depth}": choose(c for c in found if c.depth == depth) for depth in cell.settings["depths"]
    }
    values: dict[str, float] = {"depth": best.depth}
    for suffix, candidate in chosen.items():
        values[f"accuracy{suffix}"] = 100 * accuracy(data.labels[test], candidate.predicted)
        if np.isfinite(candidate.validation):
            values[f"validation{suffix}"] = candidate.validation
    return values
