"""``gssl classify``: files in, a label for every node out."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from gssl.cli.choice import Choice
from gssl.cli.console import Talk
from gssl.cli.reading import Inputs, check_outputs, read_problem, refuse_if_too_large, scaling
from gssl.io import Labels, Predictions, Problem, list_predictions, read_labels, save, write_predictions
from gssl.io.predictions import withhold
from gssl.io.table_writing import TABLES, check_suffix
from gssl.report import classification_table
from gssl.scale import execution
from gssl.scale.memory import available_memory, read_size


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
class Machines:
    """Where a fit runs: within a memory budget, on a cluster, with a folder to resume from."""

    memory: str | None = None
    dask: str | None = None
    workers: int | None = None
    resume: Path | None = None

    def check(self, method: str, model: Any) -> None:
        """Refuse what cannot be, before anything is read; the model is not fitted yet."""
        if self.memory is not None:
            read_size(self.memory)
        if self.dask is not None and self.workers is not None:
            raise ValueError("--dask names a cluster and --workers starts one: give either.")
        if self.dask is not None or self.workers is not None:
            from gssl.scale.cluster import check_dask

            check_dask()
        flags = {
            "--memory": self.memory,
            "--dask": self.dask,
            "--workers": self.workers,
            "--resume": self.resume,
        }
        for flag, value in flags.items():
            if value is not None and not model.runs_by_columns:
                raise ValueError(
                    f"{flag} is not for --method {method}: choose another method, such as ogc or ggcm."
                )

    @property
    def limited(self) -> bool:
        """Whether a budget or a cluster was named, so that free memory is no limit."""
        return not (self.memory is None and self.dask is None and self.workers is None)

    @property
    def feature_memory(self) -> Any:
        """How much memory reading features may take; None: as much as they need."""
        if not self.limited and self.resume is None:
            return None
        return self.memory or available_memory() // 4

    @contextmanager
    def execution(self) -> Iterator[None]:
        """Run the fits of a block there; a cluster that was started ends with it."""
        if self.dask is None and self.workers is None:
            with execution(memory=self.memory, resume=self.resume):
                yield
            return
        from gssl.scale.cluster import cluster_client

        with (
            cluster_client(self.dask, self.workers) as client,
            execution(memory=self.memory, client=client, resume=self.resume),
        ):
            yield


def run_classify(
    inputs: Inputs, outputs: Outputs, choice: Choice, talk: Talk, machines: Machines | None = None
) -> None:
    """Read, fit, write, and show the result."""
    start = perf_counter()
    machines = machines or Machines()
    model = choice.model(inputs.features is not None)
    machines.check(choice.method, model)
    outputs.check(inputs)
    problem = read_problem(inputs, talk, memory=machines.feature_memory)
    check_classes(problem, inputs.labels)
    truth = None if outputs.truth is None else _read_truth(outputs.truth, problem)
    if not machines.limited:
        refuse_if_too_large(problem, model)
    fit(model, problem, talk, machines)
    predictions = list_predictions(model, problem.node_ids, problem.given)
    if choice.abstain is not None:
        predictions = abstaining(predictions, choice.abstain, model.informed_, talk)
    write(outputs.out, predictions, talk)
    if outputs.save is not None:
        _save(model, outputs.save, problem, inputs, talk)
    if outputs.report is not None:
        from gssl.cli.run_page import write_run_page

        command = shlex.join(["gssl", *sys.argv[1:]])
        write_run_page(outputs.report, problem, model, command=command, truth=truth, talk=talk)
    talk.out.print(classification_table(predictions, f"{model!r}"))
    if hasattr(model, "explain_"):
        talk.say(model.explain_)
    talk.say(f"{len(predictions):,} predictions in {perf_counter() - start:.1f} s: {outputs.out}")
    for name, path in (("report", outputs.report), ("model", outputs.save)):
        if path is not None:
            talk.say(f"{name}: {path}")


def fit(model: Any, problem: Problem, talk: Talk, machines: Machines | None = None) -> None:
    """Fit a classifier to a problem under a progress bar."""
    plain = getattr(model, "classifier", model)
    with (machines or Machines()).execution(), talk.step(f"fitting {type(plain).__name__}"):
        model.fit(problem.features, problem.y, adjacency=problem.adjacency)


def abstaining(predictions: Predictions, abstain: float, informed: Any, talk: Talk) -> Predictions:
    """Leave out labels whose confidence is too low, and say how many."""
    predictions = withhold(predictions, abstain, informed)
    silent = int((predictions.label == "").sum())
    nodes = "1 node has" if silent == 1 else f"{silent:,} nodes have"
    talk.note(f"{nodes} no label: the confidence is below {abstain:g}")
    return predictions


def write(out: Path, predictions: Predictions, talk: Talk) -> None:
    """Write predictions, and note what was changed for their format."""
    with talk.step("writing predictions"):
        notes = write_predictions(out, predictions)
    for note in notes:
        talk.note(note)


def _save(model: Any, path: Path, problem: Problem, inputs: Inputs, talk: Talk) -> None:
    with talk.step("saving the model"):
        settings = {"features": json.dumps(problem.feature_names)}
        if problem.features is not None:
            settings["normalize"] = scaling(problem.features, inputs.normalize)
        save(model, path, settings=settings)


def _read_truth(table: str, problem: Problem) -> Labels:
    """Read true labels, of which at least one must judge a node whose label was not given."""
    from gssl.cli.run_page import judging_nodes

    truth = read_labels(table)
    judging_nodes(truth, problem.node_ids, problem.given)
    return truth


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
