"""``gssl classify``: files in, a label for every node out."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gssl.cli.choice import Choice
from gssl.cli.console import Terminal
from gssl.cli.reading import Inputs, check_outputs, read_problem, refuse_if_too_large
from gssl.evaluation import HeldOut, held_out_if_known
from gssl.io import (
    Labels,
    Predictions,
    Preparation,
    Problem,
    list_predictions,
    read_labels,
    save,
    write_predictions,
)
from gssl.io.atomic import check_writable
from gssl.io.predictions import withhold
from gssl.io.table_columns import shortened
from gssl.io.table_reading import is_query
from gssl.io.table_writing import TABLES, check_suffix
from gssl.report import classification_table
from gssl.scale import execution
from gssl.scale.memory import available_memory, read_size

# classes that a warning names
_NAMED = 3


@dataclass(frozen=True)
class Outputs:
    """The files to write, and the true labels that the report compares with."""

    out: Path
    report: Path | None = None
    save: Path | None = None
    truth: str | None = None

    def check(self, inputs: Inputs) -> None:
        """Refuse files that could not be written, before anything is read."""
        check_suffix(self.out, TABLES)
        check_outputs([self.out, self.report, self.save], [*inputs.sources(), self.truth])
        if self.report is not None:
            from gssl.report import check_extra

            check_extra()
        elif self.truth is not None:
            raise ValueError("--truth is shown in the report: give --report too.")


@dataclass(frozen=True)
class ExecutionOptions:
    """Options for where a fit runs: within a memory budget, on a cluster, with a folder to resume from."""

    memory: str | None = None
    dask: str | None = None
    workers: int | None = None
    resume: Path | None = None

    def check(self, method: str, model: Any) -> None:
        """Refuse options that contradict each other or the model, before anything is read."""
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
        if self.resume is not None:
            check_writable(self.resume / "run")

    @property
    def limited(self) -> bool:
        """Whether a memory budget or a cluster was given, so that the fit need not fit into free memory."""
        return not (self.memory is None and self.dask is None and self.workers is None)

    @property
    def feature_memory(self) -> Any:
        """The memory budget for reading features; None: no limit."""
        if not self.limited and self.resume is None:
            return None
        return self.memory or available_memory() // 4

    @contextmanager
    def execution(self) -> Iterator[None]:
        """Run the fits of a block with these options; local workers stop at its end."""
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
    inputs: Inputs,
    outputs: Outputs,
    choice: Choice,
    terminal: Terminal,
    options: ExecutionOptions,
    probabilities: bool = False,
) -> None:
    """Read the tables, fit, write the outputs, and print a summary."""
    model = choice.model(inputs.features is not None)
    outputs.check(inputs)
    options.check(choice.method, model)
    report = [] if outputs.report is None else ["report"]
    terminal.plan = ("reading", choice.stage, "predicting", "writing", *report)
    problem = read(inputs, terminal, options)
    check_classes(problem, inputs.labels)
    truth = None if outputs.truth is None else _read_truth(outputs.truth, problem, inputs)
    if not options.limited:
        refuse_if_too_large(problem, model)
    fit(model, problem, terminal, choice.stage, options)
    with terminal.stage("predicting"):
        held_out = held_out_if_known(model)
        predictions = list_predictions(model, problem.node_ids, problem.given, held_out=held_out)
    if choice.abstain is not None:
        predictions = withhold_unsure(predictions, choice.abstain, model.informed_, terminal)
    with terminal.stage("writing") as stage:
        write_table(outputs.out, predictions, terminal, probabilities)
        if outputs.save is not None:
            _save(model, outputs.save, problem, terminal)
        stage.detail = str(outputs.out)
    terminal.out.print(classification_table(predictions, "Labels by class"))
    if hasattr(model, "explain_"):
        terminal.say(model.explain_)
    elif held_out is not None:
        terminal.say(held_out.summary)
    if held_out is not None:
        say_poor_classes(held_out, terminal)
    say_doubts(predictions, outputs.out, terminal)
    terminal.say(f"{len(predictions):,} predictions: {outputs.out}")
    if outputs.save is not None:
        terminal.say(f"model: {outputs.save}")
    if outputs.report is not None:
        from gssl.cli.run_page import write_run_page

        command = shlex.join(["gssl", *sys.argv[1:]])
        with terminal.stage("report"):
            write_run_page(
                outputs.report,
                problem,
                model,
                predictions,
                held_out,
                name=graph_name(inputs),
                command=command,
                truth=truth,
                terminal=terminal,
            )
        terminal.say(f"report: {outputs.report}")
    terminal.finish()


def read(
    inputs: Inputs,
    terminal: Terminal,
    options: "ExecutionOptions | None" = None,
    preparation: Preparation | None = None,
) -> Problem:
    """Read the tables as one stage."""
    with terminal.stage("reading") as stage:
        memory = None if options is None else options.feature_memory
        problem = read_problem(inputs, terminal, preparation, memory)
        stage.detail = f"{len(problem.node_ids):,} nodes, {problem.adjacency.nnz // 2:,} edges"
        if problem.features is not None:
            stage.detail += f", {problem.features.shape[1]:,} features"
        if problem.given.any():
            stage.detail += f", {problem.given.sum():,} labels"
    return problem


def graph_name(inputs: Inputs) -> str:
    """Return what the graph is called: the name of its file."""
    source = inputs.edges or inputs.graph or inputs.features
    return "a query" if is_query(source) else Path(str(source)).name


def fit(
    model: Any,
    problem: Problem,
    terminal: Terminal,
    stage: str = "fitting",
    options: ExecutionOptions | None = None,
) -> None:
    """Fit a classifier to a problem as one stage."""
    # show the name of the method, not of the calibration around it
    method = type(getattr(model, "classifier", model)).__name__
    with (
        (options or ExecutionOptions()).execution(),
        terminal.stage(stage) as shown,
        terminal.step(""),
    ):
        model.fit(problem.features, problem.y, adjacency=problem.adjacency)
        shown.detail = method


def read_and_fit(
    inputs: Inputs, choice: Choice, terminal: Terminal, options: ExecutionOptions | None = None
) -> tuple[Any, Problem]:
    """Read the tables and fit the chosen classifier to them; return it with what was read."""
    options = options or ExecutionOptions()
    model = choice.model(inputs.features is not None)
    options.check(choice.method, model)
    problem = read(inputs, terminal, options)
    check_classes(problem, inputs.labels)
    if not options.limited:
        refuse_if_too_large(problem, model)
    fit(model, problem, terminal, choice.stage, options)
    return model, problem


def say_poor_classes(held_out: HeldOut, terminal: Terminal) -> None:
    """Warn of classes whose hidden labels are found less than half as often as those of all classes.

    Two standard errors must lie between both, with one hit and one miss added, so a few labels say nothing.
    """
    confusion = held_out.confusion
    totals = confusion.counts.sum(axis=1)
    p = (np.diag(confusion.counts) + 1) / (totals + 2)
    sure = p + 2 * np.sqrt(p * (1 - p) / (totals + 2)) < held_out.accuracy
    with np.errstate(invalid="ignore"):
        poor = np.flatnonzero(sure & (confusion.recall < held_out.accuracy / 2))
    if not len(poor):
        return
    poor = poor[np.lexsort((-totals[poor], confusion.recall[poor]))]
    named = ", ".join(
        f"{shortened(confusion.classes[c])!r} ({confusion.counts[c, c]:,} of {totals[c]:,} hidden labels)"
        for c in poor[:_NAMED]
    )
    more = f" and {len(poor) - _NAMED:,} more" if len(poor) > _NAMED else ""
    terminal.say(f"Warning: the model rarely finds {named}{more}: label more nodes of them.")


def say_doubts(predictions: Predictions, out: Path, terminal: Terminal) -> None:
    """Say how many given labels the model would not have predicted, and where to see them."""
    n, n_given = len(predictions.doubted), int(predictions.given.sum())
    if n:
        terminal.say(
            f"With its own label hidden, the model disagrees about {n:,} of {n_given:,} labelled nodes: rows "
            f"of {out} where given is true and model_says is not label. gssl audit ranks them."
        )


def withhold_unsure(
    predictions: Predictions, abstain: float, informed: Any, terminal: Terminal
) -> Predictions:
    """Leave out labels whose confidence is below ``abstain``, and note how many."""
    predictions = withhold(predictions, abstain, informed)
    n_empty = int((predictions.label == "").sum())
    nodes = "1 node has" if n_empty == 1 else f"{n_empty:,} nodes have"
    terminal.note(f"{nodes} no label: the confidence is below {abstain:g}")
    return predictions


def write_table(out: Path, predictions: Predictions, terminal: Terminal, probabilities: bool = False) -> None:
    """Write predictions, and note what the format made necessary to change."""
    with terminal.step("writing predictions"):
        notes = write_predictions(out, predictions, probabilities)
    for note in notes:
        terminal.note(note)


def _save(model: Any, path: Path, problem: Problem, terminal: Terminal) -> None:
    with terminal.step("saving the model"):
        prepared = problem.preparation
        save(model, path, settings={} if prepared is None else {"preparation": prepared.to_json()})


def _read_truth(table: str, problem: Problem, inputs: Inputs) -> Labels:
    """Read true labels; at least one must be of a node whose label was not given."""
    from gssl.cli.run_page import nodes_with_new_truth

    truth = read_labels(table, na=inputs.na or None, header=inputs.header)
    nodes_with_new_truth(truth, problem.node_ids, problem.given)
    return truth


def check_classes(problem: Problem, labels: str | None) -> None:
    """Refuse fewer than two classes."""
    classes = sorted({label for label in problem.y if label is not None})
    if len(classes) < 2:
        found = f"only the label {classes[0]!r}" if classes else "no label"
        raise ValueError(f"{labels} has {found}: label nodes of at least two classes.")
