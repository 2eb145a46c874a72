"""``gssl why`` and ``gssl audit``, and how many more labels ``gssl suggest --target`` asks for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gssl.cli.choice import Choice
from gssl.cli.classify import read_and_fit
from gssl.cli.console import Terminal
from gssl.cli.reading import Inputs, check_outputs
from gssl.evaluation.holdout import held_out_if_known
from gssl.io import Problem, write_columns
from gssl.io.table_writing import TABLES, check_suffix
from gssl.selection import audit, learning_curve, why

_SHOWN = 10


def run_why(inputs: Inputs, ids: Sequence[str], choice: Choice, terminal: Terminal) -> None:
    """Read, fit, and print the predictions of some nodes as sums."""
    model, problem = read_and_fit(inputs, choice, terminal)
    nodes = _places(problem, ids)
    with terminal.stage("explaining"):
        found = why(model, nodes)
    names = problem.feature_names or None
    for explanation in found:
        for line in explanation.text(problem.node_ids, names).splitlines():
            terminal.say(line)
    terminal.finish()


def run_audit(inputs: Inputs, out: Path, choice: Choice, terminal: Terminal) -> None:
    """Read, fit, rank the labels, write them, and print the first."""
    check_suffix(out, TABLES)
    check_outputs([out], inputs.sources())
    model, problem = read_and_fit(inputs, choice, terminal)
    with terminal.stage("auditing"):
        found = audit(model)
    columns = found.columns(problem.node_ids)
    with terminal.stage("writing") as stage:
        stage.detail = str(out)
        for note in write_columns(out, columns):
            terminal.note(note)
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


def say_labels_needed(model: Any, target: float | None, terminal: Terminal) -> None:
    """Print how many more labels reach an accuracy, given in per cent."""
    if target is None:
        return
    try:
        with terminal.stage("learning curve"):
            curve = learning_curve(model, target / 100.0)
    except ValueError as error:
        terminal.say(f"gssl cannot say how many labels {target:g} % needs: {error}")
        return
    held_out = held_out_if_known(model)
    if held_out is not None and held_out.tells:
        curve = curve.moved_to(held_out.accuracy)  # the accuracy that other commands state
    terminal.say(curve.text())


def _places(problem: Problem, ids: Sequence[str]) -> np.ndarray:
    """Return the places of ids among the nodes."""
    places = {str(node): k for k, node in enumerate(problem.node_ids)}
    unknown = [one for one in ids if one not in places]
    if unknown:
        raise ValueError(f"there is no node {unknown[0]!r}: give ids as they are in the tables.")
    return np.array([places[one] for one in ids])
