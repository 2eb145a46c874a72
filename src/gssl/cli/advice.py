"""``gssl check`` and ``gssl suggest``: whether a graph helps, and which nodes to label next."""

from pathlib import Path

from gssl.cli.choice import Choice
from gssl.cli.classify import check_classes, fit
from gssl.cli.console import Terminal
from gssl.cli.knowledge import say_labels_needed
from gssl.cli.reading import Inputs, check_outputs, read_problem, refuse_if_too_large
from gssl.evaluation import graph_gain, graph_health
from gssl.io import write_columns
from gssl.io.table_writing import TABLES, check_suffix
from gssl.report import health_table, suggestion_table
from gssl.selection import suggestions

_SHOWN = 10


def run_check(inputs: Inputs, terminal: Terminal) -> None:
    """Read, measure, show."""
    problem = read_problem(inputs, terminal)
    X = problem.features
    health = graph_health(problem.adjacency, problem.y, None if X is None else X.shape[1])
    terminal.out.print(health_table(health))
    if not health.n_labelled:
        terminal.say("Without labels, gssl cannot say whether the graph helps: give --labels.")
        return
    try:
        with terminal.step("comparing with no graph") as move:
            gain = graph_gain(X, problem.y, problem.adjacency, on_fold=move)
    except ValueError as error:
        terminal.say(f"gssl cannot say whether the graph helps: {error}")
        return
    terminal.say(gain.verdict)


def run_suggest(
    inputs: Inputs, out: Path, choice: Choice, n: int, terminal: Terminal, target: float | None = None
) -> None:
    """Read, fit, choose, write, and show the first."""
    check_suffix(out, TABLES)
    check_outputs([out], inputs.sources())
    model = choice.model(inputs.features is not None)
    problem = read_problem(inputs, terminal)
    check_classes(problem, inputs.labels)
    refuse_if_too_large(problem, model)
    fit(model, problem, terminal)
    with terminal.step("choosing nodes"):
        picks = suggestions(model, n)
    ids = [str(problem.node_ids[pick.node]) for pick in picks]
    columns = {
        "id": ids,
        "label": [str(pick.label) for pick in picks],
        "confidence": [pick.confidence for pick in picks],
        "runner_up": [str(pick.runner_up) for pick in picks],
        "speaks_for": [pick.speaks_for for pick in picks],
        "why": [pick.why for pick in picks],
    }
    for note in write_columns(out, columns):
        terminal.note(note)
    if len(picks) < n:
        terminal.note(f"only {len(picks):,} of {n:,} nodes: the others would teach nothing new")
    shown = list(zip(ids, picks, strict=True))[:_SHOWN]
    title = f"The first {len(shown)} of {len(picks):,} nodes to label next"
    terminal.out.print(suggestion_table(shown, title))
    terminal.say(f"{len(picks):,} nodes to label next: {out}")
    say_labels_needed(model, target, terminal)
