"""``gssl suggest``: files in, the nodes to label next out."""

from pathlib import Path

from gssl.cli.classify import Choice, check_classes
from gssl.cli.console import Talk
from gssl.cli.inputs import Inputs, check_outputs, read_problem, refuse_if_too_large
from gssl.io import write_columns
from gssl.io.table_writing import TABLES, check_suffix
from gssl.report import suggestion_table
from gssl.selection import suggestions

_SHOWN = 10


def run_suggest(inputs: Inputs, out: Path, choice: Choice, n: int, talk: Talk) -> None:
    """Read, fit, choose, write, and show the first."""
    check_suffix(out, TABLES)
    check_outputs([out], inputs.sources())
    model = choice.model(inputs.features is not None)
    problem = read_problem(inputs, talk)
    check_classes(problem, inputs.labels)
    refuse_if_too_large(problem, model)
    with talk.step(f"fitting {type(getattr(model, 'classifier', model)).__name__}"):
        model.fit(problem.features, problem.y, adjacency=problem.adjacency)
    with talk.step("choosing nodes"):
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
        talk.note(note)
    if len(picks) < n:
        talk.note(f"only {len(picks):,} of {n:,} nodes: no other would tell anything new")
    shown = zip(ids[:_SHOWN], picks[:_SHOWN], strict=True)
    talk.out.print(suggestion_table(shown, f"The first of {len(picks):,} nodes to label next"))
    talk.say(f"{len(picks):,} nodes to label next: {out}")
