"""``gssl classify``: files in, a label for every node out."""

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from gssl.cli.choice import calibrated, choose_classifier
from gssl.cli.console import Talk
from gssl.cli.inputs import Inputs, check_outputs, read_problem, refuse_if_too_large, scaling
from gssl.cli.machines import Machines
from gssl.io import Predictions, Problem, list_predictions, read_labels, save, write_predictions
from gssl.io.predictions import withhold
from gssl.io.table_writing import TABLES, check_suffix
from gssl.report import classification_table
from gssl.scale.memory import available_memory


@dataclass(frozen=True)
class Outputs:
    """Where results go."""

    out: Path
    report: Path | None = None
    save: Path | None = None
    truth: str | None = None

    def check(self, inputs: Inputs) -> None:
        """Refuse what could not be written at the end, before anything is read."""
        check_suffix(self.out, TABLES)
        check_outputs([self.out, self.report, self.save], [*inputs.sources(), self.truth])
        if self.report is not None:
            from gssl.report import check_extra

            check_extra()
        elif self.truth is not None:
            raise ValueError("--truth is shown in the report: give --report too.")


@dataclass(frozen=True)
class Choice:
    """Which method, whether its confidence is calibrated (None: where that is cheap), and the least of it."""

    method: str = "auto"
    seed: int = 0
    calibrate: bool | None = None
    abstain: float | None = None

    def model(self, has_features: bool) -> Any:
        """Make the classifier."""
        return calibrated(
            choose_classifier(self.method, self.seed, has_features), self.calibrate, self.abstain
        )


def run_classify(
    inputs: Inputs, outputs: Outputs, choice: Choice, talk: Talk, machines: Machines | None = None
) -> None:
    """Read, fit, write, and show what came out."""
    start = perf_counter()
    machines = machines or Machines()
    model = choice.model(inputs.features is not None)
    machines.check(choice.method, model)
    outputs.check(inputs)
    away = machines.named or machines.resume is not None
    room = (machines.memory or available_memory() // 4) if away else None
    problem = read_problem(inputs, talk, memory=room)
    check_classes(problem, inputs.labels)
    truth = None if outputs.truth is None else read_labels(outputs.truth)
    if truth is not None:
        from gssl.cli.page import judging_nodes

        judging_nodes(truth, problem.node_ids, problem.given)
    if not machines.named:
        refuse_if_too_large(problem, model)
    plain = getattr(model, "classifier", model)
    fitting = talk.step(f"fitting {type(plain).__name__}")
    with machines.execution(), fitting:
        model.fit(problem.features, problem.y, adjacency=problem.adjacency)
    predictions = list_predictions(model, problem.node_ids, problem.given)
    if choice.abstain is not None:
        predictions = withhold(predictions, choice.abstain, model.informed_)
        talk.note(silence(predictions, choice.abstain))
    with talk.step("writing predictions"):
        notes = write_predictions(outputs.out, predictions)
    for note in notes:
        talk.note(note)
    if outputs.save is not None:
        with talk.step("saving the model"):
            settings = {"features": json.dumps(problem.feature_names)}
            if problem.features is not None:
                settings["normalize"] = scaling(problem.features, inputs.normalize)
            save(model, outputs.save, settings=settings)
    if outputs.report is not None:
        # with what only a page needs
        from gssl.cli.page import write_run_page

        command = shlex.join(["gssl", *sys.argv[1:]])
        write_run_page(outputs.report, problem, model, command=command, truth=truth, talk=talk)
    talk.out.print(classification_table(predictions, f"{model!r}"))
    if hasattr(model, "explain_"):
        talk.say(model.explain_)
    talk.say(f"{len(predictions):,} predictions in {perf_counter() - start:.1f} s: {outputs.out}")
    for name, path in (("report", outputs.report), ("model", outputs.save)):
        if path is not None:
            talk.say(f"{name}: {path}")


def silence(predictions: Predictions, abstain: float) -> str:
    """Say how many nodes have no label because nothing sure enough is known about them."""
    silent = int((predictions.label == "").sum())
    nodes = "1 node has" if silent == 1 else f"{silent:,} nodes have"
    return f"{nodes} no label: the confidence is below {abstain:g}"


def check_classes(problem: Problem, labels: str | None) -> None:
    """Refuse labels that look like none, and fewer than two classes."""
    for node, label in zip(problem.node_ids, problem.y, strict=True):
        if label in ("-1", "nan", "None"):
            raise ValueError(
                f"{labels}: the label of id {node!r} is {label!r}, which looks like none: empty the cell."
            )
    classes = sorted({label for label in problem.y if label is not None})
    if len(classes) < 2:
        found = f"only the label {classes[0]!r}" if classes else "no label"
        raise ValueError(f"{labels} has {found}: label nodes of at least two classes.")
