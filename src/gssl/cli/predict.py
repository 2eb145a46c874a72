"""``gssl predict`` and ``gssl embed``: label a new graph with a saved model, or embed a graph."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gssl.cli.choice import create, embedder_names
from gssl.cli.classify import withhold_unsure, write_table
from gssl.cli.console import Terminal
from gssl.cli.reading import check_outputs, refuse_if_too_large
from gssl.cli.run import Run, load_saved, read_preparation
from gssl.evaluation import held_out_if_known
from gssl.graph.mapped import nonzero_rows
from gssl.io import Problem, extend, tabulate, write_embeddings
from gssl.io.predictions import EMBEDDINGS
from gssl.io.problem import differing_rows, positions_of
from gssl.io.reading import link_neighbours
from gssl.methods.labels import UNLABELLED, decide
from gssl.report import classification_table
from gssl.selection import CalibratedClassifier
from gssl.selection.views import compress
from gssl.wording import counted


def run_predict(run: Run, model_path: Path, out: Path, probabilities: bool) -> None:
    """Load a model, read a graph, predict, and write; leave labels empty where the model abstains."""
    inputs, terminal = run.inputs, run.terminal
    check_outputs(out, [*inputs.sources(), str(model_path)])
    saved = load_saved(model_path, terminal)
    model = saved.model
    # the graph of a store is whole, and not copied
    known = saved.problem if inputs.graph is None else None
    if model.knows_nodes and known is None:
        _refuse_other_nodes(model, model_path)
    if inputs.features is None and model.uses_features:
        raise ValueError(f"{model_path} learned from features: give those of the new graph with --features.")
    problem = run.read(read_preparation(saved), known=known)
    joined = _join_known(known, problem, run, model_path)
    if joined is None and model.knows_nodes:
        _refuse_other_nodes(model, model_path)
    with terminal.stage("predicting"), terminal.step(""):
        if joined is None:
            if known is not None and inputs.knn is not None:
                problem = link_neighbours(problem, inputs.knn)
            P, informed = model.predict_informed(problem.features, problem.adjacency)
            chosen, labels = decide(P, informed, model.fit_codes), None
        else:
            P, informed, chosen, labels = _predict_joined(model, *joined)
    classes = [str(name) for name in model.classes_]
    predictions = tabulate(problem.node_ids, P, classes, chosen, labels, informed)
    if run.choice.abstain is not None:
        predictions = withhold_unsure(predictions, run.choice.abstain, informed, terminal)
        _note_uncalibrated(model, model_path, terminal)
    with terminal.stage("writing") as stage:
        stage.detail = str(out)
        write_table(out, predictions, terminal, probabilities)
    terminal.out.print(classification_table(predictions, "Labels by class"))
    terminal.say(f"{len(predictions):,} predictions: {out}")
    terminal.finish()


def _refuse_other_nodes(model: Any, path: Path) -> None:
    raise ValueError(
        f"{path} is a {type(model).__name__}, whose labels belong to the nodes it was fitted to: "
        "run gssl classify on the new graph with those labels."
    )


def _join_known(
    known: Problem | None, problem: Problem, run: Run, path: Path
) -> tuple[Problem, np.ndarray] | None:
    """Join the tables to the problem of the model, unless none of their nodes is one of its nodes."""
    terminal, n = run.terminal, len(problem.node_ids)
    if known is None:
        X = problem.features
        if X is not None and not nonzero_rows(X).all():
            terminal.note(
                f"{path} does not hold the nodes of its fit, so that known nodes without a row of features "
                "count as zeros: give the whole graph"
            )
        return None
    n_known = int((positions_of(problem.node_ids, known) >= 0).sum())
    if not n_known:
        return None
    differ = differing_rows(known, problem)
    n_differ = int(differ.sum())
    if 2 * n_differ > len(differ):
        terminal.note(
            f"{counted(n_differ, 'node')} of {path} {'has' if n_differ == 1 else 'have'} other features in "
            f"{run.inputs.features}: ids are taken to be those of another graph"
        )
        return None
    if n_differ and run.inputs.strict:
        raise ValueError(
            f"{counted(n_differ, 'row')} of {run.inputs.features} and of {path} differ though their ids are "
            "the same: rename the ids of other nodes, or leave out rows of known ones."
        )
    kept = "labels" if known.features is None else "features and labels"
    terminal.note(f"{n_known:,} of {counted(n, 'node')} known to {path}: they keep its {kept}")
    if n_differ:
        rows = f"{counted(n_differ, 'row')} of {run.inputs.features}"
        terminal.note(f"not used, because {path} knows other features of these nodes: {rows}")
    joined, positions = extend(known, problem)
    knn = run.inputs.knn
    return joined if knn is None else link_neighbours(joined, knn), positions


def _predict_joined(
    model: Any, problem: Problem, nodes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Predict some nodes of a graph that begins with the nodes of fit.

    Returns their distributions (for given labels those without the label, where known), which nodes are
    informed, the classes that the model says, and the given classes.
    """
    P, informed = model.predict_informed(problem.features, problem.adjacency)
    chosen = decide(P, informed, model.fit_codes)
    hidden = held_out_if_known(model)
    if hidden is not None:
        P[hidden.nodes] = hidden.distributions
        chosen[hidden.nodes] = hidden.distributions.argmax(axis=1)
    labels = np.full(len(P), UNLABELLED)
    labels[: len(model.fit_codes)] = model.fit_codes
    return P[nodes], informed[nodes], chosen[nodes], labels[nodes]


def _note_uncalibrated(model: Any, path: Path, terminal: Terminal) -> None:
    if not isinstance(model, CalibratedClassifier):
        terminal.note(f"the confidence of {path} is not calibrated: save it with gssl classify --calibrate")
    elif not len(model.held_out_codes_):
        terminal.note(
            f"the confidence of {path} is not calibrated: every class had one label only when it "
            "was fitted, so none could be hidden; label a second node of some class and fit it again"
        )


def run_embed(run: Run, out: Path, depth: int | None, dimensions: str) -> None:
    """Read, embed all nodes, and write the embeddings."""
    inputs, method, terminal = run.inputs, run.choice.method, run.terminal
    width = _read_width(dimensions)
    # the ids of a .npy file are written beside it
    ids = out.with_suffix(".ids.npy") if out.suffix.lower() == ".npy" else None
    check_outputs(out, inputs.sources(), ids, formats=EMBEDDINGS)
    model = create(embedder_names()[method], run.choice.seed)
    if inputs.features is None and model.uses_features:
        raise ValueError(f"{method} embeds features: give --features.")
    if depth is not None and "depth" not in model.get_params():
        raise ValueError(f"{method} has no iterations for --depth to count: leave it out.")
    run.where.check(method, model)
    problem = run.read()
    if depth is not None:
        model.set_params(depth=depth)
    if model.uses_features and width is not None:
        problem = _compress_features(problem, width, terminal)
    refuse_if_too_large(problem, model)
    with run.where.execution(), terminal.stage("fitting") as stage, terminal.step(""):
        stage.detail = type(model).__name__
        U = model.fit_transform(problem.features, adjacency=problem.adjacency)
    with terminal.stage("writing") as stage:
        stage.detail = str(out)
        notes = write_embeddings(out, problem.node_ids, U)
    terminal.note(*notes)
    where = f"{out}" if ids is None else f"{out}, and their ids: {ids}"
    terminal.say(f"{U.shape[0]:,} embeddings of {U.shape[1]:,} numbers: {where}")
    terminal.finish()


def _read_width(dimensions: str) -> int | None:
    if dimensions == "all":
        return None
    if not dimensions.isdecimal() or int(dimensions) == 0:
        raise ValueError(f"--dimensions must be a whole number of at least 1, or all, not {dimensions!r}.")
    return int(dimensions)


def _compress_features(problem: Problem, width: int, terminal: Terminal) -> Problem:
    """Reduce features to their leading directions, which gives the same before smoothing as after."""
    X = problem.features
    if X is None or X.shape[1] <= width:
        return problem
    with terminal.stage("reducing"):
        Z = compress(X, width)
    if not Z.shape[1]:
        return problem  # all of them are zero
    kept = np.square(np.linalg.norm(Z) / np.linalg.norm(X.data if issparse(X) else X))
    terminal.note(
        f"features were reduced from {X.shape[1]:,} columns to {Z.shape[1]:,}, which keep {kept:.1%} of "
        "their sum of squares (SVD); --dimensions all keeps every column"
    )
    return replace(problem, features=Z, feature_names=())
