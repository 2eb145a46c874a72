"""Read the tables named on the command line into a problem."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gssl.cli.console import Terminal
from gssl.graph import knn_graph
from gssl.graph.mapped import iterate_blocks, mapped_file
from gssl.io import (
    Features,
    GraphStore,
    Preparation,
    Problem,
    assemble,
    join_store,
    open_graph_store,
    read_edges,
    read_features,
    read_labels,
    read_nodes,
)
from gssl.io.atomic import check_writable
from gssl.io.feature_slabs import map_features
from gssl.io.table_writing import TABLES, check_suffix, refuse_overwrite
from gssl.methods.base import GraphClassifier
from gssl.methods.embedder import Embedder
from gssl.scale.memory import available_memory
from gssl.wording import quoted, write_size

# a feature with a larger share of the sum of absolute values is noted
_DOMINANT = 0.95


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
    """Read tables, prepare features, join all by id, and print notes about the data.

    ``preparation`` is that of a saved model; if None, it is fitted to the features according to
    ``--normalize``. With a budget in ``memory``, numeric features are kept in a temporary file. Nodes of
    ``known``, the problem of a saved model, need no row of features, and are not linked by ``--knn`` here.
    """
    store = None if inputs.graph is None else _open_store(inputs)
    if store is None and inputs.edges is None and inputs.knn is None:
        raise ValueError("there is no graph: give --edges, or --knn with --features to build one.")
    if inputs.features is None and (inputs.knn is not None or inputs.text):
        option = "--knn" if inputs.knn is not None else "--text"
        raise ValueError(f"{option} needs features: give --features.")
    nodes = edges = features = labels = None
    if inputs.nodes is not None:
        with terminal.step("reading nodes"):
            nodes = read_nodes(inputs.nodes, header=inputs.header)
    if inputs.edges is not None:
        with terminal.step("reading edges"):
            edges = read_edges(
                inputs.edges,
                inputs.edge_columns or None,
                header=inputs.header,
                two_sided=inputs.two_sided,
                strict=inputs.strict,
            )
    if inputs.features is not None:
        with terminal.step("reading features"):
            features = _read_features(inputs, store, preparation, memory)
        with terminal.step("preparing features"):
            if preparation is None:
                preparation = Preparation.fit(features, inputs.normalize)
                features = replace(features, notes=[*features.notes, *preparation.notes])
            features = preparation.apply(features, strict=inputs.strict)
    if inputs.labels is not None:
        with terminal.step("reading labels"):
            columns = inputs.label_columns or None
            labels = read_labels(inputs.labels, columns, na=inputs.na or None, header=inputs.header)
    for part in (nodes, edges, features, labels):
        # print notes now, because one may explain why joining fails
        terminal.note(*([] if part is None else part.notes))
    with terminal.step("joining tables"):
        problem = (
            assemble(edges, features, labels, nodes=nodes, strict=inputs.strict, known=known)
            if store is None
            else join_store(store, features, labels, nodes=nodes, strict=inputs.strict)
        )
    problem = replace(problem, preparation=preparation)
    if known is None:
        problem = link_neighbours(problem, inputs, terminal)
    terminal.note(*problem.notes, *_dominance_notes(problem))
    return problem


def link_neighbours(problem: Problem, inputs: Inputs, terminal: Terminal) -> Problem:
    """Add links to nearest neighbours, if ``--knn`` is given."""
    if inputs.knn is None:
        return problem
    with terminal.step("finding neighbours"):
        neighbours = knn_graph(problem.features, inputs.knn).astype(problem.adjacency.dtype)
        return replace(problem, adjacency=problem.adjacency.maximum(neighbours))


def _read_features(
    inputs: Inputs, store: GraphStore | None, preparation: Preparation | None, memory: Any
) -> Features:
    """Read features into memory, or with a budget into a file unless text or kNN needs them in memory."""
    source = str(inputs.features)
    options: dict[str, Any] = {
        "id": inputs.id_column,
        "header": inputs.header,
        "encoding": None if preparation is None else preparation.encoding,
        "strict": inputs.strict,
    }
    if memory is None or inputs.text or inputs.knn is not None:
        return read_features(source, text=inputs.text, **options)
    return map_features(source, store=store, memory_budget=memory, **options)


def _open_store(inputs: Inputs) -> GraphStore:
    """Open the store of ``--graph``, which cannot be combined with other graphs."""
    for option, value in (("--edges", inputs.edges), ("--knn", inputs.knn)):
        if value is not None:
            raise ValueError(f"--graph cannot be combined with {option}: leave one out.")
    return open_graph_store(str(inputs.graph))


def _dominance_notes(problem: Problem) -> list[str]:
    """Return a note if one feature dominates all others, such as a year beside word counts."""
    X = problem.features
    if X is None or X.shape[1] < 2 or not X.shape[0]:
        return []
    sizes = np.zeros(X.shape[1])
    for rows, columns in iterate_blocks(X):
        part = X if issparse(X) else X[rows, columns]
        sizes[columns] += np.asarray(abs(part).sum(axis=0, dtype=np.float64)).ravel()
    largest = int(sizes.argmax())
    share = sizes[largest] / sizes.sum() if sizes.any() else 0.0
    if share < _DOMINANT:
        return []
    name = problem.feature_names[largest]
    return [
        f"feature {quoted(name)} makes up {share:.1%} of all features and dominates the others: scale it or "
        "leave it out."
    ]


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
