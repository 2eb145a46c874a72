"""``gssl demo``: classify the Cora citation graph, which ships with gssl, in a minute."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gssl.cli.console import Terminal
from gssl.datasets import Dataset, draw_split, load
from gssl.evaluation import Record, compare, summarize
from gssl.io import Labels, Predictions, Problem, list_predictions, write_predictions
from gssl.methods import GGCM, OGC, SGC, EmbeddingClassifier, LabelPropagation
from gssl.report import comparison_table, prediction_table

PER_CLASS = 20


def run_demo(out: Path, draws: int, seed: int) -> None:
    """Compare four methods on random draws of labels; write predictions and a page for the first draw."""
    terminal = Terminal()
    data = load("cora").normalized()
    splits = [draw_split(data.labels, PER_CLASS, random_state=seed + draw) for draw in range(draws)]
    terminal.out.print(
        f"Cora: {data.n_nodes:,} papers, {data.n_edges:,} citations, {data.n_features:,} words, "
        f"{data.n_classes} subjects. Labels are known for {PER_CLASS} papers per subject."
    )
    records = _compare(data, splits, seed, terminal)
    seeds = f"seeds {seed}–{seed + draws - 1}" if draws > 1 else f"seed {seed}"
    title = f"Accuracy on {len(splits[0]['test']):,} held-out papers ({seeds}, train-only labels)"
    terminal.out.print(comparison_table(summarize(records), title))

    names = np.array(data.class_names, dtype=object)[data.labels]
    y = np.full(data.n_nodes, None, dtype=object)
    y[splits[0]["train"]] = names[splits[0]["train"]]
    problem = Problem(data.node_ids.astype(object), data.adjacency, data.features, y)
    with terminal.step("fitting OGC"):
        model = OGC(random_state=seed).fit(problem.features, y, adjacency=problem.adjacency)
    predictions = list_predictions(model, problem.node_ids, problem.given)
    write_predictions(out / "predictions.csv", predictions)
    title = f"Some of OGC's predictions (labels of seed {seed})"
    terminal.out.print(prediction_table(_examples(predictions, names), title))
    terminal.out.print(_NEXT, markup=False, soft_wrap=True)
    terminal.out.print(f"\nAll {len(predictions):,} predictions: {out / 'predictions.csv'}")
    command = f"gssl demo --seed {seed}" if seed else "gssl demo"
    truth = Labels(problem.node_ids, names, "Cora")
    _write_page(out / "report.html", problem, model, command, truth, terminal)


def _compare(data: Dataset, splits: list[Any], seed: int, terminal: Terminal) -> list[Record]:
    models = {
        "logistic regression, no graph": EmbeddingClassifier(SGC(depth=0)),
        "label propagation, no features": LabelPropagation(),
        "GGCM + logistic regression": EmbeddingClassifier(GGCM()),
        "OGC": OGC(random_state=seed),
    }
    done = 0
    # without notes: that no label reaches some papers is known, and only matters without features
    with terminal.step("comparing methods", notes=False) as move:

        def on_record(record: Record, model: Any) -> None:
            nonlocal done
            done += 1
            move(done, len(splits) * len(models))
            if not terminal.err.is_terminal:
                score = f"{100 * record.accuracy:.1f} %"
                terminal.out.print(f"draw {record.draw + 1}/{len(splits)}  {record.method}: {score}")

        return compare(models, data, splits, on_record=on_record)


def _write_page(
    path: Path, problem: Problem, model: Any, command: str, truth: Labels, terminal: Terminal
) -> None:
    try:
        from gssl.cli.run_page import write_run_page

        predictions = list_predictions(model, problem.node_ids, problem.given)
        write_run_page(
            path,
            problem,
            model,
            predictions,
            None,
            name="Cora",
            command=command,
            truth=truth,
            terminal=terminal,
        )
    except ImportError as error:
        # the page is an extra, the demo is not
        terminal.out.print(f"No report: {error}", markup=False)
        return
    terminal.out.print(f"A page about this run: {path}")


def _examples(predictions: Predictions, truth: np.ndarray) -> list[tuple[Any, str]]:
    """Return unlabelled papers, from the most to the least certain, with subjects that wrap between words."""
    order = np.argsort(-predictions.confidence, kind="stable")
    order = order[~predictions.given[order]]
    rows = [(predictions[i], str(truth[i])) for i in order[np.linspace(0, len(order) - 1, 6).astype(int)]]
    return [
        (replace(row, label=_spaced(row.label), runner_up=_spaced(row.runner_up)), _spaced(true))
        for row, true in rows
    ]


def _spaced(name: str) -> str:
    return name.replace("_", " ")


_NEXT = """
Next, your own graph, from files or in Python:

  gssl classify --edges e.csv --labels l.csv --features f.parquet --out p.csv --report r.html

  import gssl
  model = gssl.OGC(random_state=0).fit(X, y, adjacency=A)  # y: a label per node, None where unknown
  model.transduction_, model.label_distributions_"""
