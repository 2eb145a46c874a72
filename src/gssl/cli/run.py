"""Shared by commands: the options, and reading tables and fitting a classifier to them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gssl.cli.console import Terminal
from gssl.graph.adjacency import relations_of
from gssl.io import Problem, read
from gssl.io.atomic import check_writable
from gssl.methods.base import refuse_if_too_large
from gssl.scale import execution
from gssl.scale.memory import available_memory, read_size
from gssl.selection import AutoClassifier, AutoRegressor, classifier

if TYPE_CHECKING:
    from gssl.io.models import Saved


@dataclass(frozen=True)
class Inputs:
    """The parameters of :func:`gssl.read` that are options; a command may have only some of them."""

    # a table, or tables by the name of their relation or kind of nodes
    edges: str | dict[str, str] | None = None
    features: str | dict[str, str] | None = None
    labels: str | None = None
    text: str | Sequence[str] = ()
    edge_type: str | None = None
    directed: bool = False
    relation_weight: dict[str, float] | None = None
    edge_columns: tuple[str, ...] = ()
    label_columns: tuple[str, ...] = ()
    id_column: str | None = None
    knn: int | None = None
    normalize: str = "auto"
    graph: str | None = None
    nodes: str | None = None
    na: tuple[str, ...] = ()
    header: bool | None = None
    two_sided: bool | None = None
    answers: Any = "classes"
    strict: bool = False

    @property
    def tables(self) -> list[str]:
        """The tables that were given."""
        given = (*_each(self.edges), self.graph, *_each(self.features), self.labels, self.nodes)
        return [table for table in given if table is not None]

    def sources(self) -> list[str | None]:
        """Return the input files, which no output may overwrite."""
        features = _each(self.features)
        arrays = [Path(table) for table in features if table.lower().endswith(".npy")]
        npy_ids = [str(file.with_suffix(".ids.npy")) for file in arrays]
        store_files = None if self.graph is None else str(Path(self.graph) / "*")
        return [*_each(self.edges), *features, *npy_ids, self.labels, self.nodes, store_files]

    def check_features(self, model: Any, message: str) -> None:
        """Raise if a model needs features and there are none."""
        if self.features is None and model.uses_features:
            raise ValueError(message)


def _each(tables: str | dict[str, str] | None) -> list[str]:
    if tables is None:
        return []
    return list(tables.values()) if isinstance(tables, dict) else [tables]


@dataclass(frozen=True)
class Choice:
    """The options that determine the classifier of a run."""

    method: str = "auto"
    seed: int = 0
    calibrate: bool | None = None
    abstain: float | None = None
    time_budget: float | None = None
    # of numbers
    interval: float = 0.9
    scale: str = "auto"

    @property
    def stage(self) -> str:
        """The name of the fitting stage: choosing, if it compares methods."""
        return "choosing" if self.method == "auto" else "fitting"

    def model(self) -> Any:
        """Return the classifier, unfitted; an abstaining one is calibrated unless the user says no."""
        calibrate = True if self.calibrate is None and self.abstain is not None else self.calibrate
        return classifier(
            self.method, random_state=self.seed, calibrate=calibrate, time_budget=self.time_budget
        )


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
        cluster: Any = nullcontext()
        if self.dask is not None or self.workers is not None:
            from gssl.scale.cluster import cluster_client

            cluster = cluster_client(self.dask, self.workers)
        with cluster as client, execution(memory=self.memory, client=client, resume=self.resume):
            yield


@dataclass(frozen=True)
class Run:
    """The options of a command, and the terminal it prints to."""

    inputs: Inputs
    choice: Choice
    where: ExecutionOptions
    terminal: Terminal

    def read(self, **options: Any) -> Problem:
        """Read the tables by :func:`gssl.read` as one stage."""
        with self.terminal.stage("reading") as stage:
            problem = read(**vars(self.inputs), **options)
            stage.detail = f"{len(problem.node_ids):,} nodes, {problem.adjacency.nnz // 2:,} edges"
            n_relations = len(relations_of(problem.adjacency))
            stage.detail += f" of {n_relations} relations" if n_relations > 1 else ""
            if problem.features is not None:
                stage.detail += f", {problem.features.shape[1]:,} features"
            if problem.given.any():
                what = "numbers" if self.inputs.answers == "numbers" else "labels"
                stage.detail += f", {problem.given.sum():,} {what}"
        return problem

    def model(self) -> Any:
        """Return the unfitted estimator: a regressor if the labels are numbers."""
        choice = self.choice
        if self.inputs.answers == "sets":
            if choice.method != "auto":
                raise ValueError(f"--method {choice.method} predicts one label: leave it out.")
            return AutoClassifier(time_budget=choice.time_budget)
        if self.inputs.answers != "numbers":
            return choice.model()
        if choice.method != "auto":
            raise ValueError(f"--method {choice.method} predicts no numbers: leave it out.")
        return AutoRegressor(choice.interval, choice.scale, time_budget=choice.time_budget)

    def prepare(self) -> tuple[Any, Problem]:
        """Check the options, read the tables, and return the unfitted estimator and the problem."""
        model, method = self.model(), self.choice.method
        if method != "auto":
            advice = "give --features, or use --method labelpropagation."
            self.inputs.check_features(model, f"--method {method} learns from features: {advice}")
        self.where.check(method, model)
        return model, self.read(memory=self.where.feature_memory)

    def fitted(self, path: Path | None, *, from_tables: bool = False) -> tuple[Any, Problem]:
        """Return a classifier and the problem it was fitted to: fitted to the tables, or loaded from a file.

        ``from_tables`` says that the tables may take the place of data that the file does not hold.
        """
        if path is None:
            model, problem = self.prepare()
            self.fit(model, problem)
            return model, problem
        saved, inputs = self.load(path), self.inputs
        if saved.problem is None and not from_tables:
            raise ValueError(f"{path} was saved without its data: save it with --save, or leave out --model.")
        if saved.problem is not None and not inputs.tables:
            return saved.model, saved.problem
        if saved.problem is not None and (inputs.edges, inputs.graph, inputs.knn) == (None, None, None):
            raise ValueError(f"{path} holds its data: give all tables of its fit, or none.")
        tables = self.read(preparation=saved.preparation, memory=self.where.feature_memory)
        return saved.model, saved.find_problem(tables)

    def fit(self, model: Any, problem: Problem) -> None:
        """Fit an estimator as one stage; raise if there are fewer than two classes or too little memory."""
        classes = {label for label in problem.y if label is not None}
        if len(classes) < 2 and self.inputs.answers == "classes":
            given = f"only the label {next(iter(classes))!r}" if classes else "no label"
            raise ValueError(f"{self.inputs.labels} has {given}: label nodes of at least two classes.")
        if self.inputs.answers == "numbers" and len(classes) < 2:
            given = f"all known numbers are {next(iter(classes)):g}" if classes else "there is no number"
            raise ValueError(f"{self.inputs.labels}: {given}: give numbers that differ.")
        if not self.where.limited:
            refuse_if_too_large(model, problem)
        with self.where.execution(), self.terminal.stage(self.choice.stage) as stage, self.terminal.step(""):
            model.fit(problem)
            stage.detail = _method_name(model)

    def load(self, path: Path) -> "Saved":
        """Load a model and what was stored with it, as one stage."""
        from gssl.io.models import load_all  # not needed for a fit

        with self.terminal.stage("loading") as stage:
            saved = load_all(path)
            stage.detail = _method_name(saved.model)
        return saved


def _method_name(model: Any) -> str:
    """Return the name of the method, not of the calibration around it."""
    return type(getattr(model, "classifier", model)).__name__
