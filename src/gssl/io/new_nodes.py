"""Predictions for new tables: joined to the nodes that a model knows, or of another graph."""

from typing import Any

import numpy as np

from gssl.graph.adjacency import relations_of
from gssl.graph.mapped import nonzero_rows
from gssl.io.problem import AnyPredictions, Problem, differing_rows, extend, positions_of, predict_any
from gssl.io.reading import link_neighbours
from gssl.scale.progress import note
from gssl.wording import counted, listed


def predict_new(
    model: Any,
    new: Problem,
    known: Problem | None = None,
    *,
    knn: int | None = None,
    strict: bool = False,
    names: tuple[str, str] = ("the model", "the features"),
) -> AnyPredictions:
    """Predict the nodes of new tables, as ``gssl predict`` does.

    If some of them are nodes of the fit, the tables are joined to its problem, and these nodes keep its
    features and labels. If most of their rows differ, the ids are those of another graph.

    Parameters
    ----------
    model : fitted classifier or regressor
    new : Problem
        Read with the preparation of the fit, and with ``known``: see :func:`gssl.read`.
    known : Problem, optional
        That of fit: see :func:`gssl.io.load_problem`.
    knn : int, optional
        Link each node to so many nearest neighbours by features.
    strict : bool, default=False
        Raise if a node of the fit has other features in the new tables.
    names : tuple of two str, optional
        What notes and errors call the model and the new features.

    Returns
    -------
    Predictions, NumberPredictions or SetPredictions

    Examples
    --------
    >>> import gssl
    >>> known = gssl.read(
    ...     "SELECT unnest(['a', 'c']) AS src, unnest(['b', 'd']) AS dst",
    ...     labels="SELECT unnest(['a', 'c']) AS id, unnest(['spy', 'cook']) AS label",
    ... )
    >>> model = gssl.LabelPropagation().fit(known)
    >>> new = gssl.read("SELECT 'b' AS src, 'e' AS dst", known=known)
    >>> predict_new(model, new, known).to_dict()["label"]
    ['spy', 'spy']
    """
    joined = _join_known(new, known, strict, names)
    if joined is not None:
        problem, nodes = joined
        problem = problem if knn is None else link_neighbours(problem, knn)
        return predict_any(model, problem, known=True).part(nodes)
    refuse_other_nodes(model, names[0])
    if known is not None and knn is not None:
        new = link_neighbours(new, knn)
    return predict_any(model, new, known=False)


def refuse_other_nodes(model: Any, name: str) -> None:
    """Raise if a model can only predict graphs with the nodes of its fit."""
    if model.knows_nodes:
        kind = type(model).__name__
        article = "an" if kind[0] in "AEIOU" else "a"
        raise ValueError(
            f"{name} is {article} {kind}, whose labels belong to the nodes it was fitted to: "
            "run gssl on the new graph with those labels."
        )


def _join_known(
    new: Problem, known: Problem | None, strict: bool, names: tuple[str, str]
) -> tuple[Problem, np.ndarray] | None:
    """Join new tables to the problem of the fit, unless none of their nodes is one of its nodes."""
    model, features = names
    if known is None:
        if new.features is not None and not nonzero_rows(new.features).all():
            note(
                f"{model} does not hold the nodes of its fit, so that known nodes without a row of features "
                "count as zeros: give the whole graph"
            )
        return None
    n_known = int((positions_of(new.node_ids, known) >= 0).sum())
    if not n_known:
        return None
    differ = differing_rows(known, new)
    n_differ = int(differ.sum())
    if 2 * n_differ > len(differ):
        note(
            f"{counted(n_differ, 'node')} of {model} {'has' if n_differ == 1 else 'have'} other features in "
            f"{features}: ids are taken to be those of another graph"
        )
        return None
    if n_differ and strict:
        raise ValueError(
            f"{counted(n_differ, 'row')} of {features} and of {model} differ though their ids are the same: "
            "rename the ids of other nodes, or leave out rows of known ones."
        )
    kept = "labels" if known.features is None else "features and labels"
    note(f"{n_known:,} of {counted(len(new.node_ids), 'node')} known to {model}: they keep its {kept}")
    if n_differ:
        rows = f"{counted(n_differ, 'row')} of {features}"
        note(f"not used, because {model} knows other features of these nodes: {rows}")
    problem, nodes = extend(known, new)
    strange = [*relations_of(problem.adjacency).keys() - relations_of(known.adjacency).keys()]
    if strange:
        note(f"relations that {model} does not know: {listed(sorted(strange))}")
    return problem, nodes
