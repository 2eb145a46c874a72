"""``gssl check``, ``suggest``, ``why`` and ``audit``: advice about a graph and its labels."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gssl.cli.console import Terminal
from gssl.cli.reading import check_outputs
from gssl.cli.run import Run
from gssl.evaluation import graph_health, held_out_if_known
from gssl.io import Problem, write_columns
from gssl.io.problem import positions_of
from gssl.report import health_table, suggestion_table
from gssl.selection import audit, learning_curve, suggestions, why
from gssl.wording import quoted

_SHOWN = 10


def run_check(run: Run) -> None:
    """Read, describe the graph, fit as ``gssl classify`` does, and print its estimated accuracy."""
    terminal = run.terminal
    terminal.plan = ("reading", run.choice.stage)
    model, problem = run.prepare()
    X = problem.features
    health = graph_health(problem.adjacency, problem.y, None if X is None else X.shape[1])
    terminal.out.print(health_table(health))
    if len(health.label_counts) < 2:
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
    check_outputs(out, [*run.inputs.sources(), None if saved is None else str(saved)])
    terminal.plan = (*_first_stages(run, saved), "suggesting", "writing")
    model, problem = run.fitted(saved, from_tables=True)
    with terminal.stage("suggesting"), terminal.step(""):
        picks = suggestions(model, n, X=problem.features, adjacency=problem.adjacency)
    ids = [str(problem.node_ids[pick.node]) for pick in picks]
    columns = {
        "id": ids,
        # for the user to fill in, and to pass to gssl classify --labels
        "label": [""] * len(picks),
        "model_says": [str(pick.label) for pick in picks],
        "confidence": [pick.confidence for pick in picks],
        "runner_up": [str(pick.runner_up) for pick in picks],
        "speaks_for": [pick.speaks_for for pick in picks],
        "why": [pick.why for pick in picks],
    }
    with terminal.stage("writing") as stage:
        terminal.note(*write_columns(out, columns))
        stage.detail = str(out)
    if len(picks) < n:
        terminal.note(f"only {len(picks):,} of {n:,} nodes: the others would add no information")
    shown = list(zip(ids, picks, strict=True))[:_SHOWN]
    title = f"The first {len(shown)} of {len(picks):,} nodes to label next"
    terminal.out.print(suggestion_table(shown, title))
    terminal.say(f"{len(picks):,} nodes to label next: {out}")
    if target is not None:
        _say_labels_needed(model, target, terminal)
    terminal.finish()


def run_why(run: Run, ids: Sequence[str], saved: Path | None) -> None:
    """Read and fit, or load a saved model, and print explanations of the predictions of some nodes."""
    terminal = run.terminal
    terminal.plan = (*_first_stages(run, saved), "explaining")
    model, problem = run.fitted(saved)
    nodes = _nodes(problem, ids)
    with terminal.stage("explaining"):
        explanations = why(model, nodes)
    names = problem.feature_names or None
    for explanation in explanations:
        for line in explanation.text(problem.node_ids, names).splitlines():
            terminal.say(line)
    terminal.finish()


def run_audit(run: Run, out: Path, saved: Path | None) -> None:
    """Read and fit, or load a saved model, rank the labels, write them, and print the first."""
    terminal = run.terminal
    check_outputs(out, [*run.inputs.sources(), None if saved is None else str(saved)])
    terminal.plan = (*_first_stages(run, saved), "auditing", "writing")
    model, problem = run.fitted(saved)
    with terminal.stage("auditing"):
        report = audit(model)
    columns = report.columns(problem.node_ids)
    with terminal.stage("writing") as stage:
        stage.detail = str(out)
        terminal.note(*write_columns(out, columns))
    n_left = int(problem.given.sum()) - len(report)
    if n_left:
        labels = "1 label is" if n_left == 1 else f"{n_left:,} labels are"
        terminal.note(f"{labels} the only one of a class and cannot be judged")
    rows = zip(*columns.values(), strict=True)
    for node, given, says, p, _, wrong, removed, flipped in list(rows)[:_SHOWN]:
        opinion = "the model agrees" if given == says else f"the model says {says} ({_percent(p)})"
        text = f"{node}: given {given}, {opinion}, wrong with probability {_percent(wrong)}"
        if removed is not None:
            text += f"; predictions that change: {removed:,} without it, {flipped:,} if flipped"
        terminal.say(text)
    terminal.say(report.summary)
    terminal.say(f"{len(report):,} labels, the most doubtful first: {out}")
    terminal.finish()


def _first_stages(run: Run, saved: Path | None) -> tuple[str, ...]:
    """Return the stages that end with a fitted model."""
    return ("reading", run.choice.stage) if saved is None else ("loading",)


def _say_labels_needed(model: Any, target: float, terminal: Terminal) -> None:
    """Print how many more labels are needed for an accuracy, given in per cent."""
    try:
        with terminal.stage("learning curve"):
            curve = learning_curve(model, target / 100.0)
    except ValueError as error:
        terminal.say(f"gssl cannot say how many labels {target:g} % needs: {error}")
        return
    held_out = held_out_if_known(model)
    if held_out is not None and held_out.tells:
        curve = curve.moved_to(held_out.accuracy)  # the accuracy that other commands print
    terminal.say(curve.text())


def _percent(p: float) -> str:
    """Format a probability, never as 100 %, because it was estimated from few labels."""
    return "over 99 %" if p > 0.99 else "under 1 %" if p < 0.01 else f"{100 * p:.0f} %"


def _nodes(problem: Problem, ids: Sequence[str]) -> np.ndarray:
    """Return the node numbers of ids."""
    nodes = positions_of(np.array(ids, dtype=object), problem)
    if (nodes < 0).any():
        raise ValueError(
            f"there is no node {quoted(ids[int(nodes.argmin())])}: give ids as they are in the tables."
        )
    return nodes
