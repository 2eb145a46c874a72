"""``gssl demo``: a real graph classified, in a minute, on the embedded Cora."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gssl.datasets import Dataset, draw_split, load
from gssl.evaluation import Record, compare, summarize
from gssl.graph import GraphWarning
from gssl.io import Prediction, Predictions, list_predictions, write_predictions
from gssl.methods import GGCM, OGC, SGC, EmbeddingClassifier, LabelPropagation
from gssl.report import comparison_table, prediction_table

PER_CLASS = 20
OURS = "OGC"


def run_demo(out: Path, draws: int, seed: int) -> None:
    """Compare four methods on random draws of labels, write one draw's predictions, and show both."""
    console = Console()
    data = load("cora").normalized()
    splits = [draw_split(data.labels, PER_CLASS, random_state=seed + draw) for draw in range(draws)]
    models = {
        "logistic regression, no graph": EmbeddingClassifier(SGC(depth=0)),
        "label propagation, no features": LabelPropagation(),
        "GGCM + logistic regression": EmbeddingClassifier(GGCM()),
        OURS: OGC(random_state=seed),
    }
    console.print(
        f"Cora: {data.n_nodes:,} papers, {data.n_edges:,} citations, {data.n_features:,} words, "
        f"{data.n_classes} subjects. Labels are known for {PER_CLASS} papers per subject."
    )
    # the labels of the first draw give the predictions that are written
    first: dict[str, Any] = {}
    with _progress(console) as progress:
        task = progress.add_task("fitting", total=draws * len(models))

        def on_record(record: Record, model: Any) -> None:
            first.setdefault(record.method, model)
            progress.advance(task)
            if not console.is_terminal:
                score = f"{100 * record.accuracy:.1f} %"
                console.print(f"draw {record.draw + 1}/{draws}  {record.method}: {score}", highlight=False)

        with warnings.catch_warnings():
            # papers that no label reaches are known here: the yardstick without features misses them
            warnings.simplefilter("ignore", GraphWarning)
            records = compare(models, data, splits, on_record=on_record)

    seeds = f"seeds {seed}–{seed + draws - 1}" if draws > 1 else f"seed {seed}"
    title = f"Accuracy on {len(splits[0]['test']):,} held-out papers ({seeds}, train-only labels)"
    console.print(comparison_table(summarize(records), title))

    given = np.zeros(data.n_nodes, dtype=bool)
    given[splits[0]["train"]] = True
    predictions = list_predictions(first[OURS], data.node_ids, given, data.class_names)
    path = out / "predictions.csv"
    write_predictions(path, predictions)
    title = f"Some of OGC's predictions (labels of seed {seed})"
    console.print(prediction_table(_examples(predictions, data), title))
    console.print(f"All {len(predictions):,} predictions: {path}", highlight=False)
    console.print(_NEXT, highlight=False, markup=False)


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _examples(predictions: Predictions, data: Dataset) -> list[tuple[Prediction, str]]:
    """Pick unlabelled papers from the surest to the least sure."""
    unlabelled = np.flatnonzero(~predictions.given)
    order = unlabelled[np.argsort(-predictions.confidence[unlabelled], kind="stable")]
    picks = [int(order[round(step * (len(order) - 1) / 5)]) for step in range(6)]
    return [(predictions[i], data.class_names[data.labels[i]]) for i in picks]


_NEXT = """
Next, your own graph in Python (y: a label per node, −1 or None where unknown):

  import gssl
  model = gssl.OGC(random_state=0).fit(X, y, adjacency=A)
  model.transduction_, model.label_distributions_"""
