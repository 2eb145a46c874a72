"""``gssl classify``: files in, a label for every node out."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from gssl.cli.choice import choose_classifier
from gssl.cli.console import Talk
from gssl.cli.inputs import Inputs, read_problem, refuse_if_too_large
from gssl.io import list_predictions, read_labels, refuse_overwrite, save, write_predictions
from gssl.report import classification_table


@dataclass(frozen=True)
class Outputs:
    """Where results go."""

    out: Path
    report: Path | None = None
    save: Path | None = None
    truth: str | None = None


def run_classify(inputs: Inputs, outputs: Outputs, method: str, seed: int, talk: Talk) -> None:
    """Read, fit, write, and show what came out."""
    start = perf_counter()
    for target in (outputs.out, outputs.report, outputs.save):
        if target is not None:
            refuse_overwrite(target, [*inputs.sources(), outputs.truth])
    problem = read_problem(inputs, talk)
    model = choose_classifier(method, seed, problem.features is not None)
    refuse_if_too_large(problem, model)
    with talk.step(f"fitting {type(model).__name__}"):
        model.fit(problem.features, problem.y, adjacency=problem.adjacency)
    predictions = list_predictions(model, problem.node_ids, problem.given)
    with talk.step("writing predictions"):
        notes = write_predictions(outputs.out, predictions)
    for note in notes:
        talk.note(note)
    if outputs.save is not None:
        with talk.step("saving the model"):
            settings = {"normalize": inputs.normalize, "features": "\n".join(problem.feature_names)}
            save(model, outputs.save, settings=settings)
    if outputs.report is not None:
        from gssl.cli.page import write_run_page

        truth = None if outputs.truth is None else read_labels(outputs.truth)
        command = shlex.join(["gssl", *sys.argv[1:]])
        write_run_page(outputs.report, problem, model, command=command, truth=truth, talk=talk)
    talk.out.print(classification_table(predictions, f"{model!r}"))
    talk.out.print(f"{len(predictions):,} predictions in {perf_counter() - start:.1f} s: {outputs.out}")
    for name, path in (("report", outputs.report), ("model", outputs.save)):
        if path is not None:
            talk.out.print(f"{name}: {path}")
