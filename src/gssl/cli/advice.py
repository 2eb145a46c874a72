"""``gssl check``, ``suggest``, ``why`` and ``audit``: advice about a graph and its labels."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gssl.cli.console import Terminal
from gssl.cli.run import Run
from gssl.evaluation import graph_health, held_out_if_known, relation_health
from gssl.graph.adjacency import relations_of
from gssl.io import write_columns
from gssl.io.table_writing import check_outputs
from gssl.methods.regressor import GraphRegressor
from gssl.report import health_table, relation_table, suggestion_table
from gssl.selection import Audit, NumberAudit, SetAudit, audit, learning_curve, suggestions, why
from gssl.wording import counted

_SHOWN = 10


def run_check(run: Run) -> None:
    """Read, describe the graph, fit as ``gssl classify`` does, and print its estimated accuracy."""
    terminal = run.terminal
    terminal.plan = ("reading", run.choice.stage)
    model, problem = run.prepare()
    X, classes = problem.features, run.inputs.answers == "classes"
    # numbers and sets have no classes to count
    y = problem.y if classes else np.array(["known" if known else None for known in problem.given])
    health = graph_health(problem.adjacency, y, None if X is None else X.shape[1])
    if not classes:
        health = replace(health, homophily=None, label_counts={})
    terminal.out.print(health_table(health))
    if relations_of(problem.adjacency):
        relations = relation_health(problem.adjacency, y)
        if not classes:
            relations = [replace(one, homophily=None) for one in relations]
        terminal.out.print(relation_table(relations))
    if len(health.label_counts) < 2 and classes:
        terminal.say(
            "Without labels of two classes, gssl cannot say whether the graph helps: "
            + ("give --labels." if run.inputs.labels is None else "label more nodes.")
        )
        return
    run.fit(model, problem)
    terminal.say(model.explain_)
    terminal.finish()


def run_suggest(run: Run, out: Path, n: int, target: float | None, saved: Path | None) -> None:
    """Read and fit, or load a saved model, choose nodes, write them, and show the first."""
    terminal = run.terminal
    _start(run, saved, out, "suggesting", "writing")
    model, problem = run.fitted(saved, from_tables=True)
    with terminal.stage("suggesting"), terminal.step(""):
        picks = suggestions(model, n, problem=problem)
    _write(out, picks.to_dict(), terminal)
    if len(picks) < n:
        terminal.note(f"only {len(picks):,} of {n:,} nodes: the others would add no information")
    shown = list(zip(picks.ids, picks, strict=True))[:_SHOWN]
    title = f"The first {len(shown)} of {len(picks):,} nodes to label next"
    terminal.out.print(suggestion_table(shown, title))
    terminal.say(f"{len(picks):,} nodes to label next: {out}")
    if target is not None:
        _say_labels_needed(model, target, terminal)
    terminal.finish()


def run_why(run: Run, ids: Sequence[str], saved: Path | None) -> None:
    """Read and fit, or load a saved model, and print explanations of the predictions of some nodes."""
    terminal = run.terminal
    _start(run, saved, None, "explaining")
    model, problem = run.fitted(saved)
    with terminal.stage("explaining"):
        explanations = why(model, list(ids), problem=problem)
    for explanation in explanations:
        terminal.say_lines(explanation.text())
    terminal.finish()


def run_audit(run: Run, out: Path, saved: Path | None) -> None:
    """Read and fit, or load a saved model, rank the labels, write them, and print the first."""
    terminal = run.terminal
    _start(run, saved, out, "auditing", "writing")
    model, problem = run.fitted(saved)
    with terminal.stage("auditing"):
        report = audit(model, problem=problem)
    _write(out, report.columns(), terminal)
    n_left = int(problem.given.sum()) - len(report)
    if isinstance(report, Audit) and n_left:
        are = "is" if n_left == 1 else "are"
        terminal.note(f"{counted(n_left, 'label')} {are} the only one of a class and cannot be judged")
    terminal.say_lines(report.text(_SHOWN))
    terminal.say(report.summary)
    what = "numbers" if isinstance(report, NumberAudit) else "labels"
    what = "doubtful cells" if isinstance(report, SetAudit) else what
    terminal.say(f"{len(report):,} {what}, the most doubtful first: {out}")
    terminal.finish()


def _start(run: Run, saved: Path | None, out: Path | None, *stages: str) -> None:
    """Check the output, and plan the stages, of which the first ones end with a fitted model."""
    if out is not None:
        check_outputs(out, [*run.inputs.sources(), None if saved is None else str(saved)])
    first = ("reading", run.choice.stage) if saved is None else ("loading",)
    run.terminal.plan = (*first, *stages)


def _write(out: Path, columns: dict[str, list[Any]], terminal: Terminal) -> None:
    with terminal.stage("writing") as stage:
        stage.detail = str(out)
        terminal.note(*write_columns(out, columns))


def _say_labels_needed(model: Any, target: float, terminal: Terminal) -> None:
    """Print how many more labels are needed for an accuracy, or numbers for R², given in per cent."""
    numbers, several = isinstance(model, GraphRegressor), hasattr(model, "label_sets_")
    try:
        with terminal.stage("learning curve"):
            known = None if numbers or several else held_out_if_known(model)
            curve = learning_curve(model, target / 100.0, held_out=known)
    except ValueError as error:
        what = f"numbers R² {target / 100.0:.2f}" if numbers else f"labels {target:g} %"
        terminal.say(f"gssl cannot say how many {what} needs: {error}")
    else:
        terminal.say(curve.text())
