"""Read the tables named on the command line into a problem."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gssl.cli.console import Terminal
from gssl.graph.mapped import mapped_file
from gssl.io import Preparation, Problem, read
from gssl.io.atomic import check_writable
from gssl.io.table_writing import TABLES, check_suffix, refuse_overwrite
from gssl.methods.base import GraphClassifier
from gssl.methods.embedder import Embedder
from gssl.scale.memory import available_memory
from gssl.scale.progress import observing
from gssl.wording import write_size


@dataclass(frozen=True)
class Inputs:
    """The tables and settings given by the user; a command may need only some of them."""

    edges: str | None = None
    features: str | None = None
    labels: str | None = None
    text: str | Sequence[str] = ()
    edge_columns: tuple[str, ...] = ()
    label_columns: tuple[str, ...] = ()
    id_column: str | None = None
    knn: int | None = None
    normalize: str = "auto"
    graph: str | None = None
    nodes: str | None = None
    # texts that mean no label; the default ones if empty
    na: tuple[str, ...] = ()
    no_header: bool = False
    # whether equal ids in both columns of the edges are two nodes; None: the names tell
    two_sided: bool | None = None
    strict: bool = False

    @property
    def header(self) -> bool | None:
        """Whether text files have a header; None to detect it."""
        return False if self.no_header else None

    @property
    def tables(self) -> list[str]:
        """The tables that were given."""
        given = (self.edges, self.graph, self.features, self.labels, self.nodes)
        return [table for table in given if table is not None]

    def check(self) -> None:
        """Raise if options contradict each other, or if there is no graph."""
        for option, value in (("--edges", self.edges), ("--knn", self.knn)):
            if self.graph is not None and value is not None:
                raise ValueError(f"--graph cannot be combined with {option}: leave one out.")
        if self.graph is None and self.edges is None and self.knn is None:
            raise ValueError("there is no graph: give --edges, or --knn with --features to build one.")
        if self.features is None and (self.knn is not None or self.text):
            option = "--knn" if self.knn is not None else "--text"
            raise ValueError(f"{option} needs features: give --features.")

    def sources(self) -> list[str | None]:
        """Return the input files, which no output may overwrite."""
        npy_ids = None
        if self.features is not None and self.features.lower().endswith(".npy"):
            npy_ids = str(Path(self.features).with_suffix(".ids.npy"))
        store_files = None if self.graph is None else str(Path(self.graph) / "*")
        return [self.edges, self.features, npy_ids, self.labels, self.nodes, store_files]


def check_outputs(
    out: Path, sources: Sequence[str | None], *others: Path | None, formats: Sequence[str] = TABLES
) -> None:
    """Raise, before anything is read, if an output cannot be written or would overwrite an input.

    The suffix of ``out`` must be one of the formats.
    """
    check_suffix(out, formats)
    taken: set[Path] = set()
    for target in (out, *others):
        if target is None:
            continue
        refuse_overwrite(target, sources)
        check_writable(target)
        if target.resolve() in taken:
            raise ValueError(f"{target} is the path of two outputs: choose different ones.")
        taken.add(target.resolve())


def read_problem(
    inputs: Inputs,
    terminal: Terminal,
    preparation: Preparation | None = None,
    memory: Any = None,
    known: Problem | None = None,
) -> Problem:
    """Read the tables of a command by :func:`gssl.read`, and print steps and notes."""
    inputs.check()
    options = vars(inputs) | {"header": inputs.header}
    del options["no_header"]
    with observing(terminal):
        return read(**options, memory=memory, preparation=preparation, known=known)


def refuse_if_too_large(problem: Problem, model: Any) -> None:
    """Raise if a fit needs more than the free memory."""
    # two copies of the graph, and three dense matrices of all columns that the method propagates
    n, X = len(problem.node_ids), problem.features
    columns = X.shape[1] if X is not None else 0
    if isinstance(model, GraphClassifier):
        n_classes = len({label for label in problem.y if label is not None})
        columns = model.propagated_columns(X, problem.adjacency, int(problem.given.sum()), n_classes)
    elif isinstance(model, Embedder):
        columns = model.embedding_width(columns)
    # a memory-mapped graph is not copied
    links = 0 if mapped_file(problem.adjacency.indices) is not None else 2 * problem.adjacency.nnz * 8
    needed = 3 * n * columns * (8 if X is None else X.dtype.itemsize) + links
    free = available_memory()
    if needed > free:
        advice = (
            "use a smaller graph or a larger machine"
            if X is None
            else "use fewer features, or --method labelpropagation without any"
        )
        raise ValueError(
            f"{type(model).__name__} on {n:,} nodes × {columns:,} numbers needs about {write_size(needed)}, "
            f"and {write_size(free)} are free: {advice}."
        )
