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
from gssl.cli.run import Run
from gssl.io import Preparation, Problem, load, read_settings, tabulate, write_embeddings
from gssl.io.predictions import EMBEDDINGS
from gssl.methods.labels import decide
from gssl.report import classification_table
from gssl.selection import CalibratedClassifier
from gssl.selection.views import compress


def run_predict(run: Run, model_path: Path, out: Path, probabilities: bool) -> None:
    """Load a model, read a graph, predict, and write; leave labels empty where the model abstains."""
    inputs, terminal = run.inputs, run.terminal
    check_outputs(out, [*inputs.sources(), str(model_path)])
    model, preparation = load_prepared(model_path)
    if getattr(model, "knows_nodes", False):
        raise ValueError(
            f"{model_path} is a {type(model).__name__}, whose labels belong to the nodes it was fitted to: "
            "run gssl classify on the new graph with those labels."
        )
    if inputs.features is None:
        raise ValueError(f"{model_path} learned from features: give those of the new graph with --features.")
    problem = run.read(preparation)
    with terminal.stage("predicting"), terminal.step(""):
        P, informed = model.predict_informed(problem.features, problem.adjacency)
        chosen = decide(P, informed, model.fit_codes)
    classes = [str(name) for name in model.classes_]
    predictions = tabulate(problem.node_ids, P, classes, chosen, reached=informed)
    if run.choice.abstain is not None:
        predictions = withhold_unsure(predictions, run.choice.abstain, informed, terminal)
        _note_uncalibrated(model, model_path, terminal)
    with terminal.stage("writing") as stage:
        stage.detail = str(out)
        write_table(out, predictions, terminal, probabilities)
    terminal.out.print(classification_table(predictions, "Labels by class"))
    terminal.say(f"{len(predictions):,} predictions: {out}")
    terminal.finish()


def load_prepared(path: Path) -> tuple[Any, Preparation | None]:
    """Load a model, and the preparation of its features if it has one."""
    model, settings = load(path), read_settings(path)
    kept = settings.get("preparation")
    return model, None if kept is None else Preparation.from_json(kept)


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
        raise ValueError(f"embeddings of {method} are made of features: give --features.")
    if depth is not None and "depth" not in model.get_params():
        raise ValueError(f"--depth counts iterations, of which {method} has none: leave it out.")
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
        raise ValueError(f"--dimensions must be a whole number from 1 on, or all, not {dimensions!r}.")
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
