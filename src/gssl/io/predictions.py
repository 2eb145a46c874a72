"""A fitted model's predictions as rows of a table."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from gssl.io.atomic import whole_file


@dataclass(frozen=True)
class Prediction:
    """What is said about one node.

    ``given`` tells whether its label was known to the model, ``reached`` whether any label is in its
    component: where none is, the confidence rests on features alone.
    """

    id: str
    label: str
    confidence: float
    runner_up: str
    given: bool
    reached: bool


def list_predictions(
    model: Any, node_ids: Any, given: np.ndarray, class_names: Sequence[str] | None = None
) -> list[Prediction]:
    """Turn a fitted classifier into one row per node.

    Parameters
    ----------
    model : fitted classifier
    node_ids : array-like of n str
    given : bool mask of shape (n,)
        The nodes whose label the model was fitted to.
    class_names : sequence of str, optional
        Names for classes that are whole numbers; the classes themselves if None.

    Returns
    -------
    list of Prediction

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = gssl.LabelPropagation().fit(data.features, y, adjacency=data.adjacency)
    >>> list_predictions(model, data.node_ids, y != -1, data.class_names)[0].label
    'Mr. Hi'
    """

    def name(value: Any) -> str:
        return str(value) if class_names is None else class_names[value]

    P = model.label_distributions_
    best = np.array([np.flatnonzero(model.classes_ == label)[0] for label in model.transduction_])
    others = P.copy()
    others[np.arange(len(P)), best] = -1.0
    second = others.argmax(axis=1)
    return [
        Prediction(
            id=str(node_ids[i]),
            label=name(model.classes_[best[i]]),
            confidence=float(P[i, best[i]]),
            runner_up=name(model.classes_[second[i]]),
            given=bool(given[i]),
            reached=bool(model.reached_[i]),
        )
        for i in range(len(P))
    ]


def write_predictions(path: str | Path, predictions: Iterable[Prediction]) -> None:
    """Write predictions as CSV, whole or not at all.

    Parameters
    ----------
    path : path ending in .csv
    predictions : iterable of Prediction

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "p.csv"
    >>> write_predictions(file, [Prediction("007", "spy", 0.9, "cook", False, True)])
    >>> print(file.read_text().splitlines()[1])
    007,spy,0.9000,cook,false,true
    """
    with whole_file(path) as part, part.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([field.name for field in fields(Prediction)])
        for prediction in predictions:
            writer.writerow([_cell(value) for value in asdict(prediction).values()])


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.4f}" if isinstance(value, float) else str(value)
