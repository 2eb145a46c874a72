"""``gssl classify``: read a graph from files and write a label for every node."""

import shlex
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import gssl
from gssl.cli.console import Terminal
from gssl.cli.run import Run
from gssl.evaluation import HeldOut, held_out_if_known
from gssl.io import Predictions, Problem, list_predictions, withhold, write_predictions
from gssl.io.table_writing import check_outputs
from gssl.report import classification_table
from gssl.wording import counted, write_size


def run_classify(
    run: Run,
    out: Path,
    report: Path | None,
    report_data: Path | None,
    save: Path | None,
    truth: str | None,
    probabilities: bool,
) -> None:
    """Read the tables, fit, write the outputs, and print a summary."""
    terminal = run.terminal
    check_outputs(out, [*run.inputs.sources(), truth], report, report_data, save)
    check_page(report, report_data)
    if report is None and truth is not None:
        raise ValueError("--truth is shown in the report: give --report too.")
    pages = [] if report is None else ["report"]
    terminal.plan = ("reading", run.choice.stage, "predicting", "writing", *pages)
    model, problem = run.prepare()
    true = None
    if truth is not None:
        true = gssl.report.read_truth(truth, problem, na=run.inputs.na or None, header=run.inputs.header)
    run.fit(model, problem)
    with terminal.stage("predicting"):
        held_out = held_out_if_known(model)
        predictions = list_predictions(model, problem.node_ids, problem.given, held_out=held_out)
    predictions = abstain(run, predictions, model.informed_)
    with terminal.stage("writing") as stage:
        write_table(out, predictions, terminal, probabilities)
        if save is not None:
            save_model(model, save, problem, terminal)
        stage.detail = str(out)
    _say_results(model, predictions, held_out, out, terminal)
    if save is not None:
        terminal.say(f"model: {save} ({write_size(save.stat().st_size)})")
    if report is not None:
        shown: Any = {"predictions": predictions, "truth": true, "data": report_data}
        write_page(report, model, problem, held_out, terminal, **shown)
    terminal.finish()


def check_page(report: Path | None, report_data: Path | None) -> None:
    """Raise if a library that a page needs is missing, or if there is no page to write the data of."""
    if report is not None:
        gssl.report.check_extra()
    elif report_data is not None:
        raise ValueError("--report-data writes the data of the report: give --report too.")


def _say_results(
    model: Any, predictions: Predictions, held_out: HeldOut | None, out: Path, terminal: Terminal
) -> None:
    """Print what is known about the predictions, and how many given labels the model disagrees with."""
    terminal.out.print(classification_table(predictions, "Labels by class"))
    if hasattr(model, "explain_"):
        terminal.say(model.explain_)
    elif held_out is not None:
        terminal.say(held_out.summary)
    if held_out is not None and held_out.warning:
        terminal.say(held_out.warning)
    n_doubted, n_given = len(predictions.doubted), int(predictions.given.sum())
    if n_doubted:
        how = "Though it has seen their labels" if held_out is None else "With its own label hidden"
        audit = "" if held_out is None else " gssl audit ranks them."
        terminal.say(
            f"{how}, the model disagrees about {n_doubted:,} of {n_given:,} labelled nodes: rows of {out} "
            f"where given is true and model_says is not label.{audit}"
        )
    terminal.say(f"{len(predictions):,} predictions: {out}")


def write_page(
    path: Path, model: Any, problem: Problem, held_out: HeldOut | None, terminal: Terminal, **contents: Any
) -> None:
    """Write the page, which hides labels if that was not done before; print what it found and its name."""
    with terminal.stage("report"):
        shown = gssl.report.write_report(
            model,
            problem,
            path,
            held_out=held_out,
            command=shlex.join(["gssl", *sys.argv[1:]]),
            notes=terminal.notes,
            seconds=perf_counter() - terminal.start,
            **contents,
        )
    if held_out is None and shown is not None:
        terminal.say(shown.summary)
    terminal.say(f"report: {path}")


def abstain(run: Run, predictions: Predictions, informed: Any) -> Predictions:
    """Remove labels whose confidence is below ``--abstain``, if it was given, and note how many."""
    least = run.choice.abstain
    if least is None:
        return predictions
    predictions = withhold(predictions, least, informed)
    n_empty = int((predictions.label == "").sum())
    have = "has" if n_empty == 1 else "have"
    run.terminal.note(f"{counted(n_empty, 'node')} {have} no label: the confidence is below {least:g}")
    return predictions


def write_table(out: Path, predictions: Predictions, terminal: Terminal, probabilities: bool) -> None:
    """Write predictions, and note texts that were changed for the format."""
    with terminal.step("writing predictions"):
        notes = write_predictions(out, predictions, probabilities)
    terminal.note(*notes)


def save_model(model: Any, path: Path, problem: Problem, terminal: Terminal) -> None:
    """Save a model with its problem, unless the data stay in files."""
    from gssl.io.models import save_fit  # not needed without --save

    with terminal.step("saving the model"):
        in_files = save_fit(model, path, problem)
    if in_files:
        terminal.note(f"{path} is without its data, which stay in files: give the tables again with --model")
