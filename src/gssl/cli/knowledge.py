"""``gssl why`` and ``gssl audit``: what a prediction is made of, and which labels look wrong."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gssl.cli.reading import check_outputs
from gssl.cli.run import Run
from gssl.io import Problem, write_columns
from gssl.selection import audit, why

_SHOWN = 10


def run_why(run: Run, ids: Sequence[str]) -> None:
    """Read, fit, and print the predictions of some nodes as sums."""
    terminal = run.terminal
    model, problem = run.prepare()
    run.fit(model, problem)
    nodes = _places(problem, ids)
    with terminal.stage("explaining"):
        found = why(model, nodes)
    names = problem.feature_names or None
    for explanation in found:
        for line in explanation.text(problem.node_ids, names).splitlines():
            terminal.say(line)
    terminal.finish()


def run_audit(run: Run, out: Path) -> None:
    """Read, fit, rank the labels, write them, and print the first."""
    terminal = run.terminal
    check_outputs(out, run.inputs.sources())
    model, problem = run.prepare()
    run.fit(model, problem)
    with terminal.stage("auditing"):
        found = audit(model)
    columns = found.columns(problem.node_ids)
    with terminal.stage("writing") as stage:
        stage.detail = str(out)
        terminal.note(*write_columns(out, columns))
    n_left = int(problem.given.sum()) - len(found)
    if n_left:
        labels = "1 label is" if n_left == 1 else f"{n_left:,} labels are"
        terminal.note(f"{labels} the only one of a class and cannot be judged")
    rows = zip(*columns.values(), strict=True)
    for node, given, says, p, _, wrong, removed, flipped in list(rows)[:_SHOWN]:
        said = "the model agrees" if given == says else f"the model says {says} ({_percent(p)})"
        text = f"{node}: given {given}, {said}, wrong with probability {_percent(wrong)}"
        if removed is not None:
            text += f"; predictions that change: {removed:,} without it, {flipped:,} if flipped"
        terminal.say(text)
    terminal.say(found.summary)
    terminal.say(f"{len(found):,} labels, the most doubtful first: {out}")
    terminal.finish()


def _percent(p: float) -> str:
    """Write a probability that was estimated from few labels: never as certain."""
    return "over 99 %" if p > 0.99 else f"{100 * p:.0f} %"


def _places(problem: Problem, ids: Sequence[str]) -> np.ndarray:
    """Return the places of ids among the nodes."""
    places = {str(node): k for k, node in enumerate(problem.node_ids)}
    unknown = [one for one in ids if one not in places]
    if unknown:
        raise ValueError(f"there is no node {unknown[0]!r}: give ids as they are in the tables.")
    return np.array([places[one] for one in ids])
