"""Comparison of methods on the same labels and test nodes, over several draws."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from gssl.evaluation.metrics import accuracy

BUDGETS = {("train",): "train", ("train", "val"): "train+validation"}


@dataclass(frozen=True)
class Record:
    """One method fitted to one draw of labels.

    ``budget`` says which labels the method saw: methods are only comparable within one budget.
    """

    method: str
    draw: int
    budget: str
    n_labels: int
    accuracy: float
    n_iter: int
    seconds: float


@dataclass(frozen=True)
class Summary:
    """One method over all draws; ``spread`` is the standard deviation between draws."""

    method: str
    budget: str
    accuracy: float
    spread: float
    n_iter: float
    seconds: float


def compare(
    models: Mapping[str, Any],
    data: Any,
    splits: Iterable[Mapping[str, np.ndarray]],
    *,
    parts: tuple[str, ...] = ("train",),
    on_record: Callable[[Record, Any], None] | None = None,
    fit_settings: Mapping[str, Any] | None = None,
) -> list[Record]:
    """Fit every model to every draw of labels and score it on the draw's test nodes.

    Parameters
    ----------
    models : mapping of name to classifier
        Each is cloned for each draw.
    data : object with ``features``, ``adjacency`` and ``labels``
        For instance a :class:`gssl.datasets.Dataset`.
    splits : iterable of {"train", "val", "test"} index arrays
        One per draw.
    parts : {("train",), ("train", "val")}, default=("train",)
        The label budget: which parts the models may learn from.
    on_record : callable, optional
        Called with each record and its fitted model, for progress.
    fit_settings : mapping, optional
        Further arguments of each fit, such as ``anchors``.

    Returns
    -------
    list of Record

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> records = compare({"LP": gssl.LabelPropagation()}, data, [data.splits["default"]])
    >>> records[0].n_labels, records[0].budget
    (2, 'train')
    """
    if parts not in BUDGETS:
        raise ValueError(f"a label budget is one of {', '.join(map(str, BUDGETS))}, not {parts!r}.")
    records = []
    for draw, split in enumerate(splits):
        seen = np.concatenate([split[part] for part in parts])
        y = np.full(len(data.labels), -1)
        y[seen] = data.labels[seen]
        for name, model in models.items():
            start = perf_counter()
            fitted = clone(model).fit(data.features, y, adjacency=data.adjacency, **(fit_settings or {}))
            seconds = perf_counter() - start
            record = Record(
                method=name,
                draw=draw,
                budget=BUDGETS[parts],
                n_labels=len(seen),
                accuracy=accuracy(data.labels, fitted.transduction_, split["test"]),
                n_iter=fitted.n_iter_,
                seconds=seconds,
            )
            records.append(record)
            if on_record is not None:
                on_record(record, fitted)
    return records


def summarize(records: Iterable[Record]) -> list[Summary]:
    """Average the draws of each method, in the order in which the methods first appear.

    Parameters
    ----------
    records : iterable of Record

    Returns
    -------
    list of Summary

    Examples
    --------
    >>> records = [Record("SGC", draw, "train", 20, 0.8 + 0.1 * draw, 2, 1.0) for draw in (0, 1)]
    >>> [round(s.accuracy, 3) for s in summarize(records)]
    [0.85]
    """
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.method, record.budget), []).append(record)
    return [
        Summary(
            method=method,
            budget=budget,
            accuracy=float(np.mean([r.accuracy for r in group])),
            spread=float(np.std([r.accuracy for r in group])),
            n_iter=float(np.mean([r.n_iter for r in group])),
            seconds=float(np.median([r.seconds for r in group])),
        )
        for (method, budget), group in groups.items()
    ]
