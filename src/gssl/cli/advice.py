"""``gssl check`` and ``gssl suggest``: whether a graph helps, and which nodes to label next."""

from pathlib import Path
from typing import Any

from gssl.cli.choice import Choice
from gssl.cli.classify import ExecutionOptions, fit, read, read_and_fit
from gssl.cli.console import Terminal
from gssl.cli.knowledge import say_labels_needed
from gssl.cli.predict import load_prepared
from gssl.cli.reading import Inputs, check_outputs, refuse_if_too_large
from gssl.evaluation import graph_health
from gssl.io import Problem, write_columns
from gssl.io.table_writing import TABLES, check_suffix
from gssl.report import health_table, suggestion_table
from gssl.selection import suggestions

_SHOWN = 10


def run_check(inputs: Inputs, choice: Choice, terminal: Terminal, options: ExecutionOptions) -> None:
    """Read, show the graph, and say what ``gssl classify`` would reach, from the same fit."""
    model = choice.model(inputs.features is not None)
    options.check(choice.method, model)
    terminal.plan = ("reading", choice.stage)
    problem = read(inputs, terminal, options)
    X = problem.features
    health = graph_health(problem.adjacency, problem.y, None if X is None else X.shape[1])
    terminal.out.print(health_table(health))
    if len(health.label_counts) < 2:
        terminal.say(
            "Without labels of two classes, gssl cannot say whether the graph helps: "
            + ("give --labels." if inputs.labels is None else "label more nodes.")
        )
        return
    if not options.limited:
        refuse_if_too_large(problem, model)
    fit(model, problem, terminal, choice.stage, options)
    terminal.say(model.explain_)
    terminal.finish()


def run_suggest(
    inputs: Inputs,
    out: Path,
    choice: Choice,
    n: int,
    terminal: Terminal,
    options: ExecutionOptions,
    target: float | None = None,
    saved: Path | None = None,
) -> None:
    """Read, fit unless there is a saved model, choose, write, and show the first."""
    check_suffix(out, TABLES)
    check_outputs([out], [*inputs.sources(), None if saved is None else str(saved)])
    terminal.plan = ("reading", *([choice.stage] if saved is None else []), "suggesting", "writing")
    if saved is None:
        model, problem = read_and_fit(inputs, choice, terminal, options)
    else:
        model, preparation = load_prepared(saved)
        problem = read(inputs, terminal, options, preparation)
        _check_fitted_to(model, problem, saved)
    with terminal.stage("suggesting"), terminal.step(""):
        picks = suggestions(model, n, X=problem.features, adjacency=problem.adjacency)
    ids = [str(problem.node_ids[pick.node]) for pick in picks]
    columns = {
        "id": ids,
        # to be filled in, for gssl classify --labels
        "label": [""] * len(picks),
        "model_says": [str(pick.label) for pick in picks],
        "confidence": [pick.confidence for pick in picks],
        "runner_up": [str(pick.runner_up) for pick in picks],
        "speaks_for": [pick.speaks_for for pick in picks],
        "why": [pick.why for pick in picks],
    }
    with terminal.stage("writing") as stage:
        for note in write_columns(out, columns):
            terminal.note(note)
        stage.detail = str(out)
    if len(picks) < n:
        terminal.note(f"only {len(picks):,} of {n:,} nodes: the others would teach nothing new")
    shown = list(zip(ids, picks, strict=True))[:_SHOWN]
    title = f"The first {len(shown)} of {len(picks):,} nodes to label next"
    terminal.out.print(suggestion_table(shown, title))
    terminal.say(f"{len(picks):,} nodes to label next: {out}")
    say_labels_needed(model, target, terminal)
    terminal.finish()


def _check_fitted_to(model: Any, problem: Problem, path: Path) -> None:
    """Refuse a model of other nodes or labels than those that were read."""
    codes = model.fit_codes
    known = [None if code < 0 else str(model.classes_[code]) for code in codes.tolist()]
    if known != list(problem.y):
        raise ValueError(
            f"{path} was fitted to other nodes or labels than these: give those of fit, or leave out --model."
        )
