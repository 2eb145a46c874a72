"""From the files named on the command line to a problem that fits in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import normalize

from gssl.cli.console import Talk
from gssl.graph import knn_graph
from gssl.graph.mapped import iterate_blocks, mapped_file
from gssl.io import (
    Features,
    GraphStore,
    Problem,
    assemble,
    join_store,
    open_graph_store,
    read_edges,
    read_features,
    read_labels,
)
from gssl.io.atomic import check_place
from gssl.io.feature_slabs import any_negative, map_features
from gssl.io.table_writing import refuse_overwrite
from gssl.methods.base import GraphClassifier
from gssl.methods.embedder import Embedder
from gssl.scale.memory import available_memory, write_size

# the share of all absolute values above which one feature decides alone
_DOMINANT = 0.95


@dataclass(frozen=True)
class Inputs:
    """The tables and settings that the user named; a command may need only some of them."""

    edges: str | None = None
    features: str | None = None
    labels: str | None = None
    text: str | None = None
    edge_columns: tuple[str, ...] = ()
    id_column: str | None = None
    knn: int | None = None
    normalize: str = "auto"
    graph: str | None = None

    def sources(self) -> list[str | None]:
        """Return the tables that are read."""
        beside = None
        if self.features is not None and self.features.lower().endswith(".npy"):
            beside = str(Path(self.features).with_suffix(".ids.npy"))
        stored = None if self.graph is None else str(Path(self.graph) / "*")
        return [self.edges, self.features, beside, self.labels, stored]


def check_outputs(targets: Sequence[Path | None], sources: Sequence[str | None]) -> None:
    """Refuse, before anything is read, a place that cannot be written or that is taken."""
    taken: set[Path] = set()
    for target in targets:
        if target is None:
            continue
        refuse_overwrite(target, sources)
        check_place(target)
        if target.resolve() in taken:
            raise ValueError(f"{target} is named for two outputs: give each a name of its own.")
        taken.add(target.resolve())


def read_problem(
    inputs: Inputs,
    talk: Talk,
    prepare: Callable[[Features], Features] | None = None,
    memory: Any = None,
) -> Problem:
    """Read tables, join them by id, scale features (after ``prepare``), and note what is odd.

    Within a budget of ``memory``, features that are numbers stay in a file.
    """
    store = None if inputs.graph is None else _open_store(inputs)
    if store is None and inputs.edges is None and inputs.knn is None:
        raise ValueError("there is no graph: give --edges, or --knn with --features to build one.")
    if inputs.features is None and (inputs.knn is not None or inputs.text is not None):
        option = "--knn" if inputs.knn is not None else "--text"
        raise ValueError(f"{option} works on features: give --features.")
    edges = features = labels = None
    if inputs.edges is not None:
        with talk.step("reading edges"):
            edges = read_edges(inputs.edges, inputs.edge_columns or None)
    if inputs.features is not None:
        with talk.step("reading features"):
            features = _read_features(inputs, store, memory)
        features = features if prepare is None else prepare(features)
    if inputs.labels is not None:
        with talk.step("reading labels"):
            labels = read_labels(inputs.labels)
    for part in (edges, features, labels):
        # before the tables are joined: notes may explain why ids do not match
        for note in [] if part is None else part.notes:
            talk.note(note)
    with talk.step("joining tables"):
        features = scaled(features, inputs.normalize)
        problem = assemble(edges, features, labels) if store is None else join_store(store, features, labels)
    if inputs.knn is not None:
        with talk.step("finding neighbours"):
            problem = _with_neighbours(problem, inputs.knn)
    for note in [*problem.notes, *_dominated(problem)]:
        talk.note(note)
    return problem


def _read_features(inputs: Inputs, store: GraphStore | None, memory: Any) -> Features:
    """Read features: within a budget into a file, scaled, unless they are words or make the graph."""
    source = str(inputs.features)
    if memory is None or inputs.text is not None or inputs.knn is not None:
        return read_features(source, id=inputs.id_column, text=inputs.text)
    return map_features(
        source, id=inputs.id_column, store=store, normalize=inputs.normalize, memory_budget=memory
    )


def _open_store(inputs: Inputs) -> GraphStore:
    """Open the graph of ``--graph``, which replaces every other."""
    for option, value in (("--edges", inputs.edges), ("--knn", inputs.knn)):
        if value is not None:
            raise ValueError(f"--graph is a graph already: leave out {option}.")
    return open_graph_store(str(inputs.graph))


def scaled(features: Features | None, how: str) -> Features | None:
    """Scale feature rows to sum to one: always, never, or (``auto``) where no feature is negative."""
    if (
        features is None
        or mapped_file(features.matrix) is not None
        or scaling(features.matrix, how) == "none"
    ):
        return features  # what is in a file was scaled when it was written
    return replace(features, matrix=normalize(features.matrix, norm="l1"))


def scaling(matrix: Any, how: str) -> str:
    """Return what ``auto`` means for some features, before or after they were scaled."""
    if how != "auto":
        return how
    return "none" if any_negative(matrix.data[None] if issparse(matrix) else matrix) else "l1"


def _dominated(problem: Problem) -> list[str]:
    """Return a note if one feature dwarfs all others, such as a year beside words."""
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
        f"feature {name!r} makes up {share:.1%} of all features and drowns the others: scale it or leave "
        "it out."
    ]


def _with_neighbours(problem: Problem, k: int) -> Problem:
    neighbours = knn_graph(problem.features, k).astype(problem.adjacency.dtype)
    return replace(problem, adjacency=problem.adjacency.maximum(neighbours))


def refuse_if_too_large(problem: Problem, model: Any) -> None:
    """Refuse, before anything is computed, what will not fit in free memory.

    The estimate is the graph twice more, and three dense matrices as wide as what the method propagates.
    """
    n, X = len(problem.node_ids), problem.features
    columns = X.shape[1] if X is not None else 0
    if isinstance(model, GraphClassifier):
        n_classes = len({label for label in problem.y if label is not None})
        columns = model.propagated_columns(X, problem.adjacency, int(problem.given.sum()), n_classes)
    elif isinstance(model, Embedder):
        columns = model.embedding_width(columns)
    # a graph in files is not copied
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
