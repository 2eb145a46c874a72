"""``gssl demo``: classes of the papers of Cora, which ships with gssl, then numbers and several labels."""

from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from gssl.cli.console import Terminal
from gssl.cli.demo_answers import show_numbers, show_sets
from gssl.cli.run import Choice, ExecutionOptions, Inputs, Run
from gssl.datasets import Dataset, draw_split, load
from gssl.evaluation import compare, held_out_if_known, summarize
from gssl.io import Labels, Predictions, Problem, list_predictions, write_predictions
from gssl.io.table_writing import check_outputs
from gssl.methods import GGCM, OGC, SGC, EmbeddingClassifier, LabelPropagation
from gssl.report import comparison_table, prediction_table, write_report
from gssl.selection import AutoClassifier

PER_CLASS = 20


def run_demo(out: Path, draws: int, seed: int, start: float) -> None:
    """Compare AutoClassifier with four fixed methods; write predictions of all kinds, and a page."""
    terminal = Terminal(start=start)
    check_outputs(out / "predictions.csv", [], out / "report.html", out / "numbers.csv", out / "labels.csv")
    terminal.plan = ("comparing", "choosing", "writing", "report", "numbers", "labels")
    data = load("cora").normalized()
    terminal.say(
        f"Cora: {data.n_nodes:,} papers, {data.n_edges:,} citations, {data.n_features:,} words, "
        f"{data.n_classes} subjects. Labels are known for {PER_CLASS} papers per subject."
    )
    splits = [draw_split(data.labels, PER_CLASS, random_state=seed + draw) for draw in range(draws)]
    _compare(data, splits, seed, terminal)
    names = np.array(data.class_names, dtype=object)[data.labels]
    y = np.full(data.n_nodes, None, dtype=object)
    y[splits[0]["train"]] = names[splits[0]["train"]]
    problem = Problem(
        data.node_ids.astype(object), data.adjacency, data.features, y, name="the Cora citation graph"
    )
    model = AutoClassifier()
    Run(Inputs(), Choice(), ExecutionOptions(), terminal).fit(model, problem)
    held_out = held_out_if_known(model)
    predictions = list_predictions(model, problem.node_ids, problem.given, held_out=held_out)
    with terminal.stage("writing"):
        write_predictions(out / "predictions.csv", predictions)
    _show(model, predictions, names, f"{problem.given.sum()} labels alone (seed {seed})", terminal)
    terminal.say(f"All {len(predictions):,} predictions: {out / 'predictions.csv'}")
    command = f"gssl demo --seed {seed}" if seed else "gssl demo"
    truth = Labels(problem.node_ids, names, "Cora")
    try:
        with terminal.stage("report"):
            run_facts: Any = {"notes": terminal.notes, "seconds": perf_counter() - terminal.start}
            write_report(model, problem, out / "report.html", truth=truth, command=command, **run_facts)
    except ImportError as error:
        # the report needs an optional dependency
        terminal.say(f"No report: {error}")
    else:
        terminal.say(f"A page about this run, to open in a browser: {out / 'report.html'}")
    show_numbers(out / "numbers.csv", seed, terminal)
    show_sets(out / "labels.csv", seed, terminal)
    terminal.out.print(_NEXT, markup=False, soft_wrap=True)
    terminal.out.print()
    terminal.finish()


def _compare(data: Dataset, splits: list[Any], seed: int, terminal: Terminal) -> None:
    """Fit five methods to each draw of labels, and print their accuracy."""
    models = {
        "AutoClassifier": AutoClassifier(),
        "OGC": OGC(random_state=seed),
        "GGCM + logistic regression": EmbeddingClassifier(GGCM()),
        "label propagation, no features": LabelPropagation(),
        "logistic regression, no graph": EmbeddingClassifier(SGC(depth=0)),
    }
    done: list[Any] = []
    # without notes: no label reaches some papers, which is expected and matters only without features
    with terminal.stage("comparing") as stage, terminal.step("", notes=False):

        def on_record(*record: Any) -> None:
            done.append(record[0])
            stage.show(f"{len(done)} of {len(splits) * len(models)} fits")

        compare(models, data, splits, on_record=on_record)
    seeds = f"seeds {seed}–{seed + len(splits) - 1}" if len(splits) > 1 else f"seed {seed}"
    title = f"Accuracy on {len(splits[0]['test']):,} held-out papers ({seeds}, train-only labels)"
    terminal.out.print(comparison_table(summarize(done), title))
    largest = np.mean(
        [np.bincount(data.labels[split["test"]]).max() / len(split["test"]) for split in splits]
    )
    terminal.say(f"The largest subject has {100 * largest:.1f} % of these papers.")


def _show(model: Any, predictions: Predictions, truth: np.ndarray, source: str, terminal: Terminal) -> None:
    """Print what a model says of itself, and some of its predictions."""
    terminal.out.print()
    terminal.say(f"What AutoClassifier says of itself, from its {source}:")
    terminal.say(model.explain_)
    terminal.out.print()
    title = "Some of its predictions, from the surest to the least sure"
    terminal.out.print(prediction_table(_examples(predictions, truth), title))
    terminal.out.print()


def _examples(predictions: Predictions, truth: np.ndarray) -> list[tuple[Any, str]]:
    """Return some unlabelled papers, from the most to the least certain, with spaces in their subjects."""
    order = np.argsort(-predictions.confidence, kind="stable")
    order = order[~predictions.given[order]]
    rows = [(predictions[i], str(truth[i])) for i in order[np.linspace(0, len(order) - 1, 6).astype(int)]]
    return [
        (replace(row, label=_spaced(row.label), runner_up=_spaced(row.runner_up)), _spaced(true))
        for row, true in rows
    ]


def _spaced(name: str) -> str:
    return name.replace("_", " ")


_NEXT = r"""
Next, with your own tables:

  gssl classify --edges links.csv --labels known.csv --features people.parquet \
                --out p.csv --report r.html
  gssl regress  --edges links.csv --labels prices.csv \
                --features people.parquet --out p.csv
  gssl label    --edges links.csv --features people.parquet --out labels.csv"""
