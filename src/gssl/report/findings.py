"""The texts and tables of a report: headline, classes, confusion matrix, doubtful labels and reasons."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gssl.evaluation import Confusion, Health, HeldOut
from gssl.io import Predictions
from gssl.selection import Audit, Explanation, LearningCurve
from gssl.selection.picture import Mark, draw_neighbourhood, shown_voices
from gssl.wording import counted, elided, write_number, write_probability, write_share, write_signed

# rows of a table before the folded ones, and at most in all
FIRST_ROWS, MAX_ROWS = 10, 500
# classes of a matrix, features, and characters of a name in a sentence
_MAX_MATRIX, _FEATURES, _LONG = 30, 5, 40


@dataclass(frozen=True)
class ClassRow:
    """A class: its numbers of given and predicted labels, and its precision and recall on hidden labels.

    Unknown precision and recall are None.
    """

    name: str
    given: int
    predicted: int
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
    labels = counted(health.n_labelled, "label")
    if predictions is None:
        return f"The graph has {health.n_nodes:,} nodes, and {labels}."
    n_new = int((~predictions.given & (predictions.label != "")).sum())
    n_silent = int((predictions.label == "").sum())
    sentences = [f"We labelled {counted(n_new, 'node')} from {labels}"]
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
            f"Expect about {write_share(held_out.accuracy)} to be right; always guessing the largest class "
            f"gives {write_share(held_out.largest_share)}"
        )
    return " ".join(f"{sentence}." for sentence in sentences)


def accuracy_facts(held_out: HeldOut) -> dict[str, Any]:
    """Return how good the predictions of hidden labels are."""
    low, high = held_out.interval
    return {
        "share": held_out.accuracy,
        "low": low,
        "high": high,
        "mean_over_classes": held_out.macro_recall,
        "largest_class": held_out.largest_share,
        "n_labels": held_out.n_labels,
        "source": held_out.source,
    }


def curve_facts(curve: LearningCurve) -> dict[str, Any]:
    """Return how many more answers reach the next target; None if no number does."""
    target = curve.next_target
    needed, low, high = (None if np.isinf(n) else int(n) for n in curve.labels_needed(target))
    return {"text": curve.text(target), "target": target, "needed": needed, "low": low, "high": high}


def class_rows(predictions: Predictions, held_out: HeldOut | None) -> list[ClassRow]:
    """Return the rows of classes, the most frequently predicted first.

    If there are too many to see at once, those that are least often right come first.
    """
    measures: dict[str, tuple[float, float]] = {}
    if held_out is not None:
        confusion = held_out.confusion
        pairs = zip(confusion.precision.tolist(), confusion.recall.tolist(), strict=True)
        measures = dict(zip(confusion.classes, pairs, strict=True))
    rows = []
    for name in dict.fromkeys(predictions.class_names):
        mine = predictions.label == name
        given, predicted = (int((mine & part).sum()) for part in (predictions.given, ~predictions.given))
        precision, recall = (_known(value) for value in measures.get(name, (np.nan, np.nan)))
        rows.append(ClassRow(name, given, predicted, precision, recall))
    rows.sort(key=lambda row: (-row.predicted, row.name))
    return rows if len(rows) <= FIRST_ROWS + 2 else sorted(rows, key=_quality)


def _quality(row: ClassRow) -> float:
    """Return the lesser of precision and recall; classes that could not be tested come last."""
    return min((value for value in (row.precision, row.recall) if value is not None), default=2.0)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def confusion_facts(confusion: Confusion | None) -> dict[str, Any] | None:
    """Return the mistakes, and the matrix of counts unless there are too many classes to show."""
    if confusion is None:
        return None
    return {
        "source": confusion.source,
        "accuracy": confusion.accuracy,
        "n_nodes": confusion.n_nodes,
        "classes": confusion.classes,
        "counts": confusion.counts if len(confusion.classes) <= _MAX_MATRIX else None,
        "mistakes": [
            {"truth": truth, "predicted": predicted, "count": count}
            for truth, predicted, count in confusion.mistakes[:MAX_ROWS]
        ],
    }


def confusion_cells(facts: dict[str, Any] | None) -> list[list[Cell]]:
    """Return the rows of a confusion matrix; none if there are too many classes to show."""
    if facts is None or facts["counts"] is None:
        return []
    counts, classes = facts["counts"], facts["classes"]
    totals = np.maximum(counts.sum(axis=1), 1)
    return [
        [
            Cell(truth, predicted, int(count), float(count / totals[i]), i == j)
            for j, (predicted, count) in enumerate(zip(classes, counts[i], strict=True))
        ]
        for i, truth in enumerate(classes)
    ]


def doubts(audit: Audit, predictions: Predictions) -> list[dict[str, Any]]:
    """Return the given labels that the model contradicts, the most doubtful first."""
    columns = audit.columns(predictions.id)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [row for row in rows if row["given"] != row["says"]]


def reasons(
    explanations: Sequence[Explanation], predictions: Predictions, feature_names: Sequence[str]
) -> list[dict[str, Any]]:
    """Turn explanations into sentences and the numbers in them."""
    explained = []
    for one in explanations:
        parts = {}
        if len(one.labelled):
            parts["by given labels"] = float(one.lead(one.shares).sum())
        if one.unlabelled.any():
            parts["by predictions for other nodes"] = float(one.lead(one.unlabelled))
        if one.intercept.any():
            parts["the same for all nodes"] = float(one.lead(one.intercept))
        lead, given = float(one.lead(one.scores)), bool(predictions.given[one.node])
        names = [elided(name, _LONG) for name in (one.predicted, one.runner_up)]
        text = f"{names[0]} ({write_probability(one.probability)}) rather than {names[1]}"
        if parts:
            amounts = ", ".join(f"{write_signed(amount)} {name}" for name, amount in parts.items())
            text += f": a lead of {write_number(lead, digits=2)}, of which {amounts}"
        if given:
            text = f"Given {elided(predictions.label[one.node], _LONG)}. The model: {text}"
        explained.append(
            {
                "id": predictions.id[one.node],
                "text": f"{text}.",
                "given": predictions.label[one.node] if given else None,
                "predicted": one.predicted,
                "runner_up": one.runner_up,
                "probability": one.probability,
                "lead": lead,
                "parts": parts,
                "labels": [
                    {"id": predictions.id[voice.node], "label": voice.label, "share": voice.share}
                    for voice in shown_voices(one.voices)
                ],
                "features": [
                    {"name": feature_names[column], "share": share}
                    for column, share in one.strongest_features(_FEATURES)[:_FEATURES]
                    if column < len(feature_names)
                ],
            }
        )
    return explained


def pictures(
    explanations: Sequence[Explanation],
    predictions: Predictions,
    colours: Sequence[tuple[str, str, int]],
) -> list[str]:
    """Draw explanations as SVG; ``colours`` are name, colour and count of each class."""
    color_indices = {name: k for k, (name, _, _) in enumerate(colours)}

    def mark(node: int) -> Mark:
        label = predictions.label[node] or predictions.model_says[node]
        return Mark(predictions.id[node], label, color_indices.get(label, -1), bool(predictions.given[node]))

    palette = [colour for _, colour, _ in colours]
    return [
        draw_neighbourhood(one.node, str(one.predicted), str(one.runner_up), one.voices, mark, palette)
        for one in explanations
    ]
