"""``gssl predict`` and ``gssl embed``: label a new graph with a saved model, or embed a graph."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack, issparse

from gssl.cli.choice import create, embedder_names
from gssl.cli.classify import withhold_unsure, write_table
from gssl.cli.console import Terminal
from gssl.cli.reading import Inputs, check_outputs, read_problem, refuse_if_too_large
from gssl.io import Features, load, read_settings, tabulate, write_embeddings
from gssl.io.predictions import EMBEDDINGS
from gssl.io.problem import Problem
from gssl.io.table_writing import TABLES, check_suffix
from gssl.methods.labels import decide
from gssl.report import classification_table
from gssl.selection import CalibratedClassifier
from gssl.selection.views import compress


def run_predict(
    inputs: Inputs,
    model_path: Path,
    out: Path,
    abstain: float | None,
    terminal: Terminal,
    probabilities: bool = False,
) -> None:
    """Load a model, read a graph, predict, and write; leave labels below confidence ``abstain`` empty."""
    check_suffix(out, TABLES)
    check_outputs([out], [*inputs.sources(), str(model_path)])
    model, settings = load(model_path), read_settings(model_path)
    if getattr(model, "knows_nodes", False):
        raise ValueError(
            f"{model_path} is a {type(model).__name__}, whose labels belong to the nodes it was fitted to: "
            "run gssl classify on the new graph with those labels."
        )
    if inputs.features is None:
        raise ValueError(f"{model_path} learned from features: give those of the new graph with --features.")
    names = json.loads(settings.get("features", "[]"))
    problem = read_problem(
        replace(inputs, normalize=settings.get("normalize", inputs.normalize)),
        terminal,
        prepare=lambda features: align_columns(features, names, terminal),
    )
    if inputs.text is not None:
        terminal.note(
            f"words of {inputs.text!r} are weighted by how rare they are in these texts, not in those of fit"
        )
    with terminal.step("predicting"):
        P, informed = model.predict_informed(problem.features, problem.adjacency)
        chosen = decide(P, informed, model.fit_codes)
    classes = [str(name) for name in model.classes_]
    predictions = tabulate(problem.node_ids, P, classes, chosen, reached=informed)
    if abstain is not None:
        predictions = withhold_unsure(predictions, abstain, informed, terminal)
        _note_uncalibrated(model, model_path, terminal)
    write_table(out, predictions, terminal, probabilities)
    terminal.out.print(classification_table(predictions, "Labels by class"))
    terminal.say(f"{len(predictions):,} predictions: {out}")
    terminal.finish()


def _note_uncalibrated(model: Any, path: Path, terminal: Terminal) -> None:
    if not isinstance(model, CalibratedClassifier):
        terminal.note(f"the confidence of {path} is not calibrated: save it with gssl classify --calibrate")
    elif not len(model.held_out_codes_):
        terminal.note(
            f"the confidence of {path} is not calibrated: every class had one label only when it "
            "was fitted, so none could be hidden; label a second node of some class and fit it again"
        )


def align_columns(features: Features, names: list[str], terminal: Terminal) -> Features:
    """Return features with the columns of fit, in that order.

    Call it before rows are scaled, because columns that are left out must not count in their sums.
    """
    if not names or tuple(names) == features.names:
        return features
    place = {name: i for i, name in enumerate(features.names)}
    missing = [name for name in names if name not in place]
    # a category (a=b) or word (a:b) that does not occur is zero; a missing number is an error
    unknown = missing if len(missing) == len(names) else [m for m in missing if not set("=:") & set(m)]
    if unknown:
        raise ValueError(
            f"the model learned from {len(unknown)} features that are not in the table, the first of them "
            f"{unknown[0]!r}: give the same columns as in fit, and --text where it was given."
        )
    extra = len(set(place) - set(names))
    if extra:
        terminal.note(f"{extra} features that the model does not know were left out")
    if missing:
        terminal.note(f"{len(missing)} categories or words of the model do not occur here and count as zero")
    zeros = csc_array((features.matrix.shape[0], 1), dtype=features.matrix.dtype)
    columns = hstack([csc_array(features.matrix), zeros], format="csc")
    last = columns.shape[1] - 1
    matrix = csr_array(columns[:, [place.get(name, last) for name in names]])
    dense = isinstance(features.matrix, np.ndarray)
    return replace(features, matrix=matrix.toarray() if dense else matrix, names=tuple(names))


def run_embed(
    inputs: Inputs, out: Path, method: str, depth: int | None, dimensions: str, seed: int, terminal: Terminal
) -> None:
    """Read, embed, write."""
    check_suffix(out, EMBEDDINGS)
    width = _read_width(dimensions)
    # the ids of a .npy file are written beside it
    ids = out.with_suffix(".ids.npy") if out.suffix.lower() == ".npy" else None
    check_outputs([out, ids], inputs.sources())
    embedders = embedder_names()
    if method not in embedders:
        raise ValueError(f"--method {method} gives no embeddings: take one of {', '.join(embedders)}.")
    model = create(embedders[method], seed)
    if inputs.features is None and model.uses_features:
        raise ValueError(f"embeddings of {method} are made of features: give --features.")
    if depth is not None and "depth" not in model.get_params():
        raise ValueError(f"--depth counts iterations, of which {method} has none: leave it out.")
    problem = read_problem(inputs, terminal)
    if depth is not None:
        model.set_params(depth=depth)
    if model.uses_features and width is not None:
        problem = _compress_features(problem, width, terminal)
    refuse_if_too_large(problem, model)
    with terminal.step(f"fitting {type(model).__name__}"):
        U = model.fit_transform(problem.features, adjacency=problem.adjacency)
    with terminal.step("writing embeddings"):
        notes = write_embeddings(out, problem.node_ids, U)
    for note in notes:
        terminal.note(note)
    terminal.say(f"{U.shape[0]:,} embeddings of {U.shape[1]:,} numbers: {out}")


def _read_width(dimensions: str) -> int | None:
    if dimensions == "all":
        return None
    if not dimensions.isdecimal() or int(dimensions) == 0:
        raise ValueError(f"--dimensions must be a whole number from 1 on, or all, not {dimensions!r}.")
    return int(dimensions)


def _compress_features(problem: Problem, width: int, terminal: Terminal) -> Problem:
    """Reduce features to their leading directions before they are smoothed, which gives the same as after."""
    X = problem.features
    if X is None or X.shape[1] <= width:
        return problem
    with terminal.step("reducing features"):
        Z = compress(X, width)
    if not Z.shape[1]:
        return problem  # all of them are zero
    kept = np.square(np.linalg.norm(Z) / np.linalg.norm(X.data if issparse(X) else X))
    terminal.note(
        f"features were reduced from {X.shape[1]:,} columns to {Z.shape[1]:,}, which keep {kept:.1%} of "
        "their sum of squares (SVD); --dimensions all keeps every column"
    )
    return replace(problem, features=Z, feature_names=())
