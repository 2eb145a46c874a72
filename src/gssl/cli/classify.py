"""``gssl classify``: read a graph from files and write a label for every node."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from gssl.cli.console import Terminal
from gssl.cli.reading import Inputs, check_outputs
from gssl.cli.run import Run
from gssl.evaluation import HeldOut, held_out_if_known
from gssl.io import (
    Labels,
    Predictions,
    Problem,
    list_predictions,
    read_labels,
    write_predictions,
)
from gssl.io.predictions import withhold
from gssl.io.table_reading import is_query, split_inside
from gssl.report import classification_table
from gssl.wording import quoted, write_size

# number of classes to name in a warning
_NAMED = 3


@dataclass(frozen=True)
class Outputs:
    """The files to write, and the true labels that the report compares with."""

    out: Path
    report: Path | None = None
    save: Path | None = None
    truth: str | None = None

    def check(self, inputs: Inputs) -> None:
        """Raise if an output cannot be written, before anything is read."""
        check_outputs(self.out, [*inputs.sources(), self.truth], self.report, self.save)
        if self.report is not None:
            from gssl.report import check_extra

            check_extra()
        elif self.truth is not None:
            raise ValueError("--truth is shown in the report: give --report too.")


def run_classify(run: Run, outputs: Outputs, probabilities: bool) -> None:
    """Read the tables, fit, write the outputs, and print a summary."""
    inputs, choice, terminal = run.inputs, run.choice, run.terminal
    outputs.check(inputs)
    report = [] if outputs.report is None else ["report"]
    terminal.plan = ("reading", choice.stage, "predicting", "writing", *report)
    model, problem = run.prepare()
    truth = None if outputs.truth is None else _read_truth(outputs.truth, problem, inputs)
    run.fit(model, problem)
    with terminal.stage("predicting"):
        held_out = held_out_if_known(model)
        predictions = list_predictions(model, problem.node_ids, problem.given, held_out=held_out)
    if choice.abstain is not None:
        predictions = withhold_unsure(predictions, choice.abstain, model.informed_, terminal)
    with terminal.stage("writing") as stage:
        write_table(outputs.out, predictions, terminal, probabilities)
        if outputs.save is not None:
            _save(model, outputs.save, problem, terminal)
        stage.detail = str(outputs.out)
    terminal.out.print(classification_table(predictions, "Labels by class"))
    if hasattr(model, "explain_"):
        terminal.say(model.explain_)
    elif held_out is not None:
        terminal.say(held_out.summary)
    if held_out is not None:
        _say_poor_classes(held_out, terminal)
    _say_doubts(predictions, held_out is not None, outputs.out, terminal)
    terminal.say(f"{len(predictions):,} predictions: {outputs.out}")
    if outputs.save is not None:
        terminal.say(f"model: {outputs.save} ({write_size(outputs.save.stat().st_size)})")
    if outputs.report is not None:
        from gssl.report import write_report

        with terminal.stage("report"):
            shown = write_report(
                model,
                problem,
                outputs.report,
                title=f"{len(problem.y):,} nodes of {_graph_name(inputs)}",
                truth=truth,
                predictions=predictions,
                held_out=held_out,
                command=shlex.join(["gssl", *sys.argv[1:]]),
                notes=terminal.notes,
                seconds=perf_counter() - terminal.start,
            )
        if held_out is None and shown is not None:
            terminal.say(shown.summary)
        terminal.say(f"report: {outputs.report}")
    terminal.finish()


def _graph_name(inputs: Inputs) -> str:
    """Return the file name of the graph, or "a query"."""
    source = inputs.edges or inputs.graph or inputs.features
    return "a query" if is_query(source) else Path(split_inside(str(source))[0]).name


def _say_poor_classes(held_out: HeldOut, terminal: Terminal) -> None:
    """Warn about classes whose recall on hidden labels is less than half of the accuracy.

    The recall, with one hit and one miss added, must be two standard errors lower, so few labels do not warn.
    """
    confusion = held_out.confusion
    totals = confusion.counts.sum(axis=1)
    p = (np.diag(confusion.counts) + 1) / (totals + 2)
    sure = p + 2 * np.sqrt(p * (1 - p) / (totals + 2)) < held_out.accuracy
    with np.errstate(invalid="ignore"):
        poor = np.flatnonzero(sure & (confusion.recall < held_out.accuracy / 2))
    if not len(poor):
        return
    poor = poor[np.lexsort((-totals[poor], confusion.recall[poor]))]
    named = ", ".join(
        f"{quoted(confusion.classes[c])} ({confusion.counts[c, c]:,} of {totals[c]:,} hidden labels)"
        for c in poor[:_NAMED]
    )
    more = f" and {len(poor) - _NAMED:,} more" if len(poor) > _NAMED else ""
    terminal.say(f"Warning: the model rarely finds {named}{more}: label more nodes of them.")


def _say_doubts(predictions: Predictions, hidden: bool, out: Path, terminal: Terminal) -> None:
    """Report how many given labels the model disagrees with, and where to find them."""
    n, n_given = len(predictions.doubted), int(predictions.given.sum())
    if n:
        how = "With its own label hidden" if hidden else "Though it has seen their labels"
        audit = " gssl audit ranks them." if hidden else ""
        terminal.say(
            f"{how}, the model disagrees about {n:,} of {n_given:,} labelled nodes: rows of {out} where "
            f"given is true and model_says is not label.{audit}"
        )


def withhold_unsure(
    predictions: Predictions, abstain: float, informed: Any, terminal: Terminal
) -> Predictions:
    """Remove labels whose confidence is below ``abstain``, and note how many."""
    predictions = withhold(predictions, abstain, informed)
    n_empty = int((predictions.label == "").sum())
    nodes = "1 node has" if n_empty == 1 else f"{n_empty:,} nodes have"
    terminal.note(f"{nodes} no label: the confidence is below {abstain:g}")
    return predictions


def write_table(out: Path, predictions: Predictions, terminal: Terminal, probabilities: bool) -> None:
    """Write predictions, and note texts that were changed for the format."""
    with terminal.step("writing predictions"):
        notes = write_predictions(out, predictions, probabilities)
    terminal.note(*notes)


def _save(model: Any, path: Path, problem: Problem, terminal: Terminal) -> None:
    """Save a model with its data, unless these stay in files, which may be larger than memory."""
    from gssl.io import save
    from gssl.io.model_data import is_in_files

    in_files = is_in_files(model._fit_inputs)
    with terminal.step("saving the model"):
        prepared = problem.preparation
        settings = {} if prepared is None else {"preparation": prepared.to_json()}
        save(model, path, problem=False if in_files else problem, settings=settings)
    if in_files:
        terminal.note(f"{path} is without its data, which stay in files: give the tables again with --model")


def _read_truth(table: str, problem: Problem, inputs: Inputs) -> Labels:
    """Read true labels; raise unless at least one belongs to a node without a given label."""
    from gssl.report.contents import nodes_with_new_truth

    truth = read_labels(table, na=inputs.na or None, header=inputs.header)
    truth = truth if problem.kinds is None else problem.kinds.resolve(truth)
    nodes_with_new_truth(truth, problem.node_ids, problem.given)
    return truth
