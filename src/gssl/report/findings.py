"""The texts and tables of a report: headline, classes, confusion matrix, doubtful labels and reasons."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gssl.evaluation import Confusion, Health, HeldOut
from gssl.io import Predictions
from gssl.selection import Audit, Explanation
from gssl.selection.picture import Mark, draw_neighbourhood
from gssl.wording import elided

# maximum number of classes in a table and in the confusion matrix, and of rows in other tables
MAX_CLASSES = 60
MAX_MATRIX = 30
MAX_ROWS = 12
_FEATURES, _LONG = 5, 40


@dataclass(frozen=True)
class ClassRow:
    """A class: its numbers of given and predicted labels, and its precision and recall on hidden labels.

    ``width`` is ``predicted`` relative to the largest class. Unknown precision and recall are None.
    """

    name: str
    given: int
    predicted: int
    width: float
    precision: float | None
    recall: float | None


@dataclass(frozen=True)
class Cell:
    """A cell of a confusion matrix; ``part`` is its share of the true class."""

    truth: str
    predicted: str
    count: int
    part: float
    right: bool


def headline(health: Health, predictions: Predictions | None, held_out: HeldOut | None) -> str:
    """Return a short summary of a run."""
    labels = "1 label" if health.n_labelled == 1 else f"{health.n_labelled:,} labels"
    if predictions is None:
        return f"The graph has {health.n_nodes:,} nodes, and {labels}."
    n_new = int((~predictions.given & (predictions.label != "")).sum())
    n_silent = int((predictions.label == "").sum())
    nodes = "1 node" if n_new == 1 else f"{n_new:,} nodes"
    sentences = [f"We labelled {nodes} from {labels}"]
    if n_silent:
        sentences[0] += f", and left {n_silent:,} open where the model is not sure enough"
    if held_out is None:
        sentences.append("How many are right could not be estimated: no label could be hidden")
    elif not held_out.tells:
        sentences.append(
            f"How many are right could not be estimated: only {held_out.n_labels} could be hidden"
        )
    else:
        sentences.append(
            f"Expect about {100 * held_out.accuracy:.0f} % to be right; always guessing the largest class "
            f"gives {100 * held_out.largest_share:.0f} %"
        )
    return " ".join(f"{sentence}." for sentence in sentences)


def class_rows(predictions: Predictions, held_out: HeldOut | None) -> list[ClassRow]:
    """Return the rows of classes, the most frequently predicted first."""
    measures: dict[str, tuple[float, float]] = {}
    if held_out is not None:
        confusion = held_out.confusion
        pairs = zip(confusion.precision.tolist(), confusion.recall.tolist(), strict=True)
        measures = dict(zip(confusion.classes, pairs, strict=True))
    counts = []
    for name in dict.fromkeys(predictions.class_names):
        mine = predictions.label == name
        counts.append((name, int((mine & predictions.given).sum()), int((mine & ~predictions.given).sum())))
    largest = max((predicted for _, _, predicted in counts), default=0) or 1
    rows = []
    for name, given, predicted in sorted(counts, key=lambda count: (-count[2], count[0])):
        precision, recall = (_known(value) for value in measures.get(name, (np.nan, np.nan)))
        rows.append(ClassRow(name, given, predicted, predicted / largest, precision, recall))
    return rows


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def matrix(confusion: Confusion) -> list[list[Cell]]:
    """Return the rows of a confusion matrix; none if there are too many classes to show."""
    if len(confusion.classes) > MAX_MATRIX:
        return []
    totals = np.maximum(confusion.counts.sum(axis=1), 1)
    return [
        [
            Cell(truth, predicted, int(count), float(count / totals[i]), i == j)
            for j, (predicted, count) in enumerate(zip(confusion.classes, confusion.counts[i], strict=True))
        ]
        for i, truth in enumerate(confusion.classes)
    ]


def doubts(audit: Audit, predictions: Predictions) -> list[dict[str, Any]]:
    """Return the given labels that the model contradicts, the most doubtful first."""
    columns = audit.columns(predictions.id)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [row for row in rows if row["given"] != row["says"]]


@dataclass(frozen=True)
class Reason:
    """The explanation of a prediction: a sentence, the strongest features, and an SVG picture."""

    id: str
    text: str
    features: str
    picture: str


def reasons(
    explanations: Sequence[Explanation],
    predictions: Predictions,
    feature_names: Sequence[str],
    colours: Sequence[tuple[str, str, int]],
) -> list[Reason]:
    """Turn explanations into text and pictures; ``colours`` are name, colour and count of each class."""
    color_indices = {name: k for k, (name, _, _) in enumerate(colours)}

    def mark(node: int) -> Mark:
        label = predictions.label[node] or predictions.model_says[node]
        return Mark(predictions.id[node], label, color_indices.get(label, -1), bool(predictions.given[node]))

    explained = []
    for one in explanations:
        parts = []
        if len(one.labelled):
            parts.append(f"{float(one.lead(one.shares).sum()):+.2g} by labels")
        if one.unlabelled.any():
            parts.append(f"{float(one.lead(one.unlabelled)):+.2g} by unlabelled nodes")
        if one.intercept.any():
            parts.append(f"{float(one.lead(one.intercept)):+.2g} by the intercept")
        names = [elided(name, _LONG) for name in (one.predicted, one.runner_up)]
        text = f"{names[0]} ({100 * one.probability:.0f}\u00a0%) rather than {names[1]}"
        if parts:
            text += f": a lead of {float(one.lead(one.scores)):.2g}, of which {', '.join(parts)}"
        if predictions.given[one.node]:
            text = f"Given {elided(predictions.label[one.node], _LONG)}. The model: {text}"
        features = [
            f"{elided(feature_names[column], _LONG)} ({share:+.2g})"
            for column, share in one.strongest_features(_FEATURES)[:_FEATURES]
            if column < len(feature_names)
        ]
        picture = draw_neighbourhood(
            one.node,
            str(one.predicted),
            str(one.runner_up),
            one.voices,
            mark,
            [colour for _, colour, _ in colours],
        )
        explained.append(Reason(predictions.id[one.node], f"{text}.", ", ".join(features), picture))
    return explained
