"""Shared by commands: execution options, and reading tables and fitting a classifier to them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gssl.cli.choice import Choice
from gssl.cli.console import Terminal
from gssl.cli.reading import Inputs, read_problem, refuse_if_too_large
from gssl.io import Preparation, Problem
from gssl.io.atomic import check_writable
from gssl.io.problem import positions_of
from gssl.scale import execution
from gssl.scale.memory import available_memory, read_size

if TYPE_CHECKING:
    from gssl.io.models import Saved


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
            raise ValueError("--dask cannot be combined with --workers: leave one out.")
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

    def read(
        self, preparation: Preparation | None = None, memory: Any = None, known: Problem | None = None
    ) -> Problem:
        """Read the tables as one stage; see :func:`gssl.cli.reading.read_problem`."""
        with self.terminal.stage("reading") as stage:
            problem = read_problem(self.inputs, self.terminal, preparation, memory, known)
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

    def fitted(self, path: Path | None, *, from_tables: bool = False) -> tuple[Any, Problem]:
        """Return a classifier and the problem it was fitted to: fitted to the tables, or loaded from a file.

        ``from_tables`` says that the tables may take the place of data that the file does not hold.
        """
        if path is None:
            model, problem = self.prepare()
            self.fit(model, problem)
            return model, problem
        saved = load_saved(path, self.terminal)
        stored = saved.problem
        if stored is None and not from_tables:
            raise ValueError(
                f"{path} was saved without its data: save it with gssl classify --save, or leave out --model."
            )
        if stored is not None and not self.inputs.tables:
            return saved.model, stored
        links = (self.inputs.edges, self.inputs.graph, self.inputs.knn)
        if stored is not None and all(one is None for one in links):
            raise ValueError(f"{path} holds its data: give all tables of its fit, or none.")
        problem = self.read(read_preparation(saved), self.where.feature_memory)
        return saved.model, _aligned(problem, saved, path, labelled=self.inputs.labels is not None)

    def fit(self, model: Any, problem: Problem) -> None:
        """Fit a classifier as one stage; raise if there are fewer than two classes or too little memory."""
        classes = sorted({label for label in problem.y if label is not None})
        if len(classes) < 2:
            given = f"only the label {classes[0]!r}" if classes else "no label"
            raise ValueError(f"{self.inputs.labels} has {given}: label nodes of at least two classes.")
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


def load_saved(path: Path, terminal: Terminal) -> "Saved":
    """Load a model and what was stored with it, as one stage."""
    from gssl.io.models import load_all  # not needed for a fit

    with terminal.stage("loading") as stage:
        saved = load_all(path)
        stage.detail = type(getattr(saved.model, "classifier", saved.model)).__name__
    return saved


def read_preparation(saved: "Saved") -> Preparation | None:
    """Return how the features of a saved model were prepared, if it says so."""
    kept = saved.settings.get("preparation")
    return None if kept is None else Preparation.from_json(kept)


def _aligned(problem: Problem, saved: "Saved", path: Path, labelled: bool) -> Problem:
    """Return the problem of a saved model; raise unless the tables have its nodes, in any order, and labels.

    A model without its data has the nodes of the tables, in their order.
    """
    model, stored = saved.model, saved.problem
    codes = model.fit_codes
    expected = [None if code < 0 else str(model.classes_[code]) for code in codes.tolist()]
    same = len(problem.node_ids) == len(codes)
    if stored is None:
        same = same and expected == list(problem.y)
    elif same:
        positions = positions_of(problem.node_ids, stored)
        same = bool((positions >= 0).all())
        same = same and (not labelled or [expected[k] for k in positions] == list(problem.y))
    if not same:
        raise ValueError(
            f"{path} was fitted to other nodes or labels than these: give those of fit, or leave out --model."
        )
    return problem if stored is None else stored
