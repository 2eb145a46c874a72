"""Evaluate confidences, label sets and suggestions over several draws of labels."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from gssl.evaluation import expected_calibration_error, reliability


@dataclass(frozen=True)
class CalibrationRecord:
    """One calibrated classifier on one draw of labels; errors are expected calibration errors."""

    method: str
    draw: int
    n_labels: int
    accuracy: float
    error_before: float
    error_after: float
    loss_before: float
    loss_after: float
    calibration: str


@dataclass(frozen=True)
class CoverageRecord:
    """The label sets of one classifier on one draw of labels.

    ``worst_class`` is the least coverage of any class; a class without labels has zero coverage.
    """

    method: str
    draw: int
    n_labels: int
    coverage: float
    mean_size: float
    singles: float
    worst_class: float


@dataclass(frozen=True)
class CurvePoint:
    """Accuracy on all nodes that are not labelled yet."""

    how: str
    run: int
    n_labels: int
    accuracy: float


def judge_calibration(
    models: Mapping[str, Any], data: Any, splits: Iterable[Mapping[str, np.ndarray]]
) -> Iterable[CalibrationRecord]:
    """Fit calibrated classifiers and measure calibration errors before and after calibration."""
    for draw, split in enumerate(splits):
        test = split["test"]
        truth = data.labels[test]
        for name, model in models.items():
            fitted = _fit(model, data, split["train"])
            stages = [fitted.classifier_.label_distributions_[test], fitted.label_distributions_[test]]
            errors = [expected_calibration_error(reliability(truth, P, fitted.classes_)) for P in stages]
            losses = [_loss(P, truth, fitted.classes_) for P in stages]
            yield CalibrationRecord(
                method=name,
                draw=draw,
                n_labels=len(split["train"]),
                accuracy=float((fitted.transduction_[test] == truth).mean()),
                error_before=errors[0],
                error_after=errors[1],
                loss_before=losses[0],
                loss_after=losses[1],
                calibration=fitted.calibration_.kind,
            )


def judge_coverage(
    model: Any,
    data: Any,
    splits: Iterable[Mapping[str, np.ndarray]],
    alpha: float = 0.1,
) -> Iterable[CoverageRecord]:
    """Fit a calibrated classifier and measure how often its label sets contain the true label.

    Both kinds of sets are evaluated: ``one threshold`` for all classes and a ``threshold per class``.
    """
    for draw, split in enumerate(splits):
        fitted = _fit(model, data, split["train"])
        truth = data.labels[split["test"]]
        for name, mondrian in (("one threshold", False), ("threshold per class", True)):
            sets = fitted.predict_sets(miscoverage=alpha, mondrian=mondrian)[split["test"]]
            held = np.zeros(len(truth), dtype=bool)
            for column, label in enumerate(fitted.classes_):
                held[truth == label] = sets[truth == label, column]
            sizes = sets.sum(axis=1)
            yield CoverageRecord(
                method=name,
                draw=draw,
                n_labels=len(split["train"]),
                coverage=float(held.mean()),
                mean_size=float(sizes.mean()),
                singles=float((sizes == 1).mean()),
                worst_class=min(float(held[truth == label].mean()) for label in np.unique(truth)),
            )


def label_curve(
    model: Any,
    data: Any,
    budgets: Iterable[int],
    choose: Callable[[Any, int], np.ndarray] | None,
    random_state: int = 0,
) -> Iterable[CurvePoint]:
    """Label nodes in batches and yield the accuracy on all unlabelled nodes after each batch.

    The first batch is random, with at least one node of each class, since a classifier must know them all;
    it is the same for every way of choosing.
    """
    rng = np.random.default_rng(random_state)
    known = np.flatnonzero(data.labels >= 0)
    shuffled = rng.permutation(known)
    _, first = np.unique(data.labels[shuffled], return_index=True)
    labelled = shuffled[np.sort(first)]
    fitted = None
    for budget in budgets:
        n = _batch(budget, len(labelled), len(known))
        picks = shuffled
        if n and choose is not None and fitted is not None:
            picks = np.asarray(choose(fitted, n + len(data.labels) - len(known)))
        left = np.setdiff1d(known, labelled)
        labelled = np.concatenate([labelled, picks[np.isin(picks, left)][:n]])
        fitted = _fit(model, data, labelled)
        left = np.setdiff1d(known, labelled)
        yield CurvePoint(
            how="random" if choose is None else "suggested",
            run=random_state,
            n_labels=len(labelled),
            accuracy=float((fitted.transduction_ == data.labels)[left].mean()),
        )


def labels_needed(curve: Mapping[int, float], accuracy: float) -> float:
    """Return the number of labels at which a curve first reaches an accuracy, interpolated linearly."""
    before: tuple[int, float] | None = None
    for n, reached in sorted(curve.items()):
        if reached >= accuracy:
            if before is None:
                return float(n)
            return float(before[0] + (n - before[0]) * (accuracy - before[1]) / (reached - before[1]))
        before = n, reached
    return float("inf")


def _batch(budget: int, n_labelled: int, n_known: int) -> int:
    """Return the number of labels that a budget adds."""
    if budget < n_labelled:
        raise ValueError(
            f"a budget of {budget} labels is less than the {n_labelled} labels given so far: give budgets "
            "that increase, the first of at least one label for each class."
        )
    if budget >= n_known:
        raise ValueError(
            f"a budget of {budget} labels leaves none of the {n_known} labelled nodes for testing: give a "
            "smaller one."
        )
    return budget - n_labelled


def _fit(model: Any, data: Any, labelled: np.ndarray) -> Any:
    y = np.full(len(data.labels), -1)
    y[labelled] = data.labels[labelled]
    return clone(model).fit(data.features, y, adjacency=data.adjacency)


def _loss(P: np.ndarray, truth: np.ndarray, classes: np.ndarray) -> float:
    """Return the mean negative log probability of the true class, clipped below at one in a million."""
    likely = np.zeros(len(truth))
    for column, label in enumerate(classes):
        likely[truth == label] = P[truth == label, column]
    return float(-np.log(np.maximum(likely, 1e-6)).mean())
