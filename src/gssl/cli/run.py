"""Shared by commands: execution options, and reading tables and fitting a classifier to them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gssl.cli.choice import Choice
from gssl.cli.console import Terminal
from gssl.cli.reading import Inputs, read_problem, refuse_if_too_large
from gssl.io import Preparation, Problem
from gssl.io.atomic import check_writable
from gssl.scale import execution
from gssl.scale.memory import available_memory, read_size


@dataclass(frozen=True)
class ExecutionOptions:
    """Options for how a fit runs: within a memory budget, on a cluster, with a folder to resume from."""

    memory: str | None = None
    dask: str | None = None
    workers: int | None = None
    resume: Path | None = None

    def check(self, method: str, model: Any) -> None:
        """Raise if options contradict each other or the model, before anything is read."""
        if self.memory is not None:
            read_size(self.memory)
        if self.dask is not None and self.workers is not None:
            raise ValueError("--dask names a cluster and --workers starts one: give either.")
        if self.dask is not None or self.workers is not None:
            from gssl.scale.cluster import check_dask

            check_dask()
        for name, value in vars(self).items():
            if value is not None and not model.runs_by_columns:
                raise ValueError(
                    f"--{name} does not work with --method {method}: choose another, such as ogc or ggcm."
                )
        if self.resume is not None:
            check_writable(self.resume / "run")

    @property
    def limited(self) -> bool:
        """Whether a memory budget or a cluster was given, so that the fit may exceed the free memory."""
        return not (self.memory is None and self.dask is None and self.workers is None)

    @property
    def feature_memory(self) -> Any:
        """The memory budget for reading features; None for no limit."""
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


@dataclass(frozen=True)
class Run:
    """The options of a command, and the terminal it prints to."""

    inputs: Inputs
    choice: Choice
    where: ExecutionOptions
    terminal: Terminal

    def read(self, preparation: Preparation | None = None, memory: Any = None) -> Problem:
        """Read the tables as one stage; see :func:`gssl.cli.reading.read_problem`."""
        with self.terminal.stage("reading") as stage:
            problem = read_problem(self.inputs, self.terminal, preparation, memory)
            stage.detail = f"{len(problem.node_ids):,} nodes, {problem.adjacency.nnz // 2:,} edges"
            if problem.features is not None:
                stage.detail += f", {problem.features.shape[1]:,} features"
            if problem.given.any():
                stage.detail += f", {problem.given.sum():,} labels"
        return problem

    def prepare(self) -> tuple[Any, Problem]:
        """Check the options, read the tables, and return the unfitted classifier and the problem."""
        model = self.choice.model(self.inputs.features is not None)
        self.where.check(self.choice.method, model)
        return model, self.read(memory=self.where.feature_memory)

    def fit(self, model: Any, problem: Problem) -> None:
        """Fit a classifier as one stage; raise if there are fewer than two classes or too little memory."""
        classes = sorted({label for label in problem.y if label is not None})
        if len(classes) < 2:
            found = f"only the label {classes[0]!r}" if classes else "no label"
            raise ValueError(f"{self.inputs.labels} has {found}: label nodes of at least two classes.")
        if not self.where.limited:
            refuse_if_too_large(problem, model)
        with (
            self.where.execution(),
            self.terminal.stage(self.choice.stage) as stage,
            self.terminal.step(""),
        ):
            model.fit(problem.features, problem.y, adjacency=problem.adjacency)
            # the name of the method, not of the calibration around it
            stage.detail = type(getattr(model, "classifier", model)).__name__
