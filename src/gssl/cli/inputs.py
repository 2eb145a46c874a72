"""From the files named on the command line to a problem that fits in memory."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import normalize

from gssl.cli.console import Talk
from gssl.graph import knn_graph
from gssl.io import Features, Problem, assemble, read_edges, read_features, read_labels


@dataclass(frozen=True)
class Inputs:
    """What the user named; any of it may be missing where a command can do without."""

    edges: str | None = None
    features: str | None = None
    labels: str | None = None
    text: str | None = None
    edge_columns: tuple[str, ...] = ()
    id_column: str | None = None
    knn: int | None = None
    normalize: str = "auto"

    def sources(self) -> list[str | None]:
        """List the tables that are read."""
        return [self.edges, self.features, self.labels]


def read_problem(inputs: Inputs, talk: Talk) -> Problem:
    """Read tables, join them by id, scale features, and say what is odd."""
    if inputs.edges is None and inputs.knn is None:
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
            features = read_features(inputs.features, id=inputs.id_column, text=inputs.text)
    if inputs.labels is not None:
        with talk.step("reading labels"):
            labels = read_labels(inputs.labels)
    with talk.step("joining tables"):
        problem = assemble(edges, scaled(features, inputs.normalize), labels)
    if inputs.knn is not None:
        with talk.step("finding neighbours"):
            problem = _with_neighbours(problem, inputs.knn)
    for note in problem.notes:
        talk.note(note)
    return problem


def scaled(features: Features | None, how: str) -> Features | None:
    """Scale feature rows to sum to one: always, never, or (``auto``) where no feature is negative."""
    if features is None or how == "none":
        return features
    values = features.matrix.data if issparse(features.matrix) else features.matrix
    if how == "auto" and np.size(values) and np.min(values) < 0:
        return features
    return replace(features, matrix=normalize(features.matrix, norm="l1"))


def _with_neighbours(problem: Problem, k: int) -> Problem:
    neighbours = knn_graph(problem.features, k).astype(problem.adjacency.dtype)
    return replace(problem, adjacency=problem.adjacency.maximum(neighbours))


def refuse_if_too_large(problem: Problem, model: Any) -> None:
    """Refuse, before anything is computed, what will not fit in the memory that is free.

    The estimate is the graph and the features once more, and three dense matrices of embeddings.
    """
    if problem.features is None:
        return
    n, d = problem.features.shape
    needed = 3 * n * d * problem.features.dtype.itemsize + 2 * problem.adjacency.nnz * 8
    free = available_memory()
    if needed > free:
        raise ValueError(
            f"{type(model).__name__} on {n:,} nodes × {d:,} features needs about {needed / 1e9:.1f} GB, and "
            f"{free / 1e9:.1f} GB are free: use fewer features, or --method labelpropagation without any."
        )


def available_memory() -> int:
    """Tell how many bytes may be used; ``GSSL_MEMORY`` overrules what the machine says.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    told = os.environ.get("GSSL_MEMORY")
    if told:
        return int(float(told))
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
